import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { FastifyRequest } from 'fastify'
import type { Blobs } from '../blobs/blobs.ts'
import { BUDGETS, type Budget } from '../budgets/budgets.ts'
import { Holdings } from '../budgets/holdings.ts'
import { AppError } from '../contract/error.ts'
import { MOST_ATTACHMENTS } from '../contract/run-request.ts'
import { AttachmentCutter, INLINE_BYTES } from './attachment-cutter.ts'
import { ownerOfRequest } from './budget-owner.ts'
import { brokenOff } from './caller-left.ts'
import { Pieces } from './pieces.ts'
import { ReceivedFiles } from './received-files.ts'

const MiB = 1024 ** 2
/** Of a body with attachments, what may lie in memory. */
const MOST_KEPT = 2 * MiB + (MOST_ATTACHMENTS + 1) * INLINE_BYTES
/** Between two pieces of a body. */
const SILENT_MS = 20_000

declare module 'fastify' {
  interface FastifyRequest {
    /** Of the body as it came, for Idempotency-Key. */
    body_hash?: Buffer
    body_bytes?: number
    /** Attachments that went to the storage while they came. */
    received_files?: ReceivedFiles
    /** Gives back what the request holds of budgets. */
    giveBack?: () => void
  }
}

interface Taken {
  owner: string
  budget: Budget
  held: Holdings
}

/**
 * Receives bodies within budgets: what lies in memory belongs to its principal, and to the address where there is no key. It is
 * held until the answer is sent.
 */
export class Bodies {
  readonly #blobs: Blobs
  readonly #keyed = new Holdings(BUDGETS.bodies)
  readonly #keyless = new Holdings(BUDGETS.keyless_bodies)
  readonly #uploads = new Holdings(BUDGETS.uploads)

  constructor(blobs: Blobs) {
    this.#blobs = blobs
  }

  /**
   * The bytes of a body. Throws 413 and 429; a body that does not come ends its connection. `large`: the data of attachments
   * goes to the storage.
   */
  async receive(request: FastifyRequest, payload: Readable, { large = false } = {}): Promise<Buffer> {
    const { bodyLimit } = request.routeOptions
    const announced = request.headers['content-length']
    // Not read on: it would take as long as its sender likes.
    if (Number(announced) > bodyLimit) throw tooLarge('The body is too large.')
    const receiving = new Receiving(
      request,
      this.#takerOf(request),
      large ? this.#blobs : null,
      this.#uploads,
    )
    const stop = endLate(payload, request.actor !== undefined)
    try {
      receiving.requireRoom(Number(announced ?? 0))
      for await (const piece of payload.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        stop.later()
        await receiving.add(piece, bodyLimit)
      }
      return receiving.end(announced)
    } catch (error) {
      receiving.giveBack()
      await readOn(payload)
      throw error
    } finally {
      stop.never()
    }
  }

  #takerOf(request: FastifyRequest): Taken {
    const owner = ownerOfRequest(request)
    return request.actor
      ? { owner, budget: BUDGETS.bodies, held: this.#keyed }
      : { owner, budget: BUDGETS.keyless_bodies, held: this.#keyless }
  }
}

/** One body on its way. */
class Receiving {
  readonly #request: FastifyRequest
  readonly #taken: Taken
  readonly #cutter: AttachmentCutter | null = null
  readonly #most: number
  readonly #hash = createHash('sha256')
  readonly #give: Array<() => void> = []
  readonly #kept = new Pieces()
  #bytes = 0
  #kept_bytes = 0
  #is_over = false

  constructor(request: FastifyRequest, taken: Taken, blobs: Blobs | null, uploads: Holdings) {
    this.#request = request
    this.#taken = taken
    this.#most = blobs ? MOST_KEPT : Number.POSITIVE_INFINITY
    request.giveBack = () => this.giveBack()
    if (!blobs) return
    const files = new ReceivedFiles(blobs)
    request.received_files = files
    this.#give.push(() => {
      files.close().catch((error: unknown) => request.log.error(error, 'Attachments could not be removed.'))
    })
    let is_upload = false
    this.#cutter = new AttachmentCutter((index) => {
      if (!is_upload && !uploads.take(taken.owner)) throw overBudget(BUDGETS.uploads)
      if (!is_upload) this.#give.push(() => uploads.giveBack(taken.owner))
      is_upload = true
      return files.receive(index)
    })
  }

  /** Before anything is read, where all of it will lie in memory. */
  requireRoom(announced: number): void {
    const { held, owner, budget } = this.#taken
    if (!this.#cutter && announced > held.roomOf(owner)) throw overBudget(budget)
  }

  async add(piece: Buffer, limit: number): Promise<void> {
    this.#bytes += piece.length
    if (this.#bytes > limit) throw tooLarge('The body is too large.')
    this.#hash.update(piece)
    for (const part of this.#cutter ? await this.#cutter.push(piece) : [piece]) this.#keep(part, piece)
  }

  #keep(part: Buffer, piece: Buffer): void {
    const { held, owner, budget } = this.#taken
    // Whoever hung up meanwhile has given everything back.
    if (this.#is_over) throw brokenOff()
    if (!held.take(owner, part.length)) throw overBudget(budget)
    this.#kept_bytes += part.length
    if (this.#kept_bytes > this.#most)
      throw tooLarge('The body is over 2 MiB, even without the data of attachments.')
    this.#kept.add(part, part.length === piece.length)
  }

  end(announced: string | undefined): Buffer {
    if (announced !== undefined && Number(announced) !== this.#bytes)
      throw new AppError('invalid_request', 'The body is not as long as Content-Length says.')
    this.#request.body_bytes = this.#bytes
    this.#request.body_hash = this.#hash.digest()
    return this.#kept.take()
  }

  /** Idempotent. */
  giveBack(): void {
    this.#is_over = true
    for (const back of this.#give.splice(0)) back()
    this.#taken.held.giveBack(this.#taken.owner, this.#kept_bytes)
    this.#kept_bytes = 0
    this.#kept.take()
  }
}

const tooLarge = (detail: string): AppError => new AppError('invalid_request', detail, { status: 413 })

function overBudget({ name, of, unit, most }: Budget): AppError {
  const size = unit === 'bytes at once' ? `${most / MiB} MiB` : most
  const detail = `Too much is being received at once: ${name}, ${size} for each ${of}. Send less at a time, or try again later.`
  return new AppError('resource_unavailable', detail, { status: 429, headers: { 'retry-after': '2' } })
}

/** Ends the connection of a body that does not come: who has a key may be slow, but not silent. */
function endLate(payload: Readable, has_key: boolean): { later(): void; never(): void } {
  const timer = setTimeout(() => payload.destroy(), SILENT_MS).unref()
  return { later: () => void (has_key && timer.refresh()), never: () => clearTimeout(timer) }
}

/** The rest is read and forgotten, so that its sender gets to read the answer; as long as it comes. */
async function readOn(payload: Readable): Promise<void> {
  if (payload.readableEnded || payload.destroyed) return
  const timer = setTimeout(() => payload.destroy(), SILENT_MS).unref()
  payload.resume()
  await finished(payload).catch(() => {})
  clearTimeout(timer)
}
