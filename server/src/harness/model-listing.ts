import { z } from 'zod'
import type { KnownModel } from '../contract/model.ts'
import { findBroken, NoCredentials } from './broken-answer.ts'
import { createPatientFetch } from './patient-fetch.ts'

/** How one kind of provider lists its models. */
export interface ListingRequest {
  provider: string
  base_url: string
  /** Where the list is, if not below the base URL. */
  list_url?: string
  headers: Record<string, string>
  /** Further headers of one request, by its address: credentials that expire, signatures. Throws `BrokenAnswer`. */
  authorize?: (url: string) => Promise<Record<string, string>>
  format: keyof typeof FORMATS
  /** The names that are known instead, where its list has others: the request only shows that it answers. */
  only?: readonly string[]
}

type Listed = Omit<KnownModel, 'provider'>
const TIMEOUT_MS = 5000
/** A listing may be as endless as an answer. */
const fetchListing = createPatientFetch({ silence_ms: TIMEOUT_MS })
const count = z.int().positive()

// Every endpoint has its own name for the context window; most have none.
const OpenAIModels = z.array(
  z.object({
    id: z.string(),
    name: z.string().optional().catch(undefined),
    display_name: z.string().optional().catch(undefined),
    context_length: count.optional().catch(undefined),
    context_window: count.optional().catch(undefined),
    max_model_len: count.optional().catch(undefined),
    max_context_length: count.optional().catch(undefined),
    metadata: z.object({ context_length: count.optional() }).optional().catch(undefined),
    // OpenRouter and servers that follow it; Mistral.
    architecture: z
      .object({ input_modalities: z.array(z.string()).optional() })
      .optional()
      .catch(undefined),
    capabilities: z.object({ vision: z.boolean().optional() }).optional().catch(undefined),
  }),
)
/** Together leaves the object out. */
const OpenAIListing = z.union([OpenAIModels, z.object({ data: OpenAIModels }).transform(({ data }) => data)])
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

const CohereListing = z.object({
  models: z.array(z.object({ name: z.string(), context_length: count.optional().catch(undefined) })),
})
const BedrockListing = z.union([
  z
    .object({
      inferenceProfileSummaries: z.array(
        z.object({ inferenceProfileId: z.string(), inferenceProfileName: z.string().optional() }),
      ),
    })
    .transform(({ inferenceProfileSummaries }) =>
      inferenceProfileSummaries.map(({ inferenceProfileId: id, inferenceProfileName: name }) => ({
        id,
        name,
      })),
    ),
  z
    .object({
      modelSummaries: z.array(
        z.object({
          modelId: z.string(),
          modelName: z.string().optional(),
          inferenceTypesSupported: z.array(z.string()).default(['ON_DEMAND']),
          responseStreamingSupported: z.boolean().nullish(),
        }),
      ),
    })
    .transform(({ modelSummaries }) =>
      modelSummaries
        .filter(
          ({ inferenceTypesSupported: types, responseStreamingSupported: streams }) =>
            types.includes('ON_DEMAND') && streams !== false,
        )
        .map(({ modelId: id, modelName: name }) => ({ id, name })),
    ),
])
const VertexListing = z.object({ publisherModels: z.array(z.object({ name: z.string() })).default([]) })

const listed = (
  model_id: string,
  display_name?: string,
  context_window?: number,
  sees_images?: boolean,
): Listed => ({
  model_id,
  ...(display_name !== undefined && { display_name }),
  ...(context_window !== undefined && { context_window }),
  ...(sees_images !== undefined && { sees_images }),
})

const FORMATS = {
  /** `GET /models` of the OpenAI API, as most servers of local models have it. */
  openai: {
    paths: ['/models'],
    read: (body: unknown): Listed[] =>
      OpenAIListing.parse(body).map((model) =>
        listed(
          model.id,
          model.name ?? model.display_name,
          model.context_length ??
            model.context_window ??
            model.max_model_len ??
            model.max_context_length ??
            model.metadata?.context_length,
          model.architecture?.input_modalities?.includes('image') ?? model.capabilities?.vision,
        ),
      ),
  },
  /** https://platform.claude.com/docs/en/api/models-list */
  anthropic: {
    paths: ['/models?limit=1000'],
    read: (body: unknown): Listed[] =>
      AnthropicListing.parse(body).data.map((model) =>
        listed(model.id, model.display_name, model.max_input_tokens),
      ),
  },
  /** https://ai.google.dev/api/models#method:-models.list */
  google: {
    paths: ['/models?pageSize=1000'],
    read: (body: unknown): Listed[] =>
      GoogleListing.parse(body)
        .models.filter((model) => model.supportedGenerationMethods?.includes('generateContent') ?? true)
        .map((model) =>
          listed(model.name.replace(/^models\//, ''), model.displayName, model.inputTokenLimit),
        ),
  },
  /** https://docs.cohere.com/reference/list-models */
  cohere: {
    paths: ['/models?endpoint=chat&page_size=1000'],
    read: (body: unknown): Listed[] =>
      CohereListing.parse(body).models.map((model) => listed(model.name, undefined, model.context_length)),
  },
  /**
   * Newer models can be called by an inference profile alone, such as `us.anthropic.…`, older ones by themselves.
   * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_ListInferenceProfiles.html
   */
  bedrock: {
    paths: ['/inference-profiles?maxResults=1000', '/foundation-models?byOutputModality=TEXT'],
    read: (body: unknown): Listed[] => BedrockListing.parse(body).map(({ id, name }) => listed(id, name)),
  },
  /** https://cloud.google.com/vertex-ai/docs/reference/rest/v1beta1/publishers.models/list */
  vertex: {
    paths: ['/publishers/google/models?pageSize=1000', '/publishers/anthropic/models?pageSize=1000'],
    read: (body: unknown): Listed[] =>
      VertexListing.parse(body)
        .publisherModels.map(({ name }) => name.replace(/^publishers\/[^/]+\/models\//, ''))
        .filter((id) => /^(gemini|claude)-/.test(id))
        .map((id) => listed(id)),
  },
} as const satisfies Record<string, { paths: readonly string[]; read: (body: unknown) => Listed[] }>

/** Why there is none, as the rest of a sentence that begins with the provider's name. */
export interface NoListing {
  failure: string
  /** There is nothing at its address: either it is wrong, or the server lists no models. */
  is_missing?: true
  /** It wants another key. */
  is_refused?: true
}

/** What a provider offers, ids with its name in front. */
export async function fetchModels(request: ListingRequest): Promise<{ models: KnownModel[] } | NoListing> {
  const { provider, only } = request
  const lists = await Promise.all(FORMATS[request.format].paths.map((path) => fetchList(request, path)))
  const found = lists.flatMap((list) => ('models' in list ? [list.models] : []))
  const [first] = lists
  // A key may be allowed to read one of them alone.
  if (found.length === 0 && first && 'failure' in first) return first
  if (only?.length === 0)
    return { failure: 'has no deployments that the service was told of', is_missing: true }
  const models = only ? only.map((id) => listed(id)) : found.flat()
  return {
    models: models.map((model) => ({ ...model, provider, model_id: `${provider}/${model.model_id}` })),
  }
}

async function fetchList(
  { base_url, list_url = base_url, headers, authorize, format }: ListingRequest,
  path: string,
): Promise<{ models: Listed[] } | NoListing> {
  const url = `${list_url}${path}`
  try {
    const response = await fetchListing(url, {
      headers: { ...headers, ...(await authorize?.(url)) },
      // A redirect could carry the key elsewhere.
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    if (response.status === 401 || response.status === 403)
      return { failure: `refuses the key (${response.status})`, is_refused: true }
    if (response.status === 404 || response.status === 405)
      return { failure: `answers ${response.status}`, is_missing: true }
    if (!response.ok) return { failure: `answers ${response.status}` }
    return { models: FORMATS[format].read(await response.json()) }
  } catch (error) {
    return { failure: explainFailure(error) }
  }
}

function explainFailure(error: unknown): string {
  if (error instanceof z.ZodError || error instanceof SyntaxError)
    return 'answers something else than a list of models'
  const broken = findBroken(error)
  if (broken instanceof NoCredentials) return `cannot be asked: ${broken.message.replace(/\.$/, '')}`
  if (error instanceof Error && error.name === 'TimeoutError')
    return `does not answer within ${TIMEOUT_MS / 1_000} s`
  const { code, message } = ((error as Error).cause ?? error) as { code?: string; message: string }
  return `cannot be reached (${code ?? message})`
}
