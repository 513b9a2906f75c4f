import type { RunStreamEvent } from '@runyard/client'

/** What an agent asks, with answers to choose from. */
export interface OfferedAnswers {
  question: string
  options: readonly string[]
}

/** Of a call of the built-in agent's `ask_user` that offers answers; null for every other event. */
export function readOffer(event: RunStreamEvent): OfferedAnswers | null {
  if (event.type !== 'tool.call' || event.data.name !== 'ask_user') return null
  const { question, options } = event.data.input
  if (typeof question !== 'string' || !Array.isArray(options)) return null
  const texts = options.filter((option) => typeof option === 'string')
  return texts.length > 0 ? { question, options: texts } : null
}
