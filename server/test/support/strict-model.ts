import type { ChatRequest, Reply, ScriptedCall } from './model-server.ts'

export const WINDOW = 12_000
export const SUMMARY = 'Numbers were printed. Next: the rest of them.'

const tokensIn = (value: unknown) => Math.ceil(JSON.stringify(value).length / 4)
export const isSummary = ({ tools }: ChatRequest) => tools === undefined
export const textOf = (request: ChatRequest | undefined) => JSON.stringify(request?.messages ?? [])
/** About so many tokens, and never the same. */
const print = (tokens: number, name: string): ScriptedCall => {
  const command = `echo start-${name}; head -c ${tokens * 4} /dev/zero | tr '\\0' x; echo end-${name}`
  return { name: 'bash', arguments: { command } }
}

/** A model with a window: it counts what it is told, and refuses what is longer. */
export function strict(
  answer: (step: number, request: ChatRequest) => Reply,
  { window = WINDOW, summarise = (): Reply => ({ text: SUMMARY }) } = {},
): (request: ChatRequest) => Reply {
  let steps = 0
  return (request) => {
    const prompt_tokens = tokensIn(request)
    if (prompt_tokens > window) {
      const message = `This model's maximum context length is ${window} tokens.`
      return { error: { status: 400, body: { error: { message, code: 'context_length_exceeded' } } } }
    }
    const reply = isSummary(request) ? summarise() : answer(steps++, request)
    return { usage: { prompt_tokens, completion_tokens: 10 }, ...reply }
  }
}

/** Prints so many times, then answers. */
export const printing =
  (times: number, tokens: number, name = '') =>
  (step: number) =>
    step < times ? { text: `Step ${step}.`, calls: [print(tokens, `${name}${step}`)] } : { text: 'All done.' }
