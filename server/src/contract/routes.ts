import { z } from 'zod'
import { ACCESS_ROUTES } from './access-routes.ts'
import { AnswerApprovalRequest, AnswerApprovalResponse } from './approval.ts'
import { ARTIFACT_ROUTES } from './artifact-routes.ts'
import { Conversation, ConversationQuery } from './conversation.ts'
import { CONVERSATION_ROUTES } from './conversation-routes.ts'
import { RunDiff } from './diff.ts'
import {
  Environment,
  EnvironmentRequest,
  ListEnvironmentsQuery,
  ListEnvironmentsResponse,
} from './environment.ts'
import { ListEventsResponse } from './event.ts'
import { StreamEventsQuery } from './event-stream.ts'
import { flag } from './flag.ts'
import { FLEET_ROUTES } from './fleet-routes.ts'
import { HandoffAttachmentsResponse } from './handoff.ts'
import { ListModelsResponse } from './model.ts'
import { ATTACHMENT_ROUTES } from './prepared-attachment.ts'
import { PULL_REQUEST_ROUTES } from './pull-request-routes.ts'
import { REPOSITORY_ROUTES } from './repository-routes.ts'
import { define, Empty, type RouteDefinition, reading, writing } from './route.ts'
import { ListRunsQuery, ListRunsResponse, RunItem } from './run.ts'
import { RUN_DELETION_ROUTES } from './run-deletion-routes.ts'
import { RUN_REPORT_ROUTES } from './run-report-routes.ts'
import { RunAgentRequest, RunAgentResponse, RunFollowupRequest, RunFollowupResponse } from './run-request.ts'
import { SCHEDULE_ROUTES } from './schedule-routes.ts'
import {
  ListSecretsQuery,
  ListSecretsResponse,
  Secret,
  SecretConfig,
  SecretName,
  SecretQuery,
} from './secret.ts'
import { SHARE_ROUTES } from './share-routes.ts'
import { ListSkillsQuery, ListSkillsResponse } from './skill.ts'
import { TRIGGER_ROUTES } from './trigger-routes.ts'
import { Usage, UsageQuery } from './usage.ts'
import { WEBHOOK_ROUTES } from './webhook-routes.ts'
import { wholeNumber } from './whole-number.ts'
import { WORKSPACE_FILE_ROUTES } from './workspace-file-routes.ts'

const EnvironmentParams = z.object({
  environment_id: z.string().meta({ description: 'Id or name of the environment.' }),
})
const RunParams = z.object({ run_id: z.string().meta({ description: 'Id of the run.' }) })
const SecretParams = z.object({ name: z.string().meta({ description: 'Name of the secret.' }) })

const create = {
  method: 'POST',
  summary: 'Create a run',
  description:
    'Asks for a run of an agent. It is stored before the answer and executed as soon as a worker is free. ' +
    'With an Idempotency-Key header the call is safe to repeat for 24 hours.',
  tag: 'Runs',
  body: RunAgentRequest,
  status: 200,
  target: { field: 'run_id', param: 'run_id' },
  response: RunAgentResponse,
  errors: writing,
  large: true,
  creates_run: true,
} as const satisfies Partial<RouteDefinition>

export const ROUTES = {
  createRun: define({ ...create, path: '/agent/runs' }),
  runAgent: define({
    ...create,
    path: '/agent/run',
    description: `The same as POST /agent/runs. ${create.description}`,
  }),
  listRuns: define({
    method: 'GET',
    path: '/agent/runs',
    summary: 'List runs',
    description:
      'Newest change first by default. Filters combine with AND. Pages neither repeat nor skip runs that stay put. Long prompts are cut, ' +
      'and a page of large runs holds fewer than `limit`: `page_info` says whether there are more.',
    tag: 'Runs',
    query: ListRunsQuery,
    status: 200,
    response: ListRunsResponse,
    pages: 'runs',
    errors: ['invalid_request', ...reading],
  }),
  getRun: define({
    method: 'GET',
    for_visitors: true,
    path: '/agent/runs/{run_id}',
    summary: 'Get a run',
    tag: 'Runs',
    params: RunParams,
    status: 200,
    response: RunItem,
    errors: reading,
  }),
  submitFollowup: define({
    method: 'POST',
    path: '/agent/runs/{run_id}/followups',
    summary: 'Send a follow-up',
    description:
      'A message to the agent, whatever the run is doing; `outcome` says what happens to it. Accepted means stored and delivered once.',
    tag: 'Runs',
    params: RunParams,
    body: RunFollowupRequest,
    status: 200,
    response: RunFollowupResponse,
    errors: writing,
    large: true,
  }),
  ...ATTACHMENT_ROUTES,
  cancelRun: define({
    method: 'POST',
    path: '/agent/runs/{run_id}/cancel',
    summary: 'Cancel a run',
    description: 'The run reads CANCELLED from the next GET on; what the agent had produced stays readable.',
    tag: 'Runs',
    params: RunParams,
    body: Empty,
    status: 200,
    response: z.string().meta({ description: 'The id of the run.' }),
    errors: writing,
  }),
  interruptRun: define({
    method: 'POST',
    path: '/agent/runs/{run_id}/interrupt',
    summary: 'Interrupt the current turn',
    description:
      'Stops what the agent is doing and keeps the run and its sandbox: it goes on with a waiting follow-up, else becomes BLOCKED.',
    tag: 'Runs',
    params: RunParams,
    body: Empty,
    status: 202,
    response: z.object({ run_id: z.string() }).meta({ id: 'InterruptResponse' }),
    errors: writing,
  }),
  answerApproval: define({
    method: 'POST',
    path: '/agent/runs/{run_id}/approvals/{approval_id}',
    summary: 'Answer a call that waits for approval',
    description:
      'The run goes on: the call is carried out, or the agent is told that it was denied, and why. `status_message.approval` of a BLOCKED run says what waits, and so does `approval.requested` in the log. An answer that comes before the agent has stopped waits for that, up to 10 s.',
    tag: 'Runs',
    params: RunParams.extend({ approval_id: z.string().max(64) }),
    body: AnswerApprovalRequest,
    status: 200,
    response: AnswerApprovalResponse,
    errors: writing,
  }),
  listEvents: define({
    method: 'GET',
    for_visitors: true,
    path: '/agent/runs/{run_id}/events',
    summary: 'Read or follow the event log',
    description:
      'JSON pages; with `Accept: text/event-stream` server-sent events whose id is the sequence. `Last-Event-ID` or `after` resumes without loss or repeats. ' +
      'The stream ends with an `end` message when the run has ended and all events were sent, unless `follow=true`. At most 200 streams of a key are open at once at each process of the service.',
    tag: 'Runs',
    params: RunParams,
    query: z.object({
      after: wholeNumber(0, Number.MAX_SAFE_INTEGER)
        .optional()
        .meta({ description: 'Events with a greater sequence only.' }),
      limit: wholeNumber(1, 1000).optional().meta({
        description: '1 to 1000, default 200; JSON only. Large events end a page sooner: `has_more` says so.',
      }),
      follow: flag().optional().meta({ description: 'Keep the stream open after the end of the run.' }),
    }),
    status: 200,
    response: ListEventsResponse,
    streams: true,
    errors: ['invalid_request', ...reading],
  }),
  streamEvents: define({
    method: 'GET',
    path: '/agent/events/stream',
    summary: 'Follow many runs',
    description:
      'Server-sent events of several runs in one stream: those of each run in the order of its log, those of different runs about as they happened. ' +
      'The id of each is a cursor over all of them: `Last-Event-ID` or `since` resumes without loss or repeats. Runs that appear below `ancestor_run_id` join by themselves. ' +
      'At most 200 runs. Ends with an `end` message when all runs have ended and all events were sent, unless `follow=true`. At most 200 streams of a key are open at once at each process of the service.',
    tag: 'Runs',
    query: StreamEventsQuery,
    status: 200,
    streams: true,
    errors: ['invalid_request', ...reading],
  }),
  getRunConversation: define({
    method: 'GET',
    for_visitors: true,
    path: '/agent/runs/{run_id}/conversation',
    summary: 'Get the conversation of a run',
    description:
      'What was said and done, step by step, over all runs of the conversation that the caller may see. A page is about 4 MiB, so ordinary conversations are one; where it can, it ends between two steps.',
    tag: 'Runs',
    params: RunParams,
    query: ConversationQuery,
    status: 200,
    response: Conversation,
    pages: 'steps',
    errors: ['invalid_request', ...reading],
  }),
  getRunDiff: define({
    method: 'GET',
    for_visitors: true,
    path: '/agent/runs/{run_id}/diff',
    summary: 'Get the changes of a run',
    description:
      'How its repositories differ from the commits they were cloned at: staged, unstaged, untracked and committed, but not what git ignores. Compared after each turn; the newest by default.',
    tag: 'Runs',
    params: RunParams,
    query: z.object({
      turn: wholeNumber(1, 1_000_000).optional().meta({
        description: 'As it was when the agent had been given so many messages, the prompt included.',
      }),
    }),
    status: 200,
    response: RunDiff,
    errors: ['invalid_request', 'not_authorized', ...reading],
  }),
  getTranscript: define({
    method: 'GET',
    for_visitors: true,
    path: '/agent/runs/{run_id}/transcript',
    summary: 'Get the raw transcript',
    description: 'Redirects to a link, valid for 15 minutes, to the event log as JSON Lines.',
    tag: 'Runs',
    params: RunParams,
    status: 302,
    errors: reading,
  }),
  listHandoffAttachments: define({
    method: 'GET',
    path: '/agent/runs/{run_id}/handoff/attachments',
    summary: 'List the files that the last execution left',
    description:
      'Links, valid for 15 minutes, to the workspace as the last execution that ended left it: for who goes on with the work elsewhere. It takes the grants of a follow-up, and viewers are refused, since nothing in it is masked.',
    tag: 'Runs',
    params: RunParams,
    status: 200,
    response: HandoffAttachmentsResponse,
    errors: ['not_authorized', ...reading],
  }),
  ...WORKSPACE_FILE_ROUTES,
  ...ARTIFACT_ROUTES,
  listSkills: define({
    method: 'GET',
    path: '/agent',
    summary: 'List skills',
    description:
      'Skills of the environments’ repositories, as the last run of each environment found them, or with `refresh` as they are now. Without it an environment that no run has used yet has none here.',
    tag: 'Skills',
    query: ListSkillsQuery,
    status: 200,
    response: ListSkillsResponse,
    errors: ['invalid_request', 'not_authorized', ...reading],
  }),
  listModels: define({
    method: 'GET',
    path: '/agent/models',
    summary: 'List models',
    description: 'Models that the live workers can use now.',
    tag: 'Models',
    status: 200,
    response: ListModelsResponse,
    errors: reading,
  }),
  getUsage: define({
    method: 'GET',
    path: '/agent/usage',
    summary: 'Get usage',
    description:
      'What the runs that the caller may see have come to, by the day they were created on, by agent, model and environment. At most 366 days.',
    tag: 'Runs',
    query: UsageQuery,
    status: 200,
    response: Usage,
    errors: ['invalid_request', ...reading],
  }),
  ...RUN_DELETION_ROUTES,
  ...RUN_REPORT_ROUTES,
  ...SHARE_ROUTES,
  ...PULL_REQUEST_ROUTES,
  ...ACCESS_ROUTES,
  ...FLEET_ROUTES,
  listEnvironments: define({
    method: 'GET',
    path: '/agent/environments',
    summary: 'List environments',
    tag: 'Environments',
    query: ListEnvironmentsQuery,
    status: 200,
    response: ListEnvironmentsResponse,
    pages: 'environments',
    errors: ['invalid_request', ...reading],
  }),
  createEnvironment: define({
    method: 'POST',
    path: '/agent/environments',
    summary: 'Create an environment',
    description: 'Image, repositories and setup commands in which runs execute.',
    tag: 'Environments',
    body: EnvironmentRequest,
    status: 201,
    target: { field: 'uid', param: 'environment_id' },
    response: Environment,
    errors: writing,
  }),
  getEnvironment: define({
    method: 'GET',
    path: '/agent/environments/{environment_id}',
    summary: 'Get an environment',
    tag: 'Environments',
    params: EnvironmentParams,
    status: 200,
    response: Environment,
    errors: reading,
  }),
  listSecrets: define({
    method: 'GET',
    path: '/agent/secrets',
    summary: 'List secrets',
    description: 'By name: those of the team, and the caller’s own. Values are never returned.',
    tag: 'Secrets',
    query: ListSecretsQuery,
    status: 200,
    response: ListSecretsResponse,
    pages: 'secrets',
    errors: ['invalid_request', ...reading],
  }),
  putSecret: define({
    method: 'PUT',
    path: '/agent/secrets/{name}',
    summary: 'Create or replace a secret',
    description:
      'Stores the value encrypted; no answer ever holds it. What is said of a secret that is there is replaced, too, but it keeps its kind: ' +
      'a variable does not become a token of git, nor a token a variable or one of another host.',
    tag: 'Secrets',
    params: z.object({ name: SecretName }),
    query: SecretQuery,
    body: SecretConfig,
    status: 200,
    response: Secret,
    errors: writing,
  }),
  getSecret: define({
    method: 'GET',
    path: '/agent/secrets/{name}',
    summary: 'Get a secret, without its value',
    tag: 'Secrets',
    params: SecretParams,
    query: SecretQuery,
    status: 200,
    response: Secret,
    errors: ['invalid_request', ...reading],
  }),
  deleteSecret: define({
    method: 'DELETE',
    path: '/agent/secrets/{name}',
    summary: 'Delete a secret',
    description: 'Its value is gone for good. The answer is the secret as it was.',
    tag: 'Secrets',
    params: SecretParams,
    query: SecretQuery,
    status: 200,
    response: Secret,
    errors: writing,
  }),
  updateEnvironment: define({
    method: 'PUT',
    path: '/agent/environments/{environment_id}',
    summary: 'Replace the configuration of an environment',
    description:
      'What is left out is gone, but a variable whose value is `***` keeps the one it has. Attempts of runs that have begun keep what they began with; the next ones get the new configuration.',
    tag: 'Environments',
    params: EnvironmentParams,
    body: EnvironmentRequest,
    status: 200,
    response: Environment,
    errors: writing,
  }),
  deleteEnvironment: define({
    method: 'DELETE',
    path: '/agent/environments/{environment_id}',
    summary: 'Delete an environment',
    description:
      'Answers with what is deleted. Runs keep its id; those that have not begun yet FAIL, since they cannot be prepared any more.',
    tag: 'Environments',
    params: EnvironmentParams,
    status: 200,
    response: Environment,
    errors: writing,
  }),
  ...CONVERSATION_ROUTES,
  ...REPOSITORY_ROUTES,
  ...SCHEDULE_ROUTES,
  ...TRIGGER_ROUTES,
  ...WEBHOOK_ROUTES,
} as const satisfies Record<string, RouteDefinition>

export type OperationId = keyof typeof ROUTES
