/** The beginning of the sentence. */
export const BROKEN_OFF = 'The model provider broke off its answer'

/** An answer that was given up: its message is a sentence for people. */
export class BrokenAnswer extends Error {
  override name = 'BrokenAnswer'
  /** New tries, where more would not help. */
  readonly most: number | undefined

  constructor(message: string, most?: number) {
    super(message)
    this.most = most
  }
}

export const wasSilent = (silence_ms: number): BrokenAnswer =>
  new BrokenAnswer(`The model provider sent nothing for ${Math.round(silence_ms / 1_000)} s.`)

/** A provider that kept its connection alive, and no more than that. */
export const saidNothing = (idle_ms: number): BrokenAnswer =>
  new BrokenAnswer(`The model provider sent nothing of its answer for ${Math.round(idle_ms / 1_000)} s.`)

/** However deep the SDK has put it. */
export function findBroken(error: unknown): BrokenAnswer | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof BrokenAnswer) return cause
  return null
}
