import { createHmac, timingSafeEqual } from 'node:crypto'
import { deriveKey } from '../sealing/sealing.ts'
import { LINK_SECONDS } from './signed-link.ts'

const COOKIE_SECONDS = 12 * 3600

/**
 * Who may look at one run's page. A link carries a token in its fragment, which browsers send to nobody; the page trades
 * it for a cookie that is good for that page only. Tokens are `expires.signature`, HMAC-SHA-256 with a derived key.
 */
export interface SessionLinks {
  linkTo(session_id: string): string
  isLinkToken(session_id: string, token: string): boolean
  makeCookie(session_id: string): { value: string; max_age: number }
  isCookie(session_id: string, value: string): boolean
}

export function createSessionLinks(
  settings: { secret_key: string; public_url: string },
  now: () => number = Date.now,
): SessionLinks {
  const key = deriveKey(settings.secret_key, 'session-access')
  const make = (kind: string, session_id: string, seconds: number): string => {
    // Rounded up to the minute, so that reading a run twice gives the same link.
    const expires = Math.ceil((now() / 1000 + seconds) / 60) * 60
    return `${expires}.${signatureOf(kind, session_id, expires).toString('base64url')}`
  }
  const signatureOf = (kind: string, session_id: string, expires: number): Buffer =>
    createHmac('sha256', key).update(`${kind}\n${session_id}\n${expires}`).digest()
  const isValid = (kind: string, session_id: string, token: string): boolean => {
    const [expires = '', signature = ''] = token.split('.')
    if (!/^\d{1,12}$/.test(expires) || Number(expires) * 1000 < now()) return false
    const given = Buffer.from(signature, 'base64url')
    const expected = signatureOf(kind, session_id, Number(expires))
    return given.length === expected.length && timingSafeEqual(given, expected)
  }
  return {
    linkTo: (id) => `${settings.public_url}/sessions/${id}#access=${make('link', id, LINK_SECONDS)}`,
    isLinkToken: (id, token) => isValid('link', id, token),
    makeCookie: (id) => ({ value: make('cookie', id, COOKIE_SECONDS), max_age: COOKIE_SECONDS }),
    isCookie: (id, value) => isValid('cookie', id, value),
  }
}
