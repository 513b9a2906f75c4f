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

/** An error that a provider told in the place of an answer, or in the middle of one, although its status was a success. */
export class ProviderError extends Error {
  override name = 'ProviderError'
  /** As it came: JSON mostly. */
  readonly body: string

  constructor(body: string) {
    super('The model provider told of an error.')
    this.body = body
  }
}

/** The service itself has nothing to authenticate with, or did not get it now: a role of the machine may be late. */
export class NoCredentials extends BrokenAnswer {
  override name = 'NoCredentials'

  constructor(provider: string, why: string) {
    super(`The service has no credentials for ${provider}: ${why.replace(/\.?\s*$/, '.')}`, 2)
  }
}

export const wasSilent = (silence_ms: number): BrokenAnswer =>
  new BrokenAnswer(`The model provider sent nothing for ${Math.round(silence_ms / 1_000)} s.`)

/** A provider that kept its connection alive, and no more than that. */
export const saidNothing = (idle_ms: number): BrokenAnswer =>
  new BrokenAnswer(`The model provider sent nothing of its answer for ${Math.round(idle_ms / 1_000)} s.`)

/** `what`: how it is. It may have been a hiccup of a proxy; an address that is wrong stays so. */
export const unreadable = (what: string): BrokenAnswer =>
  new BrokenAnswer(`The model provider's answer could not be read: ${what}`, 2)

/** What came in place of a stream of events; `type` and `beginning` are shown as they are. */
export function noStream(
  answer: { status: number; type: string; is_empty: boolean },
  beginning?: string,
): BrokenAnswer {
  const type = answer.type === '' ? 'no content type' : `content type "${answer.type}"`
  const begins = beginning === undefined ? '' : ` and begins with "${beginning}"`
  const what = answer.is_empty
    ? `it is empty (HTTP ${answer.status})`
    : `it is not a stream of events (${type})${begins}`
  return unreadable(`${what}. Is the address right?`)
}

/** However deep the SDK has put it. */
export const findBroken = (error: unknown): BrokenAnswer | null => findCause(error, BrokenAnswer)
export const findProviderError = (error: unknown): ProviderError | null => findCause(error, ProviderError)

function findCause<Kind>(error: unknown, kind: new (...args: never[]) => Kind): Kind | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof kind) return cause
  return null
}
