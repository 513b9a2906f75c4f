import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

const LIMIT_MS = 1_000

/** Why there is no answer. */
export class NoAnswer extends Error {
  override name = 'NoAnswer'
}

/**
 * Asks a thread of its own, which says when it is ready, and ends it after a second: what callers give may take for ever.
 * Throws `NoAnswer` then, and when the thread dies of it.
 */
export async function askThread<Answer>(script: URL, question: unknown): Promise<Answer> {
  let thread: Worker | undefined
  let limit: AbortSignal | undefined
  try {
    thread = new Worker(script, { resourceLimits: { maxOldGenerationSizeMb: 128 } })
    // Counted from when it is ready, not from when a busy machine got round to starting it.
    await once(thread, 'message')
    limit = AbortSignal.timeout(LIMIT_MS)
    thread.postMessage(question)
    const [answer] = (await once(thread, 'message', { signal: limit })) as [Answer]
    return answer
  } catch (error) {
    if (limit?.aborted) throw new NoAnswer(`Checking it took longer than ${LIMIT_MS / 1_000} s.`)
    throw new NoAnswer(`It cannot be checked: ${error instanceof Error ? error.message : String(error)}`)
  } finally {
    await thread?.terminate()
  }
}
