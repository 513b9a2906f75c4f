/** Whose API is spoken, and where its answers say what they cost. */
export type ModelProviderName = 'openai' | 'anthropic' | 'google'

export interface ModelProvider {
  /** `null`: a server that asks for none. */
  api_key: string | null
  /** With the version, such as `https://api.openai.com/v1`. The operator's word: it may be private, and plain HTTP. */
  base_url: string
}

/** Which models one sandbox may call, and how much. */
export interface ModelRules {
  /** What its clients send in place of a key. */
  token: string
  providers: Partial<Record<ModelProviderName, ModelProvider>>
  /** Input and output together; `null`: as many as it likes. */
  tokens_left: number | null
}

/** What one request has used. */
export interface ModelUsage {
  provider: ModelProviderName
  /** As the provider names it; `null` where its answer did not say. */
  model: string | null
  input_tokens: number
  output_tokens: number
  cached_input_tokens?: number
  /** The answer did not say it all. */
  estimated?: true
}
