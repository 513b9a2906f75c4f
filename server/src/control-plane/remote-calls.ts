import { Readable } from 'node:stream'
import { BlobsUnavailable } from '../blobs/blobs.ts'
import { LeaseLost } from '../worker/lease-lost.ts'
import { fromWire } from './wire-value.ts'

/** Shorter than what a worker may be silent for. */
const CALL_MS = 10_000
/** A body that does not go on. */
const FILE_MS = 300_000

/** Where the control plane is, and what opens it. */
export interface RemoteAddress {
  /** Of the service, without a path at its end. */
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
/** What passes: too many requests, somebody else at the same row, a gateway or the service itself that is away. */
const PASSING = new Set([408, 409, 425, 429, 502, 503, 504])

/** Asks one thing. Throws `ControlPlaneAway`, `LeaseLost` and `ControlPlaneRefusal`. */
export async function askServer(
  { server, token }: RemoteAddress,
  path: string,
  body: object,
  { timeout_ms = CALL_MS, signal }: { timeout_ms?: number; signal?: AbortSignal } = {},
): Promise<unknown> {
  const late = AbortSignal.timeout(timeout_ms)
  const answer = await send(server, path, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: signal ? AbortSignal.any([signal, late]) : late,
  })
  const text = await answer.text().catch((cause: unknown) => {
    throw new ControlPlaneAway('The answer of the control plane broke off.', { cause })
  })
  const value = readAnswer(text)
  if ('lost' in value) throw new LeaseLost()
  return fromWire(value.value)
}

/** Stores a file without keeping it in memory; its size in bytes. */
export async function putFile(address: RemoteAddress, key: string, data: Readable): Promise<number> {
  try {
    const body = Readable.toWeb(data)
    const answer = await askForFile(address, key, { method: 'PUT', body, duplex: 'half' })
    return ((await answer.json()) as { bytes: number }).bytes
  } catch (error) {
    throw data.errored ?? error
  }
}

/** `null`: there is none. */
export async function getFile(address: RemoteAddress, key: string): Promise<Readable | null> {
  try {
    const { body } = await askForFile(address, key, { method: 'GET' })
    return body ? Readable.from(readWhole(Readable.fromWeb(body)), { objectMode: false }) : Readable.from([])
  } catch (error) {
    if (error instanceof ControlPlaneRefusal && error.status === 404) return null
    throw error
  }
}

export const deleteFile = (address: RemoteAddress, key: string): Promise<unknown> =>
  askForFile(address, key, { method: 'DELETE' })

async function askForFile(
  { server, token }: RemoteAddress,
  key: string,
  init: RequestInit,
): Promise<Response> {
  try {
    return await send(server, `files/${key}`, {
      ...init,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/octet-stream' },
      signal: AbortSignal.timeout(FILE_MS),
    })
  } catch (error) {
    // A file of a run that isn't held any more: the next verb says so. One that is in use stays.
    const is_refused = error instanceof ControlPlaneRefusal && [403, 409].includes(error.status)
    if (is_refused || error instanceof ControlPlaneAway)
      throw new BlobsUnavailable(error.message, { cause: error })
    throw error
  }
}

async function* readWhole(data: Readable): AsyncGenerator<Uint8Array> {
  try {
    yield* data
  } catch (cause) {
    throw new BlobsUnavailable('The file broke off on its way from the server.', { cause })
  }
}

async function send(server: string, path: string, init: RequestInit): Promise<Response> {
  const answer = await fetch(server + PREFIX + path, { ...init, redirect: 'error' }).catch(
    (cause: unknown) => {
      throw new ControlPlaneAway('The control plane does not answer.', { cause })
    },
  )
  if (answer.ok) return answer
  const detail = await answer.text().then(readDetail, () => '')
  const said = `The control plane answered ${answer.status}. ${detail}`.trim()
  throw PASSING.has(answer.status)
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
