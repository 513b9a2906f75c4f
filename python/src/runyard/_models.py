# Generated from openapi.json; do not edit.

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from runyard._wire_model import WireModel

ActionCategory = TypeAliasType(
    "ActionCategory",
    Literal["command", "files", "search", "integration", "documents", "computer", "review", "skill"] | str,
)
"""The kind of work. A tool of a tool server is an `integration`."""


class AgentIdentityMemoryAutoMemory(WireModel):
    enabled: bool


class AgentIdentitySecret(WireModel):
    name: str


class AgentSkillVariantEnvironment(WireModel):
    name: str
    uid: str


class AgentSkillVariantSource(WireModel):
    owner: str
    name: str
    skill_path: str


class AmbientAgentConfigHarnessAuthSecrets(WireModel):
    claude_auth_secret_name: str | None = None
    codex_auth_secret_name: str | None = None


class AmbientAgentConfigMemoryStore(WireModel):
    uid: str
    access: Literal["read_write", "read_only"] | str | None = None
    instructions: str | None = None


class AmbientAgentConfigSecret(WireModel):
    name: str


ApprovalDecision = TypeAliasType("ApprovalDecision", Literal["allow_once", "allow_always", "deny"] | str)
"""`allow_once`: this call. `allow_always`: this call, and all of this run that the same rule asks about."""


class ArtifactCreatedEventDataDiff(WireModel):
    """Of a `DIFF`."""

    turn: int
    """Messages that the agent had been given by then, the prompt included."""
    files_changed: int
    additions: int
    """Lines."""
    deletions: int


class ArtifactItemExternalReferenceData(WireModel):
    reference_type: str
    url: str
    title: str | None = None


class ArtifactItemFileDataDiff(WireModel):
    """The file is the run's changes as a patch, after a turn."""

    turn: int
    """Messages that the agent had been given by then, the prompt included."""
    files_changed: int
    additions: int
    """Lines."""
    deletions: int


class ArtifactItemPlanData(WireModel):
    document_uid: str
    artifact_uid: str | None = None
    notebook_uid: str | None = None
    title: str | None = None


class ArtifactItemScreenshotData(WireModel):
    artifact_uid: str
    mime_type: str
    title: str | None = None
    description: str | None = None


class ArtifactResponseData(WireModel):
    content_type: str
    download_url: str
    """Works without a key until `expires_at`."""
    expires_at: datetime
    """RFC 3339, UTC, milliseconds."""
    filename: str
    filepath: str
    size_bytes: int
    sha256: str
    title: str | None = None
    description: str | None = None
    content: str | None = None
    """Of a `PLAN`: its text, in Markdown."""
    document_uid: str | None = None
    """Of a `PLAN`: the same as `artifact_uid`."""
    notebook_uid: str | None = None
    """Of a `PLAN`: the same as `artifact_uid`."""


class ArtifactResponseSourceLinks(WireModel):
    """Of a `FILE` and a `SCREENSHOT`: where it comes from."""

    run_url: str | None = None
    """The run's page."""
    pull_request_urls: list[str] | None = None
    """Those that the run and its relatives opened, of runs that the caller may see; at most 100."""


class Attachment(WireModel):
    file_name: str
    """A plain file name, at most 255 bytes of UTF-8."""
    mime_type: str
    data: str
    """Base64, at most 10 MB decoded."""


class AttemptLostEventData(WireModel):
    attempt: int
    reason: str


class AttemptStartedEventData(WireModel):
    attempt: int
    execution: int
    worker_id: str
    pool: str
    debug: Literal[True] | None = None
    """A debug turn: the run has failed and stays so, and an agent is asked in its sandbox."""


class AuditEntry(WireModel):
    entry_id: str
    occurred_at: datetime
    """RFC 3339, UTC, milliseconds."""
    action: str
    """The operation, as its operationId in openapi.json; else method and path. `useSecrets`: a run was given secrets."""
    target: str | None = None
    """Id or name of what it was about."""
    via: Literal["http", "command_line", "worker", "service"] | str
    """`service`: what it did by itself, as this principal: for a schedule, for a trigger, or for the agent of a run. `detail` says which."""
    principal_id: str | None = None
    """Absent where nobody knows who it was."""
    principal_name: str | None = None
    key_id: str | None = None
    role: Literal["admin", "member", "viewer"] | str | None = None
    address: str | None = None
    """Where it came from; behind a proxy what that says, with RUNYARD_TRUST_PROXY."""
    request_id: str | None = None
    """`X-Request-Id`."""
    status: int | None = None
    """Of the answer: 401, 403 and 404 are denials."""
    detail: str | None = None
    """Names, never values."""


class BudgetLimits(WireModel):
    """What a run may spend over all its executions; then it is BLOCKED with `budget_exceeded`, and a follow-up with a larger budget goes on."""

    max_cost_usd: float | None = None
    """US dollars. A run whose model has no known price ends FAILED."""
    max_tokens: int | None = None
    """Input and output together."""
    max_duration_minutes: float | None = None


class ChangedFile(WireModel):
    path: str
    """In the repository; with several repositories, the folder of the file’s comes first."""
    previous_path: str | None = None
    """What a renamed file was called."""
    status: Literal["added", "modified", "deleted", "renamed"] | str
    additions: int
    """Lines; 0 for binary files."""
    deletions: int
    binary: Literal[True] | None = None
    omitted: Literal[True] | None = None
    """The patch does not hold it; `notes` say why."""


class ChangesPushedEventDataPullRequest(WireModel):
    number: int
    url: str


class ClaudeTokens(WireModel):
    """As Claude Code counts: tokens of the cache are not among `input_tokens`."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class CodexTokens(WireModel):
    """As Codex counts: tokens of the cache are among `input_tokens`."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_input_tokens: int | None = None
    total_tokens: int | None = None


class ComparedRepository(WireModel):
    directory: str
    """Folder below /workspace."""
    base_commit: str | None
    """What it was cloned at; null: it had no commit."""


class ContextCompactedEventData(WireModel):
    """The conversation had become too long for the model: from here on the model gets the summary, the messages named here, and what came last. The log keeps everything."""

    summary: str
    """What the model wrote of the conversation before it."""
    reason: Literal["nearly_full", "overflow"] | str
    """The next request would have been near the context window; the provider refused one as too long."""
    context_window: int
    """Tokens, as far as the service knows."""
    tokens_before: int
    """Of the conversation, about."""
    tokens_after: int
    """Of the conversation as the model has it from here on, about."""
    kept_messages: list[str]
    """Ids of messages of the caller from before the kept part that stay whole as well."""
    kept_from: str | None = None
    """The message or tool call from which on everything stays as it was; absent: the summary stands for all before it."""


class ConversationActionBlock(WireModel):
    type: Literal["action"]
    id: str
    """The `tool_call_id` in the log."""
    category: ActionCategory
    name: str
    """The tool, as the agent names it."""
    input: dict[str, Any]
    title: str | None = None
    """A short line for people."""


class ConversationActionResultBlockOutput(WireModel):
    text: str
    is_truncated: Literal[True] | None = None
    """The action printed more than 64 KiB, and `text` is the end. The events have more."""
    exit_code: int | None = None
    duration_ms: int | None = None


class ConversationEventBlock(WireModel):
    type: Literal["event"]
    name: str
    """The event in the log. `reasoning` is what the model thought before it answered; `data.text` has it."""
    data: dict[str, Any]
    message_id: str | None = None
    """The message in the log that it comes from."""


class ConversationInterruptResponse(WireModel):
    run_id: str


class ConversationRedirect(WireModel):
    session_id: str | None = None
    """To be watched instead: the conversation goes on there. Absent where nothing is at work."""


class ConversationTextBlock(WireModel):
    type: Literal["text"]
    text: str
    message_id: str | None = None
    """The message in the log that it comes from."""


class CreateAgentIdentityRequestMemoryAutoMemory(WireModel):
    enabled: bool | None = None


class CreateAgentIdentityRequestSecret(WireModel):
    name: str


class CreateApiKeyRequest(WireModel):
    name: str
    """What it is called, and a new user with it."""
    role: Literal["admin", "member", "viewer"] | str | None = None
    """Default `member`."""
    expires_at: datetime | None = None
    """When it ends by itself; default: never."""
    agent_identity_uid: str | None = None
    """It is a key of this identity."""
    principal_id: str | None = None
    """It is one more key of this user or identity. Default: of the caller."""
    pool: str | None = None
    """It is a pool key: workers may claim runs of this pool with it, and it opens nothing else. Its role is `viewer`."""
    new_user: bool | None = None
    """true: it is the first key of a new user."""


class CreateShareLinkRequest(WireModel):
    name: str | None = None
    """Whom it is for, say."""
    expires_at: datetime | None = None
    """When it ends by itself; default: when it is revoked."""


class CreateSignInLinkRequest(WireModel):
    path: str | None = None
    """What the page shows then; default: the runs."""
    principal_id: str | None = None
    """The person whom it signs in; default: the caller. For admins."""


class DeleteRunResponse(WireModel):
    run_id: str
    deleted: int
    """The run, and those below it."""


class DeleteRunsResponse(WireModel):
    dry_run: bool
    count: int
    """Runs that this call deleted, those below them included; of a dry run, all that calls would delete."""
    open: int
    """Runs that match and stay: they have not ended, or a run below them has not. With `cancel` they are being stopped, and a later call deletes them."""
    has_more: bool
    """There are more to delete: call again. A call deletes the oldest 200 that match."""


class DeleteScheduleResponse(WireModel):
    success: bool


class DeleteTriggerResponse(WireModel):
    success: bool


class EgressRanges(WireModel):
    cidrs: list[str]
    """IPv4 and IPv6 networks, as in `203.0.113.0/28`, each once. Empty while the operator names none (`RUNYARD_EGRESS_RANGES`)."""


class EgressRefusedEventData(WireModel):
    """The network policy, or the git gateway, refused something. Told once for each target."""

    host: str
    port: int
    reason: (
        Literal[
            "not_listed", "no_name", "not_public", "port", "server_name", "repository", "push", "credential"
        ]
        | str
    )
    """The environment does not allow the host; an address without a name; a name without a public address; a port that is not of the web; TLS that asks for another host. Of git: a repository that the environment does not name; a push that is not allowed; a credential that the host refused."""
    message: str


class EnvironmentConfigGithubRepo(WireModel):
    owner: str
    repo: str


class EnvironmentConfigLimits(WireModel):
    """What a run may use, up to the maxima that the operator has set."""

    memory_mb: int | None = None
    pids: int | None = None
    cpus: float | None = None
    disk_mb: int | None = None
    """What workspace, home and temporary files may take up together, in MiB; default 10240. A run that takes more is ended."""
    setup_minutes: float | None = None


class EnvironmentConfigProviders(WireModel):
    """Only none here: secrets or variables hold credentials for a cloud."""

    aws: dict[str, str] | None = None
    gcp: dict[str, str] | None = None


class EnvironmentRepository(WireModel):
    url: str | None = None
    """Address of the repository by https. `git@host:owner/repo.git`, `ssh://git@host/owner/repo`, `host/owner/repo`, and `owner/repo` of GitHub mean that address, and it is what is kept."""
    local_path: str | None = None
    """A repository of the worker’s machine, below its RUNYARD_LOCAL_REPOS and outside its data directory."""
    ref: str | None = None
    """Branch, tag, whole ref (`refs/pull/7/head`) or id of a commit, whole or its beginning; default: the default branch."""
    depth: int | None = None
    """Commits of history; default 1, 0 is all."""
    submodules: bool | None = None
    """Of a repository with `url`: whether its submodules are cloned as well; default false. Private ones need to be repositories of the environment."""
    directory: str | None = None
    """Folder below /workspace; default: the name of the repository."""


class EnvironmentRequestGithubRepo(WireModel):
    owner: str
    repo: str


class EnvironmentRequestLimits(WireModel):
    """What a run may use, up to the maxima that the operator has set."""

    memory_mb: int | None = None
    pids: int | None = None
    cpus: float | None = None
    disk_mb: int | None = None
    """What workspace, home and temporary files may take up together, in MiB; default 10240. A run that takes more is ended."""
    setup_minutes: float | None = None


class EnvironmentRequestProviders(WireModel):
    """Only none here: secrets or variables hold credentials for a cloud."""

    aws: dict[str, str] | None = None
    gcp: dict[str, str] | None = None


class EnvironmentRetention(WireModel):
    run_days: int | None = None
    """Days. Runs with all that belongs to them: logs, messages, files."""
    workspace_days: int | None = None
    """Days. Packed workspaces: a follow-up after that begins in a fresh one."""
    artifact_days: int | None = None
    """Days. Files that agents left, and patches. The run stays."""


class EnvironmentScope(WireModel):
    type: Literal["User", "Team"] | str
    uid: str | None = None


ErrorCode = TypeAliasType(
    "ErrorCode",
    Literal[
        "invalid_request",
        "integration_not_configured",
        "authentication_required",
        "external_authentication_required",
        "not_authorized",
        "feature_not_available",
        "budget_exceeded",
        "insufficient_credits",
        "integration_disabled",
        "content_policy_violation",
        "resource_not_found",
        "conflict",
        "operation_not_supported",
        "resource_unavailable",
        "agent_stream_network_error",
        "agent_stream_failure",
        "internal_error",
        "environment_setup_failed",
    ]
    | str,
)
"""Machine-readable kind of problem; stable."""


class ErrorEventData(WireModel):
    error_code: ErrorCode
    message: str
    retryable: bool


class FollowupAcceptedEventData(WireModel):
    followup_id: str
    message: str
    outcome: str
    author: str | None = None
    model_id: str | None = None


class FollowupAttachment(WireModel):
    """A file with `file_name`, `mime_type` and `data`, or one that was prepared and uploaded before, by its `attachment_id`; a `file_name` then replaces the one it was prepared with."""

    attachment_id: str | None = None
    file_name: str | None = None
    """A plain file name, at most 255 bytes of UTF-8."""
    mime_type: str | None = None
    data: str | None = None
    """Base64, at most 10 MB decoded."""


class FollowupDeliveredEventData(WireModel):
    followup_id: str


FollowupOutcome = TypeAliasType(
    "FollowupOutcome", Literal["queued_prompt", "live_session", "handoff_execution", "queue_pending"] | str
)


class ForkOf(WireModel):
    run_id: str
    sequence: int | None = None
    """Of any event of its log: the end of a turn at it or before it counts. Default: its last turn."""
    turn: int | None = None
    """Instead of `sequence`: as it was when the agent had been given so many messages."""


class ForkedFrom(WireModel):
    """The end of the turn of an earlier run that this one began with."""

    run_id: str
    sequence: int
    """The last event of its log that this run begins with."""
    turn: int
    """Messages that its agent had been given by then."""


class GitAccessApp(WireModel):
    """A GitHub App: the value is its private key in PEM."""

    app_id: str
    installation_id: str


GrantedKind = TypeAliasType("GrantedKind", Literal["pool", "environment", "identity", "secret"] | str)
"""What is granted."""


class HandoffAttachment(WireModel):
    attachment_id: str
    filename: str
    mime_type: str
    download_url: str
    """Works without a key until `expires_at`."""
    expires_at: datetime
    """RFC 3339, UTC, milliseconds."""
    size_bytes: int
    sha256: str
    created_at: datetime
    """When the workspace was packed."""
    turn: int
    """Messages that the agent had been given by then, the prompt included."""


class HandoffAttachmentsResponse(WireModel):
    attachments: list[HandoffAttachment]
    """One tar, compressed with zstd, with the folders `workspace` and `home/agent`. None: no execution has ended yet, or nothing was kept of the last one."""


class HarnessConfig(WireModel):
    type: str | None = None
    """`oz` is the built-in loop; `runbook` needs no model and runs the prompt’s shell blocks; `claude`, `codex`, `gemini`, `opencode`, `qwen` and `goose` are agents whose program the sandbox must have; operators add others. One that the installation does not have is refused with 400, and so is a field that the harness cannot honour."""
    model_id: str | None = None
    reasoning_level: str | None = None


class HarnessToolCalls(WireModel):
    byName: dict[str, int]
    total: int
    """The sum of `byName`."""


class HostRepository(WireModel):
    """A repository at a git host."""

    url: str
    """Address by https, as requests take it."""
    name: str
    """Its path, such as `acme/site`."""
    host: str
    is_private: bool
    default_branch: str | None
    secret_name: str
    """Of the secret that reaches it."""


class InferenceProvidersAws(WireModel):
    role_arn: str | None = None
    region: str | None = None
    disabled: bool | None = None


class InferenceUsageCostInCents(WireModel):
    """US cents; 0 where the price of the model is not known."""

    input_cost_in_cents: float
    input_cache_read_cost_in_cents: float
    input_cache_write_cost_in_cents: float
    output_cost_in_cents: float


class InferenceUsageTokenCount(WireModel):
    """Tokens."""

    input: int
    """Without those of the cache."""
    input_cache_read: int
    input_cache_write: int
    output: int


class InterruptResponse(WireModel):
    run_id: str


class InterruptedEventData(WireModel):
    attempt: int
    by: str | None = None


class ListBranchesResponse(WireModel):
    default_branch: str | None
    branches: list[str]
    """100 at most."""
    notes: list[str]
    """What could not be found out, as sentences: a host that does not answer, a token that has ended."""


class ListRepositoriesResponse(WireModel):
    repositories: list[HostRepository]
    has_more: bool
    """Whether more match, or a host has more than were looked at: 300 for each secret."""
    notes: list[str]
    """What could not be found out, as sentences: a host that does not answer, a token that has ended."""


class ListScheduleTimesResponse(WireModel):
    next_runs: list[datetime]
    """The next three times."""


class ListSkillsResponseNotRefreshed(WireModel):
    name: str
    uid: str
    reason: str


class MCPServerConfig(WireModel):
    """A tool server: exactly one of `command` (run in the sandbox) and `url`. Values of `env` and `headers`, and what `url` says of the user, its query and its fragment, are returned as `***`. A name in braces behind a dollar sign, in `args`, `env` and `headers`, is a secret or variable of the environment."""

    command: str | None = None
    args: list[str] | None = None
    env: dict[str, str] | None = None
    url: str | None = None
    headers: dict[str, str] | None = None
    required: bool | None = None
    """The run fails when it cannot be started; else the run goes on without its tools."""
    timeout_seconds: int | None = None
    """How long one call of a tool may take; default 120."""
    warp_id: str | None = None


MergeMethod = TypeAliasType("MergeMethod", Literal["merge", "squash", "rebase"] | str)
"""`merge`: a merge commit. `squash`: one commit. `rebase`: its commits one by one, on GitHub alone; on GitLab the project has a say in all of them."""


class MergePullRequestRequest(WireModel):
    url: str | None = None
    """Which one; needed where the run has opened several."""
    commit: str | None = None
    """What was looked at: nothing else is merged. Default: what the run pushed last."""
    base: str | None = None
    """The branch that it was to be merged into then: it is merged into no other."""


class MessageAssistantEventData(WireModel):
    message_id: str
    text: str


class MessageDelta(WireModel):
    message_id: str
    offset: int
    text: str


class MessageUserEventDataAttachment(WireModel):
    file_name: str
    mime_type: str
    path: str


class ModelPrices(WireModel):
    """US dollars per million tokens."""

    input: float
    output: float
    cached_input: float | None = None
    cache_write: float | None = None


class ModelSwitchedEventData(WireModel):
    """Another model goes on with the run: the next fallback, or the one that a follow-up asked for."""

    from_: Annotated[str, Field(alias="from")]
    """The model so far."""
    to: str
    """The model from here on."""
    reason: Literal["unavailable", "quota", "key_refused", "unknown_model", "refused", "followup"] | str
    """Why: the provider was away until no new try was left; the account has no credit; its key was refused; it does not have the model, or is not set up; it refused the request; a follow-up asked for it."""
    message: str | None = None
    """What went wrong, in the words of a failed run."""


class ModelTokenUsage(WireModel):
    model_id: str
    total_tokens: int
    usage_type: Literal["warp", "byok", "custom_endpoint"] | str
    """Always `warp`, the wire format's word for a model that the service gives access to."""
    tokens_by_category: dict[str, int]


class ModelToldEventData(WireModel):
    """The last answer of the model could not be used as it was, and none of its calls was made."""

    reason: Literal["cut", "call_as_text", "call_unreadable"] | str
    """The answer was cut at the limit of output tokens; it had a call of a tool as text; the provider could not read a call that the model began."""
    text: str
    """The text that the model was told; its next answer follows it."""


class PageInfo(WireModel):
    has_next_page: bool
    next_cursor: str | None = None


class PendingApproval(WireModel):
    approval_id: str
    tool_call_id: str
    tool: str
    title: str | None = None
    """What it is going to do, in a short line."""


class PermissionRule(WireModel):
    tool: str
    """Name of a tool, `*` in it for any text: `bash`, `edit`, `files_*`. Those of agents go by their own name and by the one that this service has for what they do."""
    pattern: str | None = None
    """What the call is about, `*` in it for any text: the command, the path (absolute, or below the working directory), the address; of other tools the input as JSON. Absent: every call."""
    action: Literal["allow", "ask", "deny"] | str
    """`ask`: the run is BLOCKED until somebody answers. `deny`: the call is not made, and the agent is told so."""


class Pool(WireModel):
    """Workers that take the same runs."""

    name: str
    """What `config.worker_host` of a run says."""
    is_default: bool
    """Of runs whose configuration names none."""
    restricted: bool
    """Only those who have a grant, and admins, may use it."""
    workers: int
    """Those that are alive."""
    workers_ready: int
    """Those of them that take runs: neither stopping nor short of disk space."""
    slots: int
    """Runs that the ready ones may hold at once."""
    slots_busy: int
    """Runs that workers of the pool hold."""
    queued_runs: int
    """Runs that wait for a worker of it, whoever’s they are."""


class PrepareAttachmentsRequestAttachment(WireModel):
    file_name: str
    """A plain file name, at most 255 bytes of UTF-8."""
    mime_type: str


class PreparedUpload(WireModel):
    attachment_id: str
    file_name: str
    mime_type: str
    upload_url: str
    """Takes the file by `PUT`, as it is, up to 10 MiB, without a key until `upload_expires_at`. The last upload counts."""
    upload_expires_at: datetime
    """RFC 3339, UTC, milliseconds."""
    expires_at: datetime
    """A follow-up must name the attachment before this."""


class Principal(WireModel):
    """A person. Identities have a list of their own."""

    uid: str
    display_name: str
    disabled: bool
    """Nothing is done as this person: no key works."""
    keys: int
    """Keys that are neither revoked nor expired. Those of a disabled person work again once the person is enabled."""
    role: Literal["admin", "member", "viewer"] | str | None = None
    """The highest of these keys; absent without one."""
    last_used_at: datetime | None = None
    """When one of the keys was used last, revoked ones included; to the minute."""
    created_at: datetime
    """RFC 3339, UTC, milliseconds."""


class ProblemDetails(WireModel):
    type: str
    """Address of the page about this kind of error."""
    title: str
    status: int
    error: str
    """`title (detail)`, for people."""
    detail: str | None = None
    instance: str | None = None
    """The path that was asked for."""
    retryable: bool
    """Whether the same request can succeed later."""
    trace_id: str
    """The request id; also in `X-Request-Id` and the service log."""
    error_code: ErrorCode
    provider: str | None = None
    auth_url: str | None = None


class PullRequestItem(WireModel):
    url: str
    """Its page."""
    repository: str
    """Host and path, such as `github.com/acme/shop`."""
    number: int
    branch: str
    commit: str
    """What the run pushed last."""
    state: Literal["open", "merged", "closed", "unknown"] | str
    """`unknown`: the host could not be asked; `note` says why."""
    title: str | None = None
    base: str | None = None
    """The branch that it is to be merged into."""
    is_draft: bool | None = None
    head_commit: str | None = None
    """What would be merged: another than `commit` where somebody else has pushed to it since."""
    mergeable: bool | None = None
    """Of an open one. `null`: the host is finding out."""
    note: str | None = None
    """What stands in the way, or is worth knowing."""
    merged_at: datetime | None = None
    """RFC 3339, UTC, milliseconds."""
    merge_method: MergeMethod | None = None


PullRequestStatus = TypeAliasType(
    "PullRequestStatus", Literal["open", "draft", "merged", "closed", "unknown"] | str
)
"""As its host last said: when the run opened it, by a trigger, or to `GET /agent/runs/{run_id}/pull-requests`, which asks again. `unknown`: it never did."""


class PutGrantsRequest(WireModel):
    resource_type: GrantedKind
    resource_id: str
    """Name of the pool, id or name of the environment, id of the identity, or name of the team’s secret."""
    principal_ids: list[str]
    """Who may use it, besides admins. None: whoever may without grants."""


class QueuedPool(WireModel):
    """A pool that runs wait for."""

    name: str
    queued_runs: int
    """Runs of all callers, counted up to 10,000."""
    oldest_since: datetime
    """Since when the one has waited that has waited longest."""
    workers_ready: int
    """Workers of the pool that take runs."""
    slots: int
    """Runs that the ready ones may hold at once."""
    slots_free: int


class ReasoningEventData(WireModel):
    message_id: str
    text: str
    provider_metadata: dict[str, Any] | None = None
    """What the provider needs to be given back, such as a signature."""


class ReferenceReportedEventData(WireModel):
    """The agent named something that lies elsewhere; again where it says another thing of it."""

    artifact_uid: str
    reference_type: str
    """As in `TICKET` and `DEPLOYMENT`."""
    url: str
    title: str | None = None


class RegistryAccess(WireModel):
    """Makes a secret the password of a registry of container images."""

    host: str
    """As names of images begin: `ghcr.io`, `registry.internal:5000`; `docker.io` for those without a host."""
    username: str
    """Whose password it is."""


class ResolvedRunSkill(WireModel):
    """The skill that was read, and the commit that it was read of."""

    id: str
    name: str
    description: str
    commit: str


class RetryingEventData(WireModel):
    """The model provider failed in a way that may pass; the step is going to be asked for again."""

    error_code: ErrorCode
    message: str
    """What went wrong."""
    retry: int
    """Which one: from 1."""
    delay_ms: int
    """How long is waited before it; 0 where an agent asks again by itself."""


class RotateApiKeyRequest(WireModel):
    grace_minutes: int | None = None
    """How long the old key still works: 0 to 43200 (30 days). Default 5, so that a lost answer can be asked for again."""


class RunCreatorInfo(WireModel):
    uid: str
    type: Literal["user", "service_account"] | str
    display_name: str | None = None
    email: str | None = None
    photo_url: str | None = None


class RunFollowupRequest(WireModel):
    message: str | None = None
    mode: Literal["normal", "plan", "orchestrate"] | str | None = None
    on_busy: Literal["enqueue", "interrupt", "reject"] | str | None = None
    """What to do when the agent works: wait for its next step (default), stop its turn first, or refuse with 409."""
    attachments: list[FollowupAttachment] | None = None
    """At most 25: files in the message, at most 5, and prepared ones by their ids."""
    model_id: str | None = None
    """The model that answers from this message on, as `config.model_id`. Of the built-in agent alone: another one keeps its model, and this is a 400."""
    budget: BudgetLimits | None = None


class RunFollowupResponse(WireModel):
    followup_id: str
    outcome: FollowupOutcome


class RunItemAgentSkill(WireModel):
    name: str | None = None
    full_path: str | None = None
    description: str | None = None
    commit: str | None = None
    """What it was read of."""
    bundled_skill_id: str | None = None


class RunItemScope(WireModel):
    type: Literal["User", "Team"] | str
    uid: str | None = None


class RunReference(WireModel):
    run_id: str


class RunSchedule(WireModel):
    """The schedule that created the run, as it was then; it may be deleted since."""

    schedule_id: str
    schedule_name: str
    cron_schedule: str


RunSourceType = TypeAliasType(
    "RunSourceType",
    Literal[
        "LINEAR",
        "API",
        "MCP",
        "SLACK",
        "TEAMS",
        "LOCAL",
        "SCHEDULED_AGENT",
        "WEB_APP",
        "GITHUB_ACTION",
        "CLOUD_MODE",
        "CLI",
        "JIRA",
        "SELF_IMPROVEMENT",
        "GITHUB_WEBHOOK",
        "GITLAB_WEBHOOK",
        "AZURE_DEVOPS_WEBHOOK",
        "AUTOFIX",
        "RUN_SCORER",
        "ORCHESTRATION",
        "BENCHMARK_TRIAL",
        "CREATE_BENCHMARK_TASK",
        "CUSTOM_WEBHOOK",
    ]
    | str,
)
"""Where a run came from. Filters take every source of the wire format, also those that give no run here."""


RunState = TypeAliasType(
    "RunState",
    Literal[
        "QUEUED", "PENDING", "CLAIMED", "INPROGRESS", "SUCCEEDED", "FAILED", "ERROR", "BLOCKED", "CANCELLED"
    ]
    | str,
)
"""QUEUED: waiting for a worker. CLAIMED: a worker prepares the sandbox. INPROGRESS: the agent works. BLOCKED: waits for a person. SUCCEEDED, FAILED (the caller can fix it), ERROR (ours), CANCELLED: ended. PENDING is accepted in filters and never entered."""


class RunTrigger(WireModel):
    """The trigger that created the run, and the delivery that did so; they may be gone since."""

    trigger_id: str
    delivery_id: str


ScheduleCatchUp = TypeAliasType("ScheduleCatchUp", Literal["latest", "skip"] | str)
"""What happens after the service was down at due times: one run for all of them (`latest`), or none (`skip`)."""


class ScheduleFiring(WireModel):
    due_at: datetime
    """The time that the cron expression names; with `asked_by`, when it was asked for."""
    fired_at: datetime
    """RFC 3339, UTC, milliseconds."""
    outcome: Literal["created", "skipped", "failed"] | str
    run_id: str | None = None
    reason: str | None = None
    """Why there is no run, or why one came late."""
    asked_by: RunCreatorInfo | None = None


ScheduleOverlap = TypeAliasType("ScheduleOverlap", Literal["skip", "allow", "cancel"] | str)
"""What happens at a due time while an earlier run of the schedule is QUEUED, CLAIMED or INPROGRESS: nothing (`skip`), one more run (`allow`), or one more run after the earlier one is cancelled (`cancel`)."""


class ScheduledAgentItemHistory(WireModel):
    last_ran: datetime | None
    """RFC 3339, UTC, milliseconds."""
    next_run: datetime | None
    """RFC 3339, UTC, milliseconds."""


class ScheduledAgentItemScope(WireModel):
    type: Literal["User", "Team"] | str
    uid: str | None = None


class SecretRef(WireModel):
    name: str
    """Of the secret."""


class SecretScope(WireModel):
    type: Literal["User", "Team"] | str
    uid: str | None = None
    """Whose it is, where it is personal."""


class SessionRedirect(WireModel):
    conversation_id: str | None = None
    """To be read instead: the session is over. Absent while it lasts, and where there is none."""


class SessionSharing(WireModel):
    public_access: Literal["NONE", "VIEWER"] | str | None = None
    """`VIEWER`: who has the `session_link` of the run sees it without a key, for as long as the link holds. Default `NONE`."""


class Setting(WireModel):
    """A setting of the process that answers."""

    name: str
    """Of the environment variable."""
    value: str | None
    """`null` where it is not set, and of secrets. Addresses are without user, password and query."""
    is_set: bool
    is_secret: bool
    """Its value is never shown."""
    source: Literal["default", "environment", "flag"] | str
    """Where the value comes from."""
    default: str
    """What counts where it is not set, in words."""
    meaning: str
    """What it does."""


class SetupEventDataWorkspace(WireModel):
    """Of a `restore` that does not go on in the workspace as it was left."""

    kept_at: datetime | None = None
    """When the snapshot was taken; absent: the workspace is a fresh one."""
    turn: int | None = None
    """Messages that the agent had been given by then, the prompt included."""
    calls_after: int
    """Tool calls whose changes of files are lost, or not there as a whole."""
    note: str
    """What the agent is told."""


class SetupOutputEventData(WireModel):
    """What the step of the setup that began last prints, while it prints."""

    stream: Literal["stdout", "stderr"] | str
    text: str
    after_gap: Literal[True] | None = None
    """Behind what was printed in between and is not kept: the middle of a long output."""


class ShareLink(WireModel):
    """A link to a run for people without a key, without its address."""

    share_link_id: str
    run_id: str
    name: str | None = None
    created_at: datetime
    """RFC 3339, UTC, milliseconds."""
    created_by: RunCreatorInfo
    expires_at: datetime | None = None
    """RFC 3339, UTC, milliseconds."""
    last_used_at: datetime | None = None
    """When somebody last opened the run with it."""


class SignInLink(WireModel):
    url: str
    """Opens the page, signed in. It works once."""
    expires_at: datetime
    """In 60 seconds; for another person in 24 hours."""


TaskStatus = TypeAliasType(
    "TaskStatus", Literal["running", "failed", "blocked", "cancelled", "complete"] | str
)
"""`running`: the run, or a run below it, is queued or at work. The others are about the run itself: `failed` (FAILED or ERROR), `blocked`, `cancelled`, `complete` (SUCCEEDED)."""


TimelineEventType = TypeAliasType(
    "TimelineEventType",
    Literal[
        "oz_run_created",
        "oz_run_claimed",
        "worker_container_ready",
        "shared_session_started",
        "agent_started",
        "oz_run_done",
        "oz_run_blocked",
        "oz_run_cancelled",
        "oz_run_failed",
        "oz_run_errored",
        "vm_shutdown",
    ]
    | str,
)
"""`oz_run_created`: the run was stored. `oz_run_claimed`: a worker took it. `worker_container_ready`: its sandbox stands. `shared_session_started`: people can follow what happens in it. `agent_started`: the setup is done and the agent works. `oz_run_done`, `oz_run_blocked`, `oz_run_cancelled`, `oz_run_failed`, `oz_run_errored`: its state changed to SUCCEEDED, BLOCKED, CANCELLED, FAILED or ERROR. `vm_shutdown`: the worker stopped everything in the sandbox."""


class ToolCallEventData(WireModel):
    tool_call_id: str
    name: str
    input: dict[str, Any]
    title: str | None = None
    """A short line for people."""
    masked: Literal[True] | None = None
    """The name or the input held values that stand here as `***`: this is not what was called."""
    provider_metadata: dict[str, Any] | None = None


class ToolOutputEventData(WireModel):
    tool_call_id: str
    stream: Literal["stdout", "stderr"] | str
    text: str
    after_gap: Literal[True] | None = None
    """What was printed before this is left out: it was too much."""


class ToolResultEventData(WireModel):
    tool_call_id: str
    is_error: bool
    output: str | None = None
    """What the agent was told, where it is not the output itself."""
    exit_code: int | None = None
    duration_ms: int | None = None
    truncated_bytes: int | None = None


class TriedDelivery(WireModel):
    delivery_id: str
    received_at: datetime
    """RFC 3339, UTC, milliseconds."""
    event: str | None
    passes: bool | None
    """Whether it would start a run or a follow-up; null: its body is not kept any more, so nobody can tell."""
    reason: str | None = None
    """Why it would be left out, or why nobody can tell."""


class TriggerDeliveryReply(WireModel):
    """Of a trigger that answers: what became of that."""

    status: Literal["pending", "posted", "failed"] | str
    """`pending`: the run goes on, or GitHub is tried again. `posted`: the answer stands there. `failed`: it was given up."""
    url: str | None = None
    """Of the comment, for people."""
    error: str | None = None
    """What went wrong last."""


TriggerOnOpenRun = TypeAliasType("TriggerOnOpenRun", Literal["followup", "new_run"] | str)
"""What happens when the payload is about a pull request that a run has opened: that run gets the prompt as a follow-up, or there is a new run."""


TriggerOutcome = TypeAliasType(
    "TriggerOutcome", Literal["run_started", "followup_sent", "filtered", "failed", "waiting"] | str
)
"""What a delivery did: a new run, a follow-up to the run that opened its pull request, nothing because it was filtered out, or nothing because it was refused. `waiting`: it was refused for now (a quota is full, say), and the service tries it again for 24 hours."""


class TriggerReply(WireModel):
    """The run answers in the issue, pull request or thread of a review that it came from. For `github` alone."""

    secret: str
    """A secret with `git` for a host that speaks GitHub’s API, and not read-only. It never enters a sandbox."""
    when: Literal["start_and_end", "end"] | str | None = None
    """Default `start_and_end`: a comment when the run starts, which becomes the answer when it ends. `end`: the answer alone."""


class TriggerScope(WireModel):
    type: Literal["User", "Team"] | str
    uid: str | None = None


TriggerVerification = TypeAliasType(
    "TriggerVerification", Literal["standard_webhooks", "github", "gitlab", "slack", "linear"] | str
)
"""How a sender proves itself: `standard_webhooks` (`webhook-signature`), `github` (`X-Hub-Signature-256`), `gitlab` (`X-Gitlab-Token`), `slack` (`X-Slack-Signature`) or `linear` (`Linear-Signature`)."""


class TriggerWithSecretLastDelivery(WireModel):
    """The newest that came to it, of the last 30 days."""

    received_at: datetime
    """RFC 3339, UTC, milliseconds."""
    outcome: TriggerOutcome
    run_id: str | None = None


class TriggerWithSecretScope(WireModel):
    type: Literal["User", "Team"] | str
    uid: str | None = None


class TryTriggerRequest(WireModel):
    filter: str | None = None
    """To be tried in place of the one it has; empty: none. Default: the one it has."""


class TryTriggerResponse(WireModel):
    deliveries: list[TriedDelivery]


class UnknownArtifactItem(WireModel):
    """What a newer service sends and this version does not know, as it came."""

    artifact_type: str
    created_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: dict[str, Any]


class UnknownConversationBlock(WireModel):
    """What a newer service sends and this version does not know, as it came."""

    type: str


class UnknownEvent(WireModel):
    """What a newer service sends and this version does not know, as it came."""

    sequence: int
    """Place in the log: from 1, without gaps."""
    run_id: str
    type: str
    occurred_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: dict[str, Any]


class UnknownHarnessUsage(WireModel):
    """What a newer service sends and this version does not know, as it came."""

    harness: str
    capturedAt: datetime
    """When the run used something last."""
    captureSequence: int
    """The place of that event in the log."""
    executionId: int
    """The execution that used it. The counts are of all executions."""
    metricsVersion: Literal[1]
    snapshot: dict[str, Any]


class UpdateAgentIdentityRequestMemoryAutoMemory(WireModel):
    enabled: bool | None = None


class UpdateAgentIdentityRequestSecret(WireModel):
    name: str


class UpdateRunRequest(WireModel):
    title: str


UsageCoverage = TypeAliasType("UsageCoverage", Literal["known", "partial", "unavailable"] | str)
"""`partial`: some answers of models did not say it all. `unavailable`: nothing is known."""


class UsageDay(WireModel):
    """Of the runs created on a day."""

    date: str
    """In `time_zone`."""
    runs: int
    succeeded: int
    failed: int
    errors: int
    """Ended ERROR: the service’s fault, or a provider’s."""
    cancelled: int
    total_tokens: int
    cache_read_tokens: int
    """Of them, those that providers read from their caches."""
    cache_write_tokens: int
    """Of them, those that providers wrote into their caches."""
    cost_usd: float


class UsageEventDataInferenceCostPartsUsd(WireModel):
    """What the cost is made of; `input` is that of tokens beside the cache."""

    input: float
    output: float
    cache_read: float
    cache_write: float


class UsageFigures(WireModel):
    """Of runs, as they are now."""

    runs: int
    succeeded: int
    failed: int
    errors: int
    """Ended ERROR: the service’s fault, or a provider’s."""
    cancelled: int
    total_tokens: int
    cache_read_tokens: int
    """Of them, those that providers read from their caches."""
    cache_write_tokens: int
    """Of them, those that providers wrote into their caches."""
    cost_usd: float
    blocked: int
    """Wait for a person."""
    open: int
    """Queued or worked on."""
    run_seconds_p50: float | None
    """How long the median run was worked on, of those that have ended; null: none has."""
    run_seconds_p95: float | None


class UsageOfAgent(WireModel):
    agent: str
    """The harness; `oz` is the built-in one."""
    runs: int
    succeeded: int
    failed: int
    errors: int
    """Ended ERROR: the service’s fault, or a provider’s."""
    cancelled: int
    total_tokens: int
    cache_read_tokens: int
    """Of them, those that providers read from their caches."""
    cache_write_tokens: int
    """Of them, those that providers wrote into their caches."""
    cost_usd: float
    blocked: int
    """Wait for a person."""
    open: int
    """Queued or worked on."""
    run_seconds_p50: float | None
    """How long the median run was worked on, of those that have ended; null: none has."""
    run_seconds_p95: float | None


class UsageOfEnvironment(WireModel):
    environment_id: str | None
    """null: runs without one."""
    name: str | None = None
    """Absent where it was deleted."""
    runs: int
    succeeded: int
    failed: int
    errors: int
    """Ended ERROR: the service’s fault, or a provider’s."""
    cancelled: int
    total_tokens: int
    cache_read_tokens: int
    """Of them, those that providers read from their caches."""
    cache_write_tokens: int
    """Of them, those that providers wrote into their caches."""
    cost_usd: float
    blocked: int
    """Wait for a person."""
    open: int
    """Queued or worked on."""
    run_seconds_p50: float | None
    """How long the median run was worked on, of those that have ended; null: none has."""
    run_seconds_p95: float | None


class UsageOfModel(WireModel):
    model_id: str | None
    """null: no model was asked."""
    runs: int
    succeeded: int
    failed: int
    errors: int
    """Ended ERROR: the service’s fault, or a provider’s."""
    cancelled: int
    total_tokens: int
    cache_read_tokens: int
    """Of them, those that providers read from their caches."""
    cache_write_tokens: int
    """Of them, those that providers wrote into their caches."""
    cost_usd: float
    blocked: int
    """Wait for a person."""
    open: int
    """Queued or worked on."""
    run_seconds_p50: float | None
    """How long the median run was worked on, of those that have ended; null: none has."""
    run_seconds_p95: float | None


class WaitingRun(WireModel):
    """Why a queued run has not started, as of now."""

    reason: (
        Literal[
            "no_worker",
            "workers_not_ready",
            "principal_limit",
            "principal_disabled",
            "agent_busy",
            "pool_busy",
            "starting",
        ]
        | str
    )
    """`no_worker`: none serves its pool. `workers_not_ready`: those of its pool stop, or lack disk space. `principal_limit`: who executes it has as many runs at work as they may. `principal_disabled`: they may execute none. `agent_busy`, `pool_busy`: all slots of workers that have its agent, or of its pool, are taken. `starting`: a worker takes it in a moment."""
    message: str
    """The same as a sentence, with what to do."""
    pool: str
    ahead: int
    """Older runs that wait in the pool, 100 at most. Which is next depends on priorities and fair shares too."""


WaitsFor = TypeAliasType("WaitsFor", Literal["answer", "approval", "budget", "message"] | str)
"""Of a BLOCKED run. `answer`: the agent has asked something. `approval`: a call is to be allowed or denied. `budget`: its budget is spent. `message`: it was interrupted, and nothing was asked; it goes on with the next message."""


WebhookDeliveryStatus = TypeAliasType(
    "WebhookDeliveryStatus", Literal["pending", "delivered", "failed"] | str
)
"""`pending`: it waits, or is tried again. `failed`: given up."""


class WebhookEventDataChanges(WireModel):
    """Once the run has stopped: what it has changed, in files and lines."""

    files_changed: int
    additions: int
    deletions: int


class WebhookEventDataPullRequest(WireModel):
    url: str
    number: int
    repository: str


WebhookEventType = TypeAliasType(
    "WebhookEventType",
    Literal[
        "run.created",
        "run.started",
        "run.blocked",
        "run.succeeded",
        "run.failed",
        "run.errored",
        "run.cancelled",
    ]
    | str,
)


WebhookFormat = TypeAliasType("WebhookFormat", Literal["runyard", "slack", "discord", "teams", "email"] | str)
"""`runyard`: the event itself. `slack`, `discord`, `teams`: a message, as incoming webhooks of these chats take it. `email`: a letter, for `mailto:` addresses."""


class WebhookScope(WireModel):
    type: Literal["User", "Team"] | str
    uid: str | None = None


class WebhookWithSecretScope(WireModel):
    type: Literal["User", "Team"] | str
    uid: str | None = None


class WorkspaceFileItem(WireModel):
    path: str
    """Below /workspace."""
    name: str
    type: Literal["file", "folder", "link", "other"] | str
    """`other`: a pipe."""
    mode: str
    """Permissions in octal, such as `644`."""
    size_bytes: int | None = None
    """Of a file."""
    target: str | None = None
    """Of a link: where it leads, as it says. Links are never followed."""


class WorkspaceFileResponse(WireModel):
    run_id: str
    turn: int
    """The turn that left it: messages that the agent had been given by then."""
    path: str
    """Below /workspace."""
    name: str
    type: Literal["file"]
    mode: str
    """Permissions in octal, such as `644`."""
    size_bytes: int
    target: str | None = None
    """Of a link: where it leads, as it says. Links are never followed."""
    download_url: str
    """Its bytes. Works without a key until `expires_at`."""
    expires_at: datetime
    """RFC 3339, UTC, milliseconds."""


class AgentIdentityMemory(WireModel):
    """Always off."""

    attached_stores: list[Any]
    auto_memory: AgentIdentityMemoryAutoMemory


class AgentSkillVariant(WireModel):
    id: str
    """`owner/repo:path/SKILL.md`: what `skill` of a run takes."""
    base_prompt: str
    """The text of the skill, up to 8,192 characters; a run has all of it."""
    description: str
    environments: list[AgentSkillVariantEnvironment]
    source: AgentSkillVariantSource
    last_run_timestamp: datetime | None = None
    """RFC 3339, UTC, milliseconds."""
    error: str | None = None
    """Why it cannot be used."""


class AnswerApprovalRequest(WireModel):
    decision: ApprovalDecision
    reason: str | None = None
    """For the agent, why it was denied."""


class AnswerApprovalResponse(WireModel):
    run_id: str
    approval_id: str
    decision: ApprovalDecision
    sequence: int
    """Of the answer in the log: what comes of it follows."""


class ApiKey(WireModel):
    """A key, without its text."""

    key_id: str
    name: str
    role: Literal["admin", "member", "viewer"] | str
    pool: str | None = None
    """It is a pool key: workers may claim runs of this pool with it, and it opens nothing else."""
    masked: str
    """Its first and last characters."""
    principal: RunCreatorInfo
    active: bool
    """It works now."""
    created_at: datetime
    """RFC 3339, UTC, milliseconds."""
    expires_at: datetime | None = None
    """RFC 3339, UTC, milliseconds."""
    replaces: str | None = None
    """Id of the key in whose place it was made."""
    grace_until: datetime | None = None
    """Another was made in its place, and it works until then."""
    last_used_at: datetime | None = None
    """To the minute."""
    revoked_at: datetime | None = None
    """RFC 3339, UTC, milliseconds."""


class ApprovalAnsweredEventData(WireModel):
    approval_id: str
    decision: ApprovalDecision
    reason: str | None = None
    author: str


class ApprovalRequestedEventData(WireModel):
    """A call waits for a person. It was not begun."""

    approval_id: str
    tool_call_id: str
    tool: str
    title: str | None = None
    """What it is going to do, in a short line."""
    input: dict[str, Any] | None = None
    """Of the call, where its `tool.call` did not have it yet."""
    rule: PermissionRule


class ArtifactCreatedEventData(WireModel):
    artifact_uid: str
    artifact_type: str
    filename: str
    filepath: str
    mime_type: str
    size_bytes: int
    title: str | None = None
    """What the agent says of it, or of its plan."""
    description: str | None = None
    diff: ArtifactCreatedEventDataDiff | None = None


class ArtifactItemExternalReference(WireModel):
    artifact_type: Literal["EXTERNAL_REFERENCE"]
    created_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: ArtifactItemExternalReferenceData


class ArtifactItemFileData(WireModel):
    artifact_uid: str
    filename: str
    filepath: str
    mime_type: str
    size_bytes: int
    title: str | None = None
    description: str | None = None
    diff: ArtifactItemFileDataDiff | None = None


class ArtifactItemPlan(WireModel):
    artifact_type: Literal["PLAN"]
    """The plan of the agent, in Markdown; the newest."""
    created_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: ArtifactItemPlanData


class ArtifactItemPullRequestData(WireModel):
    branch: str
    url: str
    status: PullRequestStatus


class ArtifactItemScreenshot(WireModel):
    artifact_type: Literal["SCREENSHOT"]
    created_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: ArtifactItemScreenshotData


class ArtifactResponse(WireModel):
    artifact_uid: str
    artifact_type: Literal["FILE", "SCREENSHOT", "PLAN"] | str
    created_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: ArtifactResponseData
    source_links: ArtifactResponseSourceLinks | None = None


class AttemptLostEvent(WireModel):
    sequence: int
    """Place in the log: from 1, without gaps."""
    run_id: str
    type: Literal["attempt.lost"]
    occurred_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: AttemptLostEventData


class AttemptStartedEvent(WireModel):
    sequence: int
    """Place in the log: from 1, without gaps."""
    run_id: str
    type: Literal["attempt.started"]
    occurred_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: AttemptStartedEventData


class ChangesPushedEventData(WireModel):
    """A branch was pushed, and a pull request opened or updated by it."""

    directory: str
    """Of the repository, below /workspace."""
    repository: str
    """As in `github.com/acme/site`."""
    branch: str
    commit: str
    url: str
    """For people: the pull request, or else the branch."""
    pull_request: ChangesPushedEventDataPullRequest | None = None
    is_linked: Literal[True] | None = None
    """Nothing was pushed or opened: another run's open pull request has exactly these files. Branch and commit are its own."""


class ClaudeHarnessUsageSnapshotCoverage(WireModel):
    tokenStatus: UsageCoverage
    toolStatus: UsageCoverage


class ClaudeHarnessUsageSnapshotPayloadAttribution(WireModel):
    model: str
    usage: ClaudeTokens


class CodexHarnessUsageSnapshotCoverage(WireModel):
    tokenStatus: UsageCoverage
    toolStatus: UsageCoverage


class CodexHarnessUsageSnapshotPayloadAttribution(WireModel):
    model: str
    usage: CodexTokens


class ContextCompactedEvent(WireModel):
    sequence: int
    """Place in the log: from 1, without gaps."""
    run_id: str
    type: Literal["context.compacted"]
    occurred_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: ContextCompactedEventData


class ConversationActionResultBlock(WireModel):
    type: Literal["action_result"]
    action_id: str
    category: ActionCategory
    name: str
    state: Literal["running", "completed", "failed", "denied"] | str
    """`denied`: the action was not carried out, because a person or a rule did not allow it."""
    output: ConversationActionResultBlockOutput


ConversationBlock = TypeAliasType(
    "ConversationBlock",
    Annotated[
        ConversationTextBlock
        | ConversationActionBlock
        | ConversationActionResultBlock
        | ConversationEventBlock
        | UnknownConversationBlock,
        Field(union_mode="left_to_right"),
    ],
)


class ConversationFollowupResponse(WireModel):
    followup_id: str
    outcome: FollowupOutcome
    run_id: str
    """The run that got the message."""


class ConversationMessage(WireModel):
    role: Literal["user", "assistant", "tool", "system"] | str
    content: list[ConversationBlock]
    message_ids: list[str]
    """The messages and tool calls in the log that it comes from; of others the run and sequence."""
    run_id: str
    timestamp: datetime
    """RFC 3339, UTC, milliseconds."""


class ConversationStepRun(WireModel):
    run_id: str
    parent_run_id: str
    conversation_id: str
    state: RunState
    page_info: PageInfo


class CreateAgentIdentityRequestMemory(WireModel):
    attached_stores: list[Any] | None = None
    auto_memory: Annotated[
        CreateAgentIdentityRequestMemoryAutoMemory | None, Field(union_mode="left_to_right")
    ] = None


class CreateWebhookRequest(WireModel):
    url: str
    """Where events are sent: https. Plain http, and hosts without a public address, only where the operator names the host in RUNYARD_PRIVATE_HOSTS. With `mailto:`, an e-mail address of a domain that the operator names (RUNYARD_MAIL_DOMAINS). An address to which nothing would ever be sent is a 400, unless the webhook is disabled."""
    events: list[WebhookEventType] | None = None
    """Default: all; for messages to people `run.blocked` and the four that tell of an end."""
    format: WebhookFormat | None = None
    description: str | None = None
    enabled: bool | None = None
    """Default true."""
    team: bool | None = None
    """Default true: runs of the team. False: a personal one, of your own runs, personal ones too."""


class DeleteRunsRequest(WireModel):
    """The filters of `GET /agent/runs`. They combine with AND, and one at least is needed."""

    state: list[RunState] | None = None
    name: str | None = None
    model_id: str | None = None
    creator: str | None = None
    """Id, or `me` for who asks."""
    executor: str | None = None
    """Id, or `me` for who asks."""
    source: list[RunSourceType] | None = None
    task_status: list[TaskStatus] | None = None
    execution_location: Literal["LOCAL", "REMOTE"] | str | None = None
    needs_attention: bool | None = None
    archived: Literal["true", "false", "all"] | str | None = None
    """Default `all`, where the list has `false`."""
    created_after: datetime | None = None
    created_before: datetime | None = None
    updated_after: datetime | None = None
    environment_id: str | None = None
    """Id, of a deleted environment too, or name; `empty-environment` for runs without any."""
    skill: str | None = None
    skill_spec: str | None = None
    schedule_id: str | None = None
    """Of a deleted schedule, too."""
    trigger_id: str | None = None
    """Of a deleted trigger, too."""
    automation_id: str | None = None
    """Runs that were created with `automation_id` in their metadata."""
    factory_uid: list[str] | None = None
    factory_only: bool | None = None
    run_id_prefix: str | None = None
    """The beginning of the id: a shortened id is the only one of two asked for."""
    run_id_suffix: str | None = None
    """The end of the id, 6 characters or more: what people are shown of it."""
    ancestor_run_id: str | None = None
    artifact_type: (
        Literal["PLAN", "PULL_REQUEST", "SCREENSHOT", "FILE", "DIFF", "EXTERNAL_REFERENCE"] | str | None
    ) = None
    """`DIFF`: runs that changed something, which have a `FILE` with `diff`."""
    reference_url: str | None = None
    """Runs that produced this address: a pull request that they opened, a branch that they pushed, or what they reported. Case of the host, default port, fragment and a slash at the end do not matter."""
    metadata: dict[str, str] | None = None
    """`metadata[key]=value`, at most 5."""
    q: str | None = None
    """A whole run id, or the address of a run, finds that run. Any text finds runs that have it in the title, in the first 2,048 characters of the prompt, or in the skill."""
    all: bool | None = None
    """That there is no filter on purpose: every run that the caller may see and delete."""
    cancel: bool | None = None
    """Whether runs that have not ended are cancelled first, with all below them. Without it they stay, and `open` counts them."""
    dry_run: bool | None = None
    """Only count: nothing is cancelled or deleted."""


class EgressRefusedEvent(WireModel):
    sequence: int
    """Place in the log: from 1, without gaps."""
    run_id: str
    type: Literal["egress.refused"]
    occurred_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: EgressRefusedEventData


class EnvironmentConfig(WireModel):
    name: str
    """Trimmed; unique, and no id: environments are addressed by name or id. Compared exactly, case included."""
    description: str | None = None
    docker_image: str | None = None
    """The operator says which may run: RUNYARD_IMAGES. Only Docker uses it."""
    github_repos: list[EnvironmentConfigGithubRepo] | None = None
    repositories: list[EnvironmentRepository] | None = None
    setup_commands: list[str] | None = None
    """Run in order before the agent starts, each by a shell of its own (`bash` with `pipefail` where there is one), where the agent starts: in the repository’s folder if there is one repository, else in `/workspace`."""
    variables: dict[str, str] | None = None
    """At most 1,000, each of 64 KiB, 1 MiB together. Values are returned as `***`; in an update that keeps the value."""
    secrets: list[SecretRef] | None = None
    """Secrets of the team, or of your own. Those with `git` give access to repositories and stay outside of the sandbox; all others are variables of the same name. In a personal run a personal secret comes before the team’s."""
    permissions: list[PermissionRule] | None = None
    """Rules for every run of the environment, as in the configuration of a run; the stricter of both decides."""
    on_success: Literal["nothing", "branch", "pull_request"] | str | None = None
    """What becomes of the changes when a run succeeds: what is not committed is committed, pushed as the branch `runyard/<run id>`, and a pull request is opened, once for all follow-ups. Default `nothing`. Needs a secret with `git` for each repository."""
    merge_method: MergeMethod | None = None
    push_branches: list[str] | None = None
    """Branches that runs may push beside `runyard/<run id>`, such as `docs` or `release/*`."""
    egress: Literal["none", "allowlist", "open"] | str | None = None
    """What the network lets out: nothing, HTTP and HTTPS to allowed hosts by a proxy, or everything that the machine reaches. The operator says how much may be asked for: RUNYARD_EGRESS. Default: `allowlist` where the sandbox has it, else `open` with https repositories and `none` without."""
    allowed_hosts: list[str] | None = None
    """With `allowlist`: hosts besides those of the repositories, such as `api.example.com`, or `*.example.com` for all below it. Ports 80 and 443, or another as in `example.com:8443`."""
    package_registries: bool | None = None
    """With `allowlist`: whether the usual package registries are allowed; default true."""
    models: bool | None = None
    """Commands may call the models of the installation by the gateway, with the budget of the run; default false. They have addresses and a token as `OPENAI_BASE_URL`, `OPENAI_API_KEY`, `ANTHROPIC_BASE_URL`, `ANTHROPIC_API_KEY`, `GOOGLE_GEMINI_BASE_URL` and `GEMINI_API_KEY`, but for providers of which the environment sets one of these itself. No key enters the sandbox."""
    limits: EnvironmentConfigLimits | None = None
    providers: EnvironmentConfigProviders | None = None
    reuse_setup: bool | None = None
    """Whether a run may begin with what the setup commands left in the workspace and the home directory of an earlier one, instead of running them: within 24 hours, for the same commits, configuration, variables and secrets. Not where they leave a process running. Default true."""
    failure_session_retention_minutes: int | None = None
    """How long the sandbox of a run that ended FAILED or ERROR is kept, where that is longer than `idle_timeout_minutes`: a follow-up can look into it. If the setup failed, a follow-up within this time is a debug turn in that sandbox, and the run stays FAILED. Default 0."""
    retention: EnvironmentRetention | None = None


class EnvironmentLastTaskCreated(WireModel):
    """The newest run of it that the caller may see; absent while there is none."""

    id: str
    title: str
    state: RunState
    created_at: datetime
    """RFC 3339, UTC, milliseconds."""
    updated_at: datetime
    """RFC 3339, UTC, milliseconds."""
    started_at: datetime | None
    """RFC 3339, UTC, milliseconds."""


class EnvironmentRequest(WireModel):
    name: str
    """Trimmed; unique, and no id: environments are addressed by name or id. Compared exactly, case included."""
    description: str | None = None
    docker_image: str | None = None
    """The operator says which may run: RUNYARD_IMAGES. Only Docker uses it."""
    github_repos: list[EnvironmentRequestGithubRepo] | None = None
    repositories: list[EnvironmentRepository] | None = None
    setup_commands: list[str] | None = None
    """Run in order before the agent starts, each by a shell of its own (`bash` with `pipefail` where there is one), where the agent starts: in the repository’s folder if there is one repository, else in `/workspace`."""
    variables: dict[str, str] | None = None
    """At most 1,000, each of 64 KiB, 1 MiB together. Values are returned as `***`; in an update that keeps the value."""
    secrets: list[str | SecretRef] | None = None
    """Secrets of the team, or of your own. Those with `git` give access to repositories and stay outside of the sandbox; all others are variables of the same name. In a personal run a personal secret comes before the team’s."""
    permissions: list[PermissionRule] | None = None
    """Rules for every run of the environment, as in the configuration of a run; the stricter of both decides."""
    on_success: Literal["nothing", "branch", "pull_request"] | str | None = None
    """What becomes of the changes when a run succeeds: what is not committed is committed, pushed as the branch `runyard/<run id>`, and a pull request is opened, once for all follow-ups. Default `nothing`. Needs a secret with `git` for each repository."""
    merge_method: MergeMethod | None = None
    push_branches: list[str] | None = None
    """Branches that runs may push beside `runyard/<run id>`, such as `docs` or `release/*`."""
    egress: Literal["none", "allowlist", "open"] | str | None = None
    """What the network lets out: nothing, HTTP and HTTPS to allowed hosts by a proxy, or everything that the machine reaches. The operator says how much may be asked for: RUNYARD_EGRESS. Default: `allowlist` where the sandbox has it, else `open` with https repositories and `none` without."""
    allowed_hosts: list[str] | None = None
    """With `allowlist`: hosts besides those of the repositories, such as `api.example.com`, or `*.example.com` for all below it. Ports 80 and 443, or another as in `example.com:8443`."""
    package_registries: bool | None = None
    """With `allowlist`: whether the usual package registries are allowed; default true."""
    models: bool | None = None
    """Commands may call the models of the installation by the gateway, with the budget of the run; default false. They have addresses and a token as `OPENAI_BASE_URL`, `OPENAI_API_KEY`, `ANTHROPIC_BASE_URL`, `ANTHROPIC_API_KEY`, `GOOGLE_GEMINI_BASE_URL` and `GEMINI_API_KEY`, but for providers of which the environment sets one of these itself. No key enters the sandbox."""
    limits: EnvironmentRequestLimits | None = None
    providers: EnvironmentRequestProviders | None = None
    reuse_setup: bool | None = None
    """Whether a run may begin with what the setup commands left in the workspace and the home directory of an earlier one, instead of running them: within 24 hours, for the same commits, configuration, variables and secrets. Not where they leave a process running. Default true."""
    failure_session_retention_minutes: int | None = None
    """How long the sandbox of a run that ended FAILED or ERROR is kept, where that is longer than `idle_timeout_minutes`: a follow-up can look into it. If the setup failed, a follow-up within this time is a debug turn in that sandbox, and the run stays FAILED. Default 0."""
    retention: EnvironmentRetention | None = None


class ErrorEvent(WireModel):
    sequence: int
    """Place in the log: from 1, without gaps."""
    run_id: str
    type: Literal["error"]
    occurred_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: ErrorEventData


class FollowupAcceptedEvent(WireModel):
    sequence: int
    """Place in the log: from 1, without gaps."""
    run_id: str
    type: Literal["followup.accepted"]
    occurred_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: FollowupAcceptedEventData


class FollowupDeliveredEvent(WireModel):
    sequence: int
    """Place in the log: from 1, without gaps."""
    run_id: str
    type: Literal["followup.delivered"]
    occurred_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: FollowupDeliveredEventData


class GitAccess(WireModel):
    """Makes a secret a token of git over https."""

    host: str
    """Host, perhaps with a port: github.com, git.internal:8443."""
    repositories: list[str] | None = None
    """Where it may be used: `owner/name`, or `owner/*` for everything below. Default: every repository of the host."""
    username: str | None = None
    """What the host wants beside the token; most take any."""
    read_only: bool | None = None
    """It is never used to push."""
    app: GitAccessApp | None = None


class Grant(WireModel):
    principal: RunCreatorInfo
    granted_by: RunCreatorInfo
    created_at: datetime
    """RFC 3339, UTC, milliseconds."""


class InferenceProviders(WireModel):
    """Not offered, but may be said to be `disabled`: the operator sets the providers of models."""

    aws: InferenceProvidersAws | None = None


class InferenceUsage(WireModel):
    token_count: InferenceUsageTokenCount
    cost_in_cents: InferenceUsageCostInCents
    web_search_count: int
    """Always 0: searches of providers are not counted."""
    web_search_cost_in_cents: float


class InterruptedEvent(WireModel):
    sequence: int
    """Place in the log: from 1, without gaps."""
    run_id: str
    type: Literal["interrupted"]
    occurred_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: InterruptedEventData


class ListApiKeysResponse(WireModel):
    api_keys: list[ApiKey]
    page_info: PageInfo


class ListAuditLogResponse(WireModel):
    entries: list[AuditEntry]
    page_info: PageInfo


class ListFiringsResponse(WireModel):
    firings: list[ScheduleFiring]
    page_info: PageInfo


class ListPoolsResponse(WireModel):
    pools: list[Pool]
    page_info: PageInfo


class ListPrincipalsResponse(WireModel):
    principals: list[Principal]
    page_info: PageInfo


class ListPullRequestsResponse(WireModel):
    pull_requests: list[PullRequestItem]


class ListSettingsResponse(WireModel):
    version: str
    """Of the service."""
    settings: list[Setting]


class ListShareLinksResponse(WireModel):
    share_links: list[ShareLink]
    page_info: PageInfo


class ListWorkspaceFilesResponse(WireModel):
    run_id: str
    turn: int
    """The turn that left it: messages that the agent had been given by then."""
    turns: list[int]
    """All turns whose files can be listed, in order."""
    path: str
    """Below /workspace."""
    files: list[WorkspaceFileItem]
    """What lies directly in the folder, by name."""
    page_info: PageInfo


class MessageAssistantEvent(WireModel):
    sequence: int
    """Place in the log: from 1, without gaps."""
    run_id: str
    type: Literal["message.assistant"]
    occurred_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: MessageAssistantEventData


class MessageUserEventData(WireModel):
    message_id: str
    text: str
    followup_id: str | None = None
    author: str | None = None
    attachments: list[MessageUserEventDataAttachment] | None = None
    model_id: str | None = None
    """The model that the message asks for, from here on."""


class Model(WireModel):
    id: str
    """The value for `config.model_id`: `provider/model`."""
    display_name: str
    provider: Literal["OPENAI", "ANTHROPIC", "GOOGLE", "UNKNOWN"] | str
    """The company that made the model, whichever provider serves it."""
    vision_supported: bool
    """The model takes images, as its provider or its name says."""
    context_window: int | None = None
    """In tokens, if it is known."""
    prices: ModelPrices | None = None


class ModelSwitchedEvent(WireModel):
    sequence: int
    """Place in the log: from 1, without gaps."""
    run_id: str
    type: Literal["model.switched"]
    occurred_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: ModelSwitchedEventData


class ModelToldEvent(WireModel):
    sequence: int
    """Place in the log: from 1, without gaps."""
    run_id: str
    type: Literal["model.told"]
    occurred_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: ModelToldEventData


class NewApiKey(WireModel):
    """A key that was just made."""

    key_id: str
    name: str
    role: Literal["admin", "member", "viewer"] | str
    pool: str | None = None
    """It is a pool key: workers may claim runs of this pool with it, and it opens nothing else."""
    masked: str
    """Its first and last characters."""
    principal: RunCreatorInfo
    active: bool
    """It works now."""
    created_at: datetime
    """RFC 3339, UTC, milliseconds."""
    expires_at: datetime | None = None
    """RFC 3339, UTC, milliseconds."""
    replaces: str | None = None
    """Id of the key in whose place it was made."""
    grace_until: datetime | None = None
    """Another was made in its place, and it works until then."""
    last_used_at: datetime | None = None
    """To the minute."""
    revoked_at: datetime | None = None
    """RFC 3339, UTC, milliseconds."""
    api_key: str
    """The key itself. It is not shown again."""


class NewShareLink(WireModel):
    """A link that was just made."""

    share_link_id: str
    run_id: str
    name: str | None = None
    created_at: datetime
    """RFC 3339, UTC, milliseconds."""
    created_by: RunCreatorInfo
    expires_at: datetime | None = None
    """RFC 3339, UTC, milliseconds."""
    last_used_at: datetime | None = None
    """When somebody last opened the run with it."""
    url: str
    """Opens the run. It is not shown again."""


class PrepareAttachmentsRequest(WireModel):
    attachments: list[PrepareAttachmentsRequestAttachment]


class PrepareAttachmentsResponse(WireModel):
    attachments: list[PreparedUpload]
    """In the order of the request."""


class QueuedRun(WireModel):
    """A run that waits for a worker, and why."""

    run_id: str
    title: str
    creator: RunCreatorInfo
    queued_since: datetime
    """RFC 3339, UTC, milliseconds."""
    waiting: WaitingRun


class ReasoningEvent(WireModel):
    sequence: int
    """Place in the log: from 1, without gaps."""
    run_id: str
    type: Literal["reasoning"]
    occurred_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: ReasoningEventData


class ReferenceReportedEvent(WireModel):
    sequence: int
    """Place in the log: from 1, without gaps."""
    run_id: str
    type: Literal["reference.reported"]
    occurred_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: ReferenceReportedEventData


class ResolvedRun(WireModel):
    """What the run is executed with, once it has started: where the request left it open, too."""

    harness: str
    """The agent."""
    model_id: str | None = None
    """`provider/model`; absent where no model is asked."""
    image: str | None = None
    """The container image, where there is one: its name in full and the digest its registry knows it by, `docker.io/library/node:24-bookworm@sha256:…`. Of an image that came from no registry, its id stands for the digest."""
    commits: dict[str, str | None] | None = None
    """What each repository was cloned at, by its folder; null: it had no commit."""
    skill: ResolvedRunSkill | None = None


class ResourceGrants(WireModel):
    """Who may use a pool, an environment, an identity or a secret."""

    resource_type: GrantedKind
    resource_id: str
    restricted: bool
    """Only those who are named, and admins, may use it."""
    grants: list[Grant]


class RetryingEvent(WireModel):
    sequence: int
    """Place in the log: from 1, without gaps."""
    run_id: str
    type: Literal["retrying"]
    occurred_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: RetryingEventData


class RunAgentResponse(WireModel):
    run_id: str
    task_id: Annotated[str, Field(deprecated=True)]
    """The same as `run_id`."""
    state: RunState
    at_capacity: bool
    """No free slot was known; the run is queued all the same."""
    warnings: list[str] | None = None
    """What may not be as it was meant, as a pool that no worker serves. The run is queued all the same."""


class RunDiff(WireModel):
    """How the repositories of a run differ from the commits they were cloned at."""

    repositories: list[ComparedRepository]
    files: list[ChangedFile]
    """At most 1,000; the counts are of all."""
    files_changed: int
    additions: int
    deletions: int
    notes: list[str]
    """What is missing, and why: sentences for people."""
    run_id: str
    turn: int
    """Messages that the agent had been given by then, the prompt included. 0: nothing was kept, since no turn has changed anything."""
    patch: ArtifactResponse | None = None


class RunOfWorker(WireModel):
    run_id: str
    title: str
    state: RunState


class RunStatusMessage(WireModel):
    """Why the run is in its state, for a person to act on."""

    message: str
    error_code: ErrorCode | None = None
    retryable: bool | None = None
    waits_for: WaitsFor | None = None
    approval: PendingApproval | None = None
    session_debug_until: datetime | None = None
    """Of a run whose setup failed, in the run itself: until then a follow-up is a debug turn in the failed setup's sandbox. Each turn moves it; while one is under way it may be past."""
    debug_agent_active: Literal[True] | None = None
    """In the run itself: a debug turn is under way."""


class Secret(WireModel):
    """A secret, without its value."""

    name: str
    description: str | None = None
    git: GitAccess | None = None
    registry: RegistryAccess | None = None
    scope: SecretScope
    version: int
    """Rises with each value; never the same again for a name, also when it was deleted."""
    restricted: bool
    """Only those with a grant, and admins, may use it, name it, set and delete it."""
    created_at: datetime
    """RFC 3339, UTC, milliseconds."""
    last_updated: datetime
    """RFC 3339, UTC, milliseconds."""
    creator: RunCreatorInfo


class SecretConfig(WireModel):
    value: str
    """8 characters to 64 KiB. No answer ever holds it."""
    description: str | None = None
    git: GitAccess | None = None
    registry: RegistryAccess | None = None


class SetupEventData(WireModel):
    phase: Literal["sandbox", "restore", "clone", "command", "tool_server", "skill"] | str
    """What was done: making the sandbox, restoring a workspace, a clone, a setup command, starting a tool server, a skill that cannot be used."""
    name: str
    """The backend, repository, command, tool server or skill."""
    status: Literal["started", "finished", "failed"] | str
    exit_code: int | None = None
    duration_ms: int | None = None
    output: str | None = None
    """The end of what it printed."""
    first_error: str | None = None
    """Of a step that failed: the first line that it printed which reads as if it said why."""
    workspace: SetupEventDataWorkspace | None = None


class SetupOutputEvent(WireModel):
    sequence: int
    """Place in the log: from 1, without gaps."""
    run_id: str
    type: Literal["setup.output"]
    occurred_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: SetupOutputEventData


class TimelineEvent(WireModel):
    event_uuid: str
    """Stays the same however often the timeline is read."""
    event_type: TimelineEventType
    run_id: str
    execution_id: int | None = None
    """The execution it belongs to: from 1."""
    occurred_at: datetime
    """RFC 3339, UTC, milliseconds."""
    payload: dict[str, Any] | None = None
    """Details, such as `attempt`, `worker_id`, `duration_ms` and `status_message`."""


class ToolCallEvent(WireModel):
    sequence: int
    """Place in the log: from 1, without gaps."""
    run_id: str
    type: Literal["tool.call"]
    occurred_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: ToolCallEventData


class ToolOutputEvent(WireModel):
    sequence: int
    """Place in the log: from 1, without gaps."""
    run_id: str
    type: Literal["tool.output"]
    occurred_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: ToolOutputEventData


class ToolResultEvent(WireModel):
    sequence: int
    """Place in the log: from 1, without gaps."""
    run_id: str
    type: Literal["tool.result"]
    occurred_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: ToolResultEventData


class TriggerDelivery(WireModel):
    delivery_id: str
    trigger_id: str
    received_at: datetime
    """RFC 3339, UTC, milliseconds."""
    event: str | None
    """What the sender calls it, where it says so."""
    sender_delivery_id: str | None
    """Its id at the sender; null for one that was replayed. Repeats are recognised by what the sender signed."""
    outcome: TriggerOutcome
    run_id: str | None = None
    reason: str | None = None
    """Why there is no run, or none yet."""
    duplicates: int
    """How often it came again."""
    replay_of: str | None = None
    """The delivery whose payload it has."""
    reply: TriggerDeliveryReply | None = None


class TriggerLastDelivery(WireModel):
    """The newest that came to it, of the last 30 days."""

    received_at: datetime
    """RFC 3339, UTC, milliseconds."""
    outcome: TriggerOutcome
    run_id: str | None = None


class UpdateAgentIdentityRequestMemory(WireModel):
    attached_stores: list[Any] | None = None
    auto_memory: Annotated[
        UpdateAgentIdentityRequestMemoryAutoMemory | None, Field(union_mode="left_to_right")
    ] = None


class UpdateWebhookRequest(WireModel):
    url: str
    """Where events are sent: https. Plain http, and hosts without a public address, only where the operator names the host in RUNYARD_PRIVATE_HOSTS. With `mailto:`, an e-mail address of a domain that the operator names (RUNYARD_MAIL_DOMAINS). An address to which nothing would ever be sent is a 400, unless the webhook is disabled."""
    events: list[WebhookEventType] | None = None
    """Default: all; for messages to people `run.blocked` and the four that tell of an end."""
    format: WebhookFormat | None = None
    description: str | None = None
    enabled: bool | None = None
    """Default true."""


class Usage(WireModel):
    from_: Annotated[datetime, Field(alias="from")]
    """RFC 3339, UTC, milliseconds."""
    to: datetime
    """RFC 3339, UTC, milliseconds."""
    time_zone: str
    totals: UsageFigures
    days: list[UsageDay]
    """Every day, oldest first; those without runs as well."""
    by_agent: list[UsageOfAgent]
    """Most runs first, at most 100; so are the others."""
    by_model: list[UsageOfModel]
    """A run that used several models is one of each; tokens and cost are those of the model."""
    by_environment: list[UsageOfEnvironment]


class UsageEventData(WireModel):
    model_id: str
    input_tokens: int
    output_tokens: int
    total_tokens: int
    cached_input_tokens: int | None = None
    """Among the input tokens: those that the provider read from its cache."""
    cache_write_tokens: int | None = None
    """Among the input tokens: those that the provider wrote into its cache."""
    inference_cost_usd: float | None = None
    inference_cost_parts_usd: UsageEventDataInferenceCostPartsUsd | None = None
    by_gateway: Literal[True] | None = None
    """Commands in the sandbox called the model by the gateway, once or more. Absent, like `by_compaction` and `estimated`: a step of the agent ended."""
    by_compaction: Literal[True] | None = None
    """The conversation so far was summarised (`context.compacted`); no step of the agent."""
    estimated: Literal[True] | None = None
    """The answer of the model did not say it all, or was given up."""


class Webhook(WireModel):
    webhook_id: str
    url: str
    events: list[WebhookEventType]
    format: WebhookFormat
    description: str | None = None
    enabled: bool
    disabled_reason: str | None = None
    """Why the service sends nothing: it has disabled it, or its creator is disabled."""
    failing_since: datetime | None
    """RFC 3339, UTC, milliseconds."""
    created_at: datetime
    """RFC 3339, UTC, milliseconds."""
    updated_at: datetime
    """RFC 3339, UTC, milliseconds."""
    creator: RunCreatorInfo
    scope: WebhookScope


class WebhookEventData(WireModel):
    run_id: str
    state: RunState
    source: RunSourceType
    error_code: ErrorCode | None = None
    title: str
    link: str
    """The run's page, which needs a key; of a test the webhook's page."""
    creator: RunCreatorInfo
    message: str | None = None
    """Why the run is in its state, at most 1000 characters: a question, a call to be allowed, an error."""
    waits_for: WaitsFor | None = None
    result: str | None = None
    """Once the run has stopped: the beginning of what the agent said last, at most 1000 characters."""
    changes: WebhookEventDataChanges | None = None
    pull_requests: list[WebhookEventDataPullRequest] | None = None
    """Once the run has stopped: those that it has opened."""


class WebhookWithSecret(WireModel):
    webhook_id: str
    url: str
    events: list[WebhookEventType]
    format: WebhookFormat
    description: str | None = None
    enabled: bool
    disabled_reason: str | None = None
    """Why the service sends nothing: it has disabled it, or its creator is disabled."""
    failing_since: datetime | None
    """RFC 3339, UTC, milliseconds."""
    created_at: datetime
    """RFC 3339, UTC, milliseconds."""
    updated_at: datetime
    """RFC 3339, UTC, milliseconds."""
    creator: RunCreatorInfo
    scope: WebhookWithSecretScope
    secret: str
    """`whsec_…`, what deliveries are signed with. No other answer holds it."""


class WorkerItem(WireModel):
    """A process that executes runs."""

    worker_id: str
    """New with each start."""
    pool: str
    state: Literal["ready", "draining", "disk_full", "lost"] | str
    """`ready`: takes runs. `draining`: stops, and takes none. `disk_full`: takes none until its disk has space. `lost`: sends no heartbeats any more; its runs go back to the queue. Listed for an hour."""
    host: str | None
    """Name of its machine. `null`: an older version."""
    version: str | None
    """Of Runyard. `null`: an older version."""
    sandbox: str
    """Its sandbox backend: `docker`, `bubblewrap`, `kubernetes` or `host`."""
    slots: int
    """Runs that it executes at once."""
    slots_busy: int
    """Runs that it holds, including those that the caller may not see."""
    runs: list[RunOfWorker]
    """Those of them that the caller may see, oldest first."""
    started_at: datetime
    """RFC 3339, UTC, milliseconds."""
    seen_at: datetime | None
    """RFC 3339, UTC, milliseconds."""


class AgentIdentity(WireModel):
    """A service account that executes runs."""

    uid: str
    name: str
    available: bool
    """It may execute runs."""
    description: str | None = None
    prompt: str | None = None
    environment_id: str | None = None
    base_model: str | None = None
    base_harness: str | None = None
    harness: HarnessConfig | None = None
    skills: list[str]
    worker_host: str | None = None
    prompt_truncated: bool | None = None
    """In the list: `prompt` holds its first 2,048 characters only."""
    agent_type: Literal["FOREMAN", "TRIAGE", "SPEC", "IMPLEMENT", "REVIEW", "VERIFY", "CUSTOM"] | str
    credential_strategy: Literal["CREATOR", "EXECUTOR"] | str
    on_behalf_of_enabled: bool
    default_runner_uid: str
    """Always empty."""
    secrets: list[AgentIdentitySecret]
    """Always none."""
    memory: AgentIdentityMemory
    warnings: list[str] | None = None
    """What may not be as it was meant, as a pool that no worker serves. Not in lists."""
    creator: RunCreatorInfo
    created_at: datetime
    """RFC 3339, UTC, milliseconds."""
    updated_at: datetime
    """RFC 3339, UTC, milliseconds."""


class AgentSkill(WireModel):
    name: str
    """Of the skill."""
    variants: list[AgentSkillVariant]


class AmbientAgentConfig(WireModel):
    """How a run is executed."""

    name: str | None = None
    """Label for grouping and filtering."""
    model_id: str | None = None
    """`provider/model`, as listed by GET /agent/models."""
    fallback_model_ids: list[str] | None = None
    """Models that go on when the provider of the one before is away, has no credit left, or refuses for good: the first that was not tried, in this order. Default: those of the installation; an empty list: none."""
    base_prompt: str | None = None
    """Instructions put before the conversation."""
    environment_id: str | None = None
    """Id or name of an environment; returned as the id."""
    repositories: list[EnvironmentRepository] | None = None
    """Repositories of a run without an environment, which gets all other defaults of one. An environment names its own, so with `environment_id` this is refused."""
    skill_spec: str | None = None
    skills: list[str] | None = None
    mcp_servers: dict[str, MCPServerConfig] | None = None
    computer_use_enabled: bool | None = None
    idle_timeout_minutes: int | None = None
    """How long the sandbox is kept after a turn; default 10, and 0 is not at all."""
    worker_host: str | None = None
    """Pool of workers; default `default`."""
    harness: HarnessConfig | None = None
    permissions: list[PermissionRule] | None = None
    """What the agent may do without asking: the first rule that fits decides, and without one a call is allowed. Where the environment has rules too, the stricter of both decides."""
    session_sharing: SessionSharing | None = None
    secrets: list[AmbientAgentConfigSecret] | None = None
    """Only none here: the environment names the secrets of its runs."""
    runner_id: str | None = None
    """Not offered: `worker_host` names a pool."""
    memory_stores: list[AmbientAgentConfigMemoryStore] | None = None
    """Only none here."""
    inference_providers: InferenceProviders | None = None
    credential_strategy: Literal["CREATOR", "EXECUTOR"] | str | None = None
    """Only `EXECUTOR` here: a run acts with the rights of whoever executes it."""
    computer_use_model_id: str | None = None
    """Recorded, with no effect."""
    harness_auth_secrets: AmbientAgentConfigHarnessAuthSecrets | None = None


class ApprovalAnsweredEvent(WireModel):
    sequence: int
    """Place in the log: from 1, without gaps."""
    run_id: str
    type: Literal["approval.answered"]
    occurred_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: ApprovalAnsweredEventData


class ApprovalRequestedEvent(WireModel):
    sequence: int
    """Place in the log: from 1, without gaps."""
    run_id: str
    type: Literal["approval.requested"]
    occurred_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: ApprovalRequestedEventData


class ArtifactCreatedEvent(WireModel):
    sequence: int
    """Place in the log: from 1, without gaps."""
    run_id: str
    type: Literal["artifact.created"]
    occurred_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: ArtifactCreatedEventData


class ArtifactItemFile(WireModel):
    artifact_type: Literal["FILE"]
    created_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: ArtifactItemFileData


class ArtifactItemPullRequest(WireModel):
    artifact_type: Literal["PULL_REQUEST"]
    created_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: ArtifactItemPullRequestData


class CategoryUsage(WireModel):
    platform_usage_in_cents: float
    """Always 0."""
    direct_api_inference_usage: dict[str, InferenceUsage]
    """By model."""


class ChangesPushedEvent(WireModel):
    sequence: int
    """Place in the log: from 1, without gaps."""
    run_id: str
    type: Literal["changes.pushed"]
    occurred_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: ChangesPushedEventData


class ClaudeHarnessUsageSnapshotPayload(WireModel):
    usage: ClaudeTokens | None = None
    attribution: list[ClaudeHarnessUsageSnapshotPayloadAttribution] | None = None
    """By model."""
    toolCalls: HarnessToolCalls | None = None


class CodexHarnessUsageSnapshotPayload(WireModel):
    usage: CodexTokens | None = None
    attribution: list[CodexHarnessUsageSnapshotPayloadAttribution] | None = None
    """By model."""
    toolCalls: HarnessToolCalls | None = None


class ConversationStep(WireModel):
    id: str
    messages: list[ConversationMessage]
    steps: list[ConversationStep]
    description: str | None = None
    """The beginning of the caller's message, or the title of the run that did the step."""
    started_at: datetime | None = None
    """When its first message came."""
    completed_at: datetime | None = None
    """When the last thing happened in it, or in a step nested in it."""
    run: ConversationStepRun | None = None


class CreateAgentIdentityRequest(WireModel):
    name: str
    description: str | None = None
    """What it is for."""
    prompt: str | None = None
    """Base prompt of its runs."""
    environment_id: Literal[""] | str | None = None
    """Id or name of the environment of its runs; returned as the id."""
    base_model: str | None = None
    """Model of its runs: `provider/model`."""
    base_harness: Annotated[str | None, Field(deprecated=True)] = None
    """Harness of its runs. `harness` says more, and wins."""
    harness: Annotated[HarnessConfig | None, Field(union_mode="left_to_right")] = None
    """Harness of its runs."""
    skills: list[str] | None = None
    """Skills of its runs, in order: the first is what they begin with."""
    worker_host: str | None = None
    """Pool of its runs."""
    agent_type: (
        Literal["FOREMAN", "TRIAGE", "SPEC", "IMPLEMENT", "REVIEW", "VERIFY", "CUSTOM"] | str | None
    ) = None
    """Only `CUSTOM` here."""
    credential_strategy: Literal["CREATOR", "EXECUTOR"] | str | None = None
    """Only `EXECUTOR` here: runs act with the rights of the identity."""
    on_behalf_of_enabled: bool | None = None
    """Only `false` here."""
    default_runner_uid: str | None = None
    """Not offered."""
    factory_uid: str | None = None
    """Not offered."""
    secrets: list[CreateAgentIdentityRequestSecret] | None = None
    """Only none here: the environment names the secrets of its runs."""
    mcp_servers: dict[str, Any] | None = None
    """Only none here: runs name their own."""
    memory: Annotated[CreateAgentIdentityRequestMemory | None, Field(union_mode="left_to_right")] = None
    """Not offered, but may be said to be off."""
    inference_providers: Annotated[InferenceProviders | None, Field(union_mode="left_to_right")] = None
    harness_auth_secrets: dict[str, Any] | None = None
    """Not offered."""


class CreateScheduleRequest(WireModel):
    name: str
    """Trimmed; need not be unique."""
    cron_schedule: str
    """Five fields (minute, hour, day of month, month, day of week), or six with seconds before them, such as `0 9 * * 1-5`."""
    prompt: str | None = None
    """At most 1 MiB. Required unless `agent_config` names a skill."""
    agent_config: AmbientAgentConfig | None = None
    metadata: dict[str, str] | None = None
    """Of each of its runs."""
    mode: Literal["normal", "plan", "orchestrate"] | str | None = None
    title: str | None = None
    """Of each of its runs, at most 512 characters. Default: the first line of the prompt."""
    priority: int | None = None
    """Of each of its runs."""
    budget: Annotated[BudgetLimits | None, Field(union_mode="left_to_right")] = None
    """Of each of its runs."""
    output_schema: dict[str, Any] | None = None
    """JSON Schema that the result of each of its runs must satisfy."""
    agent_uid: str | None = None
    """Identity that executes its runs; for schedules of the team."""
    time_zone: str | None = None
    """In which the cron expression is read: an IANA name. Default `UTC`."""
    overlap: ScheduleOverlap | None = None
    catch_up: ScheduleCatchUp | None = None
    enabled: bool | None = None
    """Default true."""
    team: bool | None = None
    """false: a personal schedule with personal runs, which its owner alone sees."""


class CreateTriggerRequest(WireModel):
    name: str
    """Trimmed; need not be unique."""
    verification: TriggerVerification
    secret: str | None = None
    """What the sender signs with, 8 to 512 visible characters. Default: one is made when the trigger is created, and a replaced trigger keeps its own."""
    filter: str | None = None
    """A CEL expression over `payload` and `headers`, such as `payload.action == "opened"`. Only where it is true something happens."""
    on_open_run: TriggerOnOpenRun | None = None
    prompt: str | None = None
    """At most 1 MiB. `{{payload.path.to.field}}` and `{{headers.x-name}}` are filled in; the result is cut to 1 MiB. Required unless `agent_config` names a skill."""
    title: str | None = None
    """Of its runs, at most 512 characters, filled in as the prompt is. Default: the first line of the prompt."""
    agent_config: AmbientAgentConfig | None = None
    metadata: dict[str, str] | None = None
    """Of each of its runs."""
    mode: Literal["normal", "plan", "orchestrate"] | str | None = None
    priority: int | None = None
    """Of each of its runs."""
    budget: BudgetLimits | None = None
    output_schema: dict[str, Any] | None = None
    """JSON Schema that the result of each of its runs must satisfy."""
    agent_uid: str | None = None
    """Identity that executes its runs; for triggers of the team."""
    reply: TriggerReply | None = None
    enabled: bool | None = None
    """Default true."""
    team: bool | None = None
    """false: a personal trigger with personal runs, which its owner alone sees."""


class DebugEndedEventData(WireModel):
    """A debug turn is over. The state of the run is what it was."""

    attempt: int
    outcome: Literal["SUCCEEDED", "FAILED", "ERROR", "BLOCKED"] | str
    status_message: RunStatusMessage | None = None
    undelivered: int | None = None
    """Follow-ups that wait for the next turn."""


class Environment(WireModel):
    uid: str
    """22 characters of A-Z, a-z, 0-9."""
    config: EnvironmentConfig
    created_at: datetime
    """RFC 3339, UTC, milliseconds."""
    last_updated: datetime
    """RFC 3339, UTC, milliseconds."""
    setup_failed: bool
    """The setup of its latest run failed."""
    last_task_created: EnvironmentLastTaskCreated | None = None
    last_task_run_timestamp: datetime | None = None
    """When that run was created."""
    creator: RunCreatorInfo
    last_editor: RunCreatorInfo | None = None
    scope: EnvironmentScope


class ListAgentIdentitiesResponse(WireModel):
    agents: list[AgentIdentity]
    page_info: PageInfo


class ListEnvironmentsResponse(WireModel):
    environments: list[Environment]
    page_info: PageInfo


class ListModelsResponse(WireModel):
    models: list[Model]
    default_model_id: str
    """The model of a run that names none. Empty if the workers have no default model."""


class ListSecretsResponse(WireModel):
    secrets: list[Secret]
    page_info: PageInfo


class ListSkillsResponse(WireModel):
    agents: list[AgentSkill]
    not_refreshed: list[ListSkillsResponseNotRefreshed] | None = None
    """With `refresh`: environments that could not be read again, and why. Of these the list has what was kept."""


class ListTriggerDeliveriesResponse(WireModel):
    deliveries: list[TriggerDelivery]
    page_info: PageInfo


class ListWebhooksResponse(WireModel):
    webhooks: list[Webhook]
    page_info: PageInfo


class ListWorkersResponse(WireModel):
    workers: list[WorkerItem]
    has_more: bool


class MessageUserEvent(WireModel):
    sequence: int
    """Place in the log: from 1, without gaps."""
    run_id: str
    type: Literal["message.user"]
    occurred_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: MessageUserEventData


class Queue(WireModel):
    pools: list[QueuedPool]
    """Those that the caller may use, longest queue first."""
    runs: list[QueuedRun]
    """Those that the caller may see, oldest first."""
    has_more: bool
    """Whether more of these runs wait."""


class RequestUsage(WireModel):
    inference_cost_usd: float | None = None
    """US dollars, where the price of the model is known."""
    inference_cost: float | None = None
    """The same: the wire format counts credits here, and a credit of Runyard is a US dollar."""
    compute_cost: float
    """Always 0: Runyard charges nothing for its machines."""
    compute_cost_usd: float
    platform_cost: float
    """Always 0."""
    platform_cost_usd: float
    total_tokens: int
    input_tokens: int
    """Those of the cache included."""
    output_tokens: int
    cache_read_tokens: int
    """Of the input tokens, those that providers read from their caches."""
    cache_write_tokens: int
    """Of the input tokens, those that providers wrote into their caches."""
    model_token_usage: list[ModelTokenUsage]
    """By model, most tokens first."""
    usage_by_category: dict[str, CategoryUsage]
    """`primary_agent`: steps of the agent. `conversation_compaction`: summaries of the conversation. `sandbox_commands`: what commands of the built-in agent asked of models."""


class RunAgentRequest(WireModel):
    prompt: str | None = None
    """At most 1 MiB. Required unless a skill or `replay_of_run_id` is given."""
    skill: str | None = None
    """Wins over `config.skill_spec`."""
    config: AmbientAgentConfig | None = None
    title: str | None = None
    """At most 512 characters. Default: the first line of the prompt."""
    conversation_id: str | None = None
    attachments: list[Attachment] | None = None
    parent_run_id: str | None = None
    replay_of_run_id: str | None = None
    """A run to do again: what is left out here is taken over from it, `config` field by field. Values of its tool servers are taken over for whoever started it."""
    fork_of: ForkOf | None = None
    metadata: dict[str, str] | None = None
    mode: Literal["normal", "plan", "orchestrate"] | str | None = None
    agent_identity_uid: str | None = None
    """The identity that executes the run, with its defaults and grants. Default: the caller."""
    on_behalf_of: str | None = None
    team: bool | None = None
    """false: a personal run, which its owner alone sees. A run with a personal parent or in a conversation with a personal run is personal without it, and true is refused there."""
    interactive: bool | None = None
    priority: int | None = None
    """Among runs of the same principal, higher first."""
    output_schema: dict[str, Any] | None = None
    """JSON Schema the result must satisfy."""
    budget: BudgetLimits | None = None


class RunStateEventData(WireModel):
    state: RunState
    previous_state: RunState | None = None
    execution: int
    attempt: int
    status_message: RunStatusMessage | None = None


class RunTimeline(WireModel):
    events: list[TimelineEvent]
    """Oldest first."""


class ScheduledAgentItem(WireModel):
    id: str
    name: str
    cron_schedule: str
    time_zone: str
    enabled: bool
    overlap: ScheduleOverlap
    catch_up: ScheduleCatchUp
    prompt: str
    agent_config: AmbientAgentConfig
    metadata: dict[str, str]
    mode: Literal["normal", "plan", "orchestrate"] | str | None = None
    title: str | None = None
    priority: int | None = None
    budget: BudgetLimits | None = None
    output_schema: dict[str, Any] | None = None
    created_at: datetime
    """RFC 3339, UTC, milliseconds."""
    updated_at: datetime
    """Of the last change by somebody, not of its runs."""
    created_by: RunCreatorInfo
    updated_by: RunCreatorInfo
    environment: EnvironmentConfig | None = None
    agent_uid: str | None = None
    """The identity that executes its runs."""
    scope: ScheduledAgentItemScope
    warnings: list[str] | None = None
    """What may not be as it was meant, as a pool that no worker serves. Not in lists."""
    last_spawn_error: str | None
    """Why the last due time gave no run; null once a run was created again."""
    history: ScheduledAgentItemHistory
    next_runs: list[datetime]
    """The next three times; none while it is paused."""


class SetupEvent(WireModel):
    sequence: int
    """Place in the log: from 1, without gaps."""
    run_id: str
    type: Literal["setup"]
    occurred_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: SetupEventData


class Trigger(WireModel):
    trigger_id: str
    name: str
    url: str
    """Where the sender posts to."""
    verification: TriggerVerification
    enabled: bool
    filter: str | None = None
    on_open_run: TriggerOnOpenRun
    prompt: str
    title: str | None = None
    agent_config: AmbientAgentConfig
    metadata: dict[str, str]
    mode: Literal["normal", "plan", "orchestrate"] | str | None = None
    priority: int | None = None
    budget: BudgetLimits | None = None
    output_schema: dict[str, Any] | None = None
    agent_uid: str | None = None
    """The identity that executes its runs."""
    reply: TriggerReply | None = None
    stopped_reason: str | None = None
    """Why it answers nothing though it is enabled: whoever saved it last is disabled."""
    warnings: list[str] | None = None
    """What may not be as it was meant, as a pool that no worker serves. Not in lists."""
    last_delivery: TriggerLastDelivery | None = None
    created_at: datetime
    """RFC 3339, UTC, milliseconds."""
    updated_at: datetime
    """Of the last change by somebody, not of its deliveries."""
    created_by: RunCreatorInfo
    updated_by: RunCreatorInfo
    scope: TriggerScope


class TriggerWithSecret(WireModel):
    trigger_id: str
    name: str
    url: str
    """Where the sender posts to."""
    verification: TriggerVerification
    enabled: bool
    filter: str | None = None
    on_open_run: TriggerOnOpenRun
    prompt: str
    title: str | None = None
    agent_config: AmbientAgentConfig
    metadata: dict[str, str]
    mode: Literal["normal", "plan", "orchestrate"] | str | None = None
    priority: int | None = None
    budget: BudgetLimits | None = None
    output_schema: dict[str, Any] | None = None
    agent_uid: str | None = None
    """The identity that executes its runs."""
    reply: TriggerReply | None = None
    stopped_reason: str | None = None
    """Why it answers nothing though it is enabled: whoever saved it last is disabled."""
    warnings: list[str] | None = None
    """What may not be as it was meant, as a pool that no worker serves. Not in lists."""
    last_delivery: TriggerWithSecretLastDelivery | None = None
    created_at: datetime
    """RFC 3339, UTC, milliseconds."""
    updated_at: datetime
    """Of the last change by somebody, not of its deliveries."""
    created_by: RunCreatorInfo
    updated_by: RunCreatorInfo
    scope: TriggerWithSecretScope
    secret: str
    """What the sender signs with. No other answer holds it."""


class UpdateAgentIdentityRequest(WireModel):
    """What is left out or null stays; an empty text, list or object is none."""

    name: str | None = None
    description: str | None = None
    """What it is for."""
    prompt: str | None = None
    """Base prompt of its runs."""
    environment_id: Literal[""] | str | None = None
    """Id or name of the environment of its runs; returned as the id."""
    base_model: str | None = None
    """Model of its runs: `provider/model`."""
    base_harness: Annotated[str | None, Field(deprecated=True)] = None
    """Harness of its runs. `harness` says more, and wins."""
    harness: Annotated[HarnessConfig | None, Field(union_mode="left_to_right")] = None
    """Harness of its runs."""
    skills: list[str] | None = None
    """Skills of its runs, in order: the first is what they begin with."""
    worker_host: str | None = None
    """Pool of its runs."""
    agent_type: (
        Literal["FOREMAN", "TRIAGE", "SPEC", "IMPLEMENT", "REVIEW", "VERIFY", "CUSTOM"] | str | None
    ) = None
    """Only `CUSTOM` here."""
    credential_strategy: Literal["CREATOR", "EXECUTOR"] | str | None = None
    """Only `EXECUTOR` here: runs act with the rights of the identity."""
    on_behalf_of_enabled: bool | None = None
    """Only `false` here."""
    default_runner_uid: str | None = None
    """Not offered."""
    factory_uid: str | None = None
    """Not offered."""
    secrets: list[UpdateAgentIdentityRequestSecret] | None = None
    """Only none here: the environment names the secrets of its runs."""
    mcp_servers: dict[str, Any] | None = None
    """Only none here: runs name their own."""
    memory: Annotated[UpdateAgentIdentityRequestMemory | None, Field(union_mode="left_to_right")] = None
    """Not offered, but may be said to be off."""
    inference_providers: Annotated[InferenceProviders | None, Field(union_mode="left_to_right")] = None
    harness_auth_secrets: dict[str, Any] | None = None
    """Not offered."""


class UpdateScheduleRequest(WireModel):
    name: str
    """Trimmed; need not be unique."""
    cron_schedule: str
    """Five fields (minute, hour, day of month, month, day of week), or six with seconds before them, such as `0 9 * * 1-5`."""
    prompt: str | None = None
    """At most 1 MiB. Required unless `agent_config` names a skill."""
    agent_config: AmbientAgentConfig | None = None
    metadata: dict[str, str] | None = None
    """Of each of its runs."""
    mode: Literal["normal", "plan", "orchestrate"] | str | None = None
    title: str | None = None
    """Of each of its runs, at most 512 characters. Default: the first line of the prompt."""
    priority: int | None = None
    """Of each of its runs."""
    budget: Annotated[BudgetLimits | None, Field(union_mode="left_to_right")] = None
    """Of each of its runs."""
    output_schema: dict[str, Any] | None = None
    """JSON Schema that the result of each of its runs must satisfy."""
    agent_uid: str | None = None
    """Identity that executes its runs; for schedules of the team."""
    time_zone: str | None = None
    """In which the cron expression is read: an IANA name. Default `UTC`."""
    overlap: ScheduleOverlap | None = None
    catch_up: ScheduleCatchUp | None = None
    enabled: bool


class UpdateTriggerRequest(WireModel):
    name: str
    """Trimmed; need not be unique."""
    verification: TriggerVerification
    secret: str | None = None
    """What the sender signs with, 8 to 512 visible characters. Default: one is made when the trigger is created, and a replaced trigger keeps its own."""
    filter: str | None = None
    """A CEL expression over `payload` and `headers`, such as `payload.action == "opened"`. Only where it is true something happens."""
    on_open_run: TriggerOnOpenRun | None = None
    prompt: str | None = None
    """At most 1 MiB. `{{payload.path.to.field}}` and `{{headers.x-name}}` are filled in; the result is cut to 1 MiB. Required unless `agent_config` names a skill."""
    title: str | None = None
    """Of its runs, at most 512 characters, filled in as the prompt is. Default: the first line of the prompt."""
    agent_config: AmbientAgentConfig | None = None
    metadata: dict[str, str] | None = None
    """Of each of its runs."""
    mode: Literal["normal", "plan", "orchestrate"] | str | None = None
    priority: int | None = None
    """Of each of its runs."""
    budget: BudgetLimits | None = None
    output_schema: dict[str, Any] | None = None
    """JSON Schema that the result of each of its runs must satisfy."""
    agent_uid: str | None = None
    """Identity that executes its runs; for triggers of the team."""
    reply: TriggerReply | None = None
    enabled: bool


class UsageEvent(WireModel):
    sequence: int
    """Place in the log: from 1, without gaps."""
    run_id: str
    type: Literal["usage"]
    occurred_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: UsageEventData


class WebhookEvent(WireModel):
    type: (
        Literal[
            "run.created",
            "run.started",
            "run.blocked",
            "run.succeeded",
            "run.failed",
            "run.errored",
            "run.cancelled",
            "webhook.test",
        ]
        | str
    )
    """`webhook.test`: somebody tries the webhook; its `run_id` is all zeros, since it is about no run."""
    timestamp: datetime
    """When it happened."""
    data: WebhookEventData


ArtifactItem = TypeAliasType(
    "ArtifactItem",
    Annotated[
        ArtifactItemPlan
        | ArtifactItemPullRequest
        | ArtifactItemScreenshot
        | ArtifactItemFile
        | ArtifactItemExternalReference
        | UnknownArtifactItem,
        Field(union_mode="left_to_right"),
    ],
)


class ClaudeHarnessUsageSnapshot(WireModel):
    coverage: ClaudeHarnessUsageSnapshotCoverage
    payload: ClaudeHarnessUsageSnapshotPayload


class CodexHarnessUsageSnapshot(WireModel):
    coverage: CodexHarnessUsageSnapshotCoverage
    payload: CodexHarnessUsageSnapshotPayload


class Conversation(WireModel):
    conversation_id: str
    run_ids: list[str]
    """The runs that this page is of."""
    steps: list[ConversationStep]
    """A step is a message of the caller and everything up to the next one. A step that is longer than a page goes on in the next page, under the same `id`. The runs that a step created are nested in it, and those below them, if the caller may see them: at most 100 runs, five deep, with 1 MiB of steps together; `run.page_info` says whose steps are not all here."""
    page_info: PageInfo


class DebugEndedEvent(WireModel):
    sequence: int
    """Place in the log: from 1, without gaps."""
    run_id: str
    type: Literal["debug.ended"]
    occurred_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: DebugEndedEventData


class ListSchedulesResponse(WireModel):
    schedules: list[ScheduledAgentItem]
    page_info: PageInfo


class ListTriggersResponse(WireModel):
    triggers: list[Trigger]
    page_info: PageInfo


class RunItem(WireModel):
    run_id: str
    """UUIDv7."""
    task_id: Annotated[str, Field(deprecated=True)]
    """The same as `run_id`."""
    title: str
    state: RunState
    prompt: str
    prompt_truncated: bool | None = None
    """In a list: `prompt` holds the first 2,048 characters only. `GET /agent/runs/{run_id}` has all of it."""
    submitted_prompt: str
    """The prompt, and the messages that came before the run began, with empty lines between them. Cut as `prompt` is in a list."""
    created_at: datetime
    """RFC 3339, UTC, milliseconds."""
    updated_at: datetime
    """Grows strictly with every change of a field, not with output."""
    started_at: datetime | None = None
    """RFC 3339, UTC, milliseconds."""
    finished_at: datetime | None = None
    """RFC 3339, UTC, milliseconds."""
    archived_at: datetime | None = None
    """Since when lists leave it out."""
    run_time: str | None = None
    """Time from claims to ends of all executions, ISO 8601 duration."""
    status_message: RunStatusMessage | None = None
    debug_agent_available: bool
    """Whether a follow-up is a debug turn: the run failed while its environment was set up, and the sandbox is kept for the environment's `failure_session_retention_minutes`. Such a turn asks an agent in that sandbox; the run stays FAILED."""
    waiting: WaitingRun | None = None
    source: RunSourceType
    creator: RunCreatorInfo
    executor: RunCreatorInfo
    session_id: str
    session_link: str
    """The live page of the run, for who signs in there. With `session_sharing` VIEWER it opens without that, for 15 minutes from this answer."""
    agent_config: AmbientAgentConfig
    base_prompt_truncated: bool | None = None
    """In a list: the same of `agent_config.base_prompt`."""
    resolved: ResolvedRun | None = None
    agent_skill: RunItemAgentSkill | None = None
    conversation_id: str
    parent_run_id: str | None = None
    root_run_id: str
    replay_of_run_id: str | None = None
    """The run whose prompt and configuration this one took over."""
    fork_of: ForkedFrom | None = None
    metadata: dict[str, str]
    artifacts: list[ArtifactItem]
    request_usage: RequestUsage | None = None
    schedule: RunSchedule | None = None
    trigger: RunTrigger | None = None
    trigger_url: str | None = None
    """The page of the schedule or the trigger that created the run."""
    scope: RunItemScope
    execution_location: Literal["LOCAL", "REMOTE"] | str
    is_sandbox_running: bool
    is_run_type_cancellable: bool
    attempt: int
    """Claims by a worker so far."""
    execution: int
    """Executions so far: one, and one more for each follow-up to an ended run."""
    result: Any | None = None
    """What satisfies `output_schema`, when one was given."""


class RunStateEvent(WireModel):
    sequence: int
    """Place in the log: from 1, without gaps."""
    run_id: str
    type: Literal["run.state"]
    occurred_at: datetime
    """RFC 3339, UTC, milliseconds."""
    data: RunStateEventData


class WebhookDelivery(WireModel):
    delivery_id: str
    """The `webhook-id` of the request: the same each time it is tried."""
    webhook_id: str
    run_id: str
    event: WebhookEvent
    status: WebhookDeliveryStatus
    attempts: int
    created_at: datetime
    """RFC 3339, UTC, milliseconds."""
    last_attempt_at: datetime | None
    """RFC 3339, UTC, milliseconds."""
    next_attempt_at: datetime | None
    """RFC 3339, UTC, milliseconds."""
    response_status: int | None
    """Of the last attempt that was answered: by HTTP, or by the mail server."""
    error: str | None
    """Why the last attempt did not go well."""


class WebhookTest(WireModel):
    delivery: WebhookDelivery
    duration_ms: int
    """From the request until its answer was read, or given up."""
    response_body: str | None
    """The first 1000 characters of the answer, without control characters; null if there was none."""


class ClaudeHarnessUsage(WireModel):
    harness: Literal["CLAUDE_CODE"]
    capturedAt: datetime
    """When the run used something last."""
    captureSequence: int
    """The place of that event in the log."""
    executionId: int
    """The execution that used it. The counts are of all executions."""
    metricsVersion: Literal[1]
    snapshot: ClaudeHarnessUsageSnapshot


class CodexHarnessUsage(WireModel):
    harness: Literal["CODEX"]
    capturedAt: datetime
    """When the run used something last."""
    captureSequence: int
    """The place of that event in the log."""
    executionId: int
    """The execution that used it. The counts are of all executions."""
    metricsVersion: Literal[1]
    snapshot: CodexHarnessUsageSnapshot


HarnessUsage = TypeAliasType(
    "HarnessUsage",
    Annotated[
        ClaudeHarnessUsage | CodexHarnessUsage | UnknownHarnessUsage, Field(union_mode="left_to_right")
    ],
)


class ListDeliveriesResponse(WireModel):
    deliveries: list[WebhookDelivery]
    page_info: PageInfo


class ListRunsResponse(WireModel):
    runs: list[RunItem]
    page_info: PageInfo


RunEvent = TypeAliasType(
    "RunEvent",
    Annotated[
        RunStateEvent
        | AttemptStartedEvent
        | AttemptLostEvent
        | DebugEndedEvent
        | SetupEvent
        | SetupOutputEvent
        | MessageUserEvent
        | MessageAssistantEvent
        | ReasoningEvent
        | ToolCallEvent
        | ToolOutputEvent
        | ToolResultEvent
        | ApprovalRequestedEvent
        | ApprovalAnsweredEvent
        | FollowupAcceptedEvent
        | FollowupDeliveredEvent
        | InterruptedEvent
        | ArtifactCreatedEvent
        | ReferenceReportedEvent
        | ChangesPushedEvent
        | UsageEvent
        | ContextCompactedEvent
        | ModelToldEvent
        | RetryingEvent
        | ModelSwitchedEvent
        | EgressRefusedEvent
        | ErrorEvent
        | UnknownEvent,
        Field(union_mode="left_to_right"),
    ],
)
"""An immutable entry in the log of a run."""


class RunHarnessUsage(WireModel):
    available: bool
    """False until Claude Code or Codex has used something, and of runs of other agents."""
    run_id: str
    conversation_id: str
    age_seconds: int | None = None
    """Since `usage.capturedAt`."""
    usage: HarnessUsage | None = None


class ListEventsResponse(WireModel):
    events: list[RunEvent]
    has_more: bool
    """The log already holds events after the last one here."""


ConversationStep.model_rebuild()
