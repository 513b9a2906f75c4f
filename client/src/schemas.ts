/** The models of the API under their shared names; the shapes are generated from openapi.json. */
import type { components, operations } from './api.gen.ts'

type Schemas = components['schemas']

/** What is sent may name what is undefined: it is left out, also for who compiles with `exactOptionalPropertyTypes`. */
type Sendable<T> = T extends readonly (infer Item)[]
  ? readonly Sendable<Item>[]
  : T extends object
    ? { [K in keyof T]: Sendable<T[K]> | (Record<never, never> extends Pick<T, K> ? undefined : never) }
    : T

export type AmbientAgentConfig = Schemas['AmbientAgentConfig']
export type ArtifactItem = Schemas['ArtifactItem']
export type AnswerApprovalRequest = Sendable<Schemas['AnswerApprovalRequest']>
export type AnswerApprovalResponse = Schemas['AnswerApprovalResponse']
export type ApprovalDecision = Schemas['ApprovalDecision']
export type PendingApproval = Schemas['PendingApproval']
export type PermissionRule = Schemas['PermissionRule']
export type ArtifactResponse = Schemas['ArtifactResponse']
export type Attachment = Schemas['Attachment']
export type AgentIdentity = Schemas['AgentIdentity']
export type ApiKey = Schemas['ApiKey']
export type AuditEntry = Schemas['AuditEntry']
export type ChangedFile = Schemas['ChangedFile']
export type ComparedRepository = Schemas['ComparedRepository']
export type Conversation = Schemas['Conversation']
export type ConversationFollowupResponse = Schemas['ConversationFollowupResponse']
export type ConversationInterruptResponse = Schemas['ConversationInterruptResponse']
export type ConversationRedirect = Schemas['ConversationRedirect']
export type SessionRedirect = Schemas['SessionRedirect']
export type ConversationStep = Schemas['ConversationStep']
export type ConversationMessage = Schemas['ConversationMessage']
export type ConversationBlock = Schemas['ConversationBlock']
export type ActionCategory = Schemas['ActionCategory']
export type CreateAgentIdentityRequest = Sendable<Schemas['CreateAgentIdentityRequest']>
export type CreateApiKeyRequest = Sendable<Schemas['CreateApiKeyRequest']>
export type Environment = Schemas['Environment']
export type EnvironmentConfig = Schemas['EnvironmentConfig']
export type EnvironmentRequest = Sendable<Schemas['EnvironmentRequest']>
export type EnvironmentRepository = Schemas['EnvironmentRepository']
export type ErrorCode = Schemas['ErrorCode']
export type FollowupAttachment = Sendable<Schemas['FollowupAttachment']>
export type FollowupOutcome = Schemas['FollowupOutcome']
export type ForkedFrom = Schemas['ForkedFrom']
export type ForkOf = Schemas['ForkOf']
export type GitAccess = Schemas['GitAccess']
export type Grant = Schemas['Grant']
export type GrantedKind = Schemas['GrantedKind']
export type Usage = Schemas['Usage']
export type UsageFigures = Schemas['UsageFigures']
export type UsageDay = Schemas['UsageDay']
export type UsageOfAgent = Schemas['UsageOfAgent']
export type UsageOfModel = Schemas['UsageOfModel']
export type UsageOfEnvironment = Schemas['UsageOfEnvironment']
export type UsageParams = Sendable<NonNullable<operations['getUsage']['parameters']['query']>>
export type ShareLink = Schemas['ShareLink']
export type NewShareLink = Schemas['NewShareLink']
export type ListShareLinksResponse = Schemas['ListShareLinksResponse']
export type SessionSharing = Schemas['SessionSharing']
export type SignInLink = Schemas['SignInLink']
export type ResourceGrants = Schemas['ResourceGrants']
export type RegistryAccess = Schemas['RegistryAccess']
export type HarnessConfig = Schemas['HarnessConfig']
export type InterruptResponse = Schemas['InterruptResponse']
export type ListAgentIdentitiesResponse = Schemas['ListAgentIdentitiesResponse']
export type ListApiKeysResponse = Schemas['ListApiKeysResponse']
export type ListAuditLogResponse = Schemas['ListAuditLogResponse']
export type ListEnvironmentsResponse = Schemas['ListEnvironmentsResponse']
export type ListEventsResponse = Schemas['ListEventsResponse']
export type AgentSkill = Schemas['AgentSkill']
export type ListSkillsResponse = Schemas['ListSkillsResponse']
export type ListModelsResponse = Schemas['ListModelsResponse']
export type ListPoolsResponse = Schemas['ListPoolsResponse']
export type ListPrincipalsResponse = Schemas['ListPrincipalsResponse']
export type ListRunsResponse = Schemas['ListRunsResponse']
export type ListSecretsResponse = Schemas['ListSecretsResponse']
export type MCPServerConfig = Schemas['MCPServerConfig']
export type MessageDelta = Schemas['MessageDelta']
export type Model = Schemas['Model']
export type NewApiKey = Schemas['NewApiKey']
export type PageInfo = Schemas['PageInfo']
export type Pool = Schemas['Pool']
export type Principal = Schemas['Principal']
/** The body of every error answer (RFC 9457); `Error` on the wire, renamed here to leave JavaScript's own in place. */
export type ProblemDetails = Schemas['Error']
export type CreateShareLinkRequest = Sendable<NonNullable<Schemas['CreateShareLinkRequest']>>
export type CreateSignInLinkRequest = Sendable<NonNullable<Schemas['CreateSignInLinkRequest']>>
export type PutGrantsRequest = Sendable<Schemas['PutGrantsRequest']>
export type RequestUsage = Schemas['RequestUsage']
export type ResolvedRun = Schemas['ResolvedRun']
export type RotateApiKeyRequest = Sendable<Schemas['RotateApiKeyRequest']>
export type RunAgentRequest = Sendable<Schemas['RunAgentRequest']>
export type RunAgentResponse = Schemas['RunAgentResponse']
export type RunCreatorInfo = Schemas['RunCreatorInfo']
export type RunDiff = Schemas['RunDiff']
export type EgressRanges = Schemas['EgressRanges']
export type RunHarnessUsage = Schemas['RunHarnessUsage']
export type RunReference = Schemas['RunReference']
export type RunTimeline = Schemas['RunTimeline']
export type TimelineEvent = Schemas['TimelineEvent']
export type PullRequestItem = Schemas['PullRequestItem']
export type ListPullRequestsResponse = Schemas['ListPullRequestsResponse']
export type MergeMethod = Schemas['MergeMethod']
export type MergePullRequestParams = Sendable<NonNullable<Schemas['MergePullRequestRequest']>>
export type PreparedUpload = Schemas['PreparedUpload']
export type PrepareAttachmentsRequest = Sendable<Schemas['PrepareAttachmentsRequest']>
export type PrepareAttachmentsResponse = Schemas['PrepareAttachmentsResponse']
export type WorkspaceFileItem = Schemas['WorkspaceFileItem']
export type ListWorkspaceFilesResponse = Schemas['ListWorkspaceFilesResponse']
export type WorkspaceFileResponse = Schemas['WorkspaceFileResponse']
export type HandoffAttachment = Schemas['HandoffAttachment']
export type HandoffAttachmentsResponse = Schemas['HandoffAttachmentsResponse']
export type RunEvent = Schemas['RunEvent']
export type BudgetLimits = Schemas['BudgetLimits']
export type RunFollowupRequest = Sendable<Schemas['RunFollowupRequest']>
export type RunFollowupResponse = Schemas['RunFollowupResponse']
export type RunItem = Schemas['RunItem']
export type RunSourceType = Schemas['RunSourceType']
export type RunState = Schemas['RunState']
export type RunStatusMessage = Schemas['RunStatusMessage']
export type WaitingRun = Schemas['WaitingRun']
export type TaskStatus = Schemas['TaskStatus']
export type WaitsFor = Schemas['WaitsFor']
export type CreateScheduleRequest = Sendable<Schemas['CreateScheduleRequest']>
export type UpdateScheduleRequest = Sendable<Schemas['UpdateScheduleRequest']>
export type DeleteScheduleResponse = Schemas['DeleteScheduleResponse']
export type ScheduledAgentItem = Schemas['ScheduledAgentItem']
export type ScheduleFiring = Schemas['ScheduleFiring']
export type ListSchedulesResponse = Schemas['ListSchedulesResponse']
export type ListFiringsResponse = Schemas['ListFiringsResponse']
export type RunSchedule = Schemas['RunSchedule']
export type CreateTriggerRequest = Sendable<Schemas['CreateTriggerRequest']>
export type UpdateTriggerRequest = Sendable<Schemas['UpdateTriggerRequest']>
export type DeleteTriggerResponse = Schemas['DeleteTriggerResponse']
export type Trigger = Schemas['Trigger']
export type TriggerWithSecret = Schemas['TriggerWithSecret']
export type TriggerVerification = Schemas['TriggerVerification']
export type TriggerOutcome = Schemas['TriggerOutcome']
export type TriggerDelivery = Schemas['TriggerDelivery']
export type TriggerReply = Schemas['TriggerReply']
export type ListTriggersResponse = Schemas['ListTriggersResponse']
export type ListTriggerDeliveriesResponse = Schemas['ListTriggerDeliveriesResponse']
export type RunTrigger = Schemas['RunTrigger']
export type SecretRef = Schemas['SecretRef']
export type Secret = Schemas['Secret']
export type SecretConfig = Sendable<Schemas['SecretConfig']>
export type UpdateAgentIdentityRequest = Sendable<Schemas['UpdateAgentIdentityRequest']>
export type CreateWebhookRequest = Sendable<Schemas['CreateWebhookRequest']>
export type ListDeliveriesResponse = Schemas['ListDeliveriesResponse']
export type ListWebhooksResponse = Schemas['ListWebhooksResponse']
export type UpdateWebhookRequest = Sendable<Schemas['UpdateWebhookRequest']>
export type Webhook = Schemas['Webhook']
export type WebhookDelivery = Schemas['WebhookDelivery']
export type WebhookDeliveryStatus = Schemas['WebhookDeliveryStatus']
export type WebhookEvent = Schemas['WebhookEvent']
export type TriedDelivery = Schemas['TriedDelivery']
export type TryTriggerRequest = Schemas['TryTriggerRequest']
export type TryTriggerResponse = Schemas['TryTriggerResponse']
export type WebhookFormat = Schemas['WebhookFormat']
export type WebhookTest = Schemas['WebhookTest']
export type WebhookEventType = Schemas['WebhookEventType']
/** With what its deliveries are signed with. */
export type WebhookWithSecret = Schemas['WebhookWithSecret']

type RunsQuery = NonNullable<operations['listRuns']['parameters']['query']>
type Moments = 'created_after' | 'created_before' | 'updated_after'

/** Filters, order and page size of a list of runs; filters combine with AND. */
export type ListRunsParams = Sendable<Omit<RunsQuery, Moments>> & {
  [K in Moments]?: string | Date | undefined
}
export interface DeleteRunParams {
  /** Cancel a run that has not ended, and all below it, first. */
  cancel?: boolean | undefined
}
/** Filters as of `ListRunsParams`, in a body. One that is undefined is refused: without it more would be deleted. */
export type DeleteRunsParams = Omit<Schemas['DeleteRunsRequest'], Moments> & {
  [K in Moments]?: string | Date
}
export type DeleteRunResponse = Schemas['DeleteRunResponse']
export type DeleteRunsResponse = Schemas['DeleteRunsResponse']
export type EnvironmentRetention = Schemas['EnvironmentRetention']
export type UpdateRunRequest = Sendable<Schemas['UpdateRunRequest']>
export type ListEventsParams = Sendable<
  Pick<NonNullable<operations['listEvents']['parameters']['query']>, 'after' | 'limit'>
>
export type ListEnvironmentsParams = Sendable<
  NonNullable<operations['listEnvironments']['parameters']['query']>
>

export type RunReferenceParams = Sendable<
  NonNullable<operations['findRunByReference']['parameters']['query']>
>
export type ListSchedulesParams = Sendable<NonNullable<operations['listSchedules']['parameters']['query']>>
export type ListTriggersParams = Sendable<NonNullable<operations['listTriggers']['parameters']['query']>>
export type ListTriggerDeliveriesParams = Sendable<
  NonNullable<operations['listTriggerDeliveries']['parameters']['query']>
>
export type ListShareLinksParams = Sendable<NonNullable<operations['listShareLinks']['parameters']['query']>>
export type ListScheduleTimesResponse = Schemas['ListScheduleTimesResponse']
export type ListScheduleTimesParams = Sendable<
  NonNullable<operations['listScheduleTimes']['parameters']['query']>
>
export type ListFiringsParams = Sendable<NonNullable<operations['listFirings']['parameters']['query']>>
export type ListPoolsParams = Sendable<NonNullable<operations['listPools']['parameters']['query']>>
export type ListPrincipalsParams = Sendable<NonNullable<operations['listPrincipals']['parameters']['query']>>
export type ListApiKeysParams = Sendable<NonNullable<operations['listApiKeys']['parameters']['query']>>
/** Which pool, environment, identity or secret. */
export type GrantsParams = Sendable<NonNullable<operations['getGrants']['parameters']['query']>>
type AuditQuery = NonNullable<operations['listAuditLog']['parameters']['query']>
/** Which entries; filters combine with AND. */
export type ListAuditLogParams = Sendable<Omit<AuditQuery, 'since' | 'until'>> & {
  [K in 'since' | 'until']?: string | Date | undefined
}
export type ListIdentitiesParams = Sendable<
  NonNullable<operations['listAgentIdentities']['parameters']['query']>
>
export type ListSecretsParams = Sendable<NonNullable<operations['listSecrets']['parameters']['query']>>
export type ListSkillsParams = Sendable<NonNullable<operations['listSkills']['parameters']['query']>>
/** Whose secret: one of the team (default), or your own. */
export type SecretParams = Sendable<NonNullable<operations['getSecret']['parameters']['query']>>
/** A secret, and whose it is. */
export type PutSecretParams = SecretConfig & SecretParams

export type ListWebhooksParams = Sendable<NonNullable<operations['listWebhooks']['parameters']['query']>>
export type ListDeliveriesParams = Sendable<
  NonNullable<operations['listWebhookDeliveries']['parameters']['query']>
>

export type ConversationParams = Sendable<
  NonNullable<operations['getRunConversation']['parameters']['query']>
>

export type ListWorkspaceFilesParams = Sendable<
  NonNullable<operations['listWorkspaceFiles']['parameters']['query']>
>
export type WorkspaceFileParams = Sendable<operations['getWorkspaceFile']['parameters']['query']>

export type DiffParams = Sendable<NonNullable<operations['getRunDiff']['parameters']['query']>>

/** Assistant text on its way: streamed, never stored. The whole text follows as a `message.assistant` event. */
export interface MessageDeltaEvent {
  type: 'message.assistant.delta'
  run_id: string
  data: MessageDelta
}

/** What `runs.stream` yields: everything of the log, and text while it is written. */
export type RunStreamEvent = RunEvent | MessageDeltaEvent

const TERMINAL_STATES: readonly string[] = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'] satisfies RunState[]

/** Whether a run in this state has ended. BLOCKED has not: it waits for a person. */
export const isTerminal = (state: RunState): boolean => TERMINAL_STATES.includes(state)
export type ListWorkersResponse = Schemas['ListWorkersResponse']
export type Queue = Schemas['Queue']
export type QueuedPool = Schemas['QueuedPool']
export type QueuedRun = Schemas['QueuedRun']
export type RunOfWorker = Schemas['RunOfWorker']
export type WorkerItem = Schemas['WorkerItem']
export type ListWorkersParams = Sendable<NonNullable<operations['listWorkers']['parameters']['query']>>
export type QueueParams = Sendable<NonNullable<operations['getQueue']['parameters']['query']>>
export type ListSettingsResponse = Schemas['ListSettingsResponse']
export type Setting = Schemas['Setting']
export type HostRepository = Schemas['HostRepository']
export type ListBranchesResponse = Schemas['ListBranchesResponse']
export type ListRepositoriesResponse = Schemas['ListRepositoriesResponse']
export type ListBranchesParams = Sendable<NonNullable<operations['listBranches']['parameters']['query']>>
export type ListRepositoriesParams = Sendable<
  NonNullable<operations['listRepositories']['parameters']['query']>
>
