import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogle } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { LanguageModel, streamText } from 'ai'
import type { Model } from '../contract/model.ts'
import { fetchModels, type ListingRequest } from './model-listing.ts'
import { MODEL_VARIABLES } from './model-variables.ts'

export interface ProviderSettings {
  api_key?: string
  /** With the version, such as `http://localhost:11434/v1`. */
  base_url?: string
}

export interface ModelSettings {
  /** A `base_url` that is not OpenAI's makes this any server with the OpenAI chat API; a key is then optional. */
  openai?: ProviderSettings
  anthropic?: ProviderSettings
  google?: ProviderSettings
  /** What a run without `model_id` uses. */
  default_model?: string
}

export interface ResolvedModel {
  /** `provider/model`. */
  model_id: string
  model: LanguageModel
  /** Passed with every call to this model. */
  provider_options: ProviderOptions
}
type ProviderOptions = NonNullable<Parameters<typeof streamText>[0]['providerOptions']>

export interface Models {
  /** Whether any provider has been set up. */
  readonly configured: boolean
  readonly default_model?: string
  /** Cached for minutes. A provider that is away contributes nothing; never throws. */
  list(): Promise<Model[]>
  /**
   * Finds the model of a run: `provider/model`, or a bare id when only one provider is set up or a listing has it.
   * Without an id: the default, or the only model there is. The reason of a refusal is for the caller to read.
   */
  resolve(model_id?: string): Promise<ResolvedModel | { reason: string }>
}

interface Provider extends Pick<ResolvedModel, 'provider_options'> {
  languageModel(id: string): LanguageModel
  listing: ListingRequest
}

const FRESH_MS = 5 * 60_000
const RETRY_AWAY_MS = 15_000

// The SDK would print hints for developers to the console; a service has its own log.
globalThis.AI_SDK_LOG_WARNINGS = false

/** `now` is the clock of the cache, in milliseconds. */
export function openModels(settings: ModelSettings, now: () => number = Date.now): Models {
  const providers = new Map<string, Provider>()
  for (const provider of [openProviderOpenAI, openProviderAnthropic, openProviderGoogle]) {
    const opened = provider(settings)
    if (opened) providers.set(opened.listing.provider, opened)
  }
  const listings = [...providers.values()].map(({ listing }) => cacheListing(listing, now))
  const list = async () => (await Promise.all(listings.map((read) => read()))).flat()

  const use = (name: string, id: string): ResolvedModel | null => {
    const provider = providers.get(name)
    if (!provider || id === '') return null
    const { provider_options } = provider
    return { model_id: `${name}/${id}`, model: provider.languageModel(id), provider_options }
  }
  const useListed = (model: Model) => use(model.provider, model.model_id.slice(model.provider.length + 1))

  async function resolve(model_id = settings.default_model): Promise<ResolvedModel | { reason: string }> {
    if (providers.size === 0) {
      return { reason: `No model provider is configured. Set ${MODEL_VARIABLES} for the service.` }
    }
    if (model_id === undefined) {
      const models = await list()
      const only = models.length === 1 && models[0] ? useListed(models[0]) : null
      return (
        only ?? {
          reason: `No model was chosen: set config.model_id or RUNYARD_DEFAULT_MODEL. ${available(models)}`,
        }
      )
    }
    const [name = '', ...rest] = model_id.split('/')
    const named = use(name, rest.join('/'))
    if (named) return named
    const models = await list()
    // The id of an aggregating endpoint may itself hold a slash, so the whole is looked up.
    const found = models.find((model) => model.model_id === `${model.provider}/${model_id}`)
    const [single] = providers.size === 1 && !isForeign(model_id) ? providers.keys() : []
    const resolved = (found && useListed(found)) ?? (single === undefined ? null : use(single, model_id))
    return resolved ?? { reason: `The model "${model_id}" is not available here. ${available(models)}` }
  }

  const { default_model } = settings
  return {
    configured: providers.size > 0,
    ...(default_model !== undefined && { default_model }),
    list,
    resolve,
  }
}

// `anthropic/…` where Anthropic is not set up is a mistake, not a bare id that happens to hold a slash.
const isForeign = (model_id: string) => /^(openai|anthropic|google)\//.test(model_id)

/** One sentence about what could be used instead. */
export function available(models: readonly Model[]): string {
  if (models.length === 0) return 'No configured provider lists any model now.'
  const some = models.slice(0, 10).map((model) => model.model_id)
  const more = models.length > some.length ? ` and ${models.length - some.length} more` : ''
  return `Available: ${some.join(', ')}${more}.`
}

function cacheListing(request: ListingRequest, now: () => number): () => Promise<Model[]> {
  let known: Model[] = []
  let expires = Number.NEGATIVE_INFINITY
  let pending: Promise<Model[]> | undefined
  const refresh = async () => {
    const models = await fetchModels(request)
    known = models ?? []
    expires = now() + (models ? FRESH_MS : RETRY_AWAY_MS)
    pending = undefined
    return known
  }
  return async () => {
    if (now() < expires) return known
    pending ??= refresh()
    return pending
  }
}

function openProviderOpenAI({ openai = {} }: ModelSettings): Provider | null {
  const { api_key, base_url = 'https://api.openai.com/v1' } = openai
  const baseURL = base_url.replace(/\/+$/, '')
  const headers: Record<string, string> = api_key ? { authorization: `Bearer ${api_key}` } : {}
  const listing: ListingRequest = { provider: 'openai', base_url: baseURL, headers, format: 'openai' }
  if (!/(^|\.)api\.openai\.com$/.test(new URL(baseURL).hostname)) {
    const compatible = createOpenAICompatible({
      name: 'openai',
      baseURL,
      includeUsage: true,
      ...(api_key && { apiKey: api_key }),
    })
    return { listing, languageModel: (id) => compatible(id), provider_options: {} }
  }
  if (!api_key) return null
  const official = createOpenAI({ apiKey: api_key, baseURL })
  // The log is the only memory: nothing is kept at the provider, reasoning comes back encrypted instead.
  return { listing, languageModel: (id) => official(id), provider_options: { openai: { store: false } } }
}

function openProviderAnthropic({ anthropic = {} }: ModelSettings): Provider | null {
  const { api_key, base_url = 'https://api.anthropic.com/v1' } = anthropic
  if (!api_key) return null
  const baseURL = base_url.replace(/\/+$/, '')
  const provider = createAnthropic({ apiKey: api_key, baseURL })
  const headers = { 'x-api-key': api_key, 'anthropic-version': '2023-06-01' }
  return {
    listing: { provider: 'anthropic', base_url: baseURL, headers, format: 'anthropic' },
    languageModel: (id) => provider(id),
    // Each step sends the whole conversation again; without the cache it would be paid for in full each time.
    provider_options: { anthropic: { cacheControl: { type: 'ephemeral' } } },
  }
}

function openProviderGoogle({ google = {} }: ModelSettings): Provider | null {
  const { api_key, base_url = 'https://generativelanguage.googleapis.com/v1beta' } = google
  if (!api_key) return null
  const baseURL = base_url.replace(/\/+$/, '')
  const provider = createGoogle({ apiKey: api_key, baseURL })
  return {
    listing: {
      provider: 'google',
      base_url: baseURL,
      headers: { 'x-goog-api-key': api_key },
      format: 'google',
    },
    languageModel: (id) => provider(id),
    provider_options: {},
  }
}
