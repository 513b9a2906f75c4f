const BLOCK_BYTES = 512
/** Of one. Nested folders can go beyond, and no program unpacks those again. */
const PATH_BYTES = 4095
/** There may be two paths in one. */
const EXTENDED_BYTES = 64 * 1024
/** Paths and times that the plain fields have no room for; anything else changes what an entry is. */
const EXTENDED_KEYS = new Set(['path', 'linkpath', 'size', 'mtime', 'uid', 'gid', 'uname', 'gname'])

const TOO_DEEP = `the path of a file in it has more than ${PATH_BYTES} bytes`

export interface ArchiveLimits {
  /** Of the archive, unpacked. */
  expanded_bytes: number
  entries: number
}

/** It is more than its limits. */
export class ArchiveTooLarge extends Error {
  override name = 'ArchiveTooLarge'
}

export const tooLarge = ({ expanded_bytes }: Pick<ArchiveLimits, 'expanded_bytes'>): ArchiveTooLarge =>
  new ArchiveTooLarge(`it holds more than ${Math.floor(expanded_bytes / 1024 ** 2)} MiB`)

/** It is not what packing a workspace makes. */
export class ArchiveRefused extends Error {
  override name = 'ArchiveRefused'
}

/** A file, folder, link or pipe of an archive. Names are bytes, one a character: they need not be of any encoding. */
export interface ArchiveEntry {
  path: string
  /** Its letter in the tar: 0 a file, 1 a hard link, 2 a symbolic link, 5 a folder, 6 a pipe. */
  type: string
  /** Permission bits. */
  mode: number
  size: number
  /** Where its content begins in the archive, unpacked. */
  offset: number
  /** The path that a link leads to; empty otherwise. */
  target: string
}

/**
 * Reads the headers of a POSIX tar as it passes: files, directories, links and pipes below `roots`, within the limits. What a
 * packed workspace never holds is refused: other places, devices, setuid bits, sparse files, formats of other programs.
 */
export class ArchiveCheck {
  bytes = 0
  entries = 0
  readonly #roots: readonly string[]
  readonly #limits: ArchiveLimits
  /** Of the header or extended header that is being read. */
  #block = Buffer.alloc(0)
  #awaited = BLOCK_BYTES
  #extended: { bytes: number } | null = null
  #about: Map<string, string> | null = null
  /** Of a file's content that is still to pass. */
  #skipped = 0
  #zero_blocks = 0
  /** What the entries until now take up, by their headers. */
  #announced = 0
  /** Bytes up to the end of what is being read. */
  #offset = 0
  readonly #onEntry: (entry: ArchiveEntry) => void

  constructor(
    roots: readonly string[],
    limits: ArchiveLimits,
    onEntry: (entry: ArchiveEntry) => void = () => {},
  ) {
    this.#roots = roots
    this.#limits = limits
    this.#onEntry = onEntry
  }

  /** Throws `ArchiveTooLarge` or `ArchiveRefused`. */
  push(chunk: Uint8Array): void {
    const before = this.bytes
    this.bytes += chunk.length
    this.#requireRoom(this.bytes)
    for (let at = 0; at < chunk.length; ) {
      const passing = Math.min(this.#skipped, chunk.length - at)
      this.#skipped -= passing
      at += passing
      if (at === chunk.length) return
      const taken = Math.min(this.#awaited - this.#block.length, chunk.length - at)
      this.#block = Buffer.concat([this.#block, chunk.subarray(at, at + taken)])
      at += taken
      this.#offset = before + at
      if (this.#block.length === this.#awaited) this.#read()
    }
  }

  /** Throws `ArchiveRefused` unless the archive is whole. */
  end(): void {
    if (this.#zero_blocks < 2) throw new ArchiveRefused('it is cut off')
  }

  #read(): void {
    const block = this.#block
    this.#block = Buffer.alloc(0)
    this.#awaited = BLOCK_BYTES
    if (this.#extended) {
      this.#about = readExtended(block.subarray(0, this.#extended.bytes))
      this.#extended = null
    } else if (block.every((byte) => byte === 0)) this.#zero_blocks += 1
    else if (this.#zero_blocks > 0) throw new ArchiveRefused('it goes on after its end')
    else this.#readHeader(block)
  }

  #readHeader(block: Buffer): void {
    if (block.toString('latin1', 257, 265) !== 'ustar\x0000' || readOctal(block, 148, 8) !== sumOf(block))
      throw new ArchiveRefused('a header is broken')
    const type = block.toString('latin1', 156, 157)
    const said = this.#about?.get('size')
    const size = said === undefined ? readOctal(block, 124, 12) : readDecimal(said)
    if (!Number.isSafeInteger(size) || size < 0) throw new ArchiveRefused('a size is none')
    if (type === 'x' && !this.#about) {
      if (size > EXTENDED_BYTES) throw new ArchiveTooLarge(TOO_DEEP)
      this.#extended = { bytes: size }
      this.#awaited = padded(size)
      if (size === 0) throw new ArchiveRefused('a header is empty')
      return
    }
    const about = this.#about
    this.#about = null
    this.entries += 1
    if (this.entries > this.#limits.entries)
      throw new ArchiveTooLarge(`it holds more than ${this.#limits.entries} files`)
    const prefix = readText(block, 345, 155)
    const name = about?.get('path') ?? (prefix && `${prefix}/`) + readText(block, 0, 100)
    if (name.length > PATH_BYTES) throw new ArchiveTooLarge(TOO_DEEP)
    if (!'01256'.includes(type)) throw new ArchiveRefused(`an entry has the type ${JSON.stringify(type)}`)
    if (type !== '0' && size > 0) throw new ArchiveRefused('an entry that is no file has content')
    // One in another form is a number to tar, too.
    const mode = readOctal(block, 100, 8)
    if (Number.isNaN(mode) || (mode & 0o7000) !== 0) throw new ArchiveRefused('a file has special bits')
    if (!this.#isInside(name)) throw new ArchiveRefused('an entry lies elsewhere')
    const target = about?.get('linkpath') ?? readText(block, 157, 100)
    if (type === '1' && !this.#isInside(target)) throw new ArchiveRefused('a link leads elsewhere')
    this.#skipped = padded(size)
    this.#announced += BLOCK_BYTES + this.#skipped
    // Before it has passed: a file of holes is quickly made, and takes long to read.
    this.#requireRoom(this.#announced)
    this.#onEntry({ path: name, type, mode, size, offset: this.#offset, target })
  }

  #requireRoom(bytes: number): void {
    if (bytes > this.#limits.expanded_bytes) throw tooLarge(this.#limits)
  }

  #isInside(name: string): boolean {
    const below = this.#roots.some((root) => name === root || name.startsWith(`${root}/`))
    return below && !name.split('/').includes('..') && !name.includes('\0')
  }
}

const padded = (size: number): number => Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES

/** Bytes as they are: names need not be of any encoding. */
function readText(block: Buffer, offset: number, length: number): string {
  const text = block.toString('latin1', offset, offset + length)
  const end = text.indexOf('\0')
  return end === -1 ? text : text.slice(0, end)
}

/** NaN for what is no number in this form. */
function readOctal(block: Buffer, offset: number, length: number): number {
  const text = readText(block, offset, length)
  return /^ *[0-7]{1,12} *$/.test(text) ? Number.parseInt(text, 8) : Number.NaN
}

/** As tar reads it, and nothing else that would be a number here. */
const readDecimal = (text: string): number => (/^\d{1,16}$/.test(text) ? Number(text) : Number.NaN)

/** The checksum counts its own field as spaces. */
function sumOf(block: Buffer): number {
  let sum = 0
  for (let at = 0; at < BLOCK_BYTES; at += 1) sum += at >= 148 && at < 156 ? 32 : (block[at] ?? 0)
  return sum
}

/** `length key=value`, line after line; a value may hold anything. */
function readExtended(data: Buffer): Map<string, string> {
  const about = new Map<string, string>()
  const text = data.toString('latin1')
  for (let at = 0; at < text.length; ) {
    const [, digits = '', key = ''] = /^(\d{1,6}) ([^=]+)=/.exec(text.slice(at, at + 64)) ?? []
    const end = at + Number(digits)
    const begin = at + digits.length + key.length + 2
    if (!EXTENDED_KEYS.has(key) || end <= begin || text[end - 1] !== '\n')
      throw new ArchiveRefused(`a header says more than it may (${key.slice(0, 40)})`)
    about.set(key, text.slice(begin, end - 1))
    at = end
  }
  return about
}
