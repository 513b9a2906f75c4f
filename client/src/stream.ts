import { linkAbort, sleep, userAbort } from './abort.ts'
import { APIConnectionError, RunyardError } from './errors.ts'
import { type Path, runPath } from './path.ts'
import { checkLimits } from './prepare.ts'
import { Progress } from './progress.ts'
import type { QueryParams } from './query.ts'
import { request } from './request.ts'
import { isRetryable, retryDelay } from './retry.ts'
import type { RunStreamEvent } from './schemas.ts'
import { type ServerSentEvent, ServerSentEventParser } from './sse.ts'
import type { RequestOptions, Transport } from './transport.ts'

/** The service sends a comment every 15 s; three missed ones mean that the connection is dead. */
const SILENCE_MS = 45_000
/** A connection that brought something, and lived this long, was a good one, even when no event came. */
const GOOD_CONNECTION_MS = 10_000
const LONGEST_RETRY_MS = 10_000

/** `timeout` is for a connection to answer, `maxRetries` for the first one; a stream that is open may stay so. */
export interface StreamOptions extends ConnectionOptions {
  /** Only what follows this sequence. */
  after?: number | undefined
  /** Go on after the end of the run: a follow-up may start it again. */
  follow?: boolean | undefined
}

export interface ConnectionOptions extends Omit<RequestOptions, 'idempotencyKey'> {
  /** How often in a row a lost connection is made again without anything new having come; default 10. */
  maxReconnects?: number | undefined
  /** Called at once when the connection is lost or could not be made and will be tried again, and when it is back. */
  onConnection?: ((change: StreamConnection) => void) | undefined
}

/** `lost` comes with each failure, `restored` once, with the first bytes after them. */
export type StreamConnection = { state: 'lost'; error: RunyardError } | { state: 'restored' }

/**
 * The events of a run in order, each once, until it has ended and all were sent. A lost connection is made again after the
 * last event that was read, and of text on its way only what is new is passed on.
 */
export function streamRun(
  transport: Transport,
  run_id: string,
  { after = 0, follow, ...options }: StreamOptions = {},
): AsyncGenerator<RunStreamEvent, void, undefined> {
  const progress = new Progress(after)
  const source: StreamSource = {
    path: runPath(run_id, 'events'),
    describe: () => `the events of run ${run_id} broke off; going on after ${progress.sequence}`,
    query: () => ({ after: progress.sequence, ...(follow ? { follow } : {}) }),
    accept: (message) => progress.accept(message),
  }
  return followStream(transport, source, options)
}

/** What is read, from where a reader is. */
export interface StreamSource {
  path: Path
  /** What broke off and where it goes on. */
  describe: () => string
  /** Asks for what is new. */
  query: () => QueryParams
  /** The event to pass on; nothing when it is known already. */
  accept: (message: ServerSentEvent) => RunStreamEvent | undefined
}

/** A stream up to its end message, over as many connections as it takes. */
export async function* followStream(
  transport: Transport,
  source: StreamSource,
  { maxReconnects = 10, onConnection, ...options }: ConnectionOptions,
): AsyncGenerator<RunStreamEvent, void, undefined> {
  const { signal, maxRetries = transport.maxRetries } = options
  checkLimits({ maxReconnects, maxRetries })
  const failures = new Failures(maxRetries, maxReconnects)
  const onUp = () => {
    if (failures.count > 0) onConnection?.({ state: 'restored' })
  }
  for (;;) {
    const query = { ...source.query(), ...options.query }
    const connection = new Connection(transport, source, { ...options, query, maxRetries: 0 }, onUp)
    try {
      return yield* connection.readUntilEnd()
    } catch (error) {
      if (!(error instanceof RunyardError) || !failures.mayPass(error)) throw error
      onConnection?.({ state: 'lost', error })
      const delay = failures.delay(error, connection.retry_ms)
      transport.log.info(`${source.describe()} in ${Math.round(delay)} ms`)
      await sleep(delay, signal)
    }
  }
}

/** Failures in a row. The first connection is retried like any request; a stream that was up gets its own count. */
class Failures {
  count = 0
  #limit: number
  readonly #later_limit: number
  #was_up = false

  constructor(first_limit: number, later_limit: number) {
    this.#limit = first_limit
    this.#later_limit = later_limit
  }

  /** Counts the failure; whether the connection may be made again. */
  mayPass(error: RunyardError): boolean {
    if (!this.#was_up && error instanceof BrokenStreamError) {
      this.#was_up = true
      this.#limit = this.#later_limit
      this.count = 0
    }
    this.count = wasGood(error) ? 1 : this.count + 1
    return isRetryable(error) && this.count <= this.#limit
  }

  /** Milliseconds to wait, with what the stream asked for. */
  delay(error: RunyardError, asked_ms: number | undefined): number {
    return (wasGood(error) ? asked_ms : undefined) ?? retryDelay(error, this.count - 1)
  }
}

const wasGood = (error: RunyardError): boolean => error instanceof BrokenStreamError && error.was_good

/** The connection was up and went away. */
export class BrokenStreamError extends APIConnectionError {
  /** It brought something new, or lived for a while. */
  readonly was_good: boolean
  /** Not one byte came until it was given up: something in between holds the stream back. */
  readonly was_silent: boolean

  constructor(was_good: boolean, was_silent: boolean, options?: ErrorOptions) {
    super('The event stream broke off.', options)
    this.was_good = was_good
    this.was_silent = was_silent
  }
}

/** One answer of the service. */
class Connection {
  /** What the stream asks readers to wait before they reconnect. */
  retry_ms: number | undefined
  readonly #transport: Transport
  readonly #source: StreamSource
  readonly #options: RequestOptions
  readonly #onUp: () => void
  #opened_at = Number.POSITIVE_INFINITY
  #had_bytes = false
  #brought_news = false

  constructor(transport: Transport, source: StreamSource, options: RequestOptions, onUp: () => void) {
    this.#transport = transport
    this.#source = source
    this.#options = options
    this.#onUp = onUp
  }

  /** Yields what is new. A connection that is lost before the end message: `BrokenStreamError`. */
  async *readUntilEnd(): AsyncGenerator<RunStreamEvent, void, undefined> {
    const { signal } = this.#options
    for await (const message of this.#read()) {
      if (message.event === 'end') return
      const event = this.#source.accept(message)
      if (event === undefined) continue
      this.#brought_news = true
      if (signal?.aborted) throw userAbort(signal)
      yield event
    }
    throw this.#broken(false)
  }

  #broken(was_silent: boolean, options?: ErrorOptions): BrokenStreamError {
    const lived = performance.now() - this.#opened_at
    const was_good = this.#brought_news || (this.#had_bytes && lived > GOOD_CONNECTION_MS)
    return new BrokenStreamError(was_good, was_silent, options)
  }

  async *#read(): AsyncGenerator<ServerSentEvent, void, undefined> {
    const { signal } = this.#options
    const hangup = linkAbort(signal)
    const call = {
      method: 'GET',
      path: this.#source.path,
      accept: 'text/event-stream',
    } as const
    try {
      const options = { ...this.#options, signal: hangup.controller.signal }
      const response = await request(this.#transport, call, options, async (answer) => answer)
      if (!response.headers.get('content-type')?.startsWith('text/event-stream') || !response.body) {
        throw new RunyardError('The answer is not an event stream. Is baseURL right?')
      }
      this.#opened_at = performance.now()
      const parser = new ServerSentEventParser()
      for await (const text of readText(response.body, hangup.controller)) {
        if (!this.#had_bytes) this.#onUp()
        this.#had_bytes = true
        const events = parser.push(text)
        if (parser.retry !== undefined) this.retry_ms = Math.min(parser.retry, LONGEST_RETRY_MS)
        yield* events
      }
    } catch (error) {
      if (signal?.aborted) throw userAbort(signal)
      if (error instanceof RunyardError) throw error
      throw this.#broken(hangup.controller.signal.aborted && !this.#had_bytes, { cause: error })
    } finally {
      hangup.unlink()
      hangup.controller.abort()
    }
  }
}

/** The body as text; hangs up when it has been silent for too long. */
async function* readText(body: ReadableStream<Uint8Array>, hangup: AbortController): AsyncGenerator<string> {
  const reader = readerOf(body)
  const decoder = new TextDecoder()
  let timer: ReturnType<typeof setTimeout> | undefined
  try {
    for (;;) {
      timer = setTimeout(() => hangup.abort(), SILENCE_MS)
      const { done, value } = await reader.read()
      clearTimeout(timer)
      if (done) return
      yield decoder.decode(value, { stream: true })
    }
  } finally {
    clearTimeout(timer)
  }
}

interface ChunkReader {
  read(): Promise<{ done?: boolean | undefined; value?: Uint8Array | undefined }>
}

/** Some `fetch` polyfills give a Node stream as body, which can be iterated only. */
function readerOf(body: ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>): ChunkReader {
  if ('getReader' in body) return body.getReader()
  const chunks = body[Symbol.asyncIterator]()
  return { read: () => chunks.next() }
}
