import type { RunItem } from '@runyard/client'
import { taskOf } from '../runs/row-facts.ts'

/** Something that somebody has to do about a run. */
export interface Task {
  /** Another one for each question, so that the next question of the same run is new. */
  key: string
  run_id: string
  words: string
  title: string
}

type Asking = Pick<RunItem, 'run_id' | 'title' | 'state' | 'status_message' | 'artifacts' | 'execution'>

/** What the runs ask for, by keys that stay as long as the same is asked. */
export const tasksOf = (runs: readonly Asking[]): Task[] =>
  runs.flatMap((run) => {
    const words = taskOf(run)
    if (!words) return []
    const { run_id, title, status_message, execution } = run
    const asked = status_message?.approval?.approval_id ?? `${execution} ${status_message?.message ?? ''}`
    return [{ key: `${run_id} ${words} ${asked}`, run_id, words, title }]
  })

/** Those that were not there before. */
export const newTasks = (before: readonly Task[], now: readonly Task[]): Task[] => {
  const known = new Set(before.map(({ key }) => key))
  return now.filter(({ key }) => !known.has(key))
}
