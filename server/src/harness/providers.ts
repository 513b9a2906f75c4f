import type { LanguageModel, streamText } from 'ai'
import type { ListingRequest } from './model-listing.ts'
import { AnswerLimit } from './wire/answer-limit.ts'
import { EndpointHabits } from './wire/endpoint-habits.ts'
import { giveBack } from './wire/give-back.ts'
import { createLearningFetch } from './wire/learning-fetch.ts'

export interface ProviderSettings {
  api_key?: string
  /** With the version, such as `http://localhost:11434/v1`. */
  base_url?: string
}

/** A server with the OpenAI chat API; a key is optional. */
export interface EndpointSettings {
  base_url: string
  api_key?: string
}

export type ProviderOptions = NonNullable<Parameters<typeof streamText>[0]['providerOptions']>

/** One whose models can be asked. */
export interface Provider {
  listing: ListingRequest
  /** Loads what speaks its API, which other providers, and services without one, do not need. */
  openModel(id: string, fetch: typeof globalThis.fetch): Promise<LanguageModel>
  /** Passed with every call of a model. */
  provider_options: (id: string) => ProviderOptions
  /** It is the provider that the world calls so, not another server under its name: the table of defaults knows it. */
  is_public: boolean
  /** Its answers are frames of bytes, not lines of text. */
  is_binary?: true
}

const OPENAI_URL = 'https://api.openai.com/v1'

/** `null` where OpenAI itself is meant and there is no key. */
export function openOpenAI(settings: ProviderSettings): Provider | null {
  const { api_key, base_url = OPENAI_URL } = settings
  if (!/(^|\.)api\.openai\.com$/.test(new URL(base_url).hostname))
    return openEndpoint('openai', { base_url, ...(api_key ? { api_key } : {}) })
  if (!api_key) return null
  const baseURL = trim(base_url)
  return {
    listing: { provider: 'openai', base_url: baseURL, headers: bearer(api_key), format: 'openai' },
    async openModel(id, fetch) {
      const { createOpenAI } = await import('@ai-sdk/openai')
      return createOpenAI({ apiKey: api_key, baseURL, fetch })(id)
    },
    // The log is the only memory: nothing is kept at the provider, reasoning comes back encrypted instead.
    provider_options: () => ({ openai: { store: false } }),
    is_public: true,
  }
}

export function openEndpoint(name: string, { base_url, api_key }: EndpointSettings): Provider {
  const baseURL = trim(base_url)
  const settings = { name, baseURL, includeUsage: true, ...(api_key && { apiKey: api_key }) }
  const habits = new Map<string, EndpointHabits>()
  return {
    listing: {
      ...{ provider: name, base_url: baseURL, format: 'openai' },
      headers: api_key ? bearer(api_key) : {},
    },
    async openModel(id, fetch) {
      const known = habits.get(id) ?? new EndpointHabits()
      habits.set(id, known)
      const [{ wrapLanguageModel }, { createOpenAICompatible }] = await Promise.all([
        import('ai'),
        import('@ai-sdk/openai-compatible'),
      ])
      const model = createOpenAICompatible({ ...settings, fetch: createLearningFetch(fetch, known) })(id)
      return wrapLanguageModel({ model, middleware: giveBack(`${name}/${id}`) })
    },
    provider_options: NO_OPTIONS,
    is_public: false,
  }
}

export function openAnthropic(settings: ProviderSettings): Provider | null {
  const { api_key, base_url = 'https://api.anthropic.com/v1' } = settings
  if (!api_key) return null
  const baseURL = trim(base_url)
  const limits = new Map<string, AnswerLimit>()
  const headers = { 'x-api-key': api_key, 'anthropic-version': '2023-06-01' }
  return {
    listing: { provider: 'anthropic', base_url: baseURL, headers, format: 'anthropic' },
    async openModel(id, fetch) {
      const { createAnthropic } = await import('@ai-sdk/anthropic')
      const limit = limits.get(id) ?? new AnswerLimit()
      limits.set(id, limit)
      return createAnthropic({ apiKey: api_key, baseURL, fetch: createLearningFetch(fetch, limit) })(id)
    },
    // Each step sends the whole conversation again; without the cache it would be paid for in full each time.
    provider_options: () => ({ anthropic: { cacheControl: { type: 'ephemeral' } } }),
    is_public: true,
  }
}

export function openGoogle(settings: ProviderSettings): Provider | null {
  const { api_key, base_url = 'https://generativelanguage.googleapis.com/v1beta' } = settings
  if (!api_key) return null
  const baseURL = trim(base_url)
  return {
    listing: {
      ...{ provider: 'google', base_url: baseURL, format: 'google' },
      headers: { 'x-goog-api-key': api_key },
    },
    async openModel(id, fetch) {
      const { createGoogle } = await import('@ai-sdk/google')
      return createGoogle({ apiKey: api_key, baseURL, fetch })(id)
    },
    provider_options: NO_OPTIONS,
    is_public: true,
  }
}

const NO_OPTIONS = (): ProviderOptions => ({})
const trim = (url: string): string => url.replace(/\/+$/, '')
const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` })
