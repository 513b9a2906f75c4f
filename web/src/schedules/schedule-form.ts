import type { CreateScheduleRequest, ScheduledAgentItem, UpdateScheduleRequest } from '@runyard/client'
import { choiceOf, configOf } from '../new-run/agent-choice.ts'
import { budgetFormOf, budgetOf } from '../new-run/budget.ts'
import { areReadable, type Details } from '../new-run/details.ts'
import { objectOf, writeObject } from '../new-run/json-object.ts'
import { readMetadata, writeMetadata } from '../new-run/metadata.ts'

/** The fields of a schedule that its form shows, as they were typed. What it does not show is kept as it was. */
export interface ScheduleForm extends Details {
  name: string
  cron: string
  zone: string
  prompt: string
  skill: string
  /** Of its runs. */
  title: string
  overlap: ScheduledAgentItem['overlap']
  catch_up: ScheduledAgentItem['catch_up']
}

/** `zone`: where a new one is at home. */
export const formOf = (schedule: ScheduledAgentItem | undefined, zone: string): ScheduleForm => ({
  ...choiceOf(schedule?.agent_config),
  ...budgetFormOf(schedule?.budget),
  name: schedule?.name ?? '',
  cron: schedule?.cron_schedule ?? '',
  zone: schedule?.time_zone ?? zone,
  prompt: schedule?.prompt ?? '',
  skill: schedule?.agent_config.skill_spec ?? '',
  title: schedule?.title ?? '',
  priority: String(schedule?.priority ?? ''),
  overlap: schedule?.overlap ?? 'skip',
  catch_up: schedule?.catch_up ?? 'latest',
  identity: schedule?.agent_uid ?? '',
  is_personal: schedule?.scope.type === 'User',
  metadata: writeMetadata(schedule?.metadata),
  output_schema: writeObject(schedule?.output_schema),
})

function saidOf(form: ScheduleForm, before: ScheduledAgentItem | undefined) {
  const { skill_spec: _, ...config } = configOf(form, before?.agent_config)
  const [skill, title, priority] = [form.skill, form.title, form.priority].map((text) => text.trim())
  const [budget, schema] = [budgetOf(form), objectOf(form.output_schema)]
  return {
    name: form.name.trim(),
    cron_schedule: form.cron.trim(),
    time_zone: form.zone.trim(),
    ...(form.prompt.trim() ? { prompt: form.prompt } : {}),
    agent_config: { ...config, ...(skill ? { skill_spec: skill } : {}) },
    overlap: form.overlap,
    catch_up: form.catch_up,
    ...(form.metadata.trim() || before ? { metadata: readMetadata(form.metadata) } : {}),
    ...(form.identity ? { agent_uid: form.identity } : {}),
    // These stay where they are left out, and what was there goes with null.
    ...(title || before?.title ? { title: title || null } : {}),
    ...(priority || before?.priority !== undefined ? { priority: priority ? Number(priority) : null } : {}),
    ...(budget || before?.budget ? { budget: budget ?? null } : {}),
    ...(schema || before?.output_schema ? { output_schema: schema ?? null } : {}),
  }
}

export const creationOf = (form: ScheduleForm): CreateScheduleRequest => ({
  ...saidOf(form, undefined),
  ...(form.is_personal ? { team: false } : {}),
})

export function updateOf(form: ScheduleForm, before: ScheduledAgentItem): UpdateScheduleRequest {
  const { enabled, mode } = before
  return { ...saidOf(form, before), enabled, ...(mode ? { mode } : {}) }
}

/** Whether all is there that has to be. */
export const isWhole = (form: ScheduleForm): boolean =>
  form.name.trim() !== '' &&
  form.cron.trim() !== '' &&
  (form.prompt.trim() !== '' || form.skill.trim() !== '') &&
  areReadable(form)
