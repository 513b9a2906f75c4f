/** A provider that sent nothing for longer than it is waited for: before the answer began, or in the middle of it. */
export class ProviderSilent extends Error {
  override name = 'ProviderSilent'
  readonly seconds: number

  constructor(silence_ms: number) {
    const seconds = Math.round(silence_ms / 1_000)
    super(`nothing came for ${seconds} s`)
    this.seconds = seconds
  }
}

/**
 * A `fetch` that gives an answer up when no byte of it comes for so long, whether it has begun or not. Its promise, or the
 * reading of the body, then rejects with `ProviderSilent`.
 */
export function createPatientFetch(silence_ms: number): typeof globalThis.fetch {
  return async (input, init) => {
    const silence = new AbortController()
    let timer: NodeJS.Timeout | undefined
    const listen = () => {
      clearTimeout(timer)
      timer = setTimeout(() => silence.abort(new ProviderSilent(silence_ms)), silence_ms)
    }
    const signals = [silence.signal, ...(init?.signal ? [init.signal] : [])]
    listen()
    let response: Response
    try {
      response = await fetch(input, { ...init, signal: AbortSignal.any(signals) })
    } catch (error) {
      clearTimeout(timer)
      throw error
    }
    if (!response.body) {
      clearTimeout(timer)
      return response
    }
    const { status, statusText, headers } = response
    const reader = response.body.getReader()
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        // Only what is waited for may be late: a reader who takes his time is not the provider's silence.
        listen()
        try {
          const { done, value } = await reader.read()
          if (done) controller.close()
          else controller.enqueue(value)
        } catch (error) {
          controller.error(error)
        } finally {
          clearTimeout(timer)
        }
      },
      async cancel(reason) {
        clearTimeout(timer)
        await reader.cancel(reason)
      },
    })
    return new Response(body, { status, statusText, headers })
  }
}
