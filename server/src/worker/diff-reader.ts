import type { ChangedFile } from '../contract/diff.ts'

/** Paths have at most 4,096 bytes; a count or a mode stands before them. */
const MAX_TOKEN_BYTES = 8 * 1024
/** Begins a file's part of a patch; no other line of one begins so. */
const BEGIN = Buffer.from('diff --git ')
const BEGIN_LINE = Buffer.from('\ndiff --git ')
/** The mode of what is a git repository of its own. */
const GITLINK = '160000'

/** What may be kept; all but `file_bytes` shrinks by what is. */
export interface Room {
  /** Bytes of one file's part of the patch. */
  file_bytes: number
  /** Bytes of the patch. */
  bytes: number
  files: number
  /** Characters of the names of files. */
  characters: number
}

/** A file that git names, until it has said how many lines differ. */
interface Named {
  file: ChangedFile
  /** What becomes a link, or is no longer one, is deleted and made anew: two parts of the patch. */
  is_retyped: boolean
  is_gitlink: boolean
}

/**
 * Reads what the comparing script prints, piece by piece: `0` or `1` for files that could not be read, the files that the
 * patch leaves out, those it holds with their counts, and the patch. git's own machine format (`-z --raw --numstat`), so no
 * name is unquoted and no line counted here; see the RAW OUTPUT FORMAT in git-diff-index(1). What is too large for its room
 * is left out file by file, so that the rest can be applied. Throws `UnreadableDiff`.
 */
export class DiffReader {
  readonly files: ChangedFile[] = []
  /** Names of files that are too large or cannot be read. */
  readonly left_out: string[] = []
  /** Git repositories inside the repository, whose content no patch can hold. */
  readonly embedded: string[] = []
  unreadable = false
  readonly #room: Room
  readonly #prefix: string
  #state: 'unreadable' | 'omitted' | 'changed' | 'patch' = 'unreadable'
  /** Bytes of a token or of a line's beginning, whose end is still to come. */
  #rest: Buffer = Buffer.alloc(0)
  /** Tokens of a record, as far as they have come. */
  #tokens: string[] = []
  readonly #named = new Map<string, Named>()
  /** In the order of the patch; of a file that is null nothing is to be kept. */
  readonly #parts: Array<{ file: ChangedFile | null; headers: number }> = []
  #part = -1
  /** Lines that go on with the part which is being read as they begin others. */
  #headers_left = 0
  #held: Buffer[] = []
  #held_bytes = 0
  #is_dropped = false

  /** `prefix`: stands before every name. */
  constructor(prefix: string, room: Room) {
    this.#prefix = prefix
    this.#room = room
  }

  /** Takes the next piece; returns what of the patch is whole and kept by now. */
  push(data: Uint8Array): Buffer[] {
    let rest = Buffer.concat([this.#rest, data])
    while (this.#state !== 'patch') {
      const end = rest.indexOf(0)
      if ((end < 0 ? rest.length : end) > MAX_TOKEN_BYTES)
        throw new UnreadableDiff('git printed a name without an end')
      if (end < 0) {
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
    if (!is_whole)
      for (const { file, is_gitlink } of this.#named.values())
        if (!is_gitlink) this.files.push({ ...file, omitted: true })
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
    const [first = '', path = '', new_path = ''] = this.#tokens
    if (first.startsWith(':')) {
      const is_renamed = first.includes(' R')
      if (this.#tokens.length < (is_renamed ? 3 : 2)) return
      this.#name(first, path, is_renamed ? new_path : undefined)
    } else {
      const [additions, deletions, ...counted] = first.split('\t')
      // A renamed file's two names follow.
      const counted_path = counted.join('\t')
      if (counted_path === '' && this.#tokens.length < 3) return
      this.#count(counted_path || new_path, additions, deletions)
    }
    this.#tokens = []
  }

  /** A record as `:100644 100755 1111111 0000000 M`, and its name or names. */
  #name(record: string, path: string, renamed_to: string | undefined): void {
    this.#room.files -= 1
    this.#room.characters -= path.length + (renamed_to?.length ?? 0)
    if (this.#room.files < 0 || this.#room.characters < 0) throw new UnreadableDiff('too many files differ')
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
      this.left_out.push(file.path)
      return
    }
    if (new_mode === GITLINK) this.embedded.push(file.path)
    this.#named.set(renamed_to ?? path, {
      file,
      is_retyped: letter === 'T',
      // What was one before is there to be pointed elsewhere.
      is_gitlink: new_mode === GITLINK && old_mode !== GITLINK,
    })
  }

  /** Files without counts, whose times alone have changed, have no part of the patch either. */
  #count(path: string, additions: string | undefined, deletions: string | undefined): void {
    const named = this.#named.get(path)
    if (!named) throw new UnreadableDiff('git counted what it had not named')
    this.#named.delete(path)
    const { file, is_retyped, is_gitlink } = named
    this.#parts.push({ file: is_gitlink ? null : file, headers: is_retyped ? 2 : 1 })
    if (is_gitlink) return
    this.files.push(file)
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
        for (const piece of this.#release()) kept.push(piece)
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
    if (this.#is_dropped || data.length === 0) return
    this.#held.push(data)
    this.#held_bytes += data.length
    const { file_bytes, bytes } = this.#room
    if (this.#held_bytes > Math.min(file_bytes, bytes)) this.#drop()
  }

  #drop(): void {
    const file = this.#parts[this.#part]?.file
    if (file) {
      file.omitted = true
      this.left_out.push(file.path)
    }
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
