import type { RunyardError } from '@runyard/client'
import { oneLine } from './one-line.ts'
import type { Output } from './output.ts'
import type { RunView } from './run-view.ts'
import { formatDuration } from './time-text.ts'

/** Says that the server is away, and that it is back: on a terminal below the run, elsewhere as lines on standard error. */
export class Outage {
  readonly #output: Output
  readonly #view: RunView | null
  #since: number | null = null

  constructor(output: Output, view: RunView | null) {
    this.#output = output
    this.#view = output.terminal ? view : null
  }

  /** At each failure. */
  begin(error: RunyardError): void {
    const reason = oneLine(error.message).replace(/\.$/, '')
    const is_first = this.#since === null
    const since = this.#since ?? Date.now()
    this.#since = since
    if (this.#view) {
      const { yellow, dim } = this.#output.colors
      this.#view.cover(
        () => `${yellow('Reconnecting')}  ${formatDuration(Date.now() - since)}  ${dim(reason)}`,
      )
    } else if (is_first) this.#output.note(`Reconnecting: ${reason}.`)
  }

  end(): void {
    if (this.#since === null) return
    const text = `Connected again after ${formatDuration(Date.now() - this.#since)}.`
    this.#since = null
    this.#view?.cover(null)
    if (this.#view) this.#view.note(this.#output.colors.dim(text))
    else this.#output.note(text)
  }
}
