import { ApiKeys } from './api-keys.ts'
import type { APIPromise } from './api-promise.ts'
import { Artifacts } from './artifacts.ts'
import { AuditLog } from './audit-log.ts'
import { Conversations } from './conversations.ts'
import { Environments } from './environments.ts'
import { RunyardError } from './errors.ts'
import { Files } from './files.ts'
import { Grants } from './grants.ts'
import { Identities } from './identities.ts'
import { type Logger, type LogLevel, limitLogger, parseLogLevel } from './log.ts'
import { Models } from './models.ts'
import { Networking } from './networking.ts'
import { Pools } from './pools.ts'
import { type ApiRequest, checkLimits } from './prepare.ts'
import { Principals } from './principals.ts'
import type { QueryParams } from './query.ts'
import { Repositories } from './repositories.ts'
import { requestAny } from './request.ts'
import { Runs } from './runs.ts'
import { isBrowser, readEnvironment } from './runtime.ts'
import { Schedules } from './schedules.ts'
import { Secrets } from './secrets.ts'
import { Sessions } from './sessions.ts'
import { Settings } from './settings.ts'
import { ShareLinks } from './share-links.ts'
import { SignInLinks } from './sign-in-links.ts'
import { Skills } from './skills.ts'
import type { Fetch, FetchOptions, RequestOptions, Transport } from './transport.ts'
import { Triggers } from './triggers.ts'
import { UsageResource } from './usage.ts'
import { Webhooks } from './webhooks.ts'
import { Workers } from './workers.ts'

const API_PATH = '/api/v1'
/** Where `runyard dev` listens. */
const DEFAULT_BASE_URL = 'http://127.0.0.1:4200'

export interface RunyardOptions {
  /** Default: the environment variable RUNYARD_API_KEY. Null: none is sent, as in a page with a session cookie. */
  apiKey?: string | null | undefined
  /** Address of the service, with or without `/api/v1`. Default: RUNYARD_BASE_URL, then http://127.0.0.1:4200. */
  baseURL?: string | undefined
  /** Milliseconds for each attempt of a request, its body included; default 60 000. `Infinity`: no limit. */
  timeout?: number | undefined
  /** How often a request is repeated after an error that may pass; default 2. */
  maxRetries?: number | undefined
  /** Sent with every request. */
  defaultHeaders?: Record<string, string> | undefined
  defaultQuery?: QueryParams | undefined
  /** What is called instead of the global `fetch`. */
  fetch?: Fetch | undefined
  /** Passed on to every `fetch`: what only one runtime has, such as a `dispatcher` for proxies. */
  fetchOptions?: FetchOptions | undefined
  /** off, error, warn (default), info (one line a request) or debug (headers too). Default: RUNYARD_LOG. */
  logLevel?: LogLevel | undefined
  /** Default: `console`. Queries, and headers named like a secret, never reach it. */
  logger?: Logger | undefined
  /** For `webhooks.unwrap`. Default: RUNYARD_WEBHOOK_SECRET. */
  webhookSecret?: string | undefined
  /** Allows a key in a browser, where everybody who opens the page can read it. */
  dangerouslyAllowBrowser?: boolean | undefined
}

/** A request that no method covers. */
export interface RawOptions extends RequestOptions {
  /** Sent as JSON. */
  body?: unknown
}

/**
 * A connection to a Runyard service. Cheap; holds nothing that has to be closed.
 *
 *     const client = new Runyard()
 *     const run = await client.runs.createAndWait({ prompt: 'Fix the failing test.' })
 */
export class Runyard {
  /** With `/api/v1`, without a slash at the end. */
  readonly baseURL: string
  readonly runs: Runs
  readonly conversations: Conversations
  readonly sessions: Sessions
  readonly schedules: Schedules
  readonly triggers: Triggers
  readonly environments: Environments
  readonly secrets: Secrets
  readonly skills: Skills
  readonly models: Models
  readonly artifacts: Artifacts
  readonly files: Files
  readonly networking: Networking
  readonly apiKeys: ApiKeys
  readonly identities: Identities
  readonly principals: Principals
  readonly pools: Pools
  readonly grants: Grants
  readonly shareLinks: ShareLinks
  readonly usage: UsageResource
  readonly signInLinks: SignInLinks
  readonly auditLog: AuditLog
  readonly webhooks: Webhooks
  readonly repositories: Repositories
  readonly settings: Settings
  readonly workers: Workers
  readonly #options: RunyardOptions
  readonly #transport: Transport

  constructor(options: RunyardOptions = {}) {
    const { transport, options: resolved } = resolveOptions(options)
    this.#options = resolved
    this.#transport = transport
    this.baseURL = transport.baseURL
    this.runs = new Runs(transport)
    this.conversations = new Conversations(transport)
    this.sessions = new Sessions(transport)
    this.schedules = new Schedules(transport)
    this.triggers = new Triggers(transport)
    this.environments = new Environments(transport)
    this.secrets = new Secrets(transport)
    this.skills = new Skills(transport)
    this.models = new Models(transport)
    this.artifacts = new Artifacts(transport)
    this.files = new Files(transport)
    this.networking = new Networking(transport)
    this.apiKeys = new ApiKeys(transport)
    this.identities = new Identities(transport)
    this.principals = new Principals(transport)
    this.pools = new Pools(transport)
    this.grants = new Grants(transport)
    this.usage = new UsageResource(transport)
    this.shareLinks = new ShareLinks(transport)
    this.signInLinks = new SignInLinks(transport)
    this.auditLog = new AuditLog(transport)
    this.webhooks = new Webhooks(transport, resolved.webhookSecret)
    this.repositories = new Repositories(transport)
    this.settings = new Settings(transport)
    this.workers = new Workers(transport)
  }

  /** A client that differs from this one in these options. Undefined ones, and the environment, change nothing. */
  withOptions(options: RunyardOptions): Runyard {
    const given = Object.entries(options).filter(([, value]) => value !== undefined)
    return new Runyard({ ...this.#options, ...Object.fromEntries(given) })
  }

  /** Asks for a path below `baseURL` that no method covers. So do `post`, `put`, `patch` and `delete`. */
  get<T = unknown>(path: string, options?: RequestOptions): APIPromise<T> {
    return this.#send('GET', path, options)
  }

  post<T = unknown>(path: string, options?: RawOptions): APIPromise<T> {
    return this.#send('POST', path, options)
  }

  put<T = unknown>(path: string, options?: RawOptions): APIPromise<T> {
    return this.#send('PUT', path, options)
  }

  patch<T = unknown>(path: string, options?: RawOptions): APIPromise<T> {
    return this.#send('PATCH', path, options)
  }

  delete<T = unknown>(path: string, options?: RawOptions): APIPromise<T> {
    return this.#send('DELETE', path, options)
  }

  #send<T>(method: ApiRequest['method'], path: string, options: RawOptions = {}): APIPromise<T> {
    const { body, ...request } = options
    return requestAny(this.#transport, { method, path, body }, request)
  }
}

/** The options with what the environment and the defaults add. */
function resolveOptions(options: RunyardOptions): { options: RunyardOptions; transport: Transport } {
  checkLimits(options)
  const apiKey = requireKey(
    options.apiKey === undefined ? readEnvironment('RUNYARD_API_KEY') : options.apiKey,
  )
  if (apiKey !== null && isBrowser() && !options.dangerouslyAllowBrowser) {
    throw new RunyardError(
      'In a browser everybody can read the API key. Use it on a server, or set dangerouslyAllowBrowser.',
    )
  }
  if (!options.fetch && typeof globalThis.fetch !== 'function') {
    throw new RunyardError('There is no global fetch here: pass one as `fetch`.')
  }
  const { logger = console, timeout = 60_000, maxRetries = 2 } = options
  const { defaultHeaders = {}, defaultQuery = {}, fetchOptions = {} } = options
  // Browsers refuse a `fetch` that is called as a method of something else.
  const { fetch = (input, init) => globalThis.fetch(input, init) } = options
  const baseURL = normaliseBaseUrl(options.baseURL || readEnvironment('RUNYARD_BASE_URL') || DEFAULT_BASE_URL)
  const logLevel = parseLogLevel(options.logLevel ?? readEnvironment('RUNYARD_LOG'))
  const webhookSecret = options.webhookSecret ?? readEnvironment('RUNYARD_WEBHOOK_SECRET')
  const shared = { baseURL, apiKey, timeout, maxRetries, defaultHeaders, defaultQuery, fetch, fetchOptions }
  return {
    options: { ...options, ...shared, logger, logLevel, webhookSecret },
    // Whatever package made it, a response is one.
    transport: { ...shared, fetch: fetch as Transport['fetch'], log: limitLogger(logger, logLevel) },
  }
}

function normaliseBaseUrl(text: string): string {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.search || url.hash) {
    throw new RunyardError(
      'baseURL must be an http or https address without credentials, query and fragment.',
    )
  }
  const path = url.pathname.replace(/\/+$/, '')
  return url.origin + (path.endsWith(API_PATH) ? path : path + API_PATH)
}

/** Checked here, because `fetch` would quote the key in its complaint about the header. */
function requireKey(key: string | null | undefined): string | null {
  if (key === null) return null
  const trimmed = key?.trim()
  if (!trimmed) throw new RunyardError('An API key is needed: pass apiKey or set RUNYARD_API_KEY.')
  if (!/^[\x21-\x7e]+$/.test(trimmed)) throw new RunyardError('The API key holds characters that no key has.')
  return trimmed
}
