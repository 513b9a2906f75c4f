import type { ChangedFile } from '../contract/diff.ts'

/** A name, or what stands before it, is far shorter. */
const MAX_TOKEN_BYTES = 64 * 1024
const MAX_FILES = 100_000
/** Begins a file's part of a patch; no other line of one begins so. */
const BEGIN = Buffer.from('diff --git ')
const BEGIN_LINE = Buffer.from('\ndiff --git ')

/** What a part of the patch may take up: one file's, and all that are still to come. */
export interface Room {
  file_bytes: number
  bytes: number
}

/**
 * Reads what the comparing script prints, piece by piece: `0` or `1` for files that could not be read, the files that the
 * patch leaves out, those it holds with their counts, and the patch. git's own machine format (`-z --raw --numstat`), so no
 * name is unquoted and no line counted here; see the RAW OUTPUT FORMAT in git-diff-index(1). What is too large for its room
 * is left out file by file, so that the rest can be applied.
 */
export class DiffReader {
  readonly files: ChangedFile[] = []
  /** Git repositories inside the repository, which no patch can hold. */
  readonly embedded: string[] = []
  unreadable = false
  readonly #room: Room
  readonly #prefix: string
  #state: 'unreadable' | 'omitted' | 'changed' | 'patch' = 'unreadable'
  /** Bytes of a token or of a line's beginning, whose end is still to come. */
  #rest: Buffer = Buffer.alloc(0)
  /** Tokens of a record, as far as they have come. */
  #tokens: string[] = []
  /** In the order of the patch; of a file that is null nothing is to be kept. */
  readonly #parts: Array<{ file: ChangedFile | null; headers: number }> = []
  /** Lines that begin the part which is being read again. */
  #headers_left = 0
  #counted = 0
  #part = -1
  #held: Buffer[] = []
  #held_bytes = 0
  #is_dropped = false
  readonly #counts: ChangedFile[] = []

  /** `prefix`: stands before every name. `room` shrinks by what is kept. */
  constructor(prefix: string, room: Room) {
    this.#prefix = prefix
    this.#room = room
  }

  /** Takes the next piece; returns what of the patch is whole and kept by now. */
  push(data: Uint8Array): Buffer[] {
    let rest = Buffer.concat([this.#rest, data])
    while (this.#state !== 'patch') {
      const end = rest.indexOf(0)
      if (end < 0) {
        if (rest.length > MAX_TOKEN_BYTES) throw new UnreadableDiff('git printed a name without an end')
        this.#rest = rest
        return []
      }
      this.#token(rest.toString('utf8', 0, end))
      rest = rest.subarray(end + 1)
    }
    return this.#patch(rest)
  }

  /** The last part, which nothing follows. `is_whole`: git printed all it wanted to. */
  end(is_whole: boolean): Buffer[] {
    if (this.#state === 'patch') this.#hold(this.#rest)
    this.#rest = Buffer.alloc(0)
    const last = is_whole ? this.#release() : []
    // Those of which nothing has come.
    const begun = is_whole ? this.#part + 1 : Math.max(0, this.#part)
    for (const { file } of this.#parts.slice(begun)) if (file) file.omitted = true
    return last
  }

  #token(token: string): void {
    if (this.#state === 'unreadable') {
      this.unreadable = token !== '0'
      this.#state = 'omitted'
      return
    }
    if (token === '' && this.#tokens.length === 0) {
      this.#state = this.#state === 'omitted' ? 'changed' : 'patch'
      return
    }
    this.#tokens.push(token)
    const [first = '', path = '', new_path] = this.#tokens
    if (first.startsWith(':')) {
      const is_renamed = first.includes(' R')
      if (this.#tokens.length < (is_renamed ? 3 : 2)) return
      this.#file(first, path, is_renamed ? new_path : undefined)
    } else {
      const [additions, deletions, counted_path] = first.split('\t')
      // A renamed file's two names follow.
      if (counted_path === '' && this.#tokens.length < 3) return
      this.#count(additions, deletions)
    }
    this.#tokens = []
  }

  /** A record as `:100644 100755 1111111 0000000 M`, and its name or names. */
  #file(record: string, path: string, renamed_to: string | undefined): void {
    if (this.#parts.length >= MAX_FILES) throw new UnreadableDiff('too many files differ')
    const [old_mode = '', new_mode = '', , , letter = ''] = record.slice(1).split(' ')
    const file: ChangedFile = {
      path: this.#prefix + (renamed_to ?? path),
      ...(renamed_to === undefined ? {} : { previous_path: this.#prefix + path }),
      status: STATUS[letter[0] ?? ''] ?? 'modified',
      additions: 0,
      deletions: 0,
    }
    if (this.#state === 'omitted') {
      this.files.push({ ...file, omitted: true })
      return
    }
    this.#counts.push(file)
    if (old_mode === '000000' && new_mode === '160000') {
      this.embedded.push(file.path)
      this.#parts.push({ file: null, headers: 1 })
      return
    }
    this.files.push(file)
    // What becomes a link, or is no longer one, is deleted and made anew.
    this.#parts.push({ file, headers: letter === 'T' ? 2 : 1 })
  }

  #count(additions: string | undefined, deletions: string | undefined): void {
    const file = this.#counts[this.#counted++]
    if (!file) return
    if (additions === '-') file.binary = true
    else {
      file.additions = countOf(additions)
      file.deletions = countOf(deletions)
    }
  }

  #patch(data: Buffer): Buffer[] {
    const kept: Buffer[] = []
    let rest = data
    if (this.#part < 0) {
      if (rest.length < BEGIN.length) {
        this.#rest = rest
        return kept
      }
      this.#begin()
    }
    for (;;) {
      const at = rest.indexOf(BEGIN_LINE)
      if (at < 0) break
      this.#hold(rest.subarray(0, at + 1))
      if (this.#headers_left > 0) this.#headers_left -= 1
      else {
        kept.push(...this.#release())
        this.#begin()
      }
      rest = rest.subarray(at + 1)
    }
    // The next piece may go on with the beginning of such a line.
    const sure = Math.max(0, rest.length - BEGIN_LINE.length + 1)
    this.#hold(rest.subarray(0, sure))
    this.#rest = Buffer.from(rest.subarray(sure))
    return kept
  }

  #begin(): void {
    this.#part += 1
    const part = this.#parts[this.#part]
    this.#headers_left = (part?.headers ?? 1) - 1
    this.#is_dropped = !part?.file
  }

  #hold(data: Buffer): void {
    if (this.#is_dropped) return
    this.#held.push(data)
    this.#held_bytes += data.length
    const { file_bytes, bytes } = this.#room
    if (this.#held_bytes > Math.min(file_bytes, bytes)) this.#drop()
  }

  #drop(): void {
    const file = this.#parts[this.#part]?.file
    if (file) file.omitted = true
    this.#held = []
    this.#held_bytes = 0
    this.#is_dropped = true
  }

  #release(): Buffer[] {
    const held = this.#held
    this.#room.bytes -= this.#held_bytes
    this.#held = []
    this.#held_bytes = 0
    return held
  }
}

/** More than anybody could look at, or not what git prints: in the sandbox anything may have a hand in it. */
export class UnreadableDiff extends Error {
  override name = 'UnreadableDiff'
}

const STATUS: Record<string, ChangedFile['status']> = { A: 'added', D: 'deleted', R: 'renamed' }

/** Lines of one file: no more than can be added up over all of them. */
const countOf = (text = ''): number => (/^\d{1,9}$/.test(text) ? Number(text) : 0)
