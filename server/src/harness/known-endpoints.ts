/** Providers with the OpenAI chat API that a key alone sets up: where they are, and the variable their own tools read. */
export const KNOWN_ENDPOINTS = {
  openrouter: { variable: 'OPENROUTER_API_KEY', base_url: 'https://openrouter.ai/api/v1' },
  mistral: { variable: 'MISTRAL_API_KEY', base_url: 'https://api.mistral.ai/v1' },
  deepseek: { variable: 'DEEPSEEK_API_KEY', base_url: 'https://api.deepseek.com/v1' },
  groq: { variable: 'GROQ_API_KEY', base_url: 'https://api.groq.com/openai/v1' },
  xai: { variable: 'XAI_API_KEY', base_url: 'https://api.x.ai/v1' },
} as const

export type KnownEndpoint = keyof typeof KNOWN_ENDPOINTS

/** Whether what is called so is what the world calls so. */
export const isKnownEndpoint = (name: string, base_url: string): boolean =>
  Object.hasOwn(KNOWN_ENDPOINTS, name) && KNOWN_ENDPOINTS[name as KnownEndpoint].base_url === base_url
