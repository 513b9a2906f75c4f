import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { v7 as uuidv7 } from 'uuid'
import { type Blobs, discardBlob } from '../blobs/blobs.ts'
import { AppError } from '../contract/error.ts'
import { ATTACHMENT_MAX_BYTES, MOST_ATTACHMENTS } from '../contract/run-request.ts'
import { type ReceivedFile, refuseUnstored } from '../intake/attachments.ts'
import type { CutSink } from './attachment-cutter.ts'
import { brokenOff } from './caller-left.ts'

interface Stored extends ReceivedFile {
  is_claimed: boolean
}

/**
 * Attachments of one request that went to the storage while they came. In the body a random word stands for each; who stores the
 * message claims the file by that word, and what nobody has claimed goes when the request is over.
 */
export class ReceivedFiles {
  readonly #blobs: Blobs
  readonly #folder = `runs/${uuidv7()}/attachments`
  readonly #files = new Map<string, Stored>()
  readonly #open = new Set<PassThrough>()
  #begun = 0
  #is_over = false

  constructor(blobs: Blobs) {
    this.#blobs = blobs
  }

  claim(word: string): ReceivedFile | null {
    const file = this.#files.get(word)
    if (!file) return null
    if (this.#is_over) throw new AppError('conflict', 'The request was broken off.')
    file.is_claimed = true
    const { blob_key, size_bytes } = file
    return { blob_key, size_bytes }
  }

  sizeOf(word: string): number | null {
    return this.#files.get(word)?.size_bytes ?? null
  }

  /** Of the attachment with this index. Throws 400, 413 and 503. */
  receive(index: number): CutSink {
    this.#begun += 1
    if (this.#begun > MOST_ATTACHMENTS)
      throw new AppError('invalid_request', `attachments: at most ${MOST_ATTACHMENTS} attachments`)
    const blob_key = `${this.#folder}/${uuidv7()}`
    const stream = new PassThrough()
    this.#open.add(stream)
    const put = this.#blobs.put(blob_key, stream)
    // Who writes is told by the next write, or at the end.
    put.catch((error: unknown) => stream.destroy(error instanceof Error ? error : undefined))
    stream.on('error', () => {})
    const base64 = new Base64Reader(`attachments.${index}.data`)
    // The storage failed because the caller left, and it says so in its own words.
    const refuse = (error: unknown): never => {
      if (this.#is_over) throw brokenOff()
      return refuseUnstored(error)
    }
    return {
      write: async (text) => {
        const bytes = base64.read(text)
        if (stream.destroyed) await put.catch(refuse)
        if (!stream.write(bytes)) await Promise.race([once(stream, 'drain'), put]).catch(refuse)
      },
      end: async () => {
        stream.end(base64.end())
        const size_bytes = await put.catch(refuse)
        this.#open.delete(stream)
        const file = { blob_key, size_bytes, is_claimed: false }
        if (this.#is_over) {
          await discardBlob(this.#blobs, blob_key)
          throw brokenOff()
        }
        // Base64 itself, so that it is as valid as what it stands for.
        const word = randomBytes(24).toString('base64')
        this.#files.set(word, file)
        return word
      },
    }
  }

  /** The request is over: a file that is half received, or that nothing names, is not kept. */
  async close(): Promise<void> {
    if (this.#is_over) return
    this.#is_over = true
    for (const stream of this.#open) stream.destroy(brokenOff())
    const unclaimed = [...this.#files.values()].filter(({ is_claimed }) => !is_claimed)
    for (const { blob_key } of unclaimed) await discardBlob(this.#blobs, blob_key)
  }
}

/** Standard base64 in pieces, padding optional, as the contract has it for what is short. */
class Base64Reader {
  readonly #field: string
  #carried = ''
  #is_padded = false
  #bytes = 0

  constructor(field: string) {
    this.#field = field
  }

  read(text: string): Buffer {
    const all = this.#carried + text
    if (!/^[A-Za-z0-9+/]*={0,2}$/.test(all) || (this.#is_padded && text !== ''))
      throw new AppError('invalid_request', `${this.#field}: must be base64`)
    const whole = all.length - (all.length % 4)
    this.#carried = all.slice(whole)
    if (whole > 0 && all[whole - 1] === '=') this.#is_padded = true
    return this.#count(Buffer.from(all.slice(0, whole), 'base64'))
  }

  end(): Buffer {
    return this.#count(Buffer.from(this.#carried, 'base64'))
  }

  #count(bytes: Buffer): Buffer {
    this.#bytes += bytes.length
    if (this.#bytes <= ATTACHMENT_MAX_BYTES) return bytes
    throw new AppError('invalid_request', `${this.#field}: is over 10 MB`, { status: 413 })
  }
}
