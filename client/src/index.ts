export type { APIPromise, WithResponse } from './api-promise.ts'
export { type RawOptions, Runyard, type RunyardOptions } from './client.ts'
export {
  APIConnectionError,
  APIError,
  APIResponseValidationError,
  APITimeoutError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  RunFailedError,
  RunyardError,
  UnprocessableEntityError,
  WebhookVerificationError,
} from './errors.ts'
export type { ConversationPages, EnvironmentList, RunList, SecretList } from './lists.ts'
export type { Logger, LogLevel } from './log.ts'
export type { FinishedRun, JsonSchema, OutputSchema } from './output-schema.ts'
export type { PageList } from './page-list.ts'
export type { QueryParams, QueryValue } from './query.ts'
export type { CreateRunParams, WaitOptions } from './runs.ts'
export {
  type AmbientAgentConfig,
  type ArtifactItem,
  type ArtifactResponse,
  type Attachment,
  type ChangedFile,
  type ComparedRepository,
  type Conversation,
  type ConversationParams,
  type ConversationStep,
  type DiffParams,
  type Environment,
  type EnvironmentConfig,
  type EnvironmentRepository,
  type ErrorCode,
  type FollowupOutcome,
  type GitAccess,
  type HarnessConfig,
  type InterruptResponse,
  isTerminal,
  type ListEnvironmentsParams,
  type ListEnvironmentsResponse,
  type ListEventsParams,
  type ListEventsResponse,
  type ListModelsResponse,
  type ListRunsParams,
  type ListRunsResponse,
  type ListSecretsParams,
  type ListSecretsResponse,
  type MCPServerConfig,
  type MessageDelta,
  type MessageDeltaEvent,
  type Model,
  type PageInfo,
  type ProblemDetails,
  /** Its name in the API; `import { type Error as … }` keeps JavaScript's own. */
  type ProblemDetails as Error,
  type PutSecretParams,
  type RequestUsage,
  type ResolvedRun,
  type RunAgentRequest,
  type RunAgentResponse,
  type RunCreatorInfo,
  type RunDiff,
  type RunEvent,
  type RunFollowupRequest,
  type RunFollowupResponse,
  type RunItem,
  type RunSourceType,
  type RunState,
  type RunStatusMessage,
  type RunStreamEvent,
  type Secret,
  type SecretConfig,
  type SecretParams,
  type WebhookEvent,
} from './schemas.ts'
export type { StreamConnection, StreamOptions } from './stream.ts'
export type { Fetch, FetchInit, FetchOptions, RequestOptions } from './transport.ts'
export { VERSION } from './version.ts'
export { MAX_RECONNECTS } from './wait.ts'
export type { HeaderSource } from './webhooks.ts'
