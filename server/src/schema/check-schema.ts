import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

export type Schema = Record<string, unknown>

/** What the thread is asked: whether this is a schema, or whether the value satisfies it. */
export interface SchemaQuestion {
  schema: Schema
  value?: { json: unknown }
}

const LIMIT_MS = 1_000
const THREAD = new URL('./schema-thread.ts', import.meta.url)

/** Why this is no JSON Schema that can be used here; `null` when it is one. References to other documents are not followed. */
export const checkSchema = (schema: Schema): Promise<string | null> => ask({ schema })

/** What is wrong with the value, a line each; `null` when it satisfies the schema. */
export const checkValue = (schema: Schema, json: unknown): Promise<string | null> =>
  ask({ schema, value: { json } })

/** In a thread that is ended after a second: a pattern, or a schema that refers to itself, can take for ever. */
async function ask(question: SchemaQuestion): Promise<string | null> {
  let thread: Worker | undefined
  let limit: AbortSignal | undefined
  try {
    thread = new Worker(THREAD, { resourceLimits: { maxOldGenerationSizeMb: 128 } })
    // Counted from when it is ready, not from when a busy machine got round to starting it.
    await once(thread, 'message')
    limit = AbortSignal.timeout(LIMIT_MS)
    thread.postMessage(question)
    const [answer] = (await once(thread, 'message', { signal: limit })) as [string | null]
    return answer
  } catch (error) {
    if (limit?.aborted) return `Checking it took longer than ${LIMIT_MS / 1_000} s.`
    return `It cannot be checked: ${error instanceof Error ? error.message : String(error)}`
  } finally {
    await thread?.terminate()
  }
}
