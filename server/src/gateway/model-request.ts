import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { ModelApi } from './gateway.ts'

/** Where the addresses of models begin at the gateway: `/model/<provider>/…`. */
export const MODEL_PREFIX = '/model/'

export interface ModelRequest {
  /** After the version, with its query; goes behind the provider's base URL. */
  path: string
  /** The version that was asked for, which may be another one than that of the base URL; `null`: none was, or there is only one. */
  version: string | null
  /** It makes the model work, which costs. */
  generates: boolean
  /** Its answer is no text that is paid for, whatever its length. */
  is_silent: boolean
  /** Its answer comes in pieces, whatever its body says. */
  streams: boolean
  /** A field of its body that is not passed on. */
  unwanted?: string
}

interface Route {
  method: string
  path: RegExp
  generates?: true
  /** What comes back are numbers. */
  is_silent?: true
  unwanted?: string
}

/** As in `gpt-5.4`, `ft:gpt-4o:acme::x`, and `vendor/model` or `vendor%2Fmodel`. Nothing in it leads upwards. */
const MODEL = `[A-Za-z0-9](?:[A-Za-z0-9_:@-]|%2[Ff]|%3[Aa]|%40|[./](?![./])){0,199}`
const GOOGLE_MODEL = String.raw`models\/[A-Za-z0-9][A-Za-z0-9._-]{0,199}`
/** Of what was made before; nobody guesses one. */
const ID = '[A-Za-z0-9_-]{1,200}'
/** What works on in the background does so where nobody counts. */
const COUNTED = { method: 'POST', generates: true, unwanted: 'background' } as const

/**
 * What the official clients ask for and what is counted in tokens, or costs nothing. Files, batches, pictures, sounds and videos are
 * not among it: they are paid for otherwise, or belong to the whole account.
 *
 * With the version and without: clients differ in which of the two their base URL has.
 */
const ROUTES: Record<ModelApi, { version: RegExp; routes: Route[] }> = {
  openai: {
    version: /^(v1)\//,
    routes: [
      { method: 'POST', path: /^chat\/completions$/, generates: true },
      { ...COUNTED, path: /^responses$/ },
      { method: 'POST', path: /^responses\/compact$/, generates: true },
      { method: 'POST', path: /^responses\/input_tokens$/ },
      { method: 'GET', path: new RegExp(`^responses/${ID}(/input_items)?$`) },
      { method: 'DELETE', path: new RegExp(`^responses/${ID}$`) },
      { method: 'POST', path: /^completions$/, generates: true },
      { method: 'POST', path: /^decisions$/, generates: true, is_silent: true },
      { method: 'POST', path: /^embeddings$/, generates: true, is_silent: true },
      { method: 'POST', path: /^moderations$/ },
      { method: 'GET', path: new RegExp(`^models(/${MODEL})?$`) },
    ],
  },
  anthropic: {
    version: /^(v1)\//,
    routes: [
      { method: 'POST', path: /^messages$/, generates: true },
      { method: 'POST', path: /^messages\/count_tokens$/ },
      { method: 'POST', path: /^complete$/, generates: true },
      { method: 'GET', path: new RegExp(`^models(/${MODEL})?$`) },
    ],
  },
  google: {
    version: /^(v1|v1beta|v1alpha)\//,
    routes: [
      {
        method: 'POST',
        path: new RegExp(`^${GOOGLE_MODEL}:(generateContent|streamGenerateContent)$`),
        generates: true,
      },
      {
        method: 'POST',
        path: new RegExp(`^${GOOGLE_MODEL}:(embedContent|batchEmbedContents)$`),
        ...{ generates: true, is_silent: true },
      },
      { method: 'POST', path: new RegExp(`^${GOOGLE_MODEL}:countTokens$`) },
      { ...COUNTED, path: /^interactions$/ },
      { method: 'GET', path: new RegExp(`^interactions/${ID}$`) },
      { method: 'DELETE', path: new RegExp(`^interactions/${ID}$`) },
      { method: 'POST', path: /^decisions$/, generates: true, is_silent: true },
      { method: 'GET', path: new RegExp(`^(models|${GOOGLE_MODEL})$`) },
    ],
  },
}
/** Of a query nothing else is passed on: Google takes keys, headers and methods there. */
const PARAMETERS = [
  ...['alt', 'beta', 'limit', 'order', 'after', 'after_id', 'before_id', 'include', 'include[]'],
  ...['pageSize', 'pageToken', 'include_input'],
]
/** Ways of Google to write an answer; of others (`proto`) nothing could be counted. */
const READABLE = ['sse', 'json']

/** The provider that an address below `MODEL_PREFIX` names. */
export const readProvider = (url: string): string => /^\/model\/([a-z0-9-]+)\//.exec(url)?.[1] ?? ''

/** `null` for everything that is not passed on. The path is one of a few, so nothing of the address leads elsewhere. */
export function readModelRequest(api: ModelApi, { method, url = '' }: IncomingMessage): ModelRequest | null {
  const [full = '', query = ''] = url.split(/\?(.*)/s, 2)
  const { version, routes } = ROUTES[api]
  const whole = full.slice(full.indexOf('/', MODEL_PREFIX.length) + 1)
  const asked = version.exec(whole)?.[1] ?? null
  const path = whole.replace(version, '')
  const route = routes.find((each) => each.method === method && each.path.test(path))
  if (!route) return null
  const given = new URLSearchParams(query)
  const kept = [...given].filter(
    ([name, value]) => PARAMETERS.includes(name) && (name !== 'alt' || READABLE.includes(value)),
  )
  const search = new URLSearchParams(kept).toString()
  const { generates = false, is_silent = false, unwanted } = route
  return {
    ...{ path: `/${path}${search && `?${search}`}`, version: api === 'google' ? asked : null },
    ...{ generates, is_silent, streams: /:stream/.test(path) },
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
