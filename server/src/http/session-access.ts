import type { Actor } from '../contract/actor.ts'
import { deriveKey } from '../sealing/derive-key.ts'
import { makeToken, readToken } from './key-token.ts'
import { LINK_SECONDS } from './signed-link.ts'

const COOKIE_SECONDS = 12 * 3600

/**
 * Who may look at one run's page. A link carries a token in its fragment, which browsers send to nobody; the page trades
 * it for a cookie that is good for that page only. Tokens are `expires.key_id.signature`, and both end with that key.
 */
export interface SessionLinks {
  linkTo(session_id: string, actor: Pick<Actor, 'key_id'>): string
  makeCookie(session_id: string, actor: Pick<Actor, 'key_id'>): { value: string; max_age: number }
  /** Who made the link with this token; `null` when it is not this session's, is over, or its key is not good any more. */
  findByLink(session_id: string, token: string): Promise<Actor | null>
  /** The same for a cookie. */
  findByCookie(session_id: string, value: string): Promise<Actor | null>
}

export function createSessionLinks(
  settings: { secret_key: string; public_url: string },
  readActor: (key_id: string) => Promise<Actor | null>,
  now: () => number = Date.now,
): SessionLinks {
  const secret = deriveKey(settings.secret_key, 'session-access')
  const make = (kind: string, session_id: string, { key_id }: Pick<Actor, 'key_id'>, seconds: number) => {
    // Rounded up to the minute, so that reading a run twice gives the same link.
    const expires = Math.ceil((now() / 1000 + seconds) / 60) * 60
    const { signature } = makeToken(secret, `${kind} ${session_id}`, key_id, expires)
    return `${expires}.${key_id}.${signature}`
  }
  const find = async (kind: string, session_id: string, token: string): Promise<Actor | null> => {
    const [expires = '', key_id = '', signature = ''] = token.split('.')
    const known = readToken(secret, `${kind} ${session_id}`, { expires, key_id, signature }, now())
    return known === null ? null : readActor(known)
  }
  return {
    linkTo: (id, actor) =>
      `${settings.public_url}/sessions/${id}#access=${make('link', id, actor, LINK_SECONDS)}`,
    makeCookie: (id, actor) => ({
      value: make('cookie', id, actor, COOKIE_SECONDS),
      max_age: COOKIE_SECONDS,
    }),
    findByLink: (id, token) => find('link', id, token),
    findByCookie: (id, value) => find('cookie', id, value),
  }
}
