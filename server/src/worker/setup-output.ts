import type { NewEvent } from '../contract/event.ts'
import { storableText } from '../contract/storable-text.ts'
import type { ExecChunk } from '../sandbox/sandbox.ts'
import type { MaskedStream } from '../sealing/mask.ts'
import { FirstError } from './first-error.ts'

/** Characters of output that the event of a step's end keeps: the end mostly says what went wrong. */
const TAIL = 4_000
/** As with outputs of tools: one batch of events in so many milliseconds or bytes, whichever comes first. */
const FLUSH_AFTER_MS = 100
const FLUSH_AT_CHARACTERS = 65_536
const MAX_PIECES = 32
/** Characters that are told of the beginning of a step's output, and as many of its end: what lies between is only read. */
const HALF = 512 * 1024

type Stream = ExecChunk['stream']
type Piece = Extract<NewEvent, { type: 'setup.output' }>['data']

/** What a step of the setup prints: told while it prints, without the values of secrets, and summed up at its end. */
export class SetupOutput {
  readonly #emit: (...events: NewEvent[]) => Promise<void>
  readonly #streams: Record<
    Stream,
    { decoder: ReturnType<typeof newDecoder>; mask: MaskedStream; errors: FirstError }
  >
  readonly #sent: Array<Promise<void>> = []
  /** Streams whose next text does not follow the one before. */
  readonly #behind_gap = new Set<Stream>()
  #pending: Piece[] = []
  #characters = 0
  #timer: NodeJS.Timeout | undefined
  #tail = ''
  /** Characters that may still be told as they come; what comes after waits for the end. */
  #head_left = HALF
  #late: Piece[] = []
  #late_characters = 0
  #has_gap = false

  constructor(emit: (...events: NewEvent[]) => Promise<void>, openMask: () => MaskedStream) {
    this.#emit = emit
    const open = () => ({ decoder: newDecoder(), mask: openMask(), errors: new FirstError() })
    this.#streams = { stdout: open(), stderr: open() }
  }

  push({ stream, data, after_gap }: ExecChunk): void {
    const open = this.#streams[stream]
    if (after_gap) {
      this.#add({ stream, text: open.mask.gap() })
      open.decoder = newDecoder()
      this.#behind_gap.add(stream)
    }
    for (let start = 0; start < data.length; start += FLUSH_AT_CHARACTERS) {
      const piece = data.subarray(start, start + FLUSH_AT_CHARACTERS)
      this.#add({ stream, text: open.mask.push(open.decoder.decode(piece, { stream: true })) })
    }
  }

  /** Waits until all of it is stored. `tail`: its end in whole lines. `first_error`: the first line that says what is wrong. */
  async end(): Promise<{ tail: string; first_error: string | null }> {
    for (const stream of ['stdout', 'stderr'] as const) {
      const { decoder, mask } = this.#streams[stream]
      this.#add({ stream, text: mask.push(decoder.decode()) + mask.end() })
    }
    this.#tellLate()
    this.#flush()
    await Promise.all(this.#sent)
    const { stdout, stderr } = this.#streams
    // What programs say is wrong stands in the one; some write all of it to the other.
    const first_error = stderr.errors.end() ?? stdout.errors.end()
    return { tail: cutAtLine(this.#tail).trim().toWellFormed(), first_error }
  }

  #add({ stream, text: told }: Piece): void {
    if (told === '') return
    const text = storableText(told)
    this.#streams[stream].errors.push(text)
    this.#tail += text
    // Not after each piece: one may be a single byte.
    if (this.#tail.length > 2 * TAIL) this.#tail = this.#tail.slice(-TAIL - 1)
    if (this.#head_left > 0) {
      this.#head_left -= text.length
      this.#tell(stream, text)
    } else this.#keepLate(stream, text)
  }

  #keepLate(stream: Stream, text: string): void {
    const last = this.#late.at(-1)
    const follows = last?.stream === stream && !this.#behind_gap.has(stream)
    if (follows && last.text.length < FLUSH_AT_CHARACTERS) last.text += text
    else this.#late.push({ stream, text, ...(this.#behind_gap.delete(stream) ? { after_gap: true } : {}) })
    this.#late_characters += text.length
    if (this.#late_characters >= 2 * HALF) this.#dropMiddle()
  }

  /** Many pieces at once: there may be as many as characters. */
  #dropMiddle(): void {
    let dropped = 0
    for (const { text } of this.#late) {
      if (this.#late_characters - text.length < HALF) break
      this.#late_characters -= text.length
      dropped += 1
    }
    this.#late.splice(0, dropped)
    this.#has_gap ||= dropped > 0
  }

  #tellLate(): void {
    this.#dropMiddle()
    const behind = new Set<Stream>(this.#has_gap ? ['stdout', 'stderr'] : [])
    for (const { stream, text, after_gap } of this.#late) {
      if (behind.delete(stream) || after_gap) this.#behind_gap.add(stream)
      this.#tell(stream, text)
    }
    this.#late = []
  }

  #tell(stream: Stream, text: string): void {
    if (this.#behind_gap.delete(stream)) this.#pending.push({ stream, text, after_gap: true })
    else this.#append(stream, text)
    this.#characters += text.length
    if (this.#characters >= FLUSH_AT_CHARACTERS) this.#flush()
    else this.#timer ??= setTimeout(() => this.#flush(), FLUSH_AFTER_MS)
  }

  /** Where the streams take turns often, the rest of a batch is one after the other. */
  #append(stream: Stream, text: string): void {
    const last = this.#pending.at(-1)
    const place = last?.stream === stream || this.#pending.length < MAX_PIECES ? last : this.#pending.at(-2)
    if (place?.stream === stream) place.text += text
    else this.#pending.push({ stream, text })
  }

  #flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const pieces = this.#pending
    this.#pending = []
    this.#characters = 0
    if (pieces.length === 0) return
    const sent = this.#emit(...pieces.map((data): NewEvent => ({ type: 'setup.output', data })))
    // Heard of at the end.
    sent.catch(() => {})
    this.#sent.push(sent)
  }
}

const newDecoder = () => new TextDecoder('utf-8', { ignoreBOM: true })

/** Its end in whole lines, or of the last one where that alone is too long. */
function cutAtLine(text: string): string {
  if (text.length <= TAIL) return text
  const end = text.slice(-TAIL)
  const line_end = text.at(-TAIL - 1) === '\n' ? -1 : end.indexOf('\n')
  return end.slice(line_end + 1).trim() === '' ? end : end.slice(line_end + 1)
}
