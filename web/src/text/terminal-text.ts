import { EscapeFilter } from './plain-text.ts'

/** Characters shown of one output; the oldest go first. */
const MOST = 256 * 1024
/** Output is shown in blocks of about this size, so that a new line does not lay out all before it again. */
const BLOCK = 16 * 1024

export type Stream = 'stdout' | 'stderr'
export interface Block {
  readonly key: number
  readonly parts: readonly { stream: Stream; text: string }[]
  readonly size: number
}

/**
 * Output of a command, as a terminal would show it: escapes are left out, a carriage return starts the line again. Blocks are
 * replaced when they change, never changed.
 */
export class TerminalText {
  readonly #filters = { stdout: new EscapeFilter(), stderr: new EscapeFilter() }
  #blocks: Block[] = []
  #size = 0
  #dropped = 0
  #at_line_start = true
  #next_key = 0
  /** A carriage return at the end of a chunk: what follows says what it means. */
  #has_return = false

  get blocks(): readonly Block[] {
    return this.#blocks
  }
  /** Characters at the start that are not shown any more. */
  get dropped(): number {
    return this.#dropped
  }
  /** All that is shown. */
  get text(): string {
    return this.#blocks.flatMap(({ parts }) => parts.map(({ text }) => text)).join('')
  }
  get is_empty(): boolean {
    return this.#size === 0 && this.#dropped === 0
  }

  append(stream: Stream, chunk: string): void {
    let text = (this.#has_return ? '\r' : '') + this.#filters[stream].push(chunk)
    this.#has_return = text.endsWith('\r')
    text = (this.#has_return ? text.slice(0, -1) : text).replaceAll('\r\n', '\n')
    if (text.includes('\r')) {
      const lines = text.split('\n')
      if (lines[0]?.includes('\r')) this.#eraseLine()
      text = lines.map((line) => line.slice(line.lastIndexOf('\r') + 1)).join('\n')
    }
    if (text.length > MOST) {
      this.#dropped += text.length - MOST
      text = text.slice(-MOST)
    }
    if (text) this.#write(stream, text)
  }

  #write(stream: Stream, text: string): void {
    const last = this.#blocks.at(-1)
    const is_full = last && last.size > BLOCK && (this.#at_line_start || last.size > 4 * BLOCK)
    if (!last || is_full) {
      this.#blocks = [...this.#blocks, { key: this.#next_key, parts: [{ stream, text }], size: text.length }]
      this.#next_key += 1
    } else {
      const part = last.parts.at(-1)
      const parts =
        part?.stream === stream
          ? [...last.parts.slice(0, -1), { stream, text: part.text + text }]
          : [...last.parts, { stream, text }]
      this.#replaceLast({ ...last, parts, size: last.size + text.length })
    }
    this.#size += text.length
    this.#at_line_start = text.endsWith('\n')
    this.#dropOldest()
  }

  #replaceLast(block: Block): void {
    this.#blocks = [...this.#blocks.slice(0, -1), block]
  }

  #dropOldest(): void {
    while (this.#size > MOST && this.#blocks.length > 1) {
      const [oldest, ...rest] = this.#blocks
      if (!oldest) return
      this.#blocks = rest
      this.#size -= oldest.size
      this.#dropped += oldest.size
    }
  }

  /** Takes away what stands on the line that is being written. */
  #eraseLine(): void {
    const block = this.#blocks.at(-1)
    if (block) {
      const parts = [...block.parts]
      let erased = 0
      for (let part = parts.pop(); part; part = parts.pop()) {
        const kept = part.text.slice(0, part.text.lastIndexOf('\n') + 1)
        erased += part.text.length - kept.length
        if (!kept) continue
        parts.push({ stream: part.stream, text: kept })
        break
      }
      this.#replaceLast({ ...block, parts, size: block.size - erased })
      this.#size -= erased
    }
    this.#at_line_start = true
  }
}
