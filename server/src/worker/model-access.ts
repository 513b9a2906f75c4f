import { randomBytes } from 'node:crypto'
import type { EnvironmentConfig } from '../contract/environment.ts'
import type { EventData } from '../contract/event.ts'
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
  default_model?: string
}

const BASE_URLS = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
} as const
const PROVIDERS = Object.keys(BASE_URLS) as Array<keyof typeof BASE_URLS>

/** The providers that can be used: Anthropic and Google need a key, and so does OpenAI itself. */
export function findProviders(settings: ProviderSettings): ModelProviders {
  return Object.fromEntries(
    PROVIDERS.flatMap((name) => {
      const { api_key = null, base_url } = settings[name] ?? {}
      const needs_key = name !== 'openai' || base_url === undefined
      if (settings[name] === undefined || (needs_key && api_key === null)) return []
      return [[name, { api_key, base_url: base_url ?? BASE_URLS[name] }]]
    }),
  )
}

/** As the official clients read them: those of OpenAI want the version in the address, the others add it. */
const VARIABLES = {
  openai: { base_url: 'OPENAI_BASE_URL', path: 'openai/v1', key: 'OPENAI_API_KEY' },
  anthropic: { base_url: 'ANTHROPIC_BASE_URL', path: 'anthropic', key: 'ANTHROPIC_API_KEY' },
  google: { base_url: 'GOOGLE_GEMINI_BASE_URL', path: 'google', key: 'GEMINI_API_KEY' },
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
  const found = PROVIDERS.filter((name) => providers[name] && !is_own(name))
  const addressOf = (name: keyof typeof VARIABLES) => `${PROXY_URL}/model/${VARIABLES[name].path}`
  const env = (models ? found : []).flatMap((name) => {
    const { base_url, key } = VARIABLES[name]
    return [
      [base_url, addressOf(name)],
      [key, token],
    ]
  })
  const base_urls = Object.fromEntries(found.map((name) => [name, addressOf(name)]))
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
