import { setTimeout as wait } from 'node:timers/promises'
import type { CheckedFetch } from './checked-fetch.ts'
import { NotPublic, Refused, Unreachable } from './dial.ts'
import type { GitHostKind } from './gateway.ts'
import { apiUrlOf } from './git-host.ts'

const TRIES = 3
const LIMIT_MS = 30_000
const PAUSE_MS = 1_000
const MAX_QUOTED = 300

export type FailureKind = 'refused' | 'not_found' | 'no_difference' | 'unreachable' | 'limited' | 'other'

/** What a git host did not do, in words that may be shown: without tokens, and with little of what the host says. */
export class GitHostFailure extends Error {
  readonly failure: FailureKind
  constructor(failure: FailureKind, message: string) {
    super(message)
    this.failure = failure
  }
}

export interface ApiAnswer {
  status: number
  /** The body as JSON; `undefined` where it is none. */
  data: unknown
  /** What the host says of a failure, to put behind one's own words: `: “…”`, one line that can be printed; perhaps nothing. */
  said: string
  headers: Headers
}

export interface ApiRequest {
  query?: Record<string, string>
  body?: object
}

/** Asks the API for a path, such as `/repos/acme/site`. */
export type GitHostApi = (
  method: 'GET' | 'POST' | 'PUT' | 'PATCH',
  path: string,
  request?: ApiRequest,
) => Promise<ApiAnswer>

export interface ApiOptions {
  fetch: CheckedFetch
  kind: GitHostKind
  host: string
  /** A personal, project, installation or OAuth token, or an App's own; all of them go as a bearer's. */
  token: string
  /** The first pause before a try again; it doubles. */
  pause_ms?: number
  /** After so long nothing is tried again. */
  limit_ms?: number
}

/**
 * Tries again where the host has too much to do or fails, three times within half a minute. Any status but those is an answer.
 * Throws `GitHostFailure` (`limited`, `unreachable`).
 */
export function openGitHostApi(options: ApiOptions): GitHostApi {
  const { fetch, kind, host, token, pause_ms = PAUSE_MS, limit_ms = LIMIT_MS } = options
  const base = apiUrlOf(kind, host)
  const deadline = Date.now() + limit_ms
  const media =
    kind === 'github'
      ? { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' }
      : { accept: 'application/json' }

  const askOnce = async (method: string, path: string, { query, body }: ApiRequest): Promise<ApiAnswer> => {
    // An address folds these, and leads elsewhere with the token than the caller may go.
    if (/(^|\/)\.{1,2}(\/|$)/.test(path))
      throw new GitHostFailure('not_found', `${host} has nothing under a name with a part . or ..`)
    const text = body && JSON.stringify(body)
    const answer = await fetch(`${base}${path}${query ? `?${new URLSearchParams(query)}` : ''}`, {
      method,
      headers: {
        ...{ ...media, authorization: `Bearer ${token}`, 'user-agent': 'runyard' },
        ...(text
          ? { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) }
          : {}),
      },
      ...(text ? { body: text } : {}),
    })
    const data = readJson(await answer.text())
    return { status: answer.status, data, said: quote(data, token), headers: answer.headers }
  }

  return async (method, path, request = {}) => {
    for (let tries = 1; ; tries++) {
      const outcome = await askOnce(method, path, request).catch(explainFetch)
      const failure = outcome instanceof GitHostFailure ? outcome : judgeAnswer(host, outcome)
      if (!failure && !(outcome instanceof GitHostFailure)) return outcome
      const pause =
        (outcome instanceof GitHostFailure ? null : readPause(outcome)) ?? pause_ms * 2 ** (tries - 1)
      if (tries === TRIES || Date.now() + pause > deadline) throw failure
      await wait(pause)
    }
  }
}

/** Throws what trying again does not help. */
function explainFetch(error: unknown): GitHostFailure {
  if (error instanceof Refused && !(error instanceof NotPublic))
    throw new GitHostFailure('unreachable', error.message)
  if (error instanceof NotPublic || error instanceof Unreachable)
    return new GitHostFailure('unreachable', error.message)
  throw error
}

/** Why an answer is none that can be used; `null` where it can. */
function judgeAnswer(host: string, answer: ApiAnswer): GitHostFailure | null {
  if (isLimit(answer)) {
    const pause = readPause(answer)
    const when = pause === null ? 'Try again later' : `Try again in ${Math.ceil(pause / 1_000)} s`
    return new GitHostFailure('limited', `${host} answers no more requests at the moment. ${when}.`)
  }
  if (answer.status < 500) return null
  return new GitHostFailure('unreachable', `${host} failed (${answer.status})${answer.said}.`)
}

/** GitHub answers 403 as well: to too many requests an hour, or at once (its "Rate limits for the REST API"). */
const isLimit = ({ status, headers, data }: ApiAnswer): boolean =>
  status === 429 ||
  (status === 403 &&
    (headers.has('retry-after') ||
      headers.get('x-ratelimit-remaining') === '0' ||
      /rate limit/i.test(stringOf(data, 'message') ?? '')))

/** How many milliseconds the host wants to be left alone; `null` where it does not say. */
function readPause({ headers }: ApiAnswer): number | null {
  const after = headers.get('retry-after')
  if (after && /^\d{1,9}$/.test(after)) return Number(after) * 1_000
  const now = Date.parse(headers.get('date') ?? '') || Date.now()
  const reset = headers.get('x-ratelimit-remaining') === '0' ? headers.get('x-ratelimit-reset') : null
  const until = after ? Date.parse(after) : Number(reset ?? Number.NaN) * 1_000
  return Number.isNaN(until) ? null : Math.max(0, until - now)
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A property of what came from elsewhere, where it is a string. */
export function stringOf(data: unknown, name: string): string | null {
  const value = propertyOf(data, name)
  return typeof value === 'string' ? value : null
}

export const propertyOf = (data: unknown, name: string): unknown =>
  typeof data === 'object' && data !== null && Object.hasOwn(data, name)
    ? (data as Record<string, unknown>)[name]
    : undefined

/** One line that can be printed, of what a host says. Marks are the vowels of many scripts. */
export const printable = (text: string): string =>
  text.replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]+/gu, ' ').trim()

/** Hosts may say a token again. */
function quote(data: unknown, token: string): string {
  const texts = ['message', 'error', 'error_description', 'errors'].flatMap((name) =>
    collectTexts(propertyOf(data, name)),
  )
  const said = printable(texts.join('; ').replaceAll(token, '[token]'))
  return said && `: “${[...said].slice(0, MAX_QUOTED).join('')}”`
}

/** GitLab says what is wrong in strings, lists and objects of lists; GitHub in objects with a `message`. */
function collectTexts(value: unknown, depth = 0): string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value) && depth < 3)
    return value.slice(0, 10).flatMap((each) => collectTexts(each, depth + 1))
  if (typeof value !== 'object' || value === null || depth >= 3) return []
  const message = stringOf(value, 'message')
  if (message !== null) return [message]
  return Object.entries(value)
    .slice(0, 10)
    .flatMap(([name, each]) => collectTexts(each, depth + 1).map((text) => `${name} ${text}`))
}
