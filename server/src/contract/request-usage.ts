import { z } from 'zod'

const InferenceUsage = z
  .object({
    token_count: z
      .object({
        input: z.int().meta({ description: 'Without those of the cache.' }),
        input_cache_read: z.int(),
        input_cache_write: z.int(),
        output: z.int(),
      })
      .meta({ description: 'Tokens.' }),
    cost_in_cents: z
      .object({
        input_cost_in_cents: z.number(),
        input_cache_read_cost_in_cents: z.number(),
        input_cache_write_cost_in_cents: z.number(),
        output_cost_in_cents: z.number(),
      })
      .meta({ description: 'US cents; 0 where the price of the model is not known.' }),
    web_search_count: z.int().meta({ description: 'Always 0: searches of providers are not counted.' }),
    web_search_cost_in_cents: z.number(),
  })
  .meta({ id: 'InferenceUsage' })

export const ModelTokenUsage = z
  .object({
    model_id: z.string(),
    total_tokens: z.int(),
    usage_type: z.enum(['warp', 'byok', 'custom_endpoint']).meta({
      description: "Always `warp`, the wire format's word for a model that the service gives access to.",
    }),
    tokens_by_category: z.record(z.string(), z.int()),
  })
  .meta({ id: 'ModelTokenUsage' })

export const CategoryUsage = z
  .object({
    platform_usage_in_cents: z.number().meta({ description: 'Always 0.' }),
    direct_api_inference_usage: z.record(z.string(), InferenceUsage).meta({ description: 'By model.' }),
  })
  .meta({ id: 'CategoryUsage' })

export const RequestUsage = z
  .object({
    inference_cost_usd: z
      .number()
      .optional()
      .meta({ description: 'US dollars, where the price of the model is known.' }),
    inference_cost: z.number().optional().meta({
      description: 'The same: the wire format counts credits here, and a credit of Runyard is a US dollar.',
    }),
    compute_cost: z.number().meta({ description: 'Always 0: Runyard charges nothing for its machines.' }),
    compute_cost_usd: z.number(),
    platform_cost: z.number().meta({ description: 'Always 0.' }),
    platform_cost_usd: z.number(),
    total_tokens: z.int(),
    input_tokens: z.int().meta({ description: 'Those of the cache included.' }),
    output_tokens: z.int(),
    cache_read_tokens: z.int().meta({
      description: 'Of the input tokens, those that providers read from their caches.',
    }),
    cache_write_tokens: z.int().meta({
      description: 'Of the input tokens, those that providers wrote into their caches.',
    }),
    model_token_usage: z.array(ModelTokenUsage).meta({ description: 'By model, most tokens first.' }),
    usage_by_category: z.record(z.string(), CategoryUsage).meta({
      description:
        '`primary_agent`: steps of the agent. `conversation_compaction`: summaries of the conversation. `sandbox_commands`: what commands of the built-in agent asked of models.',
    }),
  })
  .meta({ id: 'RequestUsage' })
export type RequestUsage = z.infer<typeof RequestUsage>
