import { BASE_PATH } from '../client.ts'

/** What the address brought with it: the token of a link, which leaves the address at once. */
export type Arrival =
  | { kind: 'sign-in'; token: string; to: string }
  | { kind: 'visit'; run_id: string; token: string }

/** What came of it: why it did not help, or what is to be asked before it does. */
export interface Arrived {
  refusal?: string
  /** The token of a link that signs this browser in once its user agrees, and what they are asked. */
  link?: { token: string; question: string }
}

/** Reads and removes it, so that it is neither bookmarked nor shown to whoever looks on. */
export function takeArrival(): Arrival | undefined {
  const fragment = new URLSearchParams(location.hash.slice(1))
  const path = location.pathname.slice(BASE_PATH.length)
  const token = fragment.get('token')
  if (path === 'sign-in' && token) {
    const to = ownPath(fragment.get('to'))
    history.replaceState(null, '', BASE_PATH + to)
    return { kind: 'sign-in', token, to }
  }
  const run_id = /^sessions\/([0-9a-f-]{36})$/.exec(path)?.[1]
  const visit = fragment.get('access') ?? fragment.get('share')
  if (!run_id || !visit) return undefined
  history.replaceState(null, '', location.pathname)
  return { kind: 'visit', run_id, token: visit }
}

/** A path of this page, without its first slash; the start for everything else. */
const ownPath = (path: string | null): string =>
  path && /^\/(?!\/)[\w/.-]*$/.test(path) ? path.slice(1) : ''
