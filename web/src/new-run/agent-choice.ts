import type { CreateRunParams } from '@runyard/client'

type Config = NonNullable<CreateRunParams['config']>

/** Where runs work and with what, as text; empty is what the service takes by default. */
export interface AgentChoice {
  environment: string
  model: string
  harness: string
}

export const choiceOf = (config: Config | undefined): AgentChoice => ({
  environment: config?.environment_id ?? '',
  model: config?.model_id ?? '',
  harness: config?.harness?.type ?? '',
})

/** The configuration of what was chosen. What is not chosen here stays; so do the details of an agent that stays. */
export function configOf(choice: AgentChoice, before: Config | undefined): Config {
  const { environment_id: _, model_id: __, harness, ...others } = before ?? {}
  const [environment, model] = [choice.environment, choice.model.trim()]
  const kept = choice.harness === (harness?.type ?? '') ? harness : { type: choice.harness }
  return {
    ...others,
    ...(environment ? { environment_id: environment } : {}),
    ...(model ? { model_id: model } : {}),
    ...(kept?.type ? { harness: kept } : {}),
  }
}
