import { RunyardError } from './errors.ts'
import { formatPath, type Path } from './path.ts'
import { joinQuery, type QueryParams } from './query.ts'
import { describeRuntime } from './runtime.ts'
import type { RequestOptions, Transport } from './transport.ts'
import { VERSION } from './version.ts'

export type ApiRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  query?: QueryParams | undefined
  /** Sent as JSON. */
  body?: unknown
  accept?: string
} & Target

/** A path, or a signed link, which is asked without anything that was meant for the service. */
export type Target = { path: Path; link?: undefined } | { path?: undefined; link: string; upload?: Upload }

/** A file as it is. */
interface Upload {
  content: string | ArrayBuffer
  mime_type: string
}

/** A call, or what makes one and may fail. */
export type CallSource = ApiRequest | (() => ApiRequest)

/** A request as all its attempts send it. */
export interface Prepared {
  readonly method: ApiRequest['method']
  readonly url: string
  /** `GET /agent/runs`, for logs. */
  readonly name: string
  readonly headers: Readonly<Record<string, string>>
  /** The headers that may go to any origin. */
  readonly bare: Readonly<Record<string, string>>
  readonly body: string | ArrayBuffer | undefined
  readonly idempotency_key: string | undefined
  readonly timeout: number
  readonly maxRetries: number
}

/** What cannot be sent is a `RunyardError` that names the part, but not the value of a header. */
export function prepareRequest(transport: Transport, source: CallSource, options: RequestOptions): Prepared {
  const { timeout = transport.timeout, maxRetries = transport.maxRetries } = options
  checkLimits({ timeout, maxRetries })
  const call = typeof source === 'function' ? source() : source
  const { method, accept = 'application/json' } = call
  const body = call.body === undefined ? undefined : explain('body', () => JSON.stringify(call.body))
  const bare = { accept, 'user-agent': `runyard-ts/${VERSION}`, 'x-runyard-runtime': RUNTIME }
  const shared = { method, bare, body, timeout, maxRetries }
  if (call.link !== undefined) {
    const name = `${method} a signed link`
    const { upload } = call
    const headers = upload ? { ...bare, 'content-type': upload.mime_type } : bare
    return {
      ...{ ...shared, url: parseLink(call.link), name, headers },
      body: upload?.content,
      idempotency_key: undefined,
    }
  }
  const path = explain('path', () => formatPath(call.path))
  const query = { ...transport.defaultQuery, ...call.query, ...options.query }
  const headers = buildHeaders(transport, options, shared)
  return {
    ...shared,
    url: transport.baseURL + explain('query', () => joinQuery(path, query)),
    name: `${method} ${path.replace(/\?.*/, '')}`,
    headers,
    idempotency_key: method === 'POST' ? headers['idempotency-key'] : undefined,
  }
}

/** A plain object, which every `fetch` takes, those of older polyfills too. */
function buildHeaders(
  transport: Transport,
  options: RequestOptions,
  { method, bare, body }: Pick<Prepared, 'method' | 'bare' | 'body'>,
): Record<string, string> {
  const headers: Record<string, string> = { ...bare }
  if (transport.apiKey !== null) headers.authorization = `Bearer ${transport.apiKey}`
  if (body !== undefined) headers['content-type'] = 'application/json'
  // One key for all attempts: a create whose answer was lost must not be done twice.
  if (method === 'POST') headers['idempotency-key'] = options.idempotencyKey || randomKey()
  for (const [name, value] of Object.entries({ ...transport.defaultHeaders, ...options.headers }))
    headers[name.toLowerCase()] = value
  // `fetch` would quote the value in its complaint.
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name) || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      throw new RunyardError(
        `The header ${JSON.stringify(name)} cannot be sent: it holds what no header may.`,
      )
  }
  return headers
}

/** `RunyardError` for limits that are none. */
export function checkLimits({ timeout, maxRetries, maxReconnects }: Limits): void {
  if (timeout !== undefined && !(typeof timeout === 'number' && timeout > 0))
    throw new RunyardError('timeout is a number of milliseconds above 0.')
  for (const [name, count] of Object.entries({ maxRetries, maxReconnects })) {
    if (count !== undefined && !(Number.isInteger(count) && count >= 0))
      throw new RunyardError(`${name} is an integer from 0.`)
  }
}

interface Limits {
  timeout?: number | undefined
  maxRetries?: number | undefined
  maxReconnects?: number | undefined
}

function parseLink(link: string): string {
  const url = URL.canParse(link) ? new URL(link) : undefined
  if (url && /^https?:$/.test(url.protocol)) return url.href
  throw new RunyardError('The service gave a link that is not an http or https address.')
}

function explain<T>(part: string, build: () => T): T {
  try {
    return build()
  } catch (cause) {
    if (cause instanceof RunyardError) throw cause
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new RunyardError(`The ${part} of the request cannot be sent: ${reason}.`, { cause })
  }
}

/** Not `crypto.randomUUID`, which browsers keep from pages on plain http. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

const RUNTIME = describeRuntime()
