/** The settings of which any one makes models available, for messages to people. */
export const MODEL_VARIABLES =
  'ANTHROPIC_API_KEY, OPENAI_API_KEY, OPENAI_BASE_URL, GEMINI_API_KEY or another one of docs/models.md'
