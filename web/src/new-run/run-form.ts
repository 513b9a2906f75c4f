import type { CreateRunParams, RunItem } from '@runyard/client'
import { type AgentConfig, choiceOf, configOf } from './agent-choice.ts'
import { budgetOf } from './budget.ts'
import { areReadable, type Details, NO_DETAILS } from './details.ts'
import { objectOf } from './json-object.ts'
import { readMetadata, writeMetadata } from './metadata.ts'

/** What the form of a new run holds: text as it was typed. */
export interface RunForm extends Details {
  prompt: string
  title: string
  skill: string
  /** For grouping, as the list shows it. */
  label: string
}

export const EMPTY_FORM: RunForm = {
  ...NO_DETAILS,
  prompt: '',
  title: '',
  skill: '',
  label: '',
}

/** What a run is made from: nothing, an earlier run to do again, or one to go on from. */
export type Origin =
  | { kind: 'replay'; run: RunItem }
  | { kind: 'fork'; run: RunItem; sequence: number | undefined }
  | undefined

/** The form of a run that repeats another, or goes on from it. The prompt of a fork is a new one. */
export const formOf = ({ kind, run }: NonNullable<Origin>): RunForm => ({
  ...EMPTY_FORM,
  ...choiceOf(run.agent_config),
  ...ownPlace(run.agent_config),
  prompt: kind === 'replay' ? run.prompt : '',
  skill: kind === 'replay' ? (run.agent_config.skill_spec ?? '') : '',
  label: run.agent_config.name ?? '',
  // An identity with a key of its own runs as itself; whoever repeats that run does not.
  identity: run.executor.uid === run.creator.uid ? '' : run.executor.uid,
  is_personal: run.scope.type === 'User',
  metadata: writeMetadata(run.metadata),
})

/** The service fills in its defaults, which nobody has said. */
const ownPlace = ({ worker_host, idle_timeout_minutes }: AgentConfig) => ({
  pool: worker_host === 'default' ? '' : (worker_host ?? ''),
  idle_minutes: idle_timeout_minutes === 10 ? '' : String(idle_timeout_minutes ?? ''),
})

const forkOf = ({ run, sequence }: Extract<Origin, { kind: 'fork' }>) => ({
  run_id: run.run_id,
  ...(sequence === undefined ? {} : { sequence }),
})

/** The request that the form stands for. Of a replay and a fork only what differs is sent: the rest is taken over. */
export function buildRequest(form: RunForm, origin: Origin): CreateRunParams {
  const start = origin ? formOf(origin) : EMPTY_FORM
  const changed = (name: 'title' | 'skill' | 'identity' | 'priority'): string | undefined =>
    form[name].trim() === start[name] ? undefined : form[name].trim() || undefined
  const [title, skill, identity, priority] = [
    changed('title'),
    changed('skill'),
    changed('identity'),
    changed('priority'),
  ]
  const config = changedConfig(form, origin?.run.agent_config)
  const budget = budgetOf(form)
  const output_schema = objectOf(form.output_schema)
  return {
    ...(origin?.kind === 'replay' ? { replay_of_run_id: origin.run.run_id } : {}),
    ...(origin?.kind === 'fork' ? { fork_of: forkOf(origin) } : {}),
    ...(form.prompt && form.prompt !== start.prompt ? { prompt: form.prompt } : {}),
    ...(title ? { title } : {}),
    ...(skill ? { skill } : {}),
    ...(identity ? { agent_identity_uid: identity } : {}),
    ...(form.is_personal && !start.is_personal ? { team: false } : {}),
    ...(Object.keys(config).length > 0 ? { config } : {}),
    ...(form.metadata.trim() === start.metadata ? {} : { metadata: readMetadata(form.metadata) }),
    ...(priority ? { priority: Number(priority) } : {}),
    ...(budget ? { budget } : {}),
    ...(output_schema ? { output_schema } : {}),
  }
}

/** What the form says otherwise than the run that this one is made from. */
function changedConfig(form: RunForm, before: AgentConfig | undefined): AgentConfig {
  const label = form.label.trim()
  const said: AgentConfig = { ...configOf(form, before), ...(label ? { name: label } : {}) }
  const isSame = ([name, value]: [string, unknown]): boolean =>
    JSON.stringify(value) === JSON.stringify(before?.[name as keyof AgentConfig])
  return Object.fromEntries(Object.entries(said).filter((field) => !isSame(field)))
}

/** Whether all is there that has to be, as far as the page can know it. */
export const isWhole = (form: RunForm): boolean =>
  (form.prompt.trim() !== '' || form.skill.trim() !== '') && areReadable(form)
