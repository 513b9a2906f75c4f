import { isNamed, NAMED_PROVIDERS } from './named-providers.ts'

/** The settings of which any one makes models available, for messages to people. */
export const MODEL_VARIABLES =
  'ANTHROPIC_API_KEY, OPENAI_API_KEY, OPENAI_BASE_URL, GEMINI_API_KEY or another one of docs/models.md'

/** Where the service has a provider's key and address from, in the words of a message. */
export interface ProviderVariables {
  key: string
  address: string
}

const OWN: Readonly<Record<string, ProviderVariables>> = {
  openai: { key: 'OPENAI_API_KEY', address: 'OPENAI_BASE_URL' },
  anthropic: { key: 'ANTHROPIC_API_KEY', address: 'ANTHROPIC_BASE_URL' },
  google: { key: 'GEMINI_API_KEY or GOOGLE_GENERATIVE_AI_API_KEY', address: 'GOOGLE_GEMINI_BASE_URL' },
  azure: { key: 'AZURE_OPENAI_API_KEY or AZURE_API_KEY', address: 'AZURE_OPENAI_ENDPOINT' },
  bedrock: {
    key: 'AWS_BEARER_TOKEN_BEDROCK or the credentials of the machine',
    address: 'AWS_ENDPOINT_URL_BEDROCK_RUNTIME',
  },
  vertex: { key: "the machine's Google credentials", address: 'GOOGLE_VERTEX_BASE_URL' },
}

/** `provider`: what stands before the slash of its models. A server of one's own is in one setting with all others. */
export function variablesOf(provider: string): ProviderVariables {
  const own = Object.hasOwn(OWN, provider) ? OWN[provider] : undefined
  if (own) return own
  if (!isNamed(provider)) {
    const place = `"${provider}" of RUNYARD_MODEL_ENDPOINTS`
    return { key: `the api_key of ${place}`, address: `the base_url of ${place}` }
  }
  const { keys, address } = NAMED_PROVIDERS[provider]
  return { key: keys.join(' or '), address }
}
