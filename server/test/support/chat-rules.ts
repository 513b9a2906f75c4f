import type { ChatMessage, ChatRequest } from './model-server.ts'

const NAME = /^[a-zA-Z0-9_-]{1,64}$/
/** OpenAI's chat takes up to 40 characters, Anthropic's messages only these. */
const IDS = /^[a-zA-Z0-9_-]{1,40}$/
/** https://docs.mistral.ai/api: "must be a-z, A-Z, 0-9, with a length of 9". */
export const MISTRAL_IDS = /^[a-zA-Z0-9]{9}$/

/** Why a real provider would refuse the conversation; `null` where none would. */
export function findRefusal({ messages, tools = [] }: ChatRequest, ids = IDS): string | null {
  for (const { function: offered } of tools)
    if (!NAME.test(offered.name)) return `Invalid 'tools.function.name': ${JSON.stringify(offered.name)}.`
  const seen = new Set<string>()
  let open: string[] = []
  for (const [at, message] of messages.entries()) {
    if (message.role === 'tool') {
      const id = message.tool_call_id ?? ''
      if (!open.includes(id)) return `messages.${at}: no call "${id}" goes directly before this result.`
      open = open.filter((other) => other !== id)
      continue
    }
    if (open.length > 0) return `messages.${at}: calls have no result: ${open.join(', ')}.`
    const refusal = findCallRefusal(message, ids, seen)
    if (refusal) return `messages.${at}: ${refusal}`
    open = message.tool_calls?.map(({ id }) => id) ?? []
  }
  return open.length === 0 ? null : `At the end, calls have no result: ${open.join(', ')}.`
}

function findCallRefusal({ tool_calls = [] }: ChatMessage, ids: RegExp, seen: Set<string>): string | null {
  for (const { id, function: called } of tool_calls) {
    if (!NAME.test(called.name)) return `invalid name of a tool: ${JSON.stringify(called.name)}.`
    if (!ids.test(id)) return `invalid id of a call: ${JSON.stringify(id.slice(0, 100))}.`
    if (seen.has(id)) return `the id ${id} is there twice.`
    seen.add(id)
  }
  return null
}
