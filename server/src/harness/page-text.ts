import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

const LIMIT_MS = 5_000
const THREAD = new URL('./page-thread.ts', import.meta.url)

/** A page of HTML as Markdown; `null` where making it takes too long or too much memory, as it may by its author's wish. */
export async function readPage(html: string): Promise<string | null> {
  let thread: Worker | undefined
  try {
    thread = new Worker(THREAD, {
      workerData: { html },
      resourceLimits: { maxOldGenerationSizeMb: 256, stackSizeMb: 4 },
    })
    // Counted from when it runs, not from when a busy machine got round to starting it.
    await once(thread, 'online')
    const [text] = (await once(thread, 'message', { signal: AbortSignal.timeout(LIMIT_MS) })) as [string]
    return text
  } catch {
    return null
  } finally {
    await thread?.terminate()
  }
}
