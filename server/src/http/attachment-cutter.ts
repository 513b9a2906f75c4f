import { AppError } from '../contract/error.ts'

const KiB = 1024
/** What is shorter stays in the body. */
export const INLINE_BYTES = 64 * KiB
/** A name of a field that is longer, however it is escaped, is neither of the two that are looked for. */
const NAME_BYTES = 256
const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Takes the data of one attachment as it comes, still in base64, and says what stands for it in the body. */
export interface CutSink {
  write(base64: string): Promise<void>
  end(): Promise<string>
}

/**
 * Cuts `attachments[].data` out of a JSON body while it arrives, so that only the rest lies in memory. It need not be valid JSON:
 * up to its first error a parser sees the same strings, and what stands for the data cannot be guessed.
 */
export class AttachmentCutter {
  readonly #open: (index: number) => CutSink
  /** Of the three outermost levels, which are all that is looked at: `{` or `[`, and the field. */
  readonly #kinds: string[] = []
  readonly #fields: string[] = []
  #depth = 0
  /** In the list on the second level. */
  #index = 0
  #expects_name = false
  #inside: 'nothing' | 'name' | 'text' | 'data' = 'nothing'
  #is_escaped = false
  #name: number[] = []
  /** The beginning of data that may be short enough to stay. */
  #held: Buffer[] = []
  #held_bytes = 0
  #sink: CutSink | null = null
  /** An escape whose end has not come. */
  #rest = ''

  constructor(open: (index: number) => CutSink) {
    this.#open = open
  }

  /** What stays of a piece of the body. */
  async push(piece: Buffer): Promise<Buffer[]> {
    const kept: Buffer[] = []
    for (let at = 0; at < piece.length; ) {
      if (this.#inside === 'data') {
        const quote = piece.indexOf(QUOTE, at)
        const end = quote === -1 ? piece.length : quote
        kept.push(...(await this.#data(piece.subarray(at, end), quote !== -1)))
        at = end
        if (quote === -1) break
        this.#inside = 'nothing'
        kept.push(piece.subarray(at, at + 1))
        at += 1
        continue
      }
      const end = this.#scan(piece, at)
      kept.push(piece.subarray(at, end))
      at = end
    }
    return kept
  }

  /** Reads on until data begins, or to the end; where it has come. */
  #scan(piece: Buffer, from: number): number {
    for (let at = from; at < piece.length; at += 1) {
      const byte = piece[at] ?? 0
      if (this.#inside !== 'nothing') {
        if (this.#inside === 'name' && this.#name.length <= NAME_BYTES) this.#name.push(byte)
        if (this.#is_escaped) this.#is_escaped = false
        else if (byte === BACKSLASH) this.#is_escaped = true
        else if (byte === QUOTE) this.#endText()
      } else if (byte === QUOTE) {
        if (this.#beginText() === 'data') return at + 1
      } else this.#structure(String.fromCharCode(byte))
    }
    return piece.length
  }

  #structure(sign: string): void {
    if (sign === '{' || sign === '[') {
      this.#depth += 1
      if (this.#depth <= 3) {
        this.#kinds[this.#depth - 1] = sign
        this.#fields[this.#depth - 1] = ''
      }
      this.#expects_name = sign === '{'
      if (this.#depth === 2) this.#index = 0
    } else if (sign === '}' || sign === ']') {
      this.#depth -= 1
      this.#expects_name = false
    } else if (sign === ',') {
      this.#expects_name = this.#kinds[this.#depth - 1] === '{'
      if (this.#depth === 2) this.#index += 1
    } else if (sign === ':') this.#expects_name = false
  }

  #beginText(): 'name' | 'text' | 'data' {
    const is_place = this.#depth === 3 && this.#kinds.slice(0, 3).join('') === '{[{'
    const is_data = is_place && this.#fields[0] === 'attachments' && this.#fields[2] === 'data'
    const is_name = this.#expects_name && this.#depth >= 1 && this.#depth <= 3
    const begun = is_name ? 'name' : is_data && !this.#expects_name ? 'data' : 'text'
    this.#inside = begun
    this.#name = []
    this.#is_escaped = false
    return begun
  }

  #endText(): void {
    if (this.#inside === 'name') this.#fields[this.#depth - 1] = readName(this.#name)
    this.#inside = 'nothing'
  }

  /** What stays of it: all where it is short, and what stands for it where it is not. */
  async #data(bytes: Buffer, is_whole: boolean): Promise<Buffer[]> {
    if (!this.#sink) {
      this.#held.push(Buffer.from(bytes))
      this.#held_bytes += bytes.length
      if (this.#held_bytes <= INLINE_BYTES) return is_whole ? this.#takeHeld() : []
      this.#sink = this.#open(this.#index)
      bytes = Buffer.concat(this.#takeHeld())
    }
    await this.#sink.write(this.#unescape(bytes.toString('latin1'), is_whole))
    if (!is_whole) return []
    const stand_in = await this.#sink.end()
    this.#sink = null
    return [Buffer.from(stand_in)]
  }

  #takeHeld(): Buffer[] {
    const held = this.#held
    this.#held = []
    this.#held_bytes = 0
    return held
  }

  /** Some write each slash of base64 as `\/`. */
  #unescape(text: string, is_whole: boolean): string {
    const all = this.#rest + text
    this.#rest = ''
    if (!all.includes('\\')) return all
    const [open = ''] = is_whole ? [] : (/\\(u[0-9a-fA-F]{0,3})?$/.exec(all) ?? [])
    this.#rest = open
    try {
      return String(JSON.parse(`"${all.slice(0, all.length - open.length)}"`))
    } catch {
      throw new AppError('invalid_request', `attachments.${this.#index}.data: must be base64`)
    }
  }
}

function readName(bytes: readonly number[]): string {
  if (bytes.length > NAME_BYTES) return ''
  try {
    // With the quote at its end.
    return String(JSON.parse(`"${Buffer.from(bytes).toString()}`))
  } catch {
    return ''
  }
}
