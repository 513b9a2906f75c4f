import { useSyncExternalStore } from 'react'

/** Runs that this page deletes or has deleted. Nothing asks for them any more: by then each answer may be "not found". */
let gone: ReadonlySet<string> = new Set()
const listeners = new Set<() => void>()

function change(next: ReadonlySet<string>): void {
  gone = next
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const isGone = (run_id: string): boolean => gone.has(run_id)
export const useGoneRuns = (): ReadonlySet<string> => useSyncExternalStore(subscribe, () => gone)

/** Deletes a run by `act`. Where that fails the run is there again. */
export async function deleteRun<T>(run_id: string, act: (run_id: string) => PromiseLike<T>): Promise<T> {
  change(new Set([...gone, run_id]))
  try {
    return await act(run_id)
  } catch (error) {
    change(new Set([...gone].filter((other) => other !== run_id)))
    throw error
  }
}
