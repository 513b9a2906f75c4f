/** The settings of which any one makes models available, for messages to people. */
export const MODEL_VARIABLES =
  'OPENAI_API_KEY, OPENAI_BASE_URL, ANTHROPIC_API_KEY or GOOGLE_GENERATIVE_AI_API_KEY'
