import { randomBytes } from 'node:crypto'
import type { EnvironmentConfig } from '../contract/environment.ts'
import type { EventData } from '../contract/event.ts'
import { MODEL_APIS } from '../contract/model.ts'
import type { ModelProviders, ModelRules, ModelUsage } from '../gateway/gateway.ts'
import type { ModelGate } from '../harness/harness.ts'
import { PROXY_URL } from '../sandbox/sandbox.ts'

/** What commands of a run need to call models by the gateway. */
export interface ModelAccess {
  rules: Omit<ModelRules, 'tokens_left'>
  /** Leads clients in the sandbox to the gateway; empty where only the agent is to find it. */
  env: Record<string, string>
  gate: ModelGate
}

/** As the service is told of providers. A key alone, or an address alone for a server that asks for none. */
interface ProviderSettings
  extends Partial<Record<'openai' | 'anthropic' | 'google', { api_key?: string; base_url?: string }>> {
  /** Further servers with OpenAI's API, by their names. */
  endpoints?: Record<string, { base_url: string; api_key?: string }>
}

const BASE_URLS = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
} as const

/** The providers that can be used: Anthropic and Google need a key, and so does OpenAI itself. */
export function findProviders(settings: ProviderSettings): ModelProviders {
  const known = MODEL_APIS.flatMap((api) => {
    const { api_key = null, base_url } = settings[api] ?? {}
    const needs_key = api !== 'openai' || base_url === undefined
    if (settings[api] === undefined || (needs_key && api_key === null)) return []
    return [[api, { api, api_key, base_url: base_url ?? BASE_URLS[api] }] as const]
  })
  const named = Object.entries(settings.endpoints ?? {}).map(
    ([name, { base_url, api_key = null }]) => [name, { api: 'openai', api_key, base_url }] as const,
  )
  return Object.fromEntries([...known, ...named])
}

/** As the official clients read them. */
const VARIABLES = {
  openai: { base_url: 'OPENAI_BASE_URL', key: 'OPENAI_API_KEY' },
  anthropic: { base_url: 'ANTHROPIC_BASE_URL', key: 'ANTHROPIC_API_KEY' },
  google: { base_url: 'GOOGLE_GEMINI_BASE_URL', key: 'GEMINI_API_KEY' },
} as const

/**
 * `null` where neither the environment asks for it nor the agent needs it. Each call makes a token of its own: it goes with the attempt. An
 * environment that has a key or an address of a provider's own keeps both.
 */
export function planModels(
  { models }: Pick<EnvironmentConfig, 'models'>,
  own: Record<string, string>,
  providers: ModelProviders,
  for_agent = false,
): ModelAccess | null {
  if (!models && !for_agent) return null
  const token = makeToken()
  const is_own = (name: keyof typeof VARIABLES) =>
    Object.hasOwn(own, VARIABLES[name].base_url) || Object.hasOwn(own, VARIABLES[name].key)
  const own_apis = MODEL_APIS.filter(is_own)
  const base_urls: Record<string, string> = {}
  // Clients of OpenAI want the version in the address, the others add it.
  for (const [name, { api }] of Object.entries(providers))
    if (!own_apis.some((own) => own === name))
      base_urls[name] = `${PROXY_URL}/model/${name}${api === 'openai' ? '/v1' : ''}`
  const env = MODEL_APIS.flatMap((api) => {
    const address = models ? base_urls[api] : undefined
    const { base_url, key } = VARIABLES[api]
    return address === undefined ? [] : [[base_url, address] as const, [key, token] as const]
  })
  return { rules: { token, providers }, env: Object.fromEntries(env), gate: { token, base_urls } }
}

/** The keys, which nobody is to read in a log should a provider quote one. */
export const keysOf = (providers: ModelProviders): string[] =>
  Object.values(providers).flatMap(({ api_key }) => (api_key === null ? [] : [api_key]))

export function describeUsage({ provider, model, ...used }: ModelUsage): EventData<'usage'> {
  return {
    model_id: `${provider}/${model ?? 'unknown'}`,
    total_tokens: used.input_tokens + used.output_tokens,
    by_gateway: true,
    ...used,
  }
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** `rym_` and 256 random bits in base62. */
function makeToken(): string {
  let rest = BigInt(`0x${randomBytes(32).toString('hex')}`)
  let text = ''
  for (let at = 0; at < 43; at += 1) {
    text += LETTERS[Number(rest % 62n)]
    rest /= 62n
  }
  return `rym_${text}`
}
