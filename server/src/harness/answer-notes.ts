import { stripVTControlCharacters } from 'node:util'
import { InvalidResponseDataError, JSONParseError, TypeValidationError } from 'ai'
import { isRecord, storableText } from '../contract/storable-text.ts'
import {
  type BrokenAnswer,
  findBroken,
  findProviderError,
  noStream,
  type ProviderError,
  unreadable,
} from './broken-answer.ts'

/** Bytes of the beginning that are kept. */
const BEGINNING_BYTES = 1_024
const EXCERPT_CHARACTERS = 200
/** Servers of one's own take any: `none`, `x`. */
const MIN_KEY = 8
const KEY_HEADERS = ['authorization', 'x-api-key', 'x-goog-api-key', 'api-key']
/** Of a stream of events. */
const DATA = /(^|[\r\n])data:/
const DATA_BYTES = 6
const NO_END = /without a finish reason/

/** What a stream was like that was to be an answer, for when nobody can read it. One answer after the other. */
export class AnswerNotes {
  #keys: string[] = []
  #status = 0
  #type = ''
  #beginning = Buffer.alloc(0)
  #tail = ''
  #has_events = false
  /** By itself, not by a connection that broke. */
  #has_ended = false
  #is_whole = false
  #is_understood = false
  #failed: ProviderError | undefined

  begin(sent: RequestInit['headers'], { status, headers }: Response): void {
    const told = new Headers(sent)
    this.#keys = KEY_HEADERS.flatMap((name) => told.get(name)?.replace(/^Bearer /, '') ?? []).filter(
      (key) => key.length >= MIN_KEY,
    )
    this.#status = status
    this.#type = headers.get('content-type') ?? ''
    this.#beginning = Buffer.alloc(0)
    this.#tail = ''
    this.#failed = undefined
    this.#has_events = this.#has_ended = this.#is_whole = this.#is_understood = false
  }

  add(piece: Uint8Array): void {
    if (this.#has_events) return
    if (this.#beginning.length < BEGINNING_BYTES)
      this.#beginning = Buffer.concat([this.#beginning, piece]).subarray(0, BEGINNING_BYTES)
    const text = this.#tail + Buffer.from(piece).toString('latin1')
    this.#has_events = DATA.test(text)
    this.#tail = text.slice(-DATA_BYTES)
  }

  /** `is_whole`: it said itself that this was all. */
  end(is_whole = false): void {
    this.#has_ended = true
    this.#is_whole = is_whole
  }

  /** An event of it was one of the API that was asked. */
  understand(): void {
    this.#is_understood = true
  }

  fail(error: ProviderError): void {
    this.#failed = error
  }

  /** The error that the provider told in the middle of its stream. */
  get failed(): ProviderError | undefined {
    return this.#failed
  }

  /** Providers quote what they do not like, the key of the operator too. */
  readonly hide = (text: string): string =>
    this.#keys.reduce((hidden, key) => hidden.replaceAll(key, '***'), text)

  /** In place of a stream of events. */
  noStream(): BrokenAnswer {
    const is_empty = this.#beginning.length === 0
    const answer = { status: this.#status, type: this.#cut(this.#type), is_empty }
    return noStream(answer, this.#cut(this.#beginning.toString()))
  }

  /**
   * What a step without an end failed with: where there was an answer and nobody could read it, an error that says what was
   * odd. `is_empty`: nothing of it could be read.
   */
  explain(error: unknown, is_empty: boolean): unknown {
    if (this.#failed) return this.#failed
    if (findBroken(error) || findProviderError(error)) return error
    const event = findEvent(error)
    if (event !== undefined) return unreadable(`an event of it is "${this.#cut(event)}".`)
    if (this.#has_ended && !this.#has_events) return this.noStream()
    // Anthropic's client keeps to itself why it could not read the first event, Google's skips what it cannot read.
    const is_odd =
      isPlain(error) || (is_empty && (this.#is_whole || (this.#has_ended && !this.#is_understood)))
    return is_odd ? unreadable(`it begins with "${this.#cut(this.#beginning.toString())}".`) : error
  }

  #cut(text: string): string {
    const line = storableText(
      stripVTControlCharacters(this.hide(text))
        .replace(/\p{Cc}+/gu, ' ')
        .trim(),
    )
    return line.length <= EXCERPT_CHARACTERS ? line : `${line.slice(0, EXCERPT_CHARACTERS).toWellFormed()}…`
  }
}

/** The event that the SDK could not read; none where the provider tells of a failure in its own way. */
function findEvent(error: unknown): string | undefined {
  if (JSONParseError.isInstance(error)) return error.text
  if (TypeValidationError.isInstance(error))
    return isRecord(error.value) && error.value.error ? undefined : JSON.stringify(error.value)
  if (InvalidResponseDataError.isInstance(error) && !NO_END.test(error.message))
    return JSON.stringify(error.data)
  return undefined
}

const isPlain = (error: unknown): boolean => error instanceof Error && error.name === 'Error' && !error.cause
