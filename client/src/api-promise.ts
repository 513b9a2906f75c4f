import { RunyardError } from './errors.ts'

/** Sends the request, with retries, and lets `read` take what is needed from the answer. */
export type Send = <R>(read: (response: Response) => Promise<R>) => Promise<R>

export interface WithResponse<T> {
  data: T
  /** Its body has been read. */
  response: Response
  /** `X-Request-Id`: what to name when asking the service's operator. */
  request_id: string | undefined
}

/**
 * The parsed answer; or, when asked for right after the call, the answer itself:
 *
 *     const run = await client.runs.retrieve(run_id)
 *     const { data, response } = await client.runs.retrieve(run_id).withResponse()
 *     const response = await client.runs.retrieve(run_id).asResponse()
 *
 * Errors and retries are the same in all three.
 */
export class APIPromise<T> extends Promise<T> {
  /** What `then` returns is an ordinary promise. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  readonly #send: Send
  readonly #read: (response: Response) => Promise<T>
  #answer: Promise<WithResponse<T>> | undefined
  #raw: Promise<Response> | undefined

  /** A lazy one is sent when it is asked for its answer. */
  constructor(send: Send, read: (response: Response) => Promise<T>, is_lazy = false) {
    // This promise's own state is never looked at: `then` is the answer's.
    super(() => {})
    this.#send = send
    this.#read = read
    // Sent even if nobody awaits it, but not before the caller had the chance to ask for the raw answer.
    if (!is_lazy) queueMicrotask(() => this.#raw ?? this.withResponse())
  }

  /**
   * The answer with its body unread, so that it can be streamed; the timeout then ends with its headers. To be called
   * right after the request was made: later on the body has been read.
   */
  asResponse(): Promise<Response> {
    if (this.#answer) return this.#answer.then(({ response }) => response)
    this.#raw ??= this.#send(async (response) => response)
    return this.#raw
  }

  withResponse(): Promise<WithResponse<T>> {
    const read = async (response: Response): Promise<WithResponse<T>> => ({
      data: await this.#read(response),
      response,
      request_id: response.headers.get('x-request-id') ?? undefined,
    })
    this.#answer ??= this.#raw ? this.#readCopy(this.#raw, read) : this.#send(read)
    return this.#answer
  }

  /** What was asked for raw is not sent again, and its body is the caller's. */
  async #readCopy<R>(raw: Promise<Response>, read: (response: Response) => Promise<R>): Promise<R> {
    const response = await raw
    try {
      return await read(response.clone())
    } catch (cause) {
      if (cause instanceof RunyardError) throw cause
      throw new RunyardError('The answer was taken raw, and its body cannot be read again.', { cause })
    }
  }

  // biome-ignore lint/suspicious/noThenProperty: a promise has one.
  override then<A = T, B = never>(
    resolved?: ((value: T) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.withResponse()
      .then(({ data }) => data)
      .then(resolved, rejected)
  }

  override catch<B = never>(rejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.then(undefined, rejected)
  }

  override finally(settled?: (() => void) | null): Promise<T> {
    return this.then().finally(settled)
  }
}
