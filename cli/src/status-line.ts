import type { Output } from './output.ts'
import { truncate } from './table.ts'

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const FRAME_MS = 100

/** The last line of a terminal: a spinner and what is going on. Text above it is written through `print`. */
export class StatusLine {
  readonly #output: Output
  #text: (() => string) | null = null
  /** Shown instead of the text while there is one. */
  #cover: (() => string) | null = null
  #paused = false
  #timer: NodeJS.Timeout | undefined
  #frame = 0
  #shown = 0
  /** Whole lines above the spinner. */
  #pinned: () => readonly string[] = () => []

  constructor(output: Output) {
    this.#output = output
  }

  /** `text` is asked again for every frame, so it may count seconds. */
  show(text: () => string): void {
    this.#text = text
    this.resume()
  }

  /** Lines that stand above the spinner as long as something goes on. */
  pin(lines: () => readonly string[]): void {
    this.#erase()
    this.#pinned = lines
    this.#draw()
  }

  /** Nothing is going on. */
  hide(): void {
    this.#text = null
    this.#refresh()
  }

  /** Shows this instead of what is going on, until it is given null. */
  cover(text: (() => string) | null): void {
    this.#cover = text
    this.#refresh()
  }

  /** Gives the line to someone else; `resume` or `show` takes it back. */
  pause(): void {
    this.#paused = true
    this.#refresh()
  }

  resume(): void {
    this.#paused = false
    this.#refresh()
  }

  /** Writes whole lines above the spinner. */
  print(lines: string): void {
    this.#erase()
    this.#output.write(lines)
    this.#draw()
  }

  #refresh(): void {
    clearInterval(this.#timer)
    this.#erase()
    if (this.#paused || !(this.#cover ?? this.#text)) return
    this.#draw()
    this.#timer = setInterval(() => this.#draw(), FRAME_MS).unref()
  }

  #draw(): void {
    const { terminal, columns: count, colors } = this.#output
    const columns = terminal ? count() : undefined
    const text = this.#cover ?? this.#text
    // Without a terminal there is nothing that could be overwritten.
    if (!text || this.#paused || columns === undefined) return
    this.#frame += 1
    if (this.#shown === 0) this.#output.eraseLine()
    this.#erase()
    const pinned = this.#pinned()
    if (pinned.length > 0) this.#output.write(`${pinned.join('\n')}\n`)
    // A line that wraps could not be erased, and what is cut off may be the end of a colour.
    const line = truncate(`${FRAMES[this.#frame % FRAMES.length]} ${text()}`, columns - 1)
    this.#output.write(line + colors.reset(''))
    this.#shown = pinned.length + 1
  }

  #erase(): void {
    if (this.#shown > 0) this.#output.eraseLine()
    if (this.#shown > 1) this.#output.eraseLines(this.#shown - 1)
    this.#shown = 0
  }
}
