import type { LanguageModel } from 'ai'
import type { ListingRequest } from './model-listing.ts'
import type { Provider, ProviderOptions } from './providers.ts'

/** What the AI SDK's package of a provider is opened with. */
interface PackageSettings {
  apiKey: string
  baseURL: string
  fetch: typeof globalThis.fetch
}

type Model = Exclude<LanguageModel, string>

interface NamedProvider {
  /** The variables its own tools read a key from; the first that is set counts. */
  keys: readonly string[]
  /** The variable for a proxy in front of it. */
  address: string
  base_url: string
  /** Where its OpenAI chat API is, for agents and commands in sandboxes; absent: at the base URL. */
  chatUrl?(base_url: string): string
  /** Where its list of models is, and in which format; absent: OpenAI's, at the base URL. */
  listing?(base_url: string): Pick<ListingRequest, 'list_url' | 'format'>
  /** Models that take back what they thought; absent: all do. */
  takesReasoning?(id: string): boolean
  provider_options?: (id: string) => ProviderOptions
  /** Loads the package. */
  open(settings: PackageSettings, id: string): Promise<Model>
}

/**
 * Providers that an API key alone sets up, in the order in which a default is looked for. Each is spoken to by its own package:
 * every one has fields of its own for reasoning, usage and errors, and many refuse those of the others.
 */
export const NAMED_PROVIDERS = {
  openrouter: {
    keys: ['OPENROUTER_API_KEY'],
    address: 'OPENROUTER_BASE_URL',
    base_url: 'https://openrouter.ai/api/v1',
    // Its `cache_control` routes to Anthropic alone: https://openrouter.ai/docs/features/prompt-caching
    provider_options: (id) =>
      id.startsWith('anthropic/') ? { openrouter: { cacheControl: { type: 'ephemeral' } } } : {},
    async open(settings, id) {
      const { createOpenRouter } = await import('@openrouter/ai-sdk-provider')
      return createOpenRouter({ ...settings, compatibility: 'strict' }).chat(id)
    },
  },
  mistral: {
    keys: ['MISTRAL_API_KEY'],
    address: 'MISTRAL_BASE_URL',
    base_url: 'https://api.mistral.ai/v1',
    open: async (settings, id) => (await import('@ai-sdk/mistral')).createMistral(settings)(id),
  },
  deepseek: {
    keys: ['DEEPSEEK_API_KEY'],
    address: 'DEEPSEEK_BASE_URL',
    base_url: 'https://api.deepseek.com/v1',
    open: async (settings, id) => (await import('@ai-sdk/deepseek')).createDeepSeek(settings)(id),
  },
  groq: {
    keys: ['GROQ_API_KEY'],
    address: 'GROQ_BASE_URL',
    base_url: 'https://api.groq.com/openai/v1',
    // The others answer "property 'reasoning' is unsupported".
    takesReasoning: (id) => id.startsWith('openai/gpt-oss'),
    open: async (settings, id) => (await import('@ai-sdk/groq')).createGroq(settings)(id),
  },
  xai: {
    keys: ['XAI_API_KEY'],
    address: 'XAI_BASE_URL',
    base_url: 'https://api.x.ai/v1',
    // The log is the only memory: reasoning comes back encrypted instead.
    provider_options: () => ({ xai: { store: false } }),
    open: async (settings, id) => (await import('@ai-sdk/xai')).createXai(settings)(id),
  },
  together: {
    keys: ['TOGETHER_API_KEY'],
    address: 'TOGETHER_BASE_URL',
    base_url: 'https://api.together.xyz/v1',
    // It has no field for it: https://docs.together.ai/reference/chat-completions-1
    takesReasoning: () => false,
    open: async (settings, id) => (await import('@ai-sdk/togetherai')).createTogetherAI(settings)(id),
  },
  cerebras: {
    keys: ['CEREBRAS_API_KEY'],
    address: 'CEREBRAS_BASE_URL',
    base_url: 'https://api.cerebras.ai/v1',
    open: async (settings, id) => (await import('@ai-sdk/cerebras')).createCerebras(settings)(id),
  },
  fireworks: {
    keys: ['FIREWORKS_API_KEY'],
    address: 'FIREWORKS_BASE_URL',
    base_url: 'https://api.fireworks.ai/inference/v1',
    open: async (settings, id) => (await import('@ai-sdk/fireworks')).createFireworks(settings)(id),
  },
  deepinfra: {
    keys: ['DEEPINFRA_API_KEY', 'DEEPINFRA_TOKEN'],
    address: 'DEEPINFRA_BASE_URL',
    base_url: 'https://api.deepinfra.com/v1',
    chatUrl: (base_url) => `${base_url}/openai`,
    listing: (base_url) => ({ list_url: `${base_url}/openai`, format: 'openai' }),
    takesReasoning: () => false,
    open: async (settings, id) => (await import('@ai-sdk/deepinfra')).createDeepInfra(settings)(id),
  },
  moonshot: {
    keys: ['MOONSHOT_API_KEY'],
    address: 'MOONSHOT_BASE_URL',
    base_url: 'https://api.moonshot.ai/v1',
    open: async (settings, id) => (await import('@ai-sdk/moonshotai')).createMoonshotAI(settings)(id),
  },
  alibaba: {
    keys: ['DASHSCOPE_API_KEY', 'ALIBABA_API_KEY'],
    address: 'DASHSCOPE_BASE_URL',
    base_url: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
    async open({ baseURL, ...settings }, id) {
      const { createAlibaba } = await import('@ai-sdk/alibaba')
      return createAlibaba({ ...settings, baseURL })(id)
    },
  },
  cohere: {
    keys: ['COHERE_API_KEY', 'CO_API_KEY'],
    address: 'COHERE_BASE_URL',
    base_url: 'https://api.cohere.com/v2',
    chatUrl: (base_url) => base_url.replace(/\/v2$/, '/compatibility/v1'),
    listing: (base_url) => ({ list_url: base_url.replace(/\/v2$/, '/v1'), format: 'cohere' }),
    open: async (settings, id) => (await import('@ai-sdk/cohere')).createCohere(settings)(id),
  },
} as const satisfies Record<string, NamedProvider>

export type NamedProviderName = keyof typeof NAMED_PROVIDERS
export const PROVIDER_NAMES = Object.keys(NAMED_PROVIDERS) as NamedProviderName[]

export interface NamedSettings {
  api_key: string
  /** A proxy that speaks as the provider does. */
  base_url?: string
}

export const isNamed = (name: string): name is NamedProviderName => Object.hasOwn(NAMED_PROVIDERS, name)

/** Where agents and commands in sandboxes find its OpenAI chat API. */
export function chatEndpoint(name: NamedProviderName, { api_key, base_url }: NamedSettings) {
  const { chatUrl, base_url: own }: NamedProvider = NAMED_PROVIDERS[name]
  const url = trim(base_url ?? own)
  return { api_key, base_url: chatUrl ? chatUrl(url) : url }
}

export function openNamed(name: NamedProviderName, { api_key, base_url }: NamedSettings): Provider {
  const known: NamedProvider = NAMED_PROVIDERS[name]
  const baseURL = trim(base_url ?? known.base_url)
  return {
    listing: {
      ...{ provider: name, base_url: baseURL, format: 'openai', ...known.listing?.(baseURL) },
      headers: { authorization: `Bearer ${api_key}` },
    },
    async openModel(id, fetch) {
      const { keepOwnReasoning } = await import('./own-reasoning.ts')
      const model = await known.open({ apiKey: api_key, baseURL, fetch }, id)
      return keepOwnReasoning(model, `${name}/${id}`, known.takesReasoning?.(id) ?? true)
    },
    provider_options: known.provider_options ?? (() => ({})),
    is_public: true,
  }
}

const trim = (url: string): string => url.replace(/\/+$/, '')
