/**
 * A process of its own that makes Markdown of one page. A thread's limit of memory does not hold where a single allocation goes
 * far beyond it: then V8 ends the whole process, and that must not be the service.
 */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

const THREAD = new URL('./page-thread.ts', import.meta.url)

// The thread may be busy for ever; nobody is left to end this process when the one that asked is gone.
process.once('disconnect', () => process.exit())
const asked = once(process, 'message') as Promise<[string]>
process.send?.('ready')
const [html] = await asked
const thread = new Worker(THREAD, {
  workerData: { html },
  resourceLimits: { maxOldGenerationSizeMb: 256, stackSizeMb: 4 },
})
// A thread that fails fails the process: that is the answer.
const [text] = (await once(thread, 'message')) as [string]
process.send?.(text, () => process.exit())
