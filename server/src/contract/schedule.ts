import { z } from 'zod'
import { AmbientAgentConfig } from './agent-config.ts'
import { EnvironmentConfigView } from './environment.ts'
import { PageInfo, paging } from './page-info.ts'
import { RunCreatorInfo } from './run.ts'
import {
  BudgetLimits,
  Metadata,
  Mode,
  OutputSchema,
  Priority,
  Prompt,
  TITLE_MAX_LENGTH,
  Title,
} from './run-request.ts'
import { requirePrompt, TemplateName } from './run-template.ts'
import { Timestamp } from './timestamp.ts'

export const Overlap = z.enum(['skip', 'allow', 'cancel']).meta({
  id: 'ScheduleOverlap',
  description:
    'What happens at a due time while an earlier run of the schedule is QUEUED, CLAIMED or INPROGRESS: nothing (`skip`), ' +
    'one more run (`allow`), or one more run after the earlier one is cancelled (`cancel`).',
})
export type Overlap = z.infer<typeof Overlap>

export const CatchUp = z.enum(['latest', 'skip']).meta({
  id: 'ScheduleCatchUp',
  description:
    'What happens after the service was down at due times: one run for all of them (`latest`), or none (`skip`).',
})
export type CatchUp = z.infer<typeof CatchUp>

const asked = {
  name: TemplateName,
  cron_schedule: z.string().trim().min(1).max(256).meta({
    description:
      'Five fields (minute, hour, day of month, month, day of week), or six with seconds before them, such as `0 9 * * 1-5`.',
  }),
  prompt: Prompt.optional().meta({
    description: 'At most 1 MiB. Required unless `agent_config` names a skill.',
  }),
  agent_config: AmbientAgentConfig.optional().meta({ description: 'How its runs are executed.' }),
  metadata: Metadata.optional().meta({ description: 'Of each of its runs.' }),
  mode: Mode.optional(),
  title: Title.nullish().meta({
    description: `Of each of its runs, at most ${TITLE_MAX_LENGTH} characters. Default: the first line of the prompt.`,
  }),
  priority: Priority.nullish().meta({ description: 'Of each of its runs.' }),
  budget: BudgetLimits.nullish().meta({ description: 'Of each of its runs.' }),
  output_schema: OutputSchema.nullish().meta({
    description: 'JSON Schema that the result of each of its runs must satisfy.',
  }),
  agent_uid: z.string().max(256).optional().meta({
    description: 'Identity that executes its runs; for schedules of the team.',
  }),
  time_zone: z
    .string()
    .max(64)
    .optional()
    .meta({ description: 'In which the cron expression is read: an IANA name. Default `UTC`.' }),
  overlap: Overlap.optional(),
  catch_up: CatchUp.optional(),
}

export const CreateScheduleRequest = z
  .object({
    ...asked,
    enabled: z.boolean().optional().meta({ description: 'Default true.' }),
    team: z.boolean().optional().meta({
      description: 'false: a personal schedule with personal runs, which its owner alone sees.',
    }),
  })
  .check(requirePrompt)
  .meta({ id: 'CreateScheduleRequest' })
export type CreateScheduleRequest = z.infer<typeof CreateScheduleRequest>

export const UpdateScheduleRequest = z
  .object({ ...asked, enabled: z.boolean() })
  .check(requirePrompt)
  .meta({ id: 'UpdateScheduleRequest' })
export type UpdateScheduleRequest = z.infer<typeof UpdateScheduleRequest>

export const ScheduledAgentItem = z
  .object({
    id: z.string().meta({ format: 'uuid' }),
    name: z.string(),
    cron_schedule: z.string(),
    time_zone: z.string(),
    enabled: z.boolean(),
    overlap: Overlap,
    catch_up: CatchUp,
    prompt: z.string(),
    agent_config: AmbientAgentConfig.meta({ description: 'As it was asked for; values are `***`.' }),
    metadata: z.record(z.string(), z.string()),
    mode: Mode.optional(),
    title: z.string().optional(),
    priority: z.int().optional(),
    budget: BudgetLimits.optional(),
    output_schema: OutputSchema.optional(),
    created_at: Timestamp,
    updated_at: Timestamp.meta({ description: 'Of the last change by somebody, not of its runs.' }),
    created_by: RunCreatorInfo,
    updated_by: RunCreatorInfo.meta({
      description: 'Who saved it last. Its runs are created as this user or service account.',
    }),
    environment: EnvironmentConfigView.optional().meta({
      description: "The environment of the schedule's runs, as it is now. Not in lists.",
    }),
    agent_uid: z.string().optional().meta({ description: 'The identity that executes its runs.' }),
    scope: z.object({ type: z.enum(['User', 'Team']), uid: z.string().optional() }),
    warnings: z.array(z.string()).optional().meta({
      description: 'What may not be as it was meant, as a pool that no worker serves. Not in lists.',
    }),
    last_spawn_error: z.string().nullable().meta({
      description: 'Why the last due time gave no run; null once a run was created again.',
    }),
    history: z.object({
      last_ran: Timestamp.nullable().meta({ description: 'When its last run was created.' }),
      next_run: Timestamp.nullable().meta({ description: 'null while it is paused.' }),
    }),
    next_runs: z.array(Timestamp).meta({ description: 'The next three times; none while it is paused.' }),
  })
  .meta({ id: 'ScheduledAgentItem' })
export type ScheduledAgentItem = z.infer<typeof ScheduledAgentItem>

export const DeleteScheduleResponse = z
  .object({ success: z.boolean() })
  .meta({ id: 'DeleteScheduleResponse' })

export const ListSchedulesQuery = z.object({
  ...paging(500, 'Large schedules end a page sooner.'),
})
export type ListSchedulesQuery = z.infer<typeof ListSchedulesQuery>

export const ListSchedulesResponse = z
  .object({ schedules: z.array(ScheduledAgentItem), page_info: PageInfo })
  .meta({ id: 'ListSchedulesResponse' })
export type ListSchedulesResponse = z.infer<typeof ListSchedulesResponse>

export const ListScheduleTimesQuery = z.object({
  cron_schedule: asked.cron_schedule,
  time_zone: asked.time_zone,
})

export const ListScheduleTimesResponse = z
  .object({ next_runs: z.array(Timestamp).meta({ description: 'The next three times.' }) })
  .meta({ id: 'ListScheduleTimesResponse' })

export const FiringOutcome = z.enum(['created', 'skipped', 'failed'])
export type FiringOutcome = z.infer<typeof FiringOutcome>

export const ScheduleFiring = z
  .object({
    due_at: Timestamp.meta({
      description: 'The time that the cron expression names; with `asked_by`, when it was asked for.',
    }),
    fired_at: Timestamp,
    outcome: FiringOutcome,
    run_id: z.string().optional(),
    reason: z.string().optional().meta({ description: 'Why there is no run, or why one came late.' }),
    asked_by: RunCreatorInfo.optional().meta({
      description: 'Who had it run at once; absent if it was due.',
    }),
  })
  .meta({ id: 'ScheduleFiring' })
export type ScheduleFiring = z.infer<typeof ScheduleFiring>

export const ListFiringsQuery = z.object({
  ...paging(20),
})
export type ListFiringsQuery = z.infer<typeof ListFiringsQuery>

export const ListFiringsResponse = z
  .object({ firings: z.array(ScheduleFiring), page_info: PageInfo })
  .meta({ id: 'ListFiringsResponse' })
export type ListFiringsResponse = z.infer<typeof ListFiringsResponse>
