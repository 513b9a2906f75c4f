import { z } from 'zod'

/** Whose APIs are spoken as they are; all others speak that of OpenAI. */
export const MODEL_APIS = ['anthropic', 'openai', 'google'] as const
export type ModelApi = (typeof MODEL_APIS)[number]

/** They have variables of their own: more than a key and an address. */
export const CLOUDS = ['bedrock', 'vertex', 'azure'] as const
/** Of them, those that no program in a sandbox can be led to. */
const SIGNED: readonly string[] = ['bedrock', 'vertex']

/** The API of a provider, by its name; `null`: one of its own, which no agent in a sandbox speaks to by the gateway. */
export const apiOf = (provider: string): ModelApi | null =>
  SIGNED.includes(provider) ? null : (MODEL_APIS.find((api) => api === provider) ?? 'openai')

const price = z.number().nonnegative()

export const ModelPrices = z
  .object({ input: price, output: price, cached_input: price.optional(), cache_write: price.optional() })
  .meta({ id: 'ModelPrices', description: 'US dollars per million tokens.' })
export type ModelPrices = z.infer<typeof ModelPrices>

/** A model as workers know it. */
export interface KnownModel {
  /** `provider/model`. */
  model_id: string
  provider: string
  display_name?: string | undefined
  context_window?: number | undefined
  prices?: ModelPrices | undefined
  /** Absent: its list does not say. */
  sees_images?: boolean | undefined
}

export const Model = z
  .object({
    id: z.string().meta({ description: 'The value for `config.model_id`: `provider/model`.' }),
    display_name: z.string(),
    provider: z.enum(['OPENAI', 'ANTHROPIC', 'GOOGLE', 'UNKNOWN']).meta({
      description: 'The company that made the model, whichever provider serves it.',
    }),
    vision_supported: z.boolean().meta({
      description: 'The model takes images, as its provider or its name says.',
    }),
    context_window: z.int().optional().meta({ description: 'In tokens, if it is known.' }),
    prices: ModelPrices.optional().meta({
      description: 'Public prices, or those the operator has set, if they are known.',
    }),
  })
  .meta({ id: 'Model' })
export type Model = z.infer<typeof Model>

export const ListModelsResponse = z
  .object({
    models: z.array(Model),
    default_model_id: z.string().meta({
      description: 'The model of a run that names none. Empty if the workers have no default model.',
    }),
  })
  .meta({ id: 'ListModelsResponse' })
export type ListModelsResponse = z.infer<typeof ListModelsResponse>
