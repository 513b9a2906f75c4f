/** A question that takes longer is not waited for: its connection may be dead, and others are not. */
const LATE_MS = 250

/**
 * Callers who ask the same question at the same time share one answer. A caller who comes while a question is on its way shares
 * the next one, since the answer to the first may predate the call. The next one is asked when the first answer comes, or is late.
 * So no answer is older than one asked for alone, and under load a hundred requests cost two questions.
 */
export class SharedQuestion<A, B> {
  readonly #keyOf: (about: A) => string
  readonly #ask: (about: A) => Promise<B>
  /** Questions that are on their way, by key. */
  readonly #asked = new Map<string, { answer: Promise<B>; next?: Promise<B> }>()

  /** `keyOf` names all that the answer depends on. The answer is handed to several: none of them may change it. */
  constructor(keyOf: (about: A) => string, ask: (about: A) => Promise<B>) {
    this.#keyOf = keyOf
    this.#ask = ask
  }

  /** Throws what the question throws, to all who share it. */
  ask(about: A): Promise<B> {
    const key = this.#keyOf(about)
    const asked = this.#asked.get(key)
    if (!asked) return this.#begin(key, about)
    asked.next ??= endOrLate(asked.answer).then(() => this.#begin(key, about))
    return asked.next
  }

  #begin(key: string, about: A): Promise<B> {
    const asked: { answer: Promise<B>; next?: Promise<B> } = { answer: this.#ask(about) }
    this.#asked.set(key, asked)
    const end = () => {
      // A late one has a successor by then.
      if (!asked.next) this.#asked.delete(key)
    }
    asked.answer.then(end, end)
    return asked.answer
  }
}

/** Resolves when the answer is there, has failed, or is late. */
function endOrLate(answer: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, LATE_MS)
  const end = () => {
    clearTimeout(timer)
    resolve()
  }
  answer.then(end, end)
  return promise
}
