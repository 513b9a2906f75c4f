import type { ChatRequest, Reply } from './model-server.ts'

/** Of a model that does what its last prompt says, one call after the other: a line with a JSON list of names and inputs. */
export function answerCalls({ messages }: ChatRequest): Reply {
  const prompt = messages.findLast(({ role }) => role === 'user')
  const text = typeof prompt?.content === 'string' ? prompt.content : ''
  const calls = JSON.parse(/^\[\[.*\]$/m.exec(text)?.[0] ?? '[]') as Array<[string, Record<string, unknown>]>
  const done = messages
    .slice(prompt ? messages.indexOf(prompt) : 0)
    .filter(({ role }) => role === 'tool').length
  const next = calls[done]
  return next ? { calls: [{ name: next[0], arguments: next[1] }] } : { text: 'Done.' }
}
