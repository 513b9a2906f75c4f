import type { KnownModel } from '../contract/model.ts'

/**
 * What a run without a model is answered by, as of 2026-11-22: of each provider its models for work of many steps at a
 * middling price, the newest first. The first that the provider lists is taken, so the table may lag behind.
 */
const PREFERRED: Readonly<Record<string, readonly string[]>> = {
  anthropic: ['claude-sonnet-5-5', 'claude-sonnet-5', 'claude-sonnet-4-6'],
  openai: ['gpt-6-sol', 'gpt-5.6-terra', 'gpt-5.4'],
  google: ['gemini-3.8-flash', 'gemini-3.7-flash', 'gemini-2.5-pro'],
  openrouter: ['anthropic/claude-sonnet-5', 'anthropic/claude-sonnet-4.6'],
  mistral: ['devstral-latest', 'mistral-large-latest'],
  deepseek: ['deepseek-chat'],
  groq: ['openai/gpt-oss-120b', 'llama-3.3-70b-versatile'],
  xai: ['grok-4', 'grok-4-fast'],
  together: ['moonshotai/Kimi-K2-Instruct-0905', 'openai/gpt-oss-120b'],
  cerebras: ['zai-glm-4.7', 'gpt-oss-120b'],
  fireworks: ['accounts/fireworks/models/kimi-k2-instruct-0905', 'accounts/fireworks/models/gpt-oss-120b'],
  deepinfra: ['moonshotai/Kimi-K2-Instruct-0905', 'openai/gpt-oss-120b'],
  moonshot: ['kimi-k2.5', 'kimi-k2-0905-preview'],
  alibaba: ['qwen3-coder-plus', 'qwen3-max'],
  cohere: ['command-a-03-2025'],
  bedrock: [
    'global.anthropic.claude-sonnet-5',
    'global.anthropic.claude-sonnet-4-6',
    'global.anthropic.claude-sonnet-4-5',
  ],
  vertex: ['gemini-3.8-flash', 'gemini-3.7-flash', 'gemini-2.5-pro'],
}

/** Words in the ids of models that do something else than answer a conversation. */
const OTHER_WORK =
  /embed|minilm|mpnet|sentence-transformers|whisper|(^|[-_/:])(tts|stt|asr|ocr|bge|gte|e5|clip|sdxl|kokoro|sora|veo|imagen|flux)([-_.:/\d]|$)|dall-?e|moderation|rerank|transcri|speech|[-_]audio|[-_]image|realtime|[-_]live|diffusion|guard|computer-use|gpt-3\.5-turbo-instruct|babbage|davinci/i

/** Those that can answer a conversation, as far as their names say; all of them where no name does. */
export function keepChatModels(models: readonly KnownModel[]): KnownModel[] {
  const chat = models.filter(({ model_id }) => !OTHER_WORK.test(model_id))
  return chat.length > 0 ? chat : [...models]
}

/**
 * The id, without the provider, that runs of this provider get by default. `listed`: what it offers now, its own order;
 * empty where it does not say. `is_public`: it is the one that the table means. `null`: nothing is known of it.
 */
export function chooseDefault(
  provider: string,
  { listed, is_public }: { listed: readonly KnownModel[]; is_public: boolean },
): string | null {
  const preferred = (is_public && PREFERRED[provider]) || []
  const ids = listed.map(({ model_id }) => model_id.slice(provider.length + 1))
  if (ids.length === 0) return preferred[0] ?? null
  for (const id of preferred) {
    const found = ids.find(
      (listed_id) => listed_id === id || isDated(listed_id, id) || isProfile(listed_id, id),
    )
    if (found !== undefined) return found
  }
  return ids[0] ?? null
}

/** `claude-sonnet-5-20260901` is `claude-sonnet-5`. */
const isDated = (listed_id: string, id: string): boolean =>
  listed_id.startsWith(id) && /^-(\d{8}|\d{4}-\d{2}-\d{2}|latest)$/.test(listed_id.slice(id.length))

/** Bedrock has each model once for each part of the world: `eu.anthropic.claude-sonnet-5-20260901-v1:0`. */
const isProfile = (listed_id: string, id: string): boolean => {
  const name = /^global\.(.+)$/.exec(id)?.[1]
  const rest = name && /^[a-z-]{2,8}\.(.+)$/.exec(listed_id)?.[1]
  return rest?.startsWith(name ?? '') === true && /^(-\d{8})?(-v\d+(:\d+)?)?$/.test(rest.slice(name?.length))
}
