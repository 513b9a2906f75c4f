import type { CreateRunParams, RunItem } from '@runyard/client'

/** What the form of a new run holds: text as it was typed. */
export interface RunForm {
  prompt: string
  title: string
  environment: string
  model: string
  harness: string
  skill: string
  max_cost: string
  max_tokens: string
  max_minutes: string
}

export const EMPTY_FORM: RunForm = {
  prompt: '',
  title: '',
  environment: '',
  model: '',
  harness: '',
  skill: '',
  max_cost: '',
  max_tokens: '',
  max_minutes: '',
}

/** What a run is made from: nothing, an earlier run to do again, or one to go on from. */
export type Origin =
  | { kind: 'replay'; run: RunItem }
  | { kind: 'fork'; run: RunItem; sequence: number | undefined }
  | undefined

/** The form of a run that repeats another, or goes on from it. The prompt of a fork is a new one. */
export const formOf = ({ kind, run }: NonNullable<Origin>): RunForm => ({
  ...EMPTY_FORM,
  prompt: kind === 'replay' ? run.prompt : '',
  environment: run.agent_config.environment_id ?? '',
  model: run.agent_config.model_id ?? '',
  harness: run.agent_config.harness?.type ?? '',
  skill: kind === 'replay' ? (run.agent_config.skill_spec ?? '') : '',
})

const forkOf = ({ run, sequence }: Extract<Origin, { kind: 'fork' }>) => ({
  run_id: run.run_id,
  ...(sequence === undefined ? {} : { sequence }),
})

/** The request that the form stands for. Of a replay and a fork only what differs is sent. */
export function buildRequest(form: RunForm, origin: Origin): CreateRunParams {
  const before = origin && formOf(origin)
  const value = (name: keyof RunForm): string | undefined => {
    const text = name === 'prompt' ? form.prompt : form[name].trim()
    return text === '' || text === before?.[name] ? undefined : text
  }
  const [prompt, title, skill] = [value('prompt'), value('title'), value('skill')]
  const [environment_id, model_id, type] = [value('environment'), value('model'), value('harness')]
  const config = {
    ...(environment_id ? { environment_id } : {}),
    ...(model_id ? { model_id } : {}),
    ...(type ? { harness: { type } } : {}),
  }
  const [cost, tokens, minutes] = [value('max_cost'), value('max_tokens'), value('max_minutes')]
  const budget = {
    ...(cost ? { max_cost_usd: Number(cost) } : {}),
    ...(tokens ? { max_tokens: Number(tokens) } : {}),
    ...(minutes ? { max_duration_minutes: Number(minutes) } : {}),
  }
  return {
    ...(origin?.kind === 'replay' ? { replay_of_run_id: origin.run.run_id } : {}),
    ...(origin?.kind === 'fork' ? { fork_of: forkOf(origin) } : {}),
    ...(prompt === undefined ? {} : { prompt }),
    ...(title ? { title } : {}),
    ...(skill ? { skill } : {}),
    ...(Object.keys(config).length > 0 ? { config } : {}),
    ...(Object.keys(budget).length > 0 ? { budget } : {}),
  }
}
