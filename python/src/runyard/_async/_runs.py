"""`client.runs`"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import overload

from pydantic import BaseModel
from typing_extensions import Unpack

from .._errors import naming_run
from .._lists import AsyncConversationPages, AsyncRunList
from .._models import (
    AnswerApprovalResponse,
    Conversation,
    DeleteRunResponse,
    DeleteRunsResponse,
    FollowupAttachment,
    HandoffAttachmentsResponse,
    InterruptResponse,
    ListEventsResponse,
    ListPullRequestsResponse,
    ListRunsResponse,
    PrepareAttachmentsResponse,
    PullRequestItem,
    RunAgentResponse,
    RunDiff,
    RunFollowupResponse,
    RunHarnessUsage,
    RunItem,
    RunReference,
    RunTimeline,
)
from .._options import RequestOptions
from .._output_schema import (
    FinishedRun,
    JsonSchema,
    ModelT,
    finish_run,
    model_of,
    to_json_schema,
)
from .._params import (
    AnswerApprovalParams,
    AttachmentFileParam,
    ConversationParams,
    CreateRunParams,
    DeleteRunsParams,
    DiffParams,
    FollowupParams,
    ForkOfParam,
    ForkRunParams,
    ListEventsParams,
    ListRunsParams,
    MergePullRequestParams,
    ReplayRunParams,
    UpdateRunParams,
    UploadFile,
)
from .._parse import into, read_text
from .._request import Call, run_path, segment
from .._split import for_waiting, split
from ._attachments import prepare_attachments, upload_attachments
from ._page import AsyncConversationPage, AsyncRunPage
from ._stream import AsyncManyRunsStream, AsyncRunStream
from ._streaming_response import raw_method, streaming_method
from ._transport import AsyncRawTransport, AsyncStreamingTransport, AsyncTransport
from ._watch import AsyncRunWatch


class AsyncRuns:
    """`client.runs`"""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> AsyncRunsWithRawResponse:
        """The same methods, returning status and headers as well."""
        return AsyncRunsWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> AsyncRunsWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return AsyncRunsWithStreamingResponse(self._transport)

    async def create(
        self,
        *,
        output_schema: JsonSchema | type[BaseModel] | None = None,
        **params: Unpack[CreateRunParams],
    ) -> RunAgentResponse:
        """Asks for a run. Safe against lost answers: however often it has to be sent, there is one run.

        `output_schema` is what the result must satisfy: JSON Schema, or a pydantic model.
        """
        body, options = split("create", params, CreateRunParams)
        if output_schema is not None:
            body["output_schema"] = to_json_schema(output_schema)
        return await self._transport.send(
            Call("POST", "/agent/runs", body=body), into(RunAgentResponse, "run_id"), options
        )

    async def replay(
        self,
        run_id: str,
        *,
        output_schema: JsonSchema | type[BaseModel] | None = None,
        **params: Unpack[ReplayRunParams],
    ) -> RunAgentResponse:
        """Does an earlier run again. What is left out is taken over from it, `config` field by field.

        It is a run of its own, as `create` makes it.
        """
        return await self.create(output_schema=output_schema, replay_of_run_id=run_id, **params)

    async def fork(
        self,
        run_id: str,
        *,
        sequence: int | None = None,
        turn: int | None = None,
        output_schema: JsonSchema | type[BaseModel] | None = None,
        **params: Unpack[ForkRunParams],
    ) -> RunAgentResponse:
        """Goes on from the end of a turn of an earlier run, its last one by default.

        With the conversation up to there and the workspace as it was; what is left out is taken over, but for the
        prompt and the skill. `sequence` is that of any event, `turn` the number of messages. The earlier run stays as
        it is. A turn whose workspace is not kept any more: `ConflictError`, which names those that are.
        """
        fork_of: ForkOfParam = {"run_id": run_id}
        if sequence is not None:
            fork_of["sequence"] = sequence
        if turn is not None:
            fork_of["turn"] = turn
        return await self.create(output_schema=output_schema, fork_of=fork_of, **params)

    @overload
    async def create_and_wait(
        self,
        *,
        output_schema: type[ModelT],
        raise_on_failure: bool = True,
        max_reconnects: int = 30,
        max_wait: float | None = None,
        **params: Unpack[CreateRunParams],
    ) -> FinishedRun[ModelT]: ...
    @overload
    async def create_and_wait(
        self,
        *,
        output_schema: JsonSchema | None = None,
        raise_on_failure: bool = True,
        max_reconnects: int = 30,
        max_wait: float | None = None,
        **params: Unpack[CreateRunParams],
    ) -> RunItem: ...
    async def create_and_wait(
        self,
        *,
        output_schema: JsonSchema | type[ModelT] | None = None,
        raise_on_failure: bool = True,
        max_reconnects: int = 30,
        max_wait: float | None = None,
        **params: Unpack[CreateRunParams],
    ) -> RunItem | FinishedRun[ModelT]:
        """`create` and `wait` in one. With a pydantic model as `output_schema`, the result is checked and typed:

        run = await client.runs.create_and_wait(prompt="Fix the failing test.", output_schema=Report)
        if run.result: print(run.result.summary)

        What it raises after the run was made names it in `run_id`: wait for that one instead of making another.
        `max_reconnects` and `max_wait` are those of `wait`.
        """
        # First, because a run that was made for nothing costs money.
        watch = AsyncRunWatch(self._transport, for_waiting(params), max_reconnects, max_wait)
        run_id = (await self.create(output_schema=output_schema, **params)).run_id
        with naming_run(run_id):
            run = await watch.until_settled(run_id, is_new=True)
            return finish_run(run, model_of(output_schema), raise_on_failure)

    async def retrieve(self, run_id: str, **options: Unpack[RequestOptions]) -> RunItem:
        """One run in full."""
        return await self._transport.send(Call("GET", run_path(run_id)), into(RunItem), options)

    def list(self, **params: Unpack[ListRunsParams]) -> AsyncRunList:
        """Runs that fit all filters, the latest changed first. Iterated, it goes through all pages."""
        fields, options = split("list", params, ListRunsParams)

        async def fetch(cursor: str | None) -> AsyncRunPage:
            call = Call("GET", "/agent/runs", {**fields, "cursor": cursor})
            read = into(ListRunsResponse, "runs", "page_info")
            return AsyncRunPage(await self._transport.send(call, read, options), cursor, fetch)

        return AsyncRunList(lambda: fetch(fields.get("cursor")))

    async def list_page(self, **params: Unpack[ListRunsParams]) -> ListRunsResponse:
        """One page of runs as it comes. `list` goes on to the next ones."""
        fields, options = split("list", params, ListRunsParams)
        return await self._transport.send(Call("GET", "/agent/runs", fields), into(ListRunsResponse), options)

    async def cancel(self, run_id: str, **options: Unpack[RequestOptions]) -> str:
        """Cancels a run and returns its id. A run that has ended already: `BadRequestError`."""
        return await self._transport.send(Call("POST", run_path(run_id, "/cancel")), into(str), options)

    async def update(self, run_id: str, **params: Unpack[UpdateRunParams]) -> RunItem:
        """Gives a run another title."""
        body, options = split("update", params, UpdateRunParams)
        return await self._transport.send(Call("PATCH", run_path(run_id), body=body), into(RunItem), options)

    async def delete(
        self, run_id: str, *, cancel: bool = False, **options: Unpack[RequestOptions]
    ) -> DeleteRunResponse:
        """Deletes a run with all runs below it, for good.

        One that has not ended: `ConflictError`, unless it is to be cancelled first; then the answer comes when its
        worker has stopped it, and a `ConflictError` if that takes longer than 10 seconds.
        """
        call = Call("DELETE", run_path(run_id), {"cancel": True} if cancel else {})
        return await self._transport.send(call, into(DeleteRunResponse), options)

    async def delete_many(self, **params: Unpack[DeleteRunsParams]) -> DeleteRunsResponse:
        """Deletes runs by the filters of `list`, 200 that match in a call: call again while `has_more`.

        With `dry_run` it only counts. No filter is refused, unless `all` says that this is meant, and so is a filter
        that is `None`.
        """
        body, options = split("delete_many", params, DeleteRunsParams)
        call = Call("POST", "/agent/runs/delete", body=body)
        return await self._transport.send(call, into(DeleteRunsResponse), options)

    async def archive(self, run_id: str, **options: Unpack[RequestOptions]) -> RunItem:
        """Leaves a run out of lists that do not ask for archived ones.

        One that is queued or at work: `ConflictError`.
        """
        return await self._transport.send(Call("POST", run_path(run_id, "/archive")), into(RunItem), options)

    async def unarchive(self, run_id: str, **options: Unpack[RequestOptions]) -> RunItem:
        """Takes a run out of the archive."""
        return await self._transport.send(
            Call("POST", run_path(run_id, "/unarchive")), into(RunItem), options
        )

    async def interrupt(self, run_id: str, **options: Unpack[RequestOptions]) -> InterruptResponse:
        """Stops what the agent is doing now and keeps the run and its sandbox."""
        call = Call("POST", run_path(run_id, "/interrupt"))
        return await self._transport.send(call, into(InterruptResponse), options)

    async def followup(self, run_id: str, **params: Unpack[FollowupParams]) -> RunFollowupResponse:
        """Sends a message to the agent, whatever the run is doing."""
        body, options = split("followup", params, FollowupParams)
        call = Call("POST", run_path(run_id, "/followups"), body=body)
        return await self._transport.send(call, into(RunFollowupResponse), options)

    async def upload_attachments(
        self, run_id: str, files: Sequence[UploadFile], **options: Unpack[RequestOptions]
    ) -> Sequence[FollowupAttachment]:
        """Uploads up to 25 files, and returns what the `attachments` of a follow-up name them by.

        `client.runs.followup(run_id, message=..., attachments=client.runs.upload_attachments(run_id, files))`
        """
        return await upload_attachments(self._transport, run_path(run_id), files, options)

    async def prepare_attachments(
        self, run_id: str, attachments: Sequence[AttachmentFileParam], **options: Unpack[RequestOptions]
    ) -> PrepareAttachmentsResponse:
        """The first half of `upload_attachments`.

        An `upload_url` for each file, which takes it by PUT without a key.
        """
        return await prepare_attachments(self._transport, run_path(run_id), attachments, options)

    async def answer_approval(
        self, run_id: str, approval_id: str, **params: Unpack[AnswerApprovalParams]
    ) -> AnswerApprovalResponse:
        """Allows or denies the call that a BLOCKED run waits with; the run goes on.

        `status_message.approval` says which. One that is not asked about any more: `ConflictError`.
        """
        body, options = split("answer_approval", params, AnswerApprovalParams)
        call = Call("POST", run_path(run_id, f"/approvals/{segment(approval_id)}"), body=body)
        return await self._transport.send(call, into(AnswerApprovalResponse), options)

    async def events(self, run_id: str, **params: Unpack[ListEventsParams]) -> ListEventsResponse:
        """A page of the stored log."""
        fields, options = split("events", params, ListEventsParams)
        call = Call("GET", run_path(run_id, "/events"), fields)
        return await self._transport.send(call, into(ListEventsResponse), options)

    def stream(
        self,
        run_id: str,
        *,
        after: int = 0,
        follow: bool = False,
        max_reconnects: int = 10,
        **options: Unpack[RequestOptions],
    ) -> AsyncRunStream:
        """The log from `after` on, then live, until the run has ended, without loss or repeats.

        `follow` goes on after the end of the run: a follow-up may start it again. `max_reconnects` is how often in a
        row a lost connection is made again without anything new having come.
        """
        return AsyncRunStream(
            self._transport,
            {"run_id": run_id, "after": after, "follow": follow, "max_reconnects": max_reconnects},
            options,
        )

    def stream_many(
        self,
        *,
        run_ids: Sequence[str] | None = None,
        ancestor_run_id: str | None = None,
        since: datetime | str | None = None,
        follow: bool = False,
        max_reconnects: int = 10,
        **options: Unpack[RequestOptions],
    ) -> AsyncManyRunsStream:
        """The events of several runs in one stream, then live, until all have ended, without loss or repeats.

        `run_ids` names runs, `ancestor_run_id` stands for those below one, also the ones that appear meanwhile; a tree
        is both, with the same id. At most 200, else `BadRequestError`. `since` is a moment, or the `cursor` of an
        earlier stream over these runs. `follow` and `max_reconnects` are those of `stream`.
        """
        return AsyncManyRunsStream(
            self._transport,
            {
                "run_ids": run_ids,
                "ancestor_run_id": ancestor_run_id,
                "since": since,
                "follow": follow,
                "max_reconnects": max_reconnects,
            },
            options,
        )

    def conversation(self, run_id: str, **params: Unpack[ConversationParams]) -> AsyncConversationPages:
        """What was said and done, step by step.

        The first page is all of any ordinary conversation; iterated, it goes through all pages, step by step.
        """
        fields, options = split("conversation", params, ConversationParams)

        async def fetch(cursor: str | None) -> AsyncConversationPage:
            call = Call("GET", run_path(run_id, "/conversation"), {**fields, "cursor": cursor})
            read = into(Conversation, "steps")
            return AsyncConversationPage(await self._transport.send(call, read, options), cursor, fetch)

        return AsyncConversationPages(lambda: fetch(fields.get("cursor")))

    async def conversation_page(self, run_id: str, **params: Unpack[ConversationParams]) -> Conversation:
        """One page of a conversation as it comes. `conversation` goes on to the next ones."""
        fields, options = split("conversation", params, ConversationParams)
        call = Call("GET", run_path(run_id, "/conversation"), fields)
        return await self._transport.send(call, into(Conversation), options)

    async def diff(self, run_id: str, **params: Unpack[DiffParams]) -> RunDiff:
        """How the repositories of the run differ from the commits they were cloned at.

        After its newest turn, or an earlier one. Its `patch` is an artifact:
        `artifacts.download(diff.patch.artifact_uid)` is what `git apply --binary` takes.
        """
        fields, options = split("diff", params, DiffParams)
        call = Call("GET", run_path(run_id, "/diff"), fields)
        return await self._transport.send(call, into(RunDiff), options)

    async def timeline(self, run_id: str, **options: Unpack[RequestOptions]) -> RunTimeline:
        """When the run was created, claimed, set up, started, ended and stopped."""
        return await self._transport.send(
            Call("GET", run_path(run_id, "/timeline")), into(RunTimeline), options
        )

    async def harness_usage(self, run_id: str, **options: Unpack[RequestOptions]) -> RunHarnessUsage:
        """What Claude Code or Codex has used, counted as it counts; not `available` for other agents."""
        call = Call("GET", run_path(run_id, "/harness-usage"))
        return await self._transport.send(call, into(RunHarnessUsage), options)

    async def find_by_reference(self, url: str, **options: Unpack[RequestOptions]) -> RunReference:
        """The newest run that produced this address, such as a pull request. None: `NotFoundError`."""
        call = Call("GET", "/agent/run-by-external-reference", {"url": url})
        return await self._transport.send(call, into(RunReference), options)

    async def pull_requests(self, run_id: str, **options: Unpack[RequestOptions]) -> ListPullRequestsResponse:
        """The pull requests that the run opened, as they stand at their hosts now."""
        call = Call("GET", run_path(run_id, "/pull-requests"))
        return await self._transport.send(call, into(ListPullRequestsResponse), options)

    async def merge(self, run_id: str, **params: Unpack[MergePullRequestParams]) -> PullRequestItem:
        """Merges a pull request of the run, by the `merge_method` of its environment.

        The only one, or the one at `url`, and no other commit than `commit` or what the run pushed last. One that
        cannot be merged as it is: `ConflictError`.
        """
        body, options = split("merge", params, MergePullRequestParams)
        call = Call("POST", run_path(run_id, "/merge"), body=body)
        return await self._transport.send(call, into(PullRequestItem), options)

    async def handoff_attachments(
        self, run_id: str, **options: Unpack[RequestOptions]
    ) -> HandoffAttachmentsResponse:
        """The workspace as the last execution that ended left it.

        Links to one `workspace.tar.zst`, or none where nothing was kept. They work without a key for 15 minutes.
        """
        call = Call("GET", run_path(run_id, "/handoff/attachments"))
        return await self._transport.send(call, into(HandoffAttachmentsResponse), options)

    async def transcript(self, run_id: str, **options: Unpack[RequestOptions]) -> str:
        """The whole log as JSON Lines."""
        call = Call("GET", run_path(run_id, "/transcript"), accept="*/*")
        return await self._transport.send(call, read_text, options)

    @overload
    async def wait(
        self,
        run_id: str,
        *,
        output_schema: type[ModelT],
        raise_on_failure: bool = True,
        max_reconnects: int = 30,
        max_wait: float | None = None,
        **options: Unpack[RequestOptions],
    ) -> FinishedRun[ModelT]: ...
    @overload
    async def wait(
        self,
        run_id: str,
        *,
        output_schema: None = None,
        raise_on_failure: bool = True,
        max_reconnects: int = 30,
        max_wait: float | None = None,
        **options: Unpack[RequestOptions],
    ) -> RunItem: ...
    async def wait(
        self,
        run_id: str,
        *,
        output_schema: type[ModelT] | None = None,
        raise_on_failure: bool = True,
        max_reconnects: int = 30,
        max_wait: float | None = None,
        **options: Unpack[RequestOptions],
    ) -> RunItem | FinishedRun[ModelT]:
        """Waits until the run has ended or waits for a person (BLOCKED), and returns it.

        One that ended as FAILED, ERROR or CANCELLED raises `RunFailedError`, unless `raise_on_failure` is off. With
        the model it was created with, its result is checked and typed. `timeout` and `max_retries` are those of each
        request, `max_reconnects` is how often in a row the service may be away when it is asked for the run; 30 are
        about five minutes. After `max_wait` seconds: `APITimeoutError`; the run goes on. With that limit
        `max_retries` is left to `max_reconnects`. Whatever is raised has `run_id`.
        """
        with naming_run(run_id):
            watch = AsyncRunWatch(self._transport, for_waiting(options), max_reconnects, max_wait)
            run = await watch.until_settled(run_id, is_new=False)
            return finish_run(run, output_schema, raise_on_failure)


class AsyncRunsWithRawResponse:
    """`client.runs.with_raw_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        runs = AsyncRuns(AsyncRawTransport(transport.settings, transport.http))
        self.create = raw_method(runs.create)
        self.replay = raw_method(runs.replay)
        self.fork = raw_method(runs.fork)
        self.retrieve = raw_method(runs.retrieve)
        self.list = raw_method(runs.list_page)
        self.cancel = raw_method(runs.cancel)
        self.update = raw_method(runs.update)
        self.delete = raw_method(runs.delete)
        self.delete_many = raw_method(runs.delete_many)
        self.archive = raw_method(runs.archive)
        self.unarchive = raw_method(runs.unarchive)
        self.interrupt = raw_method(runs.interrupt)
        self.followup = raw_method(runs.followup)
        self.prepare_attachments = raw_method(runs.prepare_attachments)
        self.answer_approval = raw_method(runs.answer_approval)
        self.events = raw_method(runs.events)
        self.conversation = raw_method(runs.conversation_page)
        self.diff = raw_method(runs.diff)
        self.timeline = raw_method(runs.timeline)
        self.harness_usage = raw_method(runs.harness_usage)
        self.find_by_reference = raw_method(runs.find_by_reference)
        self.pull_requests = raw_method(runs.pull_requests)
        self.merge = raw_method(runs.merge)
        self.handoff_attachments = raw_method(runs.handoff_attachments)
        self.transcript = raw_method(runs.transcript)


class AsyncRunsWithStreamingResponse:
    """`client.runs.with_streaming_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        runs = AsyncRuns(AsyncStreamingTransport(transport.settings, transport.http))
        self.create = streaming_method(runs.create)
        self.replay = streaming_method(runs.replay)
        self.fork = streaming_method(runs.fork)
        self.retrieve = streaming_method(runs.retrieve)
        self.list = streaming_method(runs.list_page)
        self.cancel = streaming_method(runs.cancel)
        self.update = streaming_method(runs.update)
        self.delete = streaming_method(runs.delete)
        self.delete_many = streaming_method(runs.delete_many)
        self.archive = streaming_method(runs.archive)
        self.unarchive = streaming_method(runs.unarchive)
        self.interrupt = streaming_method(runs.interrupt)
        self.followup = streaming_method(runs.followup)
        self.prepare_attachments = streaming_method(runs.prepare_attachments)
        self.answer_approval = streaming_method(runs.answer_approval)
        self.events = streaming_method(runs.events)
        self.conversation = streaming_method(runs.conversation_page)
        self.diff = streaming_method(runs.diff)
        self.timeline = streaming_method(runs.timeline)
        self.harness_usage = streaming_method(runs.harness_usage)
        self.find_by_reference = streaming_method(runs.find_by_reference)
        self.pull_requests = streaming_method(runs.pull_requests)
        self.merge = streaming_method(runs.merge)
        self.handoff_attachments = streaming_method(runs.handoff_attachments)
        self.transcript = streaming_method(runs.transcript)
