import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { PROVIDER_SETTINGS, readProviders } from './config-providers.ts'
import { AppError } from './contract/error.ts'
import { CLOUDS, MODEL_APIS, ModelPrices } from './contract/model.ts'
import type { ModelSettings } from './harness/models.ts'
import { address, key, splitList, whole } from './setting.ts'

const Endpoints = z
  .record(z.string(), z.strictObject({ base_url: address, api_key: z.string().min(1).exactOptional() }))
  .superRefine((endpoints, ctx) => {
    for (const name of Object.keys(endpoints)) {
      const message = whyNoName(name)
      if (message !== null) ctx.addIssue({ code: 'custom', path: [name], message })
    }
  })

function whyNoName(name: string): string | null {
  if (!/^[a-z0-9][a-z0-9-]{0,63}$/.test(name)) return 'must be named with a-z, 0-9 and "-"'
  return [...MODEL_APIS, ...CLOUDS].some((own) => own === name) ? 'has a variable of its own' : null
}

const ContextWindows = z
  .record(z.string(), z.int())
  .refine(
    (windows) => Object.keys(windows).every((name) => /^(\*|[^/]+\/.+)$/.test(name)),
    'must be named with a `provider/model`, or `*`',
  )
  .refine(
    (windows) => Object.values(windows).every((tokens) => tokens >= 1_000),
    'must be at least 1000 tokens',
  )

const OutputLimits = z
  .record(z.string(), z.int())
  .refine(
    (limits) => Object.keys(limits).every((name) => /^(\*|[^/]+\/.+)$/.test(name)),
    'must be named with a `provider/model`, or `*`',
  )
  .refine((limits) => Object.values(limits).every((tokens) => tokens >= 256), 'must be at least 256 tokens')

/** The variables that say which models there are. */
export const MODEL_SETTINGS = {
  RUNYARD_DEFAULT_MODEL: z.string().min(1).optional(),
  RUNYARD_FALLBACK_MODELS: z
    .string()
    .transform(splitList)
    .refine((models) => models.length <= 10, 'must be at most 10 models, separated by commas')
    .optional(),
  RUNYARD_MODEL_ENDPOINTS: z.string().transform(parseJson).pipe(Endpoints).optional(),
  RUNYARD_MODEL_PRICES: z.string().min(1).optional(),
  RUNYARD_CONTEXT_WINDOWS: z.string().transform(parseJson).pipe(ContextWindows).optional(),
  RUNYARD_MAX_OUTPUT_TOKENS: z.string().transform(parseJson).pipe(OutputLimits).optional(),
  RUNYARD_MODEL_SILENCE_SECONDS: whole(1, 290).optional(),
  RUNYARD_MODEL_RETRY_SECONDS: whole(0, 86_400).optional(),
  OPENAI_API_KEY: key,
  OPENAI_BASE_URL: address.optional(),
  ANTHROPIC_API_KEY: key,
  ANTHROPIC_BASE_URL: address.optional(),
  GOOGLE_GENERATIVE_AI_API_KEY: key,
  GEMINI_API_KEY: key,
  GOOGLE_GEMINI_BASE_URL: address.optional(),
  ...PROVIDER_SETTINGS,
}
type Variables = z.infer<z.ZodObject<typeof MODEL_SETTINGS>> & { AWS_REGION?: string | undefined }

export interface ModelConfig extends ModelSettings {
  /** For how long a provider that fails is asked again; absent: as the loop has it. */
  retry_for_ms?: number
}

/** Throws `invalid_request` naming the variable. */
export function readModels(env: Variables): ModelConfig {
  const openai = provider(env.OPENAI_API_KEY, env.OPENAI_BASE_URL)
  const anthropic = provider(env.ANTHROPIC_API_KEY, env.ANTHROPIC_BASE_URL)
  const google = provider(env.GOOGLE_GENERATIVE_AI_API_KEY ?? env.GEMINI_API_KEY, env.GOOGLE_GEMINI_BASE_URL)
  const endpoints = env.RUNYARD_MODEL_ENDPOINTS ?? {}
  const { RUNYARD_MODEL_SILENCE_SECONDS: silence, RUNYARD_MODEL_RETRY_SECONDS: retry } = env
  return {
    ...(openai && { openai }),
    ...(anthropic && { anthropic }),
    ...(google && { google }),
    ...readProviders(env, endpoints),
    ...(Object.keys(endpoints).length > 0 && { endpoints }),
    ...(env.RUNYARD_DEFAULT_MODEL && { default_model: env.RUNYARD_DEFAULT_MODEL }),
    ...(env.RUNYARD_FALLBACK_MODELS && { fallback_models: env.RUNYARD_FALLBACK_MODELS }),
    ...(env.RUNYARD_MODEL_PRICES && { prices: readPrices(env.RUNYARD_MODEL_PRICES) }),
    ...(env.RUNYARD_CONTEXT_WINDOWS && { context_windows: env.RUNYARD_CONTEXT_WINDOWS }),
    ...(env.RUNYARD_MAX_OUTPUT_TOKENS && { output_limits: env.RUNYARD_MAX_OUTPUT_TOKENS }),
    ...(silence !== undefined && { silence_ms: silence * 1_000 }),
    ...(retry !== undefined && { retry_for_ms: retry * 1_000 }),
  }
}

/** A provider counts as configured when it has a key or an address of its own. */
function provider(api_key: string | undefined, base_url: string | undefined) {
  if (!api_key && !base_url) return undefined
  return { ...(api_key ? { api_key } : {}), ...(base_url ? { base_url } : {}) }
}

function readPrices(file: string): NonNullable<ModelSettings['prices']> {
  const refuse = (why: string) => new AppError('invalid_request', `RUNYARD_MODEL_PRICES: ${file} ${why}`)
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw refuse(`cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
  const parsed = z.string().transform(parseJson).pipe(z.record(z.string(), ModelPrices)).safeParse(text)
  if (!parsed.success) throw refuse(`is not valid:\n${z.prettifyError(parsed.error)}`)
  return parsed.data
}

function parseJson(text: string, ctx: z.RefinementCtx): unknown {
  try {
    return JSON.parse(text)
  } catch {
    ctx.addIssue({ code: 'custom', message: 'must be JSON' })
    return z.NEVER
  }
}
