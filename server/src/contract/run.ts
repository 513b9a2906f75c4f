import { z } from 'zod'
import { AmbientAgentConfig } from './agent-config.ts'
import { ArtifactItem } from './artifact.ts'
import { boundedRecord } from './bounded-record.ts'
import { EnvironmentReference, NO_ENVIRONMENT } from './environment-name.ts'
import { flag } from './flag.ts'
import { ForkedFrom } from './fork.ts'
import { PageInfo, paging } from './page-info.ts'
import { ReferenceUrl } from './reference-url.ts'
import { RequestUsage } from './request-usage.ts'
import { RunId, RunIdEnding, RunIdPrefix } from './run-id.ts'
import { RunState, RunStatusMessage } from './state.ts'
import { Timestamp, TimestampInput } from './timestamp.ts'

export const RunSourceType = z
  .enum([
    'LINEAR',
    'API',
    'MCP',
    'SLACK',
    'TEAMS',
    'LOCAL',
    'SCHEDULED_AGENT',
    'WEB_APP',
    'GITHUB_ACTION',
    'CLOUD_MODE',
    'CLI',
    'JIRA',
    'SELF_IMPROVEMENT',
    'GITHUB_WEBHOOK',
    'GITLAB_WEBHOOK',
    'AZURE_DEVOPS_WEBHOOK',
    'AUTOFIX',
    'RUN_SCORER',
    'ORCHESTRATION',
    'BENCHMARK_TRIAL',
    'CREATE_BENCHMARK_TASK',
    'CUSTOM_WEBHOOK',
  ])
  .meta({
    id: 'RunSourceType',
    description:
      'Where a run came from. Filters take every source of the wire format, also those that give no run here.',
  })
export type RunSourceType = z.infer<typeof RunSourceType>

export const RunCreatorInfo = z
  .object({
    uid: z.string(),
    type: z.enum(['user', 'service_account']),
    display_name: z.string().optional(),
    email: z.string().optional(),
    photo_url: z.string().optional(),
  })
  .meta({ id: 'RunCreatorInfo' })
export type RunCreatorInfo = z.infer<typeof RunCreatorInfo>

export const ResolvedRun = z
  .object({
    harness: z.string().meta({ description: 'The agent.' }),
    model_id: z
      .string()
      .optional()
      .meta({ description: '`provider/model`; absent where no model is asked.' }),
    image: z
      .string()
      .optional()
      .meta({
        description:
          'The container image, where there is one: its name in full and the digest its registry knows it by, ' +
          '`docker.io/library/node:24-bookworm@sha256:…`. Of an image that came from no registry, its id stands for the digest.',
      }),
    commits: z.record(z.string(), z.string().nullable()).optional().meta({
      description: 'What each repository was cloned at, by its folder; null: it had no commit.',
    }),
    skill: z
      .object({ id: z.string(), name: z.string(), description: z.string(), commit: z.string() })
      .optional()
      .meta({ description: 'The skill that was read, and the commit that it was read of.' }),
  })
  .meta({
    id: 'ResolvedRun',
    description: 'What the run is executed with, once it has started: where the request left it open, too.',
  })
export type ResolvedRun = z.infer<typeof ResolvedRun>

export const RunSchedule = z
  .object({ schedule_id: z.string(), schedule_name: z.string(), cron_schedule: z.string() })
  .meta({
    id: 'RunSchedule',
    description: 'The schedule that created the run, as it was then; it may be deleted since.',
  })
export type RunSchedule = z.infer<typeof RunSchedule>

export const RunTrigger = z.object({ trigger_id: z.string(), delivery_id: z.string() }).meta({
  id: 'RunTrigger',
  description: 'The trigger that created the run, and the delivery that did so; they may be gone since.',
})
export type RunTrigger = z.infer<typeof RunTrigger>

export const WaitingRun = z
  .object({
    reason: z
      .enum([
        'no_worker',
        'workers_not_ready',
        'principal_limit',
        'principal_disabled',
        'agent_busy',
        'pool_busy',
        'starting',
      ])
      .meta({
        description:
          '`no_worker`: none serves its pool. `workers_not_ready`: those of its pool stop, or lack disk space. `principal_limit`: who executes it has as many runs at work as they may. `principal_disabled`: they may execute none. `agent_busy`, `pool_busy`: all slots of workers that have its agent, or of its pool, are taken. `starting`: a worker takes it in a moment.',
      }),
    message: z.string().meta({ description: 'The same as a sentence, with what to do.' }),
    pool: z.string(),
    ahead: z.int().meta({
      description:
        'Older runs that wait in the pool, 100 at most. Which is next depends on priorities and fair shares too.',
    }),
  })
  .meta({ id: 'WaitingRun', description: 'Why a queued run has not started, as of now.' })
export type WaitingRun = z.infer<typeof WaitingRun>

export const RunItem = z
  .object({
    run_id: z.string().meta({ description: 'UUIDv7.' }),
    task_id: z.string().meta({ deprecated: true, description: 'The same as `run_id`.' }),
    title: z.string(),
    state: RunState,
    prompt: z.string(),
    prompt_truncated: z.boolean().optional().meta({
      description:
        'In a list: `prompt` holds the first 2,048 characters only. `GET /agent/runs/{run_id}` has all of it.',
    }),
    submitted_prompt: z.string().meta({
      description:
        'The prompt, and the messages that came before the run began, with empty lines between them. Cut as `prompt` is in a list.',
    }),
    created_at: Timestamp,
    updated_at: Timestamp.meta({
      description: 'Grows strictly with every change of a field, not with output.',
    }),
    started_at: Timestamp.nullable().optional(),
    finished_at: Timestamp.nullable().optional(),
    archived_at: Timestamp.optional().meta({ description: 'Since when lists leave it out.' }),
    run_time: z
      .string()
      .optional()
      .meta({ description: 'Time from claims to ends of all executions, ISO 8601 duration.' }),
    status_message: RunStatusMessage.optional(),
    debug_agent_available: z.boolean().meta({
      description:
        "Whether a follow-up is a debug turn: the run failed while its environment was set up, and the sandbox is kept for the environment's `failure_session_retention_minutes`. Such a turn asks an agent in that sandbox; the run stays FAILED.",
    }),
    waiting: WaitingRun.optional().meta({ description: 'Of a queued run alone.' }),
    source: RunSourceType,
    creator: RunCreatorInfo,
    executor: RunCreatorInfo,
    session_id: z.string(),
    session_link: z.string().meta({
      description:
        'The live page of the run, for who signs in there. With `session_sharing` VIEWER it opens without that, for 15 minutes from this answer.',
    }),
    agent_config: AmbientAgentConfig.meta({ description: 'What was asked for.' }),
    base_prompt_truncated: z
      .boolean()
      .optional()
      .meta({ description: 'In a list: the same of `agent_config.base_prompt`.' }),
    resolved: ResolvedRun.optional(),
    agent_skill: z
      .object({
        name: z.string().optional(),
        full_path: z.string().optional(),
        description: z.string().optional(),
        commit: z.string().optional().meta({ description: 'What it was read of.' }),
        bundled_skill_id: z.string().optional(),
      })
      .optional(),
    conversation_id: z.string(),
    parent_run_id: z.string().optional(),
    root_run_id: z.string(),
    replay_of_run_id: z.string().optional().meta({
      description: 'The run whose prompt and configuration this one took over.',
    }),
    fork_of: ForkedFrom.optional(),
    metadata: z.record(z.string(), z.string()),
    artifacts: z.array(ArtifactItem),
    request_usage: RequestUsage.optional(),
    schedule: RunSchedule.optional(),
    trigger: RunTrigger.optional(),
    trigger_url: z
      .string()
      .optional()
      .meta({ description: 'The page of the schedule or the trigger that created the run.' }),
    scope: z.object({ type: z.enum(['User', 'Team']), uid: z.string().optional() }),
    execution_location: z.enum(['LOCAL', 'REMOTE']),
    is_sandbox_running: z.boolean(),
    is_run_type_cancellable: z.boolean(),
    attempt: z.int().meta({ description: 'Claims by a worker so far.' }),
    execution: z
      .int()
      .meta({ description: 'Executions so far: one, and one more for each follow-up to an ended run.' }),
    result: z
      .unknown()
      .optional()
      .meta({ description: 'What satisfies `output_schema`, when one was given.' }),
  })
  .meta({ id: 'RunItem' })
export type RunItem = z.infer<typeof RunItem>

export const ListRunsResponse = z
  .object({ runs: z.array(RunItem), page_info: PageInfo })
  .meta({ id: 'ListRunsResponse' })
export type ListRunsResponse = z.infer<typeof ListRunsResponse>

/** What people call the state of a run and of what works for it. */
export const TaskStatus = z.enum(['running', 'failed', 'blocked', 'cancelled', 'complete']).meta({
  id: 'TaskStatus',
  description:
    '`running`: the run, or a run below it, is queued or at work. The others are about the run itself: `failed` (FAILED or ERROR), `blocked`, `cancelled`, `complete` (SUCCEEDED).',
})
export type TaskStatus = z.infer<typeof TaskStatus>

/** `state=A&state=B` and `state=A,B` mean the same. */
export const listOf = <T extends z.ZodType>(item: T, most = 64) =>
  z.preprocess(
    (value) =>
      (Array.isArray(value) ? value : [value]).flatMap((v) => (typeof v === 'string' ? v.split(',') : [v])),
    z.array(item).min(1).max(most),
  )

export const MetadataKey = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,64}$/, 'keys are 1 to 64 characters of A-Z, a-z, 0-9, ".", "_", "-"')
export const MetadataValue = z
  .string()
  .refine((value) => Buffer.byteLength(value) <= 256, 'values are at most 256 bytes')
  .meta({ maxLength: 256 })

export const SORT_KEYS = ['updated_at', 'created_at', 'title', 'agent'] as const
export type SortKey = (typeof SORT_KEYS)[number]

/** Stands for the principal of the key, whose id its holder need not know. */
export const ME = 'me'

export const ListRunsQuery = z.object({
  ...paging(20),
  sort_by: z.enum(SORT_KEYS).optional(),
  sort_order: z.enum(['asc', 'desc']).optional(),
  state: listOf(RunState).optional().meta({ description: 'Any of these; repeated or separated by commas.' }),
  name: z.string().max(256).optional(),
  model_id: z.string().max(256).optional(),
  creator: z
    .string()
    .max(256)
    .optional()
    .meta({ description: `Id, or \`${ME}\` for who asks.` }),
  executor: z
    .string()
    .max(256)
    .optional()
    .meta({ description: `Id, or \`${ME}\` for who asks.` }),
  source: listOf(RunSourceType)
    .optional()
    .meta({ description: 'Any of these; repeated or separated by commas.' }),
  task_status: listOf(TaskStatus)
    .optional()
    .meta({ description: 'Any of these; repeated or separated by commas.' }),
  execution_location: z.enum(['LOCAL', 'REMOTE']).optional(),
  needs_attention: flag().optional().meta({
    description:
      'With `true`, runs that somebody has to act on: an agent has asked something, a call waits for approval, a budget is spent, the setup failed in the last 7 days, or an open pull request of an ended run is to be merged.',
  }),
  archived: z.enum(['true', 'false', 'all']).optional().meta({
    description: 'Default `false`: without archived runs. `true`: those alone.',
  }),
  created_after: TimestampInput.optional(),
  created_before: TimestampInput.optional(),
  updated_after: TimestampInput.optional(),
  environment_id: EnvironmentReference.optional().meta({
    description: `Id, of a deleted environment too, or name; \`${NO_ENVIRONMENT}\` for runs without any.`,
  }),
  skill: z.string().max(1024).optional(),
  skill_spec: z.string().max(1024).optional(),
  schedule_id: z.string().max(256).optional().meta({ description: 'Of a deleted schedule, too.' }),
  trigger_id: z.string().max(256).optional().meta({ description: 'Of a deleted trigger, too.' }),
  automation_id: z
    .string()
    .max(256)
    .optional()
    .meta({ description: 'Runs that were created with `automation_id` in their metadata.' }),
  factory_uid: listOf(z.string().max(256)).optional().meta({
    description: 'There are no factories here, so with one the list is empty.',
  }),
  factory_only: flag().optional().meta({ description: 'The same, with `true`.' }),
  run_id_prefix: RunIdPrefix.optional().meta({
    description: 'The beginning of the id: a shortened id is the only one of two asked for.',
  }),
  run_id_suffix: RunIdEnding.optional().meta({
    description: 'The end of the id, 6 characters or more: what people are shown of it.',
  }),
  ancestor_run_id: RunId.optional(),
  artifact_type: z
    .enum(['PLAN', 'PULL_REQUEST', 'SCREENSHOT', 'FILE', 'DIFF', 'EXTERNAL_REFERENCE'])
    .optional()
    .meta({ description: '`DIFF`: runs that changed something, which have a `FILE` with `diff`.' }),
  reference_url: ReferenceUrl.optional().meta({
    description:
      'Runs that produced this address: a pull request that they opened, a branch that they pushed, or what they reported. ' +
      'Case of the host, default port, fragment and a slash at the end do not matter.',
  }),
  metadata: boundedRecord(MetadataKey, MetadataValue, { max: 5, message: 'at most 5 metadata filters' })
    .optional()
    .meta({ description: '`metadata[key]=value`, at most 5.' }),
  q: z.string().min(1).max(512).optional().meta({
    description:
      'A whole run id, or the address of a run, finds that run. Any text finds runs that have it in the title, in the first 2,048 characters of the prompt, or in the skill.',
  }),
})
export type ListRunsQuery = z.infer<typeof ListRunsQuery>
