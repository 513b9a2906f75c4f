/** Answers that are used again for a while, and asked for once however many want one. */
export class RecentAnswers<T> {
  readonly #answers = new Map<string, Promise<T>>()
  readonly #for_ms: number

  constructor(for_ms: number) {
    this.#for_ms = for_ms
  }

  /** What fails is not kept. */
  get(key: string, ask: () => Promise<T>): Promise<T> {
    const known = this.#answers.get(key)
    if (known) return known
    const asked = ask()
    this.#answers.set(key, asked)
    const forget = () => {
      if (this.#answers.get(key) === asked) this.#answers.delete(key)
    }
    asked.then(() => setTimeout(forget, this.#for_ms).unref(), forget)
    return asked
  }

  forget(key: string): void {
    this.#answers.delete(key)
  }
}
