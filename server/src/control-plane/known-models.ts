/** Models as workers over HTTPS name them. Everybody who may use the service is shown them. */
import { z } from 'zod'
import { ModelPrices } from '../contract/model.ts'
import type { WorkerRegistration } from '../store/workers.ts'

const MOST = 1_000
const MOST_BYTES = 256 * 1024
/** As a run's request may name it. */
const ModelId = z.string().min(1).max(256)

/** Nothing but this is stored: what another version says besides is left out. */
const KnownModel = z.object({
  model_id: ModelId,
  provider: z.string().max(256),
  display_name: z.string().max(1_024).optional(),
  context_window: z.int().min(0).optional(),
  prices: ModelPrices.optional(),
  sees_images: z.boolean().optional(),
})

export const KnownModels: z.ZodType<WorkerRegistration['models']> = z
  .object({ models: z.array(KnownModel).max(MOST), default_model_id: ModelId.optional() })
  .refine(
    (listed) => Buffer.byteLength(JSON.stringify(listed)) <= MOST_BYTES,
    'must have at most 256 KiB in all',
  )

/** As many as a server takes: a provider that lists more keeps no worker from its work. */
export function fittingModels({
  models,
  default_model_id,
}: WorkerRegistration['models']): WorkerRegistration['models'] {
  const fitting: WorkerRegistration['models']['models'] = []
  // For what stands around them.
  let bytes = 1_024
  for (const model of models) {
    bytes += Buffer.byteLength(JSON.stringify(model)) + 1
    if (fitting.length === MOST || bytes > MOST_BYTES) break
    if (KnownModel.safeParse(model).success) fitting.push(model)
  }
  return { models: fitting, default_model_id: ModelId.safeParse(default_model_id).data }
}
