/**
 * A process of its own that asks one filter, in a thread that is ended after a second. The thread's limit of memory does not
 * hold where a single allocation goes far beyond it, and a filter can double a text: then V8 ends the whole process, and that
 * must not be the service.
 */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { askThread, NoAnswer } from './ask-thread.ts'
import type { FilterAnswer, FilterQuestion } from './check-filter.ts'

const THREAD = new URL('./filter-thread.ts', import.meta.url)

// Nobody is left to end this process when the one that asked is gone.
process.once('disconnect', () => process.exit())
// Where memory gets scarce, this one goes first. (Linux, proc_pid_oom_score_adj(5).)
if (process.platform === 'linux') writeFileSync('/proc/self/oom_score_adj', '1000')
const asked = once(process, 'message') as Promise<[FilterQuestion]>
process.send?.('ready')
const [question] = await asked
const answer = await askThread<FilterAnswer>(THREAD, question).catch((error: unknown): FilterAnswer => {
  if (error instanceof NoAnswer) return { passes: false, wrong: error.message }
  throw error
})
process.send?.(answer, () => process.exit())
