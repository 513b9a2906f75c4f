import { z } from 'zod'

export const Model = z
  .object({
    model_id: z.string().meta({ description: 'What `config.model_id` takes: `provider/model`.' }),
    provider: z.string(),
    display_name: z.string().optional(),
    context_window: z.int().optional().meta({ description: 'Tokens, where the provider says so.' }),
  })
  .meta({ id: 'Model' })
export type Model = z.infer<typeof Model>

export const ListModelsResponse = z
  .object({ models: z.array(Model), default_model_id: z.string().optional() })
  .meta({ id: 'ListModelsResponse' })
