import { useSyncExternalStore } from 'react'

/** Answers of a proxy whose service is away. The service itself says why, in a problem document. */
const AWAY = [502, 503, 504]

const listeners = new Set<() => void>()
let is_away = false

function tell(now_away: boolean): void {
  if (now_away === is_away) return
  is_away = now_away
  for (const each of listeners) each()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** Whether the last thing that was asked of the service, by whatever part of the page, was left without an answer. */
export const useIsAway = (): boolean => useSyncExternalStore(subscribe, () => is_away)

/** `fetch`, by which everything of the page asks the service: it notices when that goes away and when it is back. */
export async function watchedFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  try {
    const answer = await fetch(input, init)
    const is_problem = answer.headers.get('content-type')?.startsWith('application/problem+json')
    tell(AWAY.includes(answer.status) && !is_problem)
    return answer
  } catch (error) {
    const { signal } = init ?? {}
    // Whoever has stopped waiting by choice has learned nothing.
    if (!signal?.aborted || signal.reason?.name === 'TimeoutError') tell(true)
    throw error
  }
}
