import { isRecord } from '../../contract/storable-text.ts'
import { findProviderError } from '../broken-answer.ts'
import { readWords } from './provider-words.ts'
import { asRecord } from './values.ts'

/** One request is sent again so often at most, each time because something new was learned. */
const MAX_CHANGES = 8
/** By which servers refuse what they do not know. Those that have a meaning of their own are no matter of a field. */
const isTeaching = (status: number): boolean => [400, 422, 500, 501].includes(status)

/** How a server was found to take requests to one of its models. */
export interface Habits {
  /** The request as this server takes it. */
  apply(request: Record<string, unknown>): Record<string, unknown>
  /** Whether there is something new in what it said of this request; it is then to be sent again. */
  learn(request: Record<string, unknown>, said: string): boolean
}

/** A `fetch` that sends requests as this server takes them, and learns of its refusals how that is. */
export function createLearningFetch(fetch: typeof globalThis.fetch, habits: Habits): typeof globalThis.fetch {
  return async (input, init) => {
    const request: unknown = typeof init?.body === 'string' ? JSON.parse(init.body) : undefined
    if (!isRecord(request)) return fetch(input, init)
    for (let changes = 0; ; changes += 1) {
      const body = habits.apply(request)
      const learns = (said: string) => changes < MAX_CHANGES && habits.learn(body, readAll(said))
      try {
        const response = await fetch(input, { ...init, body: JSON.stringify(body) })
        if (!isTeaching(response.status)) return response
        const said = await response.text()
        const { status, statusText, headers } = response
        if (!learns(said)) return new Response(said, { status, statusText, headers })
      } catch (error) {
        const told = findProviderError(error)
        if (!told || !learns(told.body)) throw error
      }
    }
  }
}

/** The innermost words and the field that OpenAI names beside them. Not the whole: it may quote what the request had in it. */
function readAll(said: string): string {
  const { message } = readWords(said)
  try {
    const { param } = asRecord(asRecord(JSON.parse(said)).error)
    return typeof param === 'string' ? `'${param}': ${message}` : message
  } catch {
    return message
  }
}
