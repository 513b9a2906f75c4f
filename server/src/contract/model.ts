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
  .object({ input: price, output: price, cached_input: price.optional() })
  .meta({ id: 'ModelPrices', description: 'US dollars per million tokens.' })
export type ModelPrices = z.infer<typeof ModelPrices>

export const Model = z
  .object({
    model_id: z.string().meta({ description: 'What `config.model_id` takes: `provider/model`.' }),
    provider: z.string(),
    display_name: z.string().optional(),
    context_window: z.int().optional().meta({ description: 'Tokens, where it is known.' }),
    prices: ModelPrices.optional().meta({
      description: 'Where they are known: public prices, or those the operator has set.',
    }),
  })
  .meta({ id: 'Model' })
export type Model = z.infer<typeof Model>

export const ListModelsResponse = z
  .object({
    models: z.array(Model),
    default_model_id: z
      .string()
      .optional()
      .meta({ description: 'What a run is answered by that names no model.' }),
  })
  .meta({ id: 'ListModelsResponse' })
export type ListModelsResponse = z.infer<typeof ListModelsResponse>
