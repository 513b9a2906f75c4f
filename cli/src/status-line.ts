import { truncate } from './table.ts'

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const FRAME_MS = 100
const ERASE = '\r\u001b[2K'

/** The last line of a terminal: a spinner and what is going on. Text above it is written through `print`. */
export class StatusLine {
  readonly #write: (text: string) => void
  readonly #columns: () => number | undefined
  #text: (() => string) | null = null
  #paused = false
  #timer: NodeJS.Timeout | undefined
  #frame = 0
  #shown = false

  constructor(write: (text: string) => void, columns: () => number | undefined) {
    this.#write = write
    this.#columns = columns
  }

  /** `text` is asked again for every frame, so it may count seconds. */
  show(text: () => string): void {
    this.#text = text
    this.resume()
  }

  /** Gives the line to someone else; `resume` or `show` takes it back. */
  pause(): void {
    this.#paused = true
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#erase()
  }

  resume(): void {
    this.#paused = false
    this.#draw()
    this.#timer ??= setInterval(() => this.#draw(), FRAME_MS).unref()
  }

  /** Nothing is going on. */
  hide(): void {
    this.#text = null
    this.pause()
  }

  /** Writes whole lines above the spinner. */
  print(lines: string): void {
    this.#erase()
    this.#write(lines)
    this.#draw()
  }

  #draw(): void {
    const columns = this.#columns()
    // Without a terminal there is nothing that could be overwritten.
    if (!this.#text || this.#paused || columns === undefined) return
    this.#frame += 1
    const text = `${FRAMES[this.#frame % FRAMES.length]} ${this.#text()}`
    // A line that wraps could not be erased.
    this.#write(ERASE + truncate(text, columns - 1))
    this.#shown = true
  }

  #erase(): void {
    if (this.#shown) this.#write(ERASE)
    this.#shown = false
  }
}
