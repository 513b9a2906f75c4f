/** A flag that can be waited for. */
export class Wake {
  #set = false
  #resolve: (() => void) | undefined
  readonly #signal: AbortSignal
  readonly #onAbort = () => this.set()

  constructor(signal: AbortSignal) {
    this.#signal = signal
    signal.addEventListener('abort', this.#onAbort)
  }
  set(): void {
    this.#set = true
    this.#resolve?.()
  }
  clear(): void {
    this.#set = this.#signal.aborted
  }
  /** True when set, false when the time ran out first. */
  async wait(milliseconds: number): Promise<boolean> {
    if (this.#set) return true
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      this.#resolve = resolve
      timer = setTimeout(resolve, milliseconds)
    })
    clearTimeout(timer)
    this.#resolve = undefined
    return this.#set
  }
  close(): void {
    this.#signal.removeEventListener('abort', this.#onAbort)
  }
}
