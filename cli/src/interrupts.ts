import { currentProcess } from './current-process.ts'

/** Ctrl-C as something to wait for, instead of the end of the process. */
export class Interrupts {
  #pending = 0
  #resolve: (() => void) | null = null
  readonly #process = currentProcess()
  readonly #onSignal = () => {
    this.#pending += 1
    this.#resolve?.()
  }

  constructor() {
    this.#process.on('SIGINT', this.#onSignal)
  }

  async next(): Promise<'interrupted'> {
    if (this.#pending === 0) await new Promise<void>((resolve) => (this.#resolve = resolve))
    this.#pending = 0
    return 'interrupted'
  }

  close(): void {
    this.#process.off('SIGINT', this.#onSignal)
  }
}
