import type { Actor } from '../contract/actor.ts'
import { AppError } from '../contract/error.ts'
import type { CreateScheduleRequest, UpdateScheduleRequest } from '../contract/schedule.ts'
import { seal, unseal } from '../sealing/sealing.ts'
import { readStanding } from '../store/api-keys.ts'
import type { NewRun } from '../store/new-runs.ts'
import type { ScheduleContent, ScheduleRow, ScheduleTemplate } from '../store/schedules.ts'
import { maskConfig, revealConfig } from './config-secrets.ts'
import { checkRecurrence, nextAfter } from './cron.ts'
import type { RunServices } from './new-run.ts'
import { resolveTemplate } from './template.ts'

export interface ScheduleServices extends RunServices {
  /** The least that may lie between two due times. */
  min_schedule_seconds: number
}

/** Which schedule is written, by whom, and what there is of it. */
export interface ScheduleEdit {
  schedule_id: string
  actor: Actor
  scope: 'User' | 'Team'
  before: ScheduleRow | null
  now: Date
}

/** What is stored of a schedule. Throws, naming the field, where a run like its runs would be refused. */
export async function resolveSchedule(
  services: ScheduleServices,
  asked: CreateScheduleRequest | UpdateScheduleRequest,
  { schedule_id, actor, scope, before, now }: ScheduleEdit,
): Promise<ScheduleContent> {
  const { seal_key } = services
  const { time_zone, overlap, catch_up } = before ?? { time_zone: 'UTC', overlap: 'skip', catch_up: 'latest' }
  const kept = {
    config: before?.config ?? {},
    secrets: before?.sealed ? unseal(seal_key, schedule_id, before.sealed) : {},
  }
  const template: ScheduleTemplate = {
    name: asked.name,
    cron_schedule: asked.cron_schedule,
    time_zone: asked.time_zone ?? time_zone,
    overlap: asked.overlap ?? overlap,
    catch_up: asked.catch_up ?? catch_up,
    prompt: asked.prompt ?? '',
    mode: asked.mode ?? null,
    title: keep(asked.title, before?.title)?.trim() || null,
    priority: keep(asked.priority, before?.priority),
    budget: keep(asked.budget, before?.budget),
    output_schema: keep(asked.output_schema, before?.output_schema),
    config: revealConfig(asked.agent_config ?? {}, kept, 'agent_config'),
    metadata: asked.metadata ?? {},
    agent_uid: asked.agent_uid ?? null,
  }
  checkRecurrence(template, now, services.min_schedule_seconds)
  const run = await resolveTemplate(services, { ...template, scope }, actor, 'SCHEDULED_AGENT')
  const { config, secrets } = maskConfig({
    ...template.config,
    // Not the one of an identity, which may get another.
    environment_id: template.config.environment_id && (run.environment_id ?? undefined),
  })
  return {
    ...template,
    config,
    sealed: Object.keys(secrets).length > 0 ? seal(seal_key, schedule_id, secrets) : null,
    next_run_at: (asked.enabled ?? true) ? nextRunOf(template, before, now) : null,
  }
}

/** Clients of the wire format do not know these fields: what is left out stays, and null takes it away. */
const keep = <T>(value: T | null | undefined, before: T | null | undefined): T | null =>
  (value === undefined ? before : value) ?? null

/** A time that is due already is not lost by changing the prompt; one that a wrong clock put too far ahead is. */
function nextRunOf(template: ScheduleTemplate, before: ScheduleRow | null, now: Date): Date {
  const next = nextAfter(template, now)
  const same =
    before?.cron_schedule === template.cron_schedule && before.time_zone === template.time_zone
      ? before.next_run_at
      : null
  return same && same < next ? same : next
}

/** The run that a schedule creates now. Throws what a create of it would be refused with. */
export async function resolveScheduledRun(
  services: RunServices,
  schedule: Pick<ScheduleRow, 'schedule_id' | 'scope' | 'sealed'> & ScheduleTemplate,
  editor_id: string,
): Promise<NewRun> {
  const { schedule_id, sealed } = schedule
  const secrets = sealed ? unseal(services.seal_key, schedule_id, sealed) : {}
  const config = revealConfig(schedule.config, { config: schedule.config, secrets }, 'agent_config')
  const actor = await readStanding(services.db, editor_id)
  if (actor.role === 'viewer')
    throw new AppError(
      'not_authorized',
      'Whoever saved the schedule last may only read by now. Its runs are created again once somebody else saves it.',
    )
  const run = await resolveTemplate(services, { ...schedule, config }, actor, 'SCHEDULED_AGENT')
  const { name: schedule_name, cron_schedule } = schedule
  return { ...run, schedule: { schedule_id, schedule_name, cron_schedule } }
}
