import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'

/** Of a processor: a busy machine takes no answer away. */
const LIMIT_MS = 1_000
/** By the clock: short only where a thread cannot be asked how long it worked, since a busy machine may let it wait. */
const LONGEST_MS = typeof Worker.prototype.cpuUsage === 'function' ? 60_000 : 10_000
const LOOK_MS = 100

/** Why there is no answer. */
export class NoAnswer extends Error {
  override name = 'NoAnswer'
}

/**
 * Asks a thread of its own, which says when it is ready, and ends it when it has worked for a second: what callers give may
 * take for ever. Throws `NoAnswer` then, and when the thread dies of it.
 */
export async function askThread<Answer>(script: URL, question: unknown): Promise<Answer> {
  let thread: Worker | undefined
  const over = new AbortController()
  let late: NodeJS.Timeout | undefined
  try {
    thread = new Worker(script, { resourceLimits: { maxOldGenerationSizeMb: 128 } })
    await once(thread, 'message')
    late = setTimeout(() => over.abort(), LONGEST_MS)
    limitWork(thread, over).catch(() => {})
    thread.postMessage(question)
    const [answer] = (await once(thread, 'message', { signal: over.signal })) as [Answer]
    return answer
  } catch (error) {
    if (over.signal.aborted) throw new NoAnswer(`Checking it took longer than ${LIMIT_MS / 1_000} s.`)
    throw new NoAnswer(`It cannot be checked: ${error instanceof Error ? error.message : String(error)}`)
  } finally {
    clearTimeout(late)
    over.abort()
    await thread?.terminate()
  }
}

/** Aborts `over` when the thread has worked so long from now on. Rejects when that is over, or the thread is gone. */
async function limitWork(thread: Worker, over: AbortController): Promise<void> {
  // Node has it from 24.6 on.
  if (typeof thread.cpuUsage !== 'function') return
  const began = await thread.cpuUsage()
  for (;;) {
    await wait(LOOK_MS, undefined, { signal: over.signal })
    const { user, system } = await thread.cpuUsage(began)
    if ((user + system) / 1_000 >= LIMIT_MS) over.abort()
  }
}
