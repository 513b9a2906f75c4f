import { parseCookie, stringifySetCookie } from 'cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** Twelve hours, as long as what they stand for at most. */
const COOKIE_SECONDS = 12 * 3600

/** A cookie that the page's scripts cannot read, of this host alone. */
export interface PageCookie {
  read(request: FastifyRequest): string | undefined
  set(reply: FastifyReply, value: string): void
  clear(reply: FastifyReply): void
}

interface CookieSettings {
  /** Read at each use: in `dev` the port is known only when listening. */
  readonly public_url: string
}

export function createPageCookie(settings: CookieSettings, plain_name: string): PageCookie {
  const isSecure = () => settings.public_url.startsWith('https:')
  const nameOf = () => `${isSecure() ? '__Host-' : ''}${plain_name}`
  const write = (reply: FastifyReply, value: string, maxAge: number): void => {
    const cookie = { name: nameOf(), value, maxAge, path: '/', httpOnly: true, sameSite: 'strict' } as const
    reply.header('set-cookie', stringifySetCookie({ ...cookie, secure: isSecure() }))
  }
  return {
    read: ({ headers }) => parseCookie(headers.cookie ?? '')[nameOf()],
    set: (reply, value) => write(reply, value, COOKIE_SECONDS),
    clear: (reply) => write(reply, '', 0),
  }
}

/** Ends cookies whose names begin alike, but for so many. Browsers send the oldest first (RFC 6265, 5.4). */
export function clearOldest(
  settings: CookieSettings,
  request: FastifyRequest,
  reply: FastifyReply,
  { prefix, most }: { prefix: string; most: number },
): void {
  const secure = settings.public_url.startsWith('https:') ? '__Host-' : ''
  const names = Object.keys(parseCookie(request.headers.cookie ?? '')).filter((name) =>
    name.startsWith(secure + prefix),
  )
  for (const name of names.slice(0, Math.max(0, names.length - most)))
    createPageCookie(settings, name.slice(secure.length)).clear(reply)
}
