import { createParser } from 'eventsource-parser'
import { isRecord } from '../../contract/storable-text.ts'
import type { AnswerNotes } from '../answer-notes.ts'
import { ProviderError } from '../broken-answer.ts'
import { type AnswerReader, tellsError } from './answer-reader.ts'
import { AnthropicAnswer } from './anthropic-answer.ts'
import { ChatAnswer } from './chat-answer.ts'
import { GoogleAnswer } from './google-answer.ts'

type Json = Record<string, unknown>

/** Which API was asked, by the path that its clients use; others are left as they are. */
const READERS: ReadonlyArray<readonly [RegExp, () => AnswerReader]> = [
  [/\/chat\/completions$/, () => new ChatAnswer()],
  [/\/messages$/, () => new AnthropicAnswer()],
  [/:streamRawPredict$/, () => new AnthropicAnswer()],
  [/:streamGenerateContent$/, () => new GoogleAnswer()],
]
/** The longest answer in one piece, in place of a stream of events. */
const MAX_WHOLE_CHARACTERS = 2 ** 22
const DONE = '[DONE]'
const EVENTS = /^\s*(data|event|id|retry)?:/

/**
 * A `fetch` whose answers are as the providers' clients expect them, whatever the server makes of its API: odd events are left
 * out or put right, an answer that comes in one piece is given as a stream, and an error that begins with 200 is one. Its promise,
 * or the reading of the body, rejects with `ProviderError` or `BrokenAnswer`. `notes`: what is written down of the next answer, an error in
 * the middle of its stream, too.
 */
export function createTolerantFetch(
  fetch: typeof globalThis.fetch,
  notes: () => AnswerNotes | undefined,
): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    const { pathname } = new URL(input instanceof Request ? input.url : input)
    const [, open] = READERS.find(([path]) => path.test(pathname)) ?? []
    if (!response.ok || !response.body || !open) return response
    const reader = open()
    const type = response.headers.get('content-type') ?? ''
    const read = (body: ReadableStream<Uint8Array>) =>
      ReadableStream.from(new EventRepair(reader, notes()).read(body))
    let events: ReadableStream<Uint8Array>
    if (/^application\/([\w.-]+\+)?json\b/i.test(type)) {
      const body = await response.text()
      // A body that says it is JSON may be a stream of events all the same.
      events = EVENTS.test(body) ? read(streamOf(body)) : streamOf(readBody(body, reader, notes()))
    } else events = read(response.body)
    return new Response(events, { status: response.status, headers: { 'content-type': 'text/event-stream' } })
  }
}

const eventOf = (event: Json): string => {
  const name = typeof event.type === 'string' ? `event: ${event.type}\n` : ''
  return `${name}data: ${JSON.stringify(event)}\n\n`
}

const streamOf = (text: string): ReadableStream<Uint8Array> => new Blob([text]).stream()

/** An answer in one piece, an error in the place of one, or neither. */
function readBody(body: string, reader: AnswerReader, notes?: AnswerNotes): string {
  const told = parse(body.trim())
  const events = [told].flat().filter(isRecord)
  const failed = events.find(tellsError)
  if (failed) throw new ProviderError(JSON.stringify(failed))
  const read = events.map((event) => reader.readWhole(event))
  const whole = read.flatMap((each) => each ?? [])
  if (whole.length === 0) throw notes?.noStream() ?? new ProviderError(body)
  notes?.understand()
  return `${whole.map(eventOf).join('')}data: ${DONE}\n\n`
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Reads a stream of events, and writes it anew. */
class EventRepair {
  readonly #reader: AnswerReader
  readonly #notes: AnswerNotes | undefined
  readonly #parser = createParser({
    onEvent: ({ event, data }) => (event === 'error' ? this.#fail(data) : this.#add(data)),
  })
  /** The text before the first event. */
  #beginning = ''
  #has_events = false
  #has_ended = false
  #has_failed = false
  #written = ''

  constructor(reader: AnswerReader, notes: AnswerNotes | undefined) {
    this.#reader = reader
    this.#notes = notes
  }

  /** An error in the stream ends it, and is in the notes: thrown, it would outrun what came before it. */
  async *read(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
    const decoder = new TextDecoder()
    for await (const piece of body) {
      this.#feed(decoder.decode(piece, { stream: true }))
      yield* this.#take()
      if (this.#has_failed) return
    }
    // The last event may lack the empty line behind it.
    this.#feed(`${decoder.decode()}\n\n`)
    if (!this.#has_failed) this.#end()
    yield* this.#take()
  }

  *#take(): Generator<Uint8Array> {
    if (this.#written !== '') yield new TextEncoder().encode(this.#written)
    this.#written = ''
  }

  #feed(text: string): void {
    if (!this.#has_events && this.#beginning.length < MAX_WHOLE_CHARACTERS) this.#beginning += text
    this.#parser.feed(text)
  }

  #add(data: string): void {
    this.#has_events = true
    this.#beginning = ''
    const text = data.trim()
    if (text === DONE) this.#close(true)
    // Words of proxies between the events are none: `ping`, `ok`.
    if (text === DONE || !/^[{[]/.test(text)) return
    const told = parse(text)
    // The client refuses an event that is not whole.
    if (told === undefined) this.#written += `data: ${text.replaceAll(/[\r\n]+/g, ' ')}\n\n`
    for (const event of [told].flat().filter(isRecord)) this.#read(event)
  }

  #read(event: Json): void {
    if (this.#has_failed) return
    if (tellsError(event)) {
      this.#fail(JSON.stringify(event))
      return
    }
    const events = this.#reader.read(event)
    if (events.length > 0) this.#notes?.understand()
    for (const each of events) this.#written += eventOf(each)
  }

  #fail(told: string): void {
    this.#has_events = true
    if (!this.#has_failed) this.#notes?.fail(new ProviderError(told))
    this.#has_failed = true
  }

  #close(said: boolean): void {
    if (this.#has_ended) return
    this.#has_ended = true
    for (const event of this.#reader.end(said)) this.#written += eventOf(event)
    if (said) this.#written += `data: ${DONE}\n\n`
  }

  #end(): void {
    if (this.#has_events) this.#close(false)
    else if (parse(this.#beginning.trim()) !== undefined) this.#writeWhole()
    else this.#readLines()
  }

  /** Some send events as lines of JSON. */
  #readLines(): void {
    for (const line of this.#beginning.split('\n')) {
      const told = parse(line.trim())
      if (isRecord(told)) this.#read(told)
    }
    if (!this.#has_failed) this.#close(false)
  }

  /** Some say it is a stream of events, and send one piece of JSON. */
  #writeWhole(): void {
    try {
      this.#written += readBody(this.#beginning, this.#reader, this.#notes)
    } catch (error) {
      if (error instanceof ProviderError) this.#notes?.fail(error)
      else throw error
    }
  }
}
