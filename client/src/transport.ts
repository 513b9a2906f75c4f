import type { Log } from './log.ts'
import type { QueryParams } from './query.ts'

/** The part of `fetch` that is used: the types of polyfills differ in the rest, also in that of their responses. */
export type Fetch = (input: string, init?: FetchInit) => Promise<object>

/** What it is called with, beside `fetchOptions`. */
export interface FetchInit {
  method?: string
  headers?: Record<string, string>
  body?: string | ArrayBuffer
  signal?: AbortSignal
  redirect?: 'follow' | 'manual' | 'error'
}

/** What `fetch` takes, and what only one runtime knows, such as a `dispatcher` for proxies. */
export type FetchOptions = RequestInit | Readonly<Record<string, unknown>>

/** Where requests go and how; made once per client. */
export interface Transport {
  /** With `/api/v1`, without a slash at the end. */
  readonly baseURL: string
  /** Null: the requests carry none, as in a page with a session cookie. */
  readonly apiKey: string | null
  readonly timeout: number
  readonly maxRetries: number
  readonly defaultHeaders: Readonly<Record<string, string>>
  readonly defaultQuery: QueryParams
  readonly fetch: (input: string, init?: FetchInit) => Promise<Response>
  readonly fetchOptions: FetchOptions
  readonly log: Log
}

/** What a caller may set for one request. */
export interface RequestOptions {
  /** Ends the request, and waits between retries, with `APIUserAbortError`. */
  signal?: AbortSignal | undefined
  /** Milliseconds for each attempt, its body included; `Infinity`: no limit. */
  timeout?: number | undefined
  maxRetries?: number | undefined
  headers?: Record<string, string> | undefined
  /** Added to what the method itself asks for. */
  query?: QueryParams | undefined
  /** For POST; default: a random one. The same key and body within 24 hours have their effect once. */
  idempotencyKey?: string | undefined
  /** Passed on to `fetch`: what only one runtime has, such as a `dispatcher` for proxies. */
  fetchOptions?: FetchOptions | undefined
}
