import { Readable } from 'node:stream'
import { BlobsAway, BlobsUnavailable } from '../blobs/blobs.ts'
import { LeaseLost } from '../worker/lease-lost.ts'
import { fromWire } from './wire-value.ts'

/** How long nothing may pass. An answer that goes on may take as long as it needs. */
const SILENCE_MS = 10_000
/** A storage that is slow to take a file makes its sender wait. */
const FILE_SILENCE_MS = 30_000
/** A body that is larger goes in pieces, so that one can tell whether it goes on. */
const PIECE = 64 * 1024

/** Where the control plane is, and what opens it. */
export interface RemoteAddress {
  /** The service's address, without a path at its end. */
  server: string
  token: string
}

/** The control plane can't be reached, or asks to try again. `isUnavailable` knows it by its code. */
export class ControlPlaneAway extends Error {
  override name = 'ControlPlaneAway'
  readonly code = 'ECONNRESET'
}

/** It refuses, and will again. */
export class ControlPlaneRefusal extends Error {
  override name = 'ControlPlaneRefusal'
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export type Ask = (
  path: string,
  body: object,
  options?: { timeout_ms?: number; signal?: AbortSignal },
) => Promise<never>

const PREFIX = '/api/workers/v1/'
/** Answers that are worth another try: too many requests, somebody else at the same row, a gateway or the service that is away. */
const PASSING = new Set([408, 409, 425, 429, 502, 503, 504])
/** A file that is in use stays so. */
const FILE_PASSING = new Set([408, 425, 429, 502, 503, 504])

/** Asks one thing. Throws `ControlPlaneAway`, `LeaseLost` and `ControlPlaneRefusal`. `timeout_ms` limits the whole. */
export async function askServer(
  { server, token }: RemoteAddress,
  path: string,
  body: object,
  { timeout_ms, signal }: { timeout_ms?: number; signal?: AbortSignal } = {},
): Promise<unknown> {
  const silence = new Silence(SILENCE_MS)
  const ends = [silence.signal]
  if (timeout_ms !== undefined) ends.push(AbortSignal.timeout(timeout_ms))
  if (signal) ends.push(signal)
  const bytes = Buffer.from(JSON.stringify(body))
  const pieces = bytes.length > PIECE ? inPieces(bytes)[Symbol.asyncIterator]() : null
  if (timeout_ms === undefined) silence.begin()
  const chunks: Uint8Array[] = []
  try {
    const answer = await send(server, path, PASSING, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(pieces ? { body: toBody(pieces, silence).body, duplex: 'half' as const } : { body: bytes }),
      signal: AbortSignal.any(ends),
    })
    for await (const chunk of answer.body ?? []) {
      if (timeout_ms === undefined) silence.begin()
      chunks.push(chunk)
    }
  } catch (cause) {
    if (cause instanceof ControlPlaneAway || cause instanceof ControlPlaneRefusal) throw cause
    throw new ControlPlaneAway('The answer of the control plane broke off.', { cause })
  } finally {
    silence.end()
  }
  const text = Buffer.concat(chunks).toString()
  const value = readAnswer(text)
  if ('lost' in value) throw new LeaseLost()
  return fromWire(value.value)
}

/** Stores a file without keeping it in memory; its size in bytes. */
export async function putFile(address: RemoteAddress, key: string, data: Readable): Promise<number> {
  const silence = new Silence(FILE_SILENCE_MS)
  const { body, failure } = toBody(data[Symbol.asyncIterator](), silence, () => data.destroy())
  try {
    const answer = await askForFile(address, key, silence, { method: 'PUT', body, duplex: 'half' })
    const said = await answer.json().catch((cause: unknown) => {
      throw new BlobsAway('The answer of the control plane broke off.', { cause })
    })
    return (said as { bytes: number }).bytes
  } catch (error) {
    // If the source failed, its error says why.
    const failed = failure()
    throw failed ? failed.error : error
  } finally {
    silence.end()
    data.destroy()
  }
}

/** `null`: there is none. */
export async function getFile(address: RemoteAddress, key: string): Promise<Readable | null> {
  const silence = new Silence(FILE_SILENCE_MS)
  try {
    const { body } = await askForFile(address, key, silence, { method: 'GET' })
    return Readable.from(body ? readWhole(body, silence) : [], { objectMode: false })
  } catch (error) {
    if (error instanceof ControlPlaneRefusal && error.status === 404) return null
    throw error
  } finally {
    silence.end()
  }
}

export async function deleteFile(address: RemoteAddress, key: string): Promise<void> {
  const silence = new Silence(FILE_SILENCE_MS)
  await askForFile(address, key, silence, { method: 'DELETE' }).finally(() => silence.end())
}

async function askForFile(
  { server, token }: RemoteAddress,
  key: string,
  silence: Silence,
  init: RequestInit,
): Promise<Response> {
  silence.begin()
  try {
    return await send(server, `files/${key}`, FILE_PASSING, {
      ...init,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/octet-stream' },
      signal: silence.signal,
    })
  } catch (error) {
    if (error instanceof ControlPlaneAway) throw new BlobsAway(error.message, { cause: error })
    // The storage, or a file of a run that isn't held any more, which the next verb says; what has no answer here is the caller's.
    if (error instanceof ControlPlaneRefusal && ![401, 404].includes(error.status))
      throw new BlobsUnavailable(error.message, { cause: error })
    throw error
  }
}

async function* readWhole(data: ReadableStream<Uint8Array>, silence: Silence): AsyncGenerator<Uint8Array> {
  const reader = data.getReader()
  try {
    for (;;) {
      // Only while somebody waits for it: a sandbox may take its time.
      silence.begin()
      const { done, value } = await reader.read()
      silence.end()
      if (done) return
      yield value
    }
  } catch (cause) {
    throw new BlobsAway('The file broke off on its way from the server.', { cause })
  } finally {
    silence.end()
    reader.cancel().catch(() => {})
  }
}

/** Ends a request for which nothing has passed for too long. */
class Silence {
  readonly #ms: number
  readonly #late = new AbortController()
  #timer: NodeJS.Timeout | undefined

  constructor(ms: number) {
    this.#ms = ms
  }

  get signal(): AbortSignal {
    return this.#late.signal
  }

  /** From now on, whatever passed before. */
  begin(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#late.abort(new Error('Nothing passes any more.')), this.#ms).unref()
  }

  end(): void {
    clearTimeout(this.#timer)
  }
}

/** A body that breaks its silence with each piece that is sent. `failure`: what its source failed with. */
function toBody(
  pieces: AsyncIterator<Uint8Array>,
  silence: Silence,
  cancel = () => {},
): { body: ReadableStream<Uint8Array>; failure: () => { error: unknown } | null } {
  let failed: { error: unknown } | null = null
  let is_over = false
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        // The source may take as long as it needs: the way is not what is slow then.
        silence.end()
        try {
          const { done, value } = await pieces.next()
          if (is_over) return
          silence.begin()
          if (done) controller.close()
          else controller.enqueue(value)
        } catch (error) {
          if (is_over) return
          failed = { error }
          controller.error(error)
        }
      },
      cancel() {
        is_over = true
        cancel()
      },
    },
    { highWaterMark: 0 },
  )
  return { body, failure: () => failed }
}

async function* inPieces(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE)
}

async function send(
  server: string,
  path: string,
  passing: ReadonlySet<number>,
  init: RequestInit,
): Promise<Response> {
  const answer = await fetch(server + PREFIX + path, { ...init, redirect: 'error' }).catch(
    (cause: unknown) => {
      throw new ControlPlaneAway('The control plane does not answer.', { cause })
    },
  )
  if (answer.ok) return answer
  const detail = await answer.text().then(readDetail, () => '')
  const said = `The control plane answered ${answer.status}. ${detail}`.trim()
  throw passing.has(answer.status)
    ? new ControlPlaneAway(said)
    : new ControlPlaneRefusal(answer.status, detail || said)
}

function readAnswer(text: string): { value: unknown } | { lost: true } {
  try {
    return JSON.parse(text) as { value: unknown } | { lost: true }
  } catch (cause) {
    // A page of a proxy, say.
    throw new ControlPlaneAway('The control plane answered with something else than JSON.', { cause })
  }
}

function readDetail(text: string): string {
  try {
    const { detail } = JSON.parse(text) as { detail?: unknown }
    return typeof detail === 'string' ? detail : ''
  } catch {
    return ''
  }
}
