# Generated from _async/_conversations.py by scripts/unasync.py; do not edit.
"""`client.conversations`"""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import Unpack

from .._lists import ConversationPages
from .._models import (
    Conversation,
    ConversationFollowupResponse,
    ConversationInterruptResponse,
    ConversationRedirect,
    FollowupAttachment,
    PrepareAttachmentsResponse,
)
from .._options import RequestOptions
from .._params import AttachmentFileParam, ConversationParams, FollowupParams, UploadFile
from .._parse import into, read_bytes, read_text
from .._request import Call, segment
from .._split import split
from ._attachments import prepare_attachments, upload_attachments
from ._page import ConversationPage
from ._streaming_response import raw_method, streaming_method
from ._transport import RawTransport, StreamingTransport, Transport


class Conversations:
    """`client.conversations`: what one or several runs said and did."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> ConversationsWithRawResponse:
        """The same methods, returning status and headers as well."""
        return ConversationsWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> ConversationsWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return ConversationsWithStreamingResponse(self._transport)

    def retrieve(self, conversation_id: str, **params: Unpack[ConversationParams]) -> ConversationPages:
        """The same as `runs.conversation` of any of its runs. One that is not there is a `NotFoundError`."""
        fields, options = split("retrieve", params, ConversationParams)

        def fetch(cursor: str | None) -> ConversationPage:
            call = Call("GET", _path(conversation_id), {**fields, "cursor": cursor})
            read = into(Conversation, "steps")
            return ConversationPage(self._transport.send(call, read, options), cursor, fetch)

        return ConversationPages(lambda: fetch(fields.get("cursor")))

    def retrieve_page(self, conversation_id: str, **params: Unpack[ConversationParams]) -> Conversation:
        """One page of a conversation as it comes. `retrieve` goes on to the next ones."""
        fields, options = split("retrieve", params, ConversationParams)
        call = Call("GET", _path(conversation_id), fields)
        return self._transport.send(call, into(Conversation), options)

    def followup(
        self, conversation_id: str, **params: Unpack[FollowupParams]
    ) -> ConversationFollowupResponse:
        """Sends a message to the conversation's newest run, whatever it is doing. The answer names the run."""
        body, options = split("followup", params, FollowupParams)
        call = Call("POST", f"{_path(conversation_id)}/followups", body=body)
        return self._transport.send(call, into(ConversationFollowupResponse), options)

    def upload_attachments(
        self, conversation_id: str, files: Sequence[UploadFile], **options: Unpack[RequestOptions]
    ) -> list[FollowupAttachment]:
        """As `runs.upload_attachments`, for a follow-up to any run of the conversation."""
        return upload_attachments(self._transport, _path(conversation_id), files, options)

    def prepare_attachments(
        self,
        conversation_id: str,
        attachments: Sequence[AttachmentFileParam],
        **options: Unpack[RequestOptions],
    ) -> PrepareAttachmentsResponse:
        """The first half of `upload_attachments`.

        An `upload_url` for each file, which takes it by PUT without a key.
        """
        return prepare_attachments(self._transport, _path(conversation_id), attachments, options)

    def interrupt(
        self, conversation_id: str, **options: Unpack[RequestOptions]
    ) -> ConversationInterruptResponse:
        """Stops what the agent of its newest run is doing now, and keeps the run and its sandbox."""
        call = Call("POST", f"{_path(conversation_id)}/interrupt")
        return self._transport.send(call, into(ConversationInterruptResponse), options)

    def transcript(self, conversation_id: str, **options: Unpack[RequestOptions]) -> str:
        """The logs of its runs as JSON Lines, one after the other."""
        call = Call("GET", f"{_path(conversation_id)}/transcript", accept="*/*")
        return self._transport.send(call, read_text, options)

    def screenshot(
        self, conversation_id: str, screenshot_uid: str, **options: Unpack[RequestOptions]
    ) -> bytes:
        """A screenshot of one of its runs."""
        path = f"{_path(conversation_id)}/screenshots/{segment(screenshot_uid)}/download"
        return self._transport.send(Call("GET", path, accept="*/*"), read_bytes, options)

    def check_redirect(self, conversation_id: str, **options: Unpack[RequestOptions]) -> ConversationRedirect:
        """Where the conversation goes on now: its `session_id`, None where nothing is at work. Needs no key."""
        call = Call("GET", f"{_path(conversation_id)}/redirect")
        return self._transport.send(call, into(ConversationRedirect), options)


class ConversationsWithRawResponse:
    """`client.conversations.with_raw_response`"""

    def __init__(self, transport: Transport) -> None:
        conversations = Conversations(RawTransport(transport.settings, transport.http))
        self.retrieve = raw_method(conversations.retrieve_page)
        self.followup = raw_method(conversations.followup)
        self.prepare_attachments = raw_method(conversations.prepare_attachments)
        self.interrupt = raw_method(conversations.interrupt)
        self.transcript = raw_method(conversations.transcript)
        self.screenshot = raw_method(conversations.screenshot)
        self.check_redirect = raw_method(conversations.check_redirect)


class ConversationsWithStreamingResponse:
    """`client.conversations.with_streaming_response`"""

    def __init__(self, transport: Transport) -> None:
        conversations = Conversations(StreamingTransport(transport.settings, transport.http))
        self.retrieve = streaming_method(conversations.retrieve_page)
        self.followup = streaming_method(conversations.followup)
        self.prepare_attachments = streaming_method(conversations.prepare_attachments)
        self.interrupt = streaming_method(conversations.interrupt)
        self.transcript = streaming_method(conversations.transcript)
        self.screenshot = streaming_method(conversations.screenshot)
        self.check_redirect = streaming_method(conversations.check_redirect)


def _path(conversation_id: str) -> str:
    return f"/agent/conversations/{segment(conversation_id)}"
