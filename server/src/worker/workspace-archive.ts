/** A workspace as a blob: a tar, compressed. It is packed and unpacked inside a sandbox, as the sandbox's user. */
import { createHash } from 'node:crypto'
import { PassThrough, Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import {
  ArchiveCheck,
  type ArchiveLimits,
  ArchiveRefused,
  ArchiveTooLarge,
  tooLarge,
} from '../archives/archive-check.ts'
import { compress, decompress } from '../archives/compression.ts'
import { FileIndexWriter } from '../archives/file-index-writer.ts'
import { type Blobs, BlobsUnavailable } from '../blobs/blobs.ts'
import { type ExecHandle, type Sandbox, SandboxFault } from '../sandbox/sandbox.ts'

const TIMEOUT_MS = 30 * 60_000
const MEASURE_MS = 60_000
/** Characters kept of what tar said. */
const SAID = 2_000

/** What an archive may hold, by the names in it: the workspace, and what the agent keeps in its home directory. */
export const ARCHIVE_FOLDERS = ['workspace', 'home/agent'] as const

/** Unpacked, an archive may be so many times what it may take up. */
export const EXPANSION = 4
const MAX_ENTRIES = 1_000_000

/** What an archive may be that may take up `size_bytes`. */
export const limitsOfArchive = (size_bytes: number): PackOptions['limits'] => ({
  ...{ size_bytes, expanded_bytes: size_bytes * EXPANSION },
  entries: MAX_ENTRIES,
})

/** An archive that is stored. */
export interface Archive {
  blob_key: string
  size_bytes: number
  sha256: string
  /** Unpacked. */
  expanded_bytes: number
  entries: number
  folders: string[]
}

export interface PackOptions {
  blob_key: string
  /** Where the index of its files goes; left out: there is none. */
  index_key?: string
  limits: ArchiveLimits & { size_bytes: number }
  signal: AbortSignal
  /** Called when everything was read, which may be long before it is stored. */
  onRead?: () => void
}

/**
 * Stores what the sandbox's workspace and home directory hold. Files that change or go meanwhile do no harm, those that nobody
 * may read are left out, sockets too, and setuid bits; `said` is what tar had to say of it. Throws `ArchiveTooLarge`,
 * `BlobsUnavailable`, `SandboxFault`; nothing is stored then.
 */
export async function packWorkspace(
  sandbox: Sandbox,
  blobs: Blobs,
  { blob_key, index_key, limits, signal, onRead }: PackOptions,
): Promise<{ archive: Archive; said: string }> {
  const folders = foldersOf(sandbox)
  await requireSize(sandbox, folders, { limits, signal })
  const index = index_key === undefined ? null : new FileIndexWriter(blobs, index_key)
  const check = new ArchiveCheck(folders, limits, (entry) => index?.add(entry))
  const tar = new Tar(
    sandbox.exec({
      command: `${PACK} ${folders.join(' ')}`,
      max_output_bytes: Number.POSITIVE_INFINITY,
      timeout_ms: TIMEOUT_MS,
      signal,
    }),
  )
  const packed = async function* () {
    for await (const data of tar.read()) {
      check.push(data)
      await index?.write()
      yield data
    }
    // 1: a file changed while it was read.
    await tar.requireEnd([0, 1])
    check.end()
    onRead?.()
    await index?.end()
  }
  const measure = new Measure(limits.size_bytes)
  // A failure of either ends both; the blob's reader is the one to tell it.
  pipeline(Readable.from(packed(), { objectMode: false }), compress(), measure).catch(() => {})
  try {
    const size_bytes = await blobs.put(blob_key, measure)
    const { bytes: expanded_bytes, entries } = check
    const sha256 = measure.sha256()
    return {
      archive: { blob_key, size_bytes, sha256, expanded_bytes, entries, folders },
      said: tar.said,
    }
  } catch (error) {
    await index?.discard()
    if (error instanceof ArchiveRefused)
      throw new SandboxFault(`Packing the workspace failed: ${error.message}`, { cause: error })
    throw error
  } finally {
    measure.destroy()
    await tar.kill()
  }
}

/** Asks before anything is read: files of holes are quickly made, and take long to read. What cannot be told is let through. */
async function requireSize(
  sandbox: Sandbox,
  folders: readonly string[],
  { limits, signal }: Pick<PackOptions, 'limits' | 'signal'>,
): Promise<void> {
  const command = `${MEASURE} ${folders.join(' ')}`
  const tar = new Tar(sandbox.exec({ command, timeout_ms: MEASURE_MS, signal }))
  for await (const _ of tar.read());
  const [, bytes] = /^Total bytes written: (\d+)/m.exec(tar.said) ?? []
  if (Number(bytes ?? 0) > limits.expanded_bytes) throw tooLarge(limits)
}

/** It is not there, or not what was stored, or the sandbox could not take it; the message goes on from "the snapshot". */
export class UnusableArchive extends Error {
  override name = 'UnusableArchive'
}

/**
 * Unpacks an archive into a sandbox that holds nothing yet; what is in an archive is nobody's word. Throws `UnusableArchive`,
 * after which the sandbox holds a part of it and is of no use; `BlobsUnavailable`; `SandboxFault`, also when what unpacks is
 * killed or the disk is full.
 */
export async function unpackWorkspace(
  sandbox: Sandbox,
  blobs: Pick<Blobs, 'get'>,
  archive: Pick<Archive, 'blob_key' | 'sha256' | 'folders'>,
  { limits, signal }: { limits: ArchiveLimits & { size_bytes: number }; signal: AbortSignal },
): Promise<void> {
  const stored = await blobs.get(archive.blob_key)
  if (!stored) throw new UnusableArchive('is not in the storage any more')
  const measure = new Measure(limits.size_bytes)
  const check = new ArchiveCheck(ARCHIVE_FOLDERS, limits)
  const checked = new PassThrough()
  const members = foldersOf(sandbox).filter((folder) => archive.folders.includes(folder))
  const tar = new Tar(
    sandbox.exec({
      command: `${UNPACK} ${members.join(' ')} && cat >/dev/null`,
      stdin: checked,
      timeout_ms: TIMEOUT_MS,
      signal,
    }),
  )
  const fed = pipeline(
    stored,
    measure,
    decompress(),
    async function* (chunks: AsyncIterable<Uint8Array>) {
      for await (const data of chunks) {
        check.push(data)
        yield data
      }
      check.end()
      if (measure.sha256() !== archive.sha256) throw new ArchiveRefused('its checksum differs')
    },
    checked,
  ).then(
    () => null,
    (error: unknown) => error,
  )
  for await (const _ of tar.read());
  const exit = await tar.exit
  // Nobody reads on when tar has left.
  if (exit.code !== 0) stored.destroy()
  const failure = await fed
  if (signal.aborted) throw new SandboxFault('Unpacking the workspace was stopped')
  if (failure instanceof BlobsUnavailable) throw failure
  if (failure instanceof ArchiveTooLarge || failure instanceof ArchiveRefused)
    throw new UnusableArchive(`cannot be unpacked: ${failure.message}`, { cause: failure })
  if (failure && !isReaderGone(failure))
    throw new UnusableArchive('cannot be unpacked: it is damaged', { cause: failure })
  const killed = exit.code === null && !exit.timed_out
  if (killed || NO_ROOM.test(tar.said))
    throw new SandboxFault(`Unpacking the workspace ended with ${exit.code ?? exit.signal}: ${tar.said}`)
  if (exit.code !== 0) {
    const how = exit.timed_out ? 'it takes too long' : tar.said.trim().split('\n').at(-1)
    throw new UnusableArchive(`cannot be unpacked: ${how || `tar ended with ${exit.code ?? exit.signal}`}`)
  }
  if (failure) throw new UnusableArchive('cannot be unpacked: it broke off', { cause: failure })
}

/** How the source fails because tar has left: then tar explains it. */
const READER_GONE = ['EPIPE', 'ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED']

/** Another time there may be: what is kept is not to be given up for that. */
const NO_ROOM = /: (No space left on device|Disk quota exceeded|Wrote only \d+ of \d+ bytes)$/m

const isReaderGone = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && READER_GONE.includes(String(error.code))

const foldersOf = ({ home }: Sandbox): string[] => ARCHIVE_FOLDERS.slice(0, home ? 2 : 1)

/** The environment's variables could give tar options. Beside the workspace lies `home`, where it is the sandbox's own. */
const CLEAN = 'export LC_ALL=C; unset TAR_OPTIONS; cd ..;'
/** Times to the nanosecond, for tools that compare them; no other time, which would make each archive another. */
const PACK = `${CLEAN} exec tar --create --file=- --format=posix --pax-option=delete=atime,delete=ctime,exthdr.name=x \\
  --mode=u-s,g-s,-t --numeric-owner --ignore-failed-read --`
/** Into `/dev/null` it only looks at files (GNU tar, `--totals`). */
const MEASURE = `${CLEAN} exec tar --create --file=/dev/null --totals --format=posix --ignore-failed-read --`
const UNPACK = `${CLEAN} umask 0; tar --extract --file=- --preserve-permissions --no-same-owner --`

/** A tar at work. */
class Tar {
  /** The end of what it said. */
  said = ''
  readonly #handle: ExecHandle

  constructor(handle: ExecHandle) {
    this.#handle = handle
  }

  get exit() {
    return this.#handle.exit
  }

  async *read(): AsyncGenerator<Uint8Array> {
    for await (const { stream, data } of this.#handle.output)
      if (stream === 'stdout') yield data
      else this.said = (this.said + Buffer.from(data).toString()).slice(-SAID)
  }

  async requireEnd(codes: readonly number[]): Promise<void> {
    const { code, signal, timed_out } = await this.#handle.exit
    if (code !== null && codes.includes(code)) return
    const how = timed_out ? 'a timeout' : (code ?? signal)
    throw new SandboxFault(`Packing the workspace ended with ${how}: ${this.said}`)
  }

  kill(): Promise<void> {
    return this.#handle.kill()
  }
}

/** Counts what passes. */
class Measure extends Transform {
  #bytes = 0
  readonly #hash = createHash('sha256')

  constructor(max_bytes: number) {
    super({
      transform: (chunk: Buffer, _encoding, callback) => {
        this.#bytes += chunk.length
        this.#hash.update(chunk)
        const over = this.#bytes > max_bytes
        callback(
          over
            ? new ArchiveTooLarge(`compressed it takes more than ${Math.floor(max_bytes / 1024 ** 2)} MiB`)
            : null,
          chunk,
        )
      },
    })
  }

  /** Ask once, when all has passed. */
  sha256(): string {
    return this.#hash.digest('hex')
  }
}
