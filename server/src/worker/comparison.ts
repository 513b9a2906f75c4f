import type { ChangedFile, Changes, ComparedRepository } from '../contract/diff.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { Commits } from '../store/sandboxes.ts'
import { compareRepository } from './compare-repository.ts'
import type { Room } from './diff-reader.ts'
import type { EventWriter } from './event-writer.ts'

type Masked = Pick<EventWriter['masked'], 'text'>

const MiB = 1024 ** 2
const PATCH_BYTES = 32 * MiB
const FILE_BYTES = 10 * MiB
/** Files that are listed, and characters of their paths; the counts are of all. */
const LISTED = 1_000
const LISTED_CHARACTERS = 256 * 1024
/** Names in a note. */
const SHOWN = 10
const SHOWN_CHARACTERS = 200
const MAX_FILES = 100_000
const MAX_CHARACTERS = 16 * MiB
/** For all repositories together. */
const COMPARE_MS = 60_000

/** What differs in all repositories of a workspace, compared one after the other. */
export class Comparison {
  readonly #repositories: ComparedRepository[]
  readonly #room: Room
  readonly #masked: Masked
  readonly #files: ChangedFile[] = []
  readonly #left_out: string[] = []
  readonly #notes: string[] = []

  /** `bytes`: what a patch may take up beside the limits for every patch. Names of files are masked. */
  constructor(commits: Commits, bytes: number, masked: Masked) {
    // In an order of their own: the database keeps another one than the environment has.
    this.#repositories = Object.entries(commits)
      .map(([directory, base_commit]) => ({ directory, base_commit }))
      .sort((a, b) => (a.directory < b.directory ? -1 : 1))
    this.#room = {
      file_bytes: FILE_BYTES,
      bytes: Math.min(PATCH_BYTES, bytes),
      files: MAX_FILES,
      characters: MAX_CHARACTERS,
    }
    this.#masked = masked
  }

  /** Yields the patch. What is said of it is whole when this has ended. Throws `SandboxFault`. */
  async *compare(
    sandbox: Sandbox,
    signal: AbortSignal,
    onProblem: (directory: string, said: string) => void,
  ): AsyncGenerator<Buffer> {
    const deadline = performance.now() + COMPARE_MS
    for (const { directory, base_commit } of this.#repositories) {
      if (signal.aborted) return
      const prefix = this.#repositories.length > 1 ? `${directory}/` : ''
      const room = this.#room
      const timeout_ms = Math.max(1, deadline - performance.now())
      const { reader, problem, said } = yield* compareRepository(sandbox, {
        ...{ directory, base_commit, prefix, room, timeout_ms, signal },
      })
      for (const file of reader.files) this.#files.push(file)
      for (const name of reader.left_out) this.#left_out.push(name)
      if (problem) {
        onProblem(directory, said)
        this.#notes.push(`The changes in ${directory} are not all here: ${problem}.`)
      }
      if (reader.unreadable)
        this.#notes.push(`Some files in ${directory} are not in the patch: git cannot read or add them.`)
      if (reader.embedded.length > 0)
        this.#notes.push(
          `What git repositories inside ${directory} hold is not in the patch: ${list(reader.embedded)}.`,
        )
    }
  }

  /** Says something more, before all else. */
  note(text: string): void {
    this.#notes.push(text)
  }

  notes(): string[] {
    const left_out = `Too large for the patch, or not readable: ${list(this.#left_out)}. It holds up to ${FILE_BYTES / MiB} MiB of a file and ${PATCH_BYTES / MiB} MiB in all, within what the run may keep.`
    return [...this.#notes, ...(this.#left_out.length > 0 ? [left_out] : [])].map((note) =>
      this.#masked.text(note),
    )
  }

  changes(): Changes {
    const sum = (key: 'additions' | 'deletions') => this.#files.reduce((all, file) => all + file[key], 0)
    return {
      repositories: this.#repositories,
      files: this.#listed(),
      files_changed: this.#files.length,
      additions: sum('additions'),
      deletions: sum('deletions'),
      notes: this.notes(),
    }
  }

  #listed(): ChangedFile[] {
    let room = LISTED_CHARACTERS
    const listed = this.#files.slice(0, LISTED).filter(({ path, previous_path = '' }) => {
      room -= path.length + previous_path.length
      return room >= 0
    })
    return listed.map((file) => ({
      ...file,
      path: this.#masked.text(file.path),
      ...(file.previous_path === undefined ? {} : { previous_path: this.#masked.text(file.previous_path) }),
    }))
  }
}

const list = (names: readonly string[]): string =>
  names
    .slice(0, SHOWN)
    .map((name) => (name.length > SHOWN_CHARACTERS ? `${name.slice(0, SHOWN_CHARACTERS)}…` : name))
    .join(', ') + (names.length > SHOWN ? ` and ${names.length - SHOWN} more` : '')
