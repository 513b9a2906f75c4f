import { linkAbort, sleep, userAbort } from './abort.ts'
import { APIConnectionError, RunyardError } from './errors.ts'
import { request, type Transport } from './request.ts'
import { isRetryable, retryDelay } from './retry.ts'
import type { MessageDelta, MessageDeltaEvent, RunEvent, RunStreamEvent } from './schemas.ts'
import { type ServerSentEvent, ServerSentEventParser } from './sse.ts'

/** The service sends a comment every 15 s; three missed ones mean that the connection is dead. */
const SILENCE_MS = 45_000
/** A connection that lived this long was a good one, even when no event came. */
const GOOD_CONNECTION_MS = 10_000
const LONGEST_RETRY_MS = 10_000

export interface StreamOptions {
  /** Only what follows this sequence. */
  after?: number | undefined
  /** Go on after the end of the run: a follow-up may start it again. */
  follow?: boolean | undefined
  signal?: AbortSignal | undefined
  headers?: Record<string, string> | undefined
  /** Milliseconds for a connection to answer; a stream that is open may stay so. */
  timeout?: number | undefined
  /** Of the first connection. */
  maxRetries?: number | undefined
  /** How often in a row a lost connection is made again without anything new having come; default 10. */
  maxReconnects?: number | undefined
}

/**
 * The events of a run in order, each once, until it has ended and all were sent. A lost connection is made again after the
 * last event that was read, and of text on its way only what is new is passed on.
 */
export async function* streamRun(
  transport: Transport,
  run_id: string,
  options: StreamOptions = {},
): AsyncGenerator<RunStreamEvent, void, undefined> {
  const progress = new Progress(options.after ?? 0)
  const max_reconnects = options.maxReconnects ?? 10
  // The first connection is retried like any request; a stream that was up gets its own count.
  let maxRetries = options.maxRetries
  for (let failures = 0, reconnecting = false; ; maxRetries = 0, reconnecting = true) {
    const opened_at = performance.now()
    const asked: { retry_ms?: number } = {}
    let fault: unknown = new BrokenStream('The event stream broke off.')
    let was_good = false
    try {
      for await (const message of connect(
        transport,
        run_id,
        progress.sequence,
        { ...options, maxRetries },
        asked,
      )) {
        if (message.event === 'end') return
        const event = progress.accept(message)
        if (event) yield event
        was_good ||= event !== undefined
      }
    } catch (error) {
      const was_up = reconnecting || error instanceof BrokenStream
      if (!was_up || !isRetryable(error)) throw error
      fault = error
    }
    was_good ||= performance.now() - opened_at > GOOD_CONNECTION_MS
    failures = was_good ? 1 : failures + 1
    if (failures > max_reconnects) throw fault
    const pause = was_good ? asked.retry_ms : undefined
    await sleep(pause ?? retryDelay(fault, failures - 1), options.signal)
  }
}

/** The connection was up and went away. */
class BrokenStream extends APIConnectionError {}

async function* connect(
  transport: Transport,
  run_id: string,
  after: number,
  options: StreamOptions,
  asked: { retry_ms?: number },
): AsyncGenerator<ServerSentEvent, void, undefined> {
  const { controller: hangup, unlink } = linkAbort(options.signal)
  const call = {
    method: 'GET',
    path: `/agent/runs/${encodeURIComponent(run_id)}/events`,
    query: { after, ...(options.follow ? { follow: true } : {}) },
    accept: 'text/event-stream',
  } as const
  try {
    const { maxRetries, headers, timeout } = options
    const { signal } = hangup
    const response = await request(
      transport,
      call,
      { signal, maxRetries, headers, timeout },
      async (answer) => answer,
    )
    if (!response.headers.get('content-type')?.startsWith('text/event-stream') || !response.body) {
      throw new RunyardError('The answer is not an event stream. Is baseURL right?')
    }
    const parser = new ServerSentEventParser()
    for await (const text of readText(response.body, hangup)) {
      const events = parser.push(text)
      if (parser.retry !== undefined) asked.retry_ms = Math.min(parser.retry, LONGEST_RETRY_MS)
      yield* events
    }
  } catch (error) {
    if (options.signal?.aborted) throw userAbort(options.signal)
    if (error instanceof RunyardError) throw error
    throw new BrokenStream('The event stream broke off.', { cause: error })
  } finally {
    unlink()
    hangup.abort()
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

/** What the reader has already been given. */
class Progress {
  sequence: number
  /** Characters passed on of each message that is being written. */
  readonly #open = new Map<string, number>()

  constructor(after: number) {
    this.sequence = after
  }

  /** The event to pass on, or nothing when it is known already. */
  accept(message: ServerSentEvent): RunStreamEvent | undefined {
    const parsed = parseData(message.data)
    if (message.event === 'message.assistant.delta')
      return this.#acceptDelta(parsed as MessageDelta & { run_id: string })
    const event = parsed as RunEvent
    if (event.sequence <= this.sequence) return undefined
    this.sequence = event.sequence
    if (event.type === 'message.assistant') this.#open.delete(event.data.message_id)
    // The next attempt writes its messages anew.
    if (event.type === 'attempt.lost') this.#open.clear()
    return event
  }

  /** After a reconnect the service sends the text of open messages from the start. */
  #acceptDelta({
    run_id,
    message_id,
    offset,
    text,
  }: MessageDelta & { run_id: string }): MessageDeltaEvent | undefined {
    const known = this.#open.get(message_id) ?? 0
    const end = offset + text.length
    if (end <= known) return undefined
    this.#open.set(message_id, end)
    const from = Math.max(offset, known)
    return {
      type: 'message.assistant.delta',
      run_id,
      data: { message_id, offset: from, text: text.slice(from - offset) },
    }
  }
}

function parseData(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch (cause) {
    throw new RunyardError('The event stream holds something that is not JSON.', { cause })
  }
}
