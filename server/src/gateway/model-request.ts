import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { ModelApi } from './gateway.ts'

/** Where the addresses of models begin at the gateway: `/model/<provider>/…`. */
export const MODEL_PREFIX = '/model/'

export interface ModelRequest {
  /** After the version, with its query; goes behind the provider's base URL. */
  path: string
  /** It makes the model work, which costs. */
  generates: boolean
  /** Its answer comes in pieces, whatever its body says. */
  streams: boolean
  /** A field of its body that is not passed on. */
  unwanted?: string
}

interface Route {
  method: string
  path: RegExp
  generates?: true
  unwanted?: string
}

/** With the version and without: clients differ in which of the two their base URL has. */
const ROUTES: Record<ModelApi, { version: RegExp; routes: Route[] }> = {
  openai: {
    version: /^v1\//,
    routes: [
      { method: 'POST', path: /^chat\/completions$/, generates: true },
      // It works on where nobody counts.
      { method: 'POST', path: /^responses$/, generates: true, unwanted: 'background' },
      { method: 'GET', path: /^models$/ },
    ],
  },
  anthropic: {
    version: /^v1\//,
    routes: [
      { method: 'POST', path: /^messages$/, generates: true },
      { method: 'POST', path: /^messages\/count_tokens$/ },
      { method: 'GET', path: /^models$/ },
    ],
  },
  google: {
    version: /^v1beta\//,
    routes: [
      {
        method: 'POST',
        path: /^models\/[A-Za-z0-9][A-Za-z0-9._-]{0,199}:(generateContent|streamGenerateContent)$/,
        generates: true,
      },
      { method: 'POST', path: /^models\/[A-Za-z0-9][A-Za-z0-9._-]{0,199}:countTokens$/ },
      { method: 'GET', path: /^models$/ },
    ],
  },
}
/** Of a query nothing else is passed on: Google takes keys, headers and methods there. */
const PARAMETERS = ['alt', 'beta', 'limit', 'after_id', 'before_id', 'pageSize', 'pageToken']
/** Ways of Google to write an answer; of others (`proto`) nothing could be counted. */
const READABLE = ['sse', 'json']

/** The provider that an address below `MODEL_PREFIX` names. */
export const readProvider = (url: string): string => /^\/model\/([a-z0-9-]+)\//.exec(url)?.[1] ?? ''

/** `null` for everything that is not passed on. The path is one of a few, so nothing of the address leads elsewhere. */
export function readModelRequest(api: ModelApi, { method, url = '' }: IncomingMessage): ModelRequest | null {
  const [full = '', query = ''] = url.split(/\?(.*)/s, 2)
  const { version, routes } = ROUTES[api]
  const path = full.slice(full.indexOf('/', MODEL_PREFIX.length) + 1).replace(version, '')
  const route = routes.find((each) => each.method === method && each.path.test(path))
  if (!route) return null
  const given = new URLSearchParams(query)
  const kept = [...given].filter(
    ([name, value]) => PARAMETERS.includes(name) && (name !== 'alt' || READABLE.includes(value)),
  )
  const search = new URLSearchParams(kept).toString()
  const { generates = false, unwanted } = route
  return {
    ...{ path: `/${path}${search && `?${search}`}`, generates, streams: /:stream/.test(path) },
    ...(unwanted === undefined ? {} : { unwanted }),
  }
}

/** Whether the request holds the token, where clients of the provider put their key. */
export function holdsToken(api: ModelApi, { headers, url = '' }: IncomingMessage, token: string): boolean {
  const bearer = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1]
  const key = {
    openai: undefined,
    anthropic: headers['x-api-key'],
    google: headers['x-goog-api-key'] ?? new URLSearchParams(url.split(/\?(.*)/s, 2)[1] ?? '').get('key'),
  }[api]
  const given = typeof key === 'string' ? key : bearer
  return given !== undefined && timingSafeEqual(digest(given), digest(token))
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
