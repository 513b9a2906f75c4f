import { z } from 'zod'
import type { Model } from '../contract/model.ts'
import { createPatientFetch } from './patient-fetch.ts'

/** How one kind of provider lists its models. */
export interface ListingRequest {
  provider: string
  base_url: string
  headers: Record<string, string>
  format: keyof typeof FORMATS
}

type Listed = Omit<Model, 'provider'>
const TIMEOUT_MS = 5000
/** A listing may be as endless as an answer. */
const fetchListing = createPatientFetch({ silence_ms: TIMEOUT_MS })
const count = z.int().positive()

// Every endpoint has its own name for the context window; most have none.
const OpenAIListing = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      name: z.string().optional().catch(undefined),
      context_length: count.optional().catch(undefined),
      context_window: count.optional().catch(undefined),
      max_model_len: count.optional().catch(undefined),
    }),
  ),
})
const AnthropicListing = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      display_name: z.string().optional(),
      max_input_tokens: count.optional().catch(undefined),
    }),
  ),
})
const GoogleListing = z.object({
  models: z.array(
    z.object({
      name: z.string(),
      displayName: z.string().optional(),
      inputTokenLimit: count.optional().catch(undefined),
      supportedGenerationMethods: z.array(z.string()).optional(),
    }),
  ),
})

const listed = (model_id: string, display_name?: string, context_window?: number): Listed => ({
  model_id,
  ...(display_name !== undefined && { display_name }),
  ...(context_window !== undefined && { context_window }),
})

const FORMATS = {
  /** `GET /models` of the OpenAI API, as most servers of local models have it. */
  openai: {
    path: '/models',
    read: (body: unknown): Listed[] =>
      OpenAIListing.parse(body).data.map((model) =>
        listed(model.id, model.name, model.context_length ?? model.context_window ?? model.max_model_len),
      ),
  },
  /** https://platform.claude.com/docs/en/api/models-list */
  anthropic: {
    path: '/models?limit=1000',
    read: (body: unknown): Listed[] =>
      AnthropicListing.parse(body).data.map((model) =>
        listed(model.id, model.display_name, model.max_input_tokens),
      ),
  },
  /** https://ai.google.dev/api/models#method:-models.list */
  google: {
    path: '/models?pageSize=1000',
    read: (body: unknown): Listed[] =>
      GoogleListing.parse(body)
        .models.filter((model) => model.supportedGenerationMethods?.includes('generateContent') ?? true)
        .map((model) =>
          listed(model.name.replace(/^models\//, ''), model.displayName, model.inputTokenLimit),
        ),
  },
} as const

/** Why there is none, as the rest of a sentence that begins with the provider's name. */
export interface NoListing {
  failure: string
  /** There is nothing at its address: either it is wrong, or the server lists no models. */
  is_missing?: true
}

/** What a provider offers, ids with its name in front. */
export async function fetchModels({
  provider,
  base_url,
  headers,
  format,
}: ListingRequest): Promise<{ models: Model[] } | NoListing> {
  const { path, read } = FORMATS[format]
  try {
    const response = await fetchListing(`${base_url}${path}`, {
      headers,
      // A redirect could carry the key elsewhere.
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    if (response.status === 401 || response.status === 403)
      return { failure: `refuses the key (${response.status})` }
    if (response.status === 404 || response.status === 405)
      return { failure: `answers ${response.status}`, is_missing: true }
    if (!response.ok) return { failure: `answers ${response.status}` }
    const models = read(await response.json())
    return {
      models: models.map((model) => ({ ...model, provider, model_id: `${provider}/${model.model_id}` })),
    }
  } catch (error) {
    return { failure: explainFailure(error) }
  }
}

function explainFailure(error: unknown): string {
  if (error instanceof z.ZodError || error instanceof SyntaxError)
    return 'answers something else than a list of models'
  if (error instanceof Error && error.name === 'TimeoutError')
    return `does not answer within ${TIMEOUT_MS / 1_000} s`
  const { code, message } = ((error as Error).cause ?? error) as { code?: string; message: string }
  return `cannot be reached (${code ?? message})`
}
