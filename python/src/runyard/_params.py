"""Keyword arguments of the methods, and the shapes that dicts in them have.

The fields are those of the models of the same name; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from typing_extensions import Required, TypedDict

from ._options import RequestOptions

if TYPE_CHECKING:
    from ._models import (
        AmbientAgentConfig,
        Attachment,
        EnvironmentRepository,
        FollowupAttachment,
        GitAccess,
        GitAccessApp,
        HarnessConfig,
        MCPServerConfig,
        PermissionRule,
        RegistryAccess,
        SecretRef,
        SessionSharing,
        TriggerReply,
        WebhookEventType,
        WebhookFormat,
    )


class HarnessConfigParam(TypedDict, total=False):
    """What turns the prompt into actions."""

    type: str
    model_id: str
    reasoning_level: str


class MCPServerConfigParam(TypedDict, total=False):
    """A tool server: exactly one of `command` and `url`."""

    command: str
    args: Sequence[str]
    env: Mapping[str, str]
    url: str
    headers: Mapping[str, str]
    required: bool
    """The run fails when it cannot be started."""
    timeout_seconds: int
    """How long one call of a tool may take; default 120."""


class HarnessAuthSecretsParam(TypedDict, total=False):
    """Names of secrets that hold a harness's own credentials."""

    claude_auth_secret_name: str
    codex_auth_secret_name: str


class AmbientAgentConfigParam(TypedDict, total=False):
    """How a run is executed."""

    name: str
    """Label for grouping and filtering."""
    model_id: str
    """`provider/model`, as `models.list` has it."""
    fallback_model_ids: Sequence[str]
    """Models that go on when the one before fails for good, in order; an empty list: none."""
    base_prompt: str
    """Instructions put before the conversation."""
    environment_id: str
    repositories: Sequence[EnvironmentRepositoryParam | EnvironmentRepository]
    """Where the run works without an environment."""
    skill_spec: str
    skills: Sequence[str]
    mcp_servers: Mapping[str, MCPServerConfigParam | MCPServerConfig]
    computer_use_enabled: bool
    idle_timeout_minutes: int
    """How long the sandbox is kept after a turn; default 10."""
    worker_host: str
    """Pool of workers."""
    harness: HarnessConfigParam | HarnessConfig
    harness_auth_secrets: HarnessAuthSecretsParam
    permissions: Sequence[PermissionRuleParam | PermissionRule]
    """Of this and the environment's rules, the stricter decides."""
    session_sharing: SessionSharingParam | SessionSharing
    """Who may open the `session_link` of the run."""


class SessionSharingParam(TypedDict, total=False):
    """Who may open the `session_link` of a run."""

    public_access: Literal["NONE", "VIEWER"]
    """`VIEWER`: who has it sees the run without a key. Default `NONE`."""


class PermissionRuleParam(TypedDict, total=False):
    """What the agent may do. The first rule that fits decides."""

    tool: Required[str]
    """Its name, `*` in it for any text."""
    pattern: str
    """The command, path or address, `*` in it for any text."""
    action: Required[Literal["allow", "ask", "deny"]]


class AttachmentFileParam(TypedDict):
    """A file, without its bytes."""

    file_name: str
    """A plain name, without folders."""
    mime_type: str


class UploadFile(AttachmentFileParam):
    """A file for a follow-up."""

    content: bytes | str
    """At most 10 MiB; text is sent as UTF-8."""


class AttachmentParam(TypedDict):
    """A file for the agent."""

    file_name: str
    mime_type: str
    data: str
    """Base64, at most 10 MB decoded."""


class FollowupAttachmentParam(TypedDict, total=False):
    """A file with its data, or one that was uploaded before, by its id."""

    attachment_id: str
    file_name: str
    mime_type: str
    data: str
    """Base64, at most 10 MB decoded."""


class BudgetParam(TypedDict, total=False):
    """Where a run is stopped: BLOCKED, until a follow-up raises it."""

    max_cost_usd: float
    max_tokens: int
    max_duration_minutes: float


class RunFields(TypedDict, total=False):
    """What a run is asked for with, besides its `output_schema` and an earlier run that it begins with."""

    prompt: str
    """Required unless a skill or a run to replay is given."""
    skill: str
    """Wins over `config.skill_spec`."""
    config: AmbientAgentConfigParam | AmbientAgentConfig
    title: str
    """Default: the first line of the prompt."""
    conversation_id: str
    attachments: Sequence[AttachmentParam | Attachment]
    parent_run_id: str
    metadata: Mapping[str, str]
    mode: Literal["normal", "plan", "orchestrate"]
    agent_identity_uid: str
    on_behalf_of: str
    team: bool
    interactive: bool
    priority: int
    """Among runs of the same principal, higher first."""
    budget: BudgetParam


class ForkOfParam(TypedDict, total=False):
    """The end of a turn of an earlier run."""

    run_id: Required[str]
    sequence: int
    """Of any event of its log: the end of a turn at it or before it counts. Default: its last turn."""
    turn: int
    """Instead of `sequence`: as it was when the agent had been given so many messages."""


class RunParams(RunFields, total=False):
    """What a run is asked for with, besides its `output_schema`."""

    replay_of_run_id: str
    """A run to do again: what is left out here is taken over from it."""
    fork_of: ForkOfParam
    """Goes on from there: all but prompt and skill is taken over, with the conversation and the workspace."""


class ForkRunParams(RunFields, RequestOptions, total=False):
    """What a fork is asked for with."""


class ReplayRunParams(RunFields, RequestOptions, total=False):
    """What a replay does otherwise than the run that it does again, and how to ask for it."""


class CreateRunParams(RunParams, RequestOptions, total=False):
    """A run, and how to ask for it."""


class FollowupParams(RequestOptions, total=False):
    """A message to the agent."""

    message: str
    mode: Literal["normal", "plan", "orchestrate"]
    on_busy: Literal["enqueue", "interrupt", "reject"]
    """When the agent works: wait for its next step (default), stop its turn first, or refuse with 409."""
    attachments: Sequence[FollowupAttachmentParam | FollowupAttachment | AttachmentParam | Attachment]
    model_id: str
    """The model that answers from this message on; of the built-in agent alone."""
    budget: BudgetParam
    """Replaces these limits of the run's budget; the others stay."""


class AnswerApprovalParams(RequestOptions, total=False):
    """What somebody says of a call that waits for them."""

    decision: Required[Literal["allow_once", "allow_always", "deny"]]
    """`allow_always` is for all calls of this run that the same rule asks about."""
    reason: str
    """For the agent, why it was denied."""


class ListRunsParams(RequestOptions, total=False):
    """Filters, which combine with AND, order and page size of a list of runs. None is no filter."""

    limit: int | None
    """Of each page: 1 to 500, default 20."""
    cursor: str | None
    """`next_cursor` of the page before; goes with the same sort."""
    sort_by: Literal["updated_at", "created_at", "title", "agent"] | None
    sort_order: Literal["asc", "desc"] | None
    state: str | Sequence[str] | None
    """Any of these."""
    name: str | None
    model_id: str | None
    creator: str | None
    """Id, or `me`."""
    executor: str | None
    """Id, or `me`."""
    source: str | Sequence[str] | None
    """Any of these."""
    task_status: str | Sequence[str] | None
    """Any of `running`, `failed`, `blocked`, `cancelled`, `complete`."""
    execution_location: Literal["LOCAL", "REMOTE"] | None
    created_after: datetime | str | None
    created_before: datetime | str | None
    updated_after: datetime | str | None
    environment_id: str | None
    skill: str | None
    skill_spec: str | None
    schedule_id: str | None
    trigger_id: str | None
    needs_attention: bool | None
    """With `True`, what somebody has to act on: questions, approvals, failed setups, pull requests to merge."""
    automation_id: str | None
    """Created with this `automation_id` in their metadata."""
    factory_uid: str | Sequence[str] | None
    """There are no factories: the list is empty."""
    factory_only: bool | None
    """The same, with `True`."""
    run_id_prefix: str | None
    """The beginning of the id."""
    run_id_suffix: str | None
    """The end of the id."""
    ancestor_run_id: str | None
    artifact_type: Literal["PLAN", "PULL_REQUEST", "SCREENSHOT", "FILE", "DIFF", "EXTERNAL_REFERENCE"] | None
    reference_url: str | None
    """That produced this address: a pull request, a branch, or what was reported."""
    archived: Literal["true", "false", "all"] | None
    """Default `false`: without archived runs."""
    metadata: Mapping[str, str] | None
    q: str | None
    """A whole run id or a run's address, or part of the title, prompt or skill."""


class UpdateRunParams(RequestOptions, total=False):
    """What of a run is changed."""

    title: Required[str]


class DeleteRunsParams(RequestOptions, total=False):
    """Which runs are deleted: filters as of `ListRunsParams`, of which one at least is needed. None is refused."""

    state: Sequence[str]
    """Any of these."""
    name: str
    model_id: str
    creator: str
    """Id, or `me`."""
    executor: str
    """Id, or `me`."""
    source: Sequence[str]
    """Any of these."""
    task_status: Sequence[str]
    """Any of `running`, `failed`, `blocked`, `cancelled`, `complete`."""
    execution_location: Literal["LOCAL", "REMOTE"]
    archived: Literal["true", "false", "all"]
    """Default `all`."""
    created_after: datetime | str
    created_before: datetime | str
    updated_after: datetime | str
    environment_id: str
    skill: str
    skill_spec: str
    schedule_id: str
    trigger_id: str
    needs_attention: bool
    """With `True`, what somebody has to act on: questions, approvals, failed setups, pull requests to merge."""
    automation_id: str
    """Created with this `automation_id` in their metadata."""
    factory_uid: Sequence[str]
    """There are no factories: no run matches."""
    factory_only: bool
    """The same, with `True`."""
    run_id_prefix: str
    """The beginning of the id."""
    run_id_suffix: str
    """The end of the id."""
    ancestor_run_id: str
    artifact_type: Literal["PLAN", "PULL_REQUEST", "SCREENSHOT", "FILE", "DIFF", "EXTERNAL_REFERENCE"]
    reference_url: str
    """That produced this address: a pull request, a branch, or what was reported."""
    metadata: Mapping[str, str]
    q: str
    """A whole run id or a run's address, or part of the title, prompt or skill."""
    all: bool
    """That there is no filter on purpose."""
    cancel: bool
    """Cancel runs that have not ended, with all below them; a later call deletes them."""
    dry_run: bool
    """Only count."""


class ListEventsParams(RequestOptions, total=False):
    """Which part of the log."""

    after: int | None
    """Only what follows this sequence."""
    limit: int | None


class ConversationParams(RequestOptions, total=False):
    """Where a page of a conversation begins."""

    cursor: str | None
    """`next_cursor` of the page before."""


class ListWorkspaceFilesParams(RequestOptions, total=False):
    """Which folder of a run's workspace."""

    path: str | None
    """The folder, below /workspace; default: /workspace itself."""
    turn: int | None
    """As this turn left it; default: the last turn whose workspace is kept."""
    limit: int | None
    """Of each page: 1 to 500, default 200."""
    cursor: str | None
    """`next_cursor` of the page before."""


class WorkspaceFileParams(RequestOptions, total=False):
    """Which file of a run's workspace."""

    path: Required[str]
    """The file, below /workspace."""
    turn: int | None
    """As this turn left it; default: the last turn whose workspace is kept."""


class DiffParams(RequestOptions, total=False):
    """Which diff of a run."""

    turn: int | None
    """As it was when the agent had been given so many messages, the prompt included; default: the newest."""


class MergePullRequestParams(RequestOptions, total=False):
    """Which pull request of a run, as it was looked at."""

    url: str | None
    """Needed where the run has opened several."""
    commit: str | None
    """Nothing else is merged; default: what the run pushed last."""
    base: str | None
    """The branch that it was to be merged into: it is merged into no other."""


class ListIdentitiesParams(RequestOptions, total=False):
    """Page size of a list of identities."""

    limit: int | None
    """Of each page: 1 to 500, which is the default."""
    cursor: str | None
    """`next_cursor` of the page before."""
    factory_uid: str | None
    """Of the wire format: with one the list is empty."""


class ListEnvironmentsParams(RequestOptions, total=False):
    """Order and page size of a list of environments."""

    limit: int | None
    """Of each page: 1 to 500, which is the default."""
    cursor: str | None
    """`next_cursor` of the page before; goes with the same order."""
    sort_by: Literal["name", "last_updated"] | None


class ListSkillsParams(RequestOptions, total=False):
    """Which skills, and in which order."""

    repo: str | None
    """Of this repository only: `owner/repo`."""
    sort_by: Literal["name", "last_run"] | None
    """Default `name`."""
    include_malformed_skills: bool | None
    """Those that cannot be used as well, with `error`."""
    refresh: bool | None
    """Have the repositories read again, as they are now; waits for that up to 30 seconds."""


class GitHubRepoParam(TypedDict):
    owner: str
    repo: str


class EnvironmentRepositoryParam(TypedDict, total=False):
    """A repository that is cloned into the workspace."""

    url: str
    local_path: str
    """A repository of the worker's machine, below its RUNYARD_LOCAL_REPOS."""
    ref: str
    """Branch, tag or commit; default: the default branch."""
    depth: int
    """Commits of history; default 1, 0 is all."""
    submodules: bool
    """Whether its submodules are cloned as well; default false."""
    directory: str
    """Folder below /workspace; default: the name of the repository."""


class EnvironmentLimitsParam(TypedDict, total=False):
    """What a sandbox may use."""

    memory_mb: int
    pids: int
    cpus: float
    disk_mb: int
    setup_minutes: float


class EnvironmentRetentionParam(TypedDict, total=False):
    """Days after the last change of a run."""

    run_days: int
    workspace_days: int
    artifact_days: int


class SecretRefParam(TypedDict):
    """A secret, by its name."""

    name: str


class EnvironmentParams(RequestOptions, total=False):
    """What an environment is made of."""

    name: Required[str]
    description: str | None
    docker_image: str
    github_repos: Sequence[GitHubRepoParam]
    repositories: Sequence[EnvironmentRepositoryParam | EnvironmentRepository]
    setup_commands: Sequence[str]
    variables: Mapping[str, str]
    """Values are returned as `***`; in an update that keeps the value."""
    secrets: Sequence[str | SecretRefParam | SecretRef]
    """By their names. Those with `git` give access to repositories; all others are variables."""
    permissions: Sequence[PermissionRuleParam | PermissionRule]
    """For every run; of these and the run's own, the stricter decides."""
    on_success: Literal["nothing", "branch", "pull_request"]
    """What becomes of the changes when a run succeeds; default `nothing`."""
    merge_method: Literal["merge", "squash", "rebase"]
    """How pull requests of its runs are merged by `runs.merge`; without, they are merged at their host alone."""
    push_branches: Sequence[str]
    """Branches that runs may push beside `runyard/<run id>`: `docs`, or `release/*` for all that begin so."""
    egress: Literal["none", "allowlist", "open"]
    """What the network lets out; default `allowlist` where the sandbox has it."""
    allowed_hosts: Sequence[str]
    """With `allowlist`, besides the hosts of the repositories: `api.example.com`, or `*.example.com` for all below."""
    package_registries: bool
    """With `allowlist`: whether the usual package registries are allowed; default true."""
    models: bool
    """Whether commands may call the installation's models by the gateway, with the budget of the run; default false."""
    limits: EnvironmentLimitsParam
    reuse_setup: bool
    """Whether a run may begin with what the setup commands left for an earlier one; default true."""
    retention: EnvironmentRetentionParam
    """How long what its runs leave is kept, where that is shorter than the installation keeps it."""
    failure_session_retention_minutes: int | None
    """How long the sandbox of a run that failed is kept, where that is longer than the idle timeout; default 0."""


class CreateScheduleParams(RequestOptions, total=False):
    """When runs are created, and which."""

    name: Required[str]
    cron_schedule: Required[str]
    """Minute, hour, day of month, month, day of week; or six fields with seconds before them."""
    time_zone: str
    """In which the expression is read: an IANA name; default `UTC`."""
    prompt: str
    """Required unless `agent_config` names a skill."""
    agent_config: AmbientAgentConfigParam | AmbientAgentConfig
    metadata: Mapping[str, str]
    mode: Literal["normal", "plan", "orchestrate"]
    title: str | None
    priority: int | None
    """Among runs of the same principal, higher first: -100 to 100."""
    budget: BudgetParam | None
    output_schema: Mapping[str, object] | None
    """JSON Schema that the result of each of its runs must satisfy."""
    agent_uid: str
    overlap: Literal["skip", "allow", "cancel"]
    """What happens while an earlier run is not over: nothing, one more run, or one more after that is cancelled."""
    catch_up: Literal["latest", "skip"]
    """What happens after the service was down at due times: one run for all of them, or none."""
    enabled: bool
    """Default true."""
    team: bool
    """False: a personal schedule with personal runs, which its owner alone sees."""


class UpdateScheduleParams(RequestOptions, total=False):
    """When runs are created, and which. What is left out is gone, but for seven fields."""

    name: Required[str]
    cron_schedule: Required[str]
    """Minute, hour, day of month, month, day of week; or six fields with seconds before them."""
    time_zone: str
    """In which the expression is read: an IANA name; left out, it stays as it is; so do `overlap` and `catch_up`."""
    prompt: str
    """Required unless `agent_config` names a skill."""
    agent_config: AmbientAgentConfigParam | AmbientAgentConfig
    metadata: Mapping[str, str]
    mode: Literal["normal", "plan", "orchestrate"]
    title: str | None
    """Left out, it stays as it is, and `None` takes it away; so do the next three."""
    priority: int | None
    budget: BudgetParam | None
    output_schema: Mapping[str, object] | None
    agent_uid: str
    overlap: Literal["skip", "allow", "cancel"]
    """What happens while an earlier run is not over: nothing, one more run, or one more after that is cancelled."""
    catch_up: Literal["latest", "skip"]
    """What happens after the service was down at due times: one run for all of them, or none."""
    enabled: Required[bool]


class ListSchedulesParams(RequestOptions, total=False):
    """Page size of a list of schedules."""

    limit: int | None
    """Of each page: 1 to 500, which is the default."""
    cursor: str | None
    """`next_cursor` of the page before."""


class ListScheduleTimesParams(RequestOptions, total=False):
    """Of which cron expression."""

    cron_schedule: Required[str]
    time_zone: str | None
    """In which it is read: an IANA name. Default `UTC`."""


class ListFiringsParams(RequestOptions, total=False):
    """Page size of what a schedule did."""

    limit: int | None
    """Of each page: 1 to 500, default 20."""
    cursor: str | None
    """`next_cursor` of the page before."""


class TriggerReplyParam(TypedDict, total=False):
    """The run answers in the issue, pull request or thread of a review that it came from. For `github` alone."""

    secret: Required[str]
    """A secret with `git` for a host that speaks GitHub's API, and not read-only."""
    when: Literal["start_and_end", "end"]
    """Default `start_and_end`: a comment when the run starts, which becomes the answer when it ends."""


class CreateTriggerParams(RequestOptions, total=False):
    """What starts runs when others post it, and which runs."""

    name: Required[str]
    verification: Required[Literal["standard_webhooks", "github", "gitlab", "slack", "linear"]]
    """How a sender proves itself."""
    secret: str
    """What the sender signs with; left out, one is made."""
    filter: str
    """A CEL expression over `payload` and `headers`; only where it is true something happens."""
    on_open_run: Literal["followup", "new_run"]
    """What happens when the payload is about a pull request that a run has opened; default `followup`."""
    prompt: str
    """With `{{payload.path.to.field}}` and `{{headers.x-name}}`. Required unless `agent_config` names a skill."""
    title: str
    agent_config: AmbientAgentConfigParam | AmbientAgentConfig
    metadata: Mapping[str, str]
    mode: Literal["normal", "plan", "orchestrate"]
    priority: int
    """Among runs of the same principal, higher first: -100 to 100."""
    budget: BudgetParam
    output_schema: Mapping[str, object]
    """JSON Schema that the result of each of its runs must satisfy."""
    agent_uid: str
    reply: TriggerReplyParam | TriggerReply
    enabled: bool
    """Default true."""
    team: bool
    """False: a personal trigger with personal runs, which its owner alone sees."""


class UpdateTriggerParams(RequestOptions, total=False):
    """What starts runs when others post it, and which runs. What is left out is gone, but for the secret."""

    name: Required[str]
    verification: Required[Literal["standard_webhooks", "github", "gitlab", "slack", "linear"]]
    """How a sender proves itself."""
    secret: str
    """What the sender signs with; left out, it stays as it is."""
    filter: str
    """A CEL expression over `payload` and `headers`; only where it is true something happens."""
    on_open_run: Literal["followup", "new_run"]
    """What happens when the payload is about a pull request that a run has opened; default `followup`."""
    prompt: str
    """With `{{payload.path.to.field}}` and `{{headers.x-name}}`. Required unless `agent_config` names a skill."""
    title: str
    agent_config: AmbientAgentConfigParam | AmbientAgentConfig
    metadata: Mapping[str, str]
    mode: Literal["normal", "plan", "orchestrate"]
    priority: int
    """Among runs of the same principal, higher first: -100 to 100."""
    budget: BudgetParam
    output_schema: Mapping[str, object]
    """JSON Schema that the result of each of its runs must satisfy."""
    agent_uid: str
    reply: TriggerReplyParam | TriggerReply
    enabled: Required[bool]


class ListTriggersParams(RequestOptions, total=False):
    """Page size of a list of triggers."""

    limit: int | None
    """Of each page: 1 to 500, default 50."""
    cursor: str | None
    """`next_cursor` of the page before."""


class ListTriggerDeliveriesParams(RequestOptions, total=False):
    """Which deliveries of a trigger, and page size."""

    limit: int | None
    """Of each page: 1 to 500, default 50."""
    cursor: str | None
    """`next_cursor` of the page before."""
    outcome: Literal["run_started", "followup_sent", "filtered", "failed", "waiting"] | None


class TryFilterParams(RequestOptions, total=False):
    """Which filter is tried."""

    filter: str
    """To be tried in place of the one it has; empty: none. Default: the one it has."""


class GitAppParam(TypedDict):
    """A GitHub App: the value of its secret is its private key in PEM."""

    app_id: str
    installation_id: str


class GitAccessParam(TypedDict, total=False):
    """Makes a secret a token of git over https, which never enters a sandbox."""

    host: Required[str]
    """Host, perhaps with a port: github.com, git.internal:8443."""
    repositories: Sequence[str]
    """Where it may be used: `owner/name`, or `owner/*` for everything below; default: every repository of the host."""
    username: str
    read_only: bool
    """It is never used to push."""
    app: GitAppParam | GitAccessApp


class RegistryAccessParam(TypedDict):
    """Makes a secret the password of a registry of container images, which never enters a sandbox."""

    host: str
    """As names of images begin: ghcr.io, registry.internal:5000; docker.io for those without a host."""
    username: str


class SecretFields(TypedDict, total=False):
    """What a secret is made of."""

    value: Required[str]
    """8 characters to 64 KiB; no answer ever holds it."""
    description: str | None
    git: GitAccessParam | GitAccess
    registry: RegistryAccessParam | RegistryAccess
    """Without these two: a variable for commands."""


class SecretParams(RequestOptions, total=False):
    """Whose secret."""

    scope: Literal["User", "Team"] | None
    """One of the team (default), or your own."""


class PutSecretParams(SecretFields, SecretParams, total=False):
    """A secret, and whose it is."""


class ListSecretsParams(RequestOptions, total=False):
    """Which secrets, and page size."""

    limit: int | None
    """Of each page: 1 to 500, which is the default."""
    cursor: str | None
    """`next_cursor` of the page before."""
    scope: Literal["User", "Team"] | None
    """Default: those of the team, and your own."""


class ApiKeyFields(TypedDict, total=False):
    """What a key is made of."""

    name: Required[str]
    """What it is called, and a new user with it."""
    role: Literal["admin", "member", "viewer"] | None
    """Default: member."""
    pool: str | None
    """It is a pool key: workers claim runs of this pool with it, and it opens nothing else."""
    expires_at: datetime | str | None
    """When it ends by itself; default: never."""
    agent_identity_uid: str | None
    """It is a key of this identity."""
    principal_id: str | None
    """It is one more key of this user or identity. Default: of the caller."""
    new_user: bool | None
    """True: it is the first key of a new user."""


class CreateApiKeyParams(ApiKeyFields, RequestOptions, total=False):
    """A key, and whose it is."""


class RotateApiKeyParams(RequestOptions, total=False):
    """How a key is replaced."""

    grace_minutes: int | None
    """How long the old key still works; default 5."""


class ListApiKeysParams(RequestOptions, total=False):
    """Which keys, and page size."""

    limit: int | None
    """Of each page: 1 to 500, default 100."""
    cursor: str | None
    """`next_cursor` of the page before."""
    principal_id: str | None
    """Those of this principal only."""


class ListPoolsParams(RequestOptions, total=False):
    """Page size."""

    limit: int | None
    """Of each page: 1 to 500, default 100."""
    cursor: str | None
    """`next_cursor` of the page before."""


class ListRepositoriesParams(RequestOptions, total=False):
    """Which repositories."""

    query: str | None
    """A part of its name or address."""
    limit: int | None
    """1 to 100, default 20."""


class ListBranchesParams(RequestOptions, total=False):
    """Whose branches."""

    repository: Required[str]
    """Its address, or `owner/name` of GitHub."""
    query: str | None
    """What the name begins with."""


class ListWorkersParams(RequestOptions, total=False):
    """Which workers."""

    pool: str | None
    """This pool only."""
    limit: int | None
    """1 to 500, default 500."""


class QueueParams(RequestOptions, total=False):
    """Which queue, and how many of its runs."""

    pool: str | None
    """This pool only."""
    limit: int | None
    """1 to 500, default 50."""


class ListPrincipalsParams(RequestOptions, total=False):
    """Page size."""

    limit: int | None
    """Of each page: 1 to 500, default 100."""
    cursor: str | None
    """`next_cursor` of the page before."""


class IdentityFields(TypedDict, total=False):
    """What an identity is made of: defaults of its runs."""

    description: str | None
    prompt: str | None
    """Base prompt of its runs."""
    environment_id: str | None
    """Id or name of the environment of its runs."""
    base_model: str | None
    base_harness: str | None
    harness: HarnessConfigParam | HarnessConfig | None
    skills: Sequence[str] | None
    worker_host: str | None
    """Pool of its runs."""


class CreateIdentityParams(IdentityFields, RequestOptions, total=False):
    """An identity."""

    name: Required[str]


class UpdateIdentityParams(IdentityFields, RequestOptions, total=False):
    """What changes of an identity."""

    name: str | None


class UsageParams(RequestOptions, total=False):
    """Of which runs, and whose days."""

    from_: datetime | str | None
    """Runs created from then on; default: 30 days. Sent as `from`, a word that Python keeps for itself."""
    to: datetime | str | None
    """Runs created before then; default: now. At most 366 days later."""
    time_zone: str | None
    """Of the days, such as `Europe/Berlin`; default `UTC`."""
    creator: str | None
    """Runs of this principal only."""


class CreateShareLinkParams(RequestOptions, total=False):
    """A link to a run for people without a key."""

    name: str | None
    """Whom it is for, say."""
    expires_at: datetime | str | None
    """When it ends by itself; default: when it is revoked."""


class ListShareLinksParams(RequestOptions, total=False):
    """Page size of links to a run."""

    limit: int | None
    """Of each page: 1 to 500, default 100."""
    cursor: str | None
    """`next_cursor` of the page before."""


class CreateSignInLinkParams(RequestOptions, total=False):
    """Where a link leads that signs in."""

    path: str | None
    """What the page shows then, such as `/sessions/…`; default: the runs."""
    principal_id: str | None
    """The person who is signed in, within 24 hours; for admins. Default: the caller, within 60 seconds."""


class GrantsParams(RequestOptions, total=False):
    """Which pool, environment or identity."""

    resource_type: Required[Literal["pool", "environment", "identity"]]
    resource_id: Required[str]
    """Name of the pool, id or name of the environment, or id of the identity."""


class PutGrantsParams(GrantsParams, total=False):
    """Who may use it."""

    principal_ids: Required[Sequence[str]]


class ListAuditLogParams(RequestOptions, total=False):
    """Which entries, and page size. Filters combine with AND."""

    limit: int | None
    """Of each page: 1 to 500, default 100."""
    cursor: str | None
    """`next_cursor` of the page before."""
    principal_id: str | None
    action: str | None
    target: str | None
    since: datetime | str | None
    until: datetime | str | None
    """Before this moment."""


class UpdateWebhookParams(RequestOptions, total=False):
    """What a webhook is made of."""

    url: Required[str]
    """Where events are sent: https, or `mailto:` and an e-mail address."""
    events: Sequence[WebhookEventType]
    """Default: all; for messages to people `run.blocked` and the four that tell of an end."""
    format: WebhookFormat
    """Default: `email` for a mailto address, else `runyard`."""
    description: str | None
    enabled: bool
    """Default True."""


class CreateWebhookParams(UpdateWebhookParams, total=False):
    """What a webhook is made of, and whose runs it is for."""

    team: bool
    """Default True: runs of the team. False: a personal one, of your own runs, personal ones too."""


class ListWebhooksParams(RequestOptions, total=False):
    """Page size of a list of webhooks."""

    limit: int | None
    """Of each page: 1 to 500, default 50."""
    cursor: str | None
    """`next_cursor` of the page before."""


class ListDeliveriesParams(RequestOptions, total=False):
    """Which deliveries, and page size."""

    limit: int | None
    """Of each page: 1 to 500, default 50."""
    cursor: str | None
    """`next_cursor` of the page before."""
    status: Literal["pending", "delivered", "failed"] | None
