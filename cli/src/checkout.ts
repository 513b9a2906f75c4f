import { copyFile, lstat, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import type { ChangedFile } from '@runyard/client'
import { currentProcess } from './current-process.ts'
import { CommandFailure, usageFailure } from './failure.ts'
import { type GitResult, joinReasons, readNames, reasonOf, runGit } from './git.ts'

/** A patch, and how many folders its names have before those of the checkout. */
export interface AppliedPatch {
  patch: Buffer
  strip: 1 | 2
}

/** What would become of a patch. `files`: what it changes here, without those that conflict. */
export type Plan =
  | { outcome: 'clean' | 'conflicts'; files: ChangedFile[]; conflicts: string[] }
  | { outcome: 'applied already' }
  | { outcome: 'refused'; reason: string; is_in_the_way: boolean }

const APPLY = ['apply', '--binary', '--whitespace=nowarn']

/** The git checkout that a directory is in. */
export class Checkout {
  readonly top: string

  private constructor(top: string) {
    this.top = top
  }

  static async find(directory: string): Promise<Checkout> {
    const found = await runGit(['rev-parse', '--show-toplevel'], { directory })
    if (found.code === 0) return new Checkout(found.stdout.toString().replace(/\n$/, ''))
    const is_none = /not a git repository|must be run in a work tree/.test(found.stderr)
    const message = is_none ? 'This folder is in no git checkout.' : reasonOf(found)
    throw usageFailure(message, 'change to the checkout that is to have the changes')
  }

  get name(): string {
    return basename(this.top)
  }

  async hasCommit(commit: string): Promise<boolean> {
    return (await this.#git(['cat-file', '-e', `${commit}^{commit}`])).code === 0
  }

  /** Tracked files that are not as they were committed. */
  async listUncommitted(): Promise<string[]> {
    const listed = await this.#expect([
      ...['status', '--porcelain=v1', '-z', '--no-renames', '--untracked-files=no'],
      '--ignore-submodules=dirty',
    ])
    return readNames(listed).map((entry) => entry.slice(3))
  }

  /** Files that have conflicts, of whatever origin. */
  async listConflicts(environment?: NodeJS.ProcessEnv): Promise<string[]> {
    const listed = readNames(await this.#expect(['ls-files', '--unmerged', '-z'], { environment }))
    return [...new Set(listed.map((entry) => entry.slice(entry.indexOf('\t') + 1)))]
  }

  /**
   * Works out what `apply` would do, and changes nothing: git works on a copy of the index and keeps objects in a folder of
   * its own. The working tree is looked at here, since `git apply --check` puts deleted files back into it.
   */
  async plan({ patch, strip }: AppliedPatch): Promise<Plan> {
    const scratch = await mkdtemp(join(tmpdir(), 'runyard-apply-'))
    try {
      const environment = await this.#scratchEnvironment(scratch)
      const git = (args: string[], input?: Buffer) => this.#git(args, { environment, input })
      // Without it, a file that was only touched would count as changed.
      await git(['update-index', '-q', '--refresh'])
      const before = (await this.#expect(['write-tree', '--missing-ok'], { environment })).toString().trim()
      const unstaged = readNames(await this.#expect(['diff-files', '--name-only', '-z'], { environment }))
      const merged = await git([...APPLY, `-p${strip}`, '--cached', '--3way'], patch)
      const conflicts = await this.listConflicts(environment)
      if (merged.code !== 0 && conflicts.length === 0) {
        if (/--cached and --3way cannot be used together/.test(merged.stderr)) throw tooOld()
        if (await this.#isApplied(patch, strip)) return { outcome: 'applied already' }
        // Where it does not try to merge, git says more plainly what is wrong.
        const plain = await git([...APPLY, `-p${strip}`, '--cached', '--check'], patch)
        const reason = reasonOf(plain.code === 0 ? merged : plain)
        return { outcome: 'refused', reason, is_in_the_way: false }
      }
      const compared = await this.#expect(
        ['diff-index', '--cached', '--raw', '--numstat', '-z', '--find-renames', before],
        { environment },
      )
      const files = readChanges(compared).filter(({ path }) => !conflicts.includes(path))
      if (files.length + conflicts.length === 0) return { outcome: 'applied already' }
      const in_the_way = await this.#listInTheWay(files, conflicts, unstaged)
      const is_clean = in_the_way.length + conflicts.length === 0
      if (!is_clean && (await this.#isApplied(patch, strip))) return { outcome: 'applied already' }
      if (in_the_way.length > 0)
        return { outcome: 'refused', reason: joinReasons(in_the_way), is_in_the_way: true }
      return { outcome: is_clean ? 'clean' : 'conflicts', files, conflicts }
    } finally {
      await rm(scratch, { recursive: true, force: true })
    }
  }

  /** What the working tree has and the index has not, where the patch would write. */
  async #listInTheWay(files: ChangedFile[], conflicts: string[], unstaged: string[]): Promise<string[]> {
    const touched = files.flatMap(({ path, previous_path }) => [
      path,
      ...(previous_path ? [previous_path] : []),
    ])
    const changed = new Set(unstaged)
    const found = [...touched, ...conflicts]
      .filter((path) => changed.has(path))
      .map((path) => `${path} has changes of yours that are not staged`)
    // They make room for others of the same name.
    const leaving = files.flatMap(({ path, previous_path, status }) =>
      status === 'deleted' ? [path] : previous_path ? [previous_path] : [],
    )
    for (const { path, status } of files) {
      if ((status === 'added' || status === 'renamed') && !changed.has(path)) {
        const there = await this.#findThere(path)
        if (there !== null && !leaving.some((each) => each === there || each.startsWith(`${there}/`)))
          found.push(`${there} is there already, and not in git`)
      }
    }
    return found
  }

  /** The file of this path, or what is there instead of a folder on the way to it. */
  async #findThere(path: string): Promise<string | null> {
    const parts = path.split('/')
    for (let count = 1; count <= parts.length; count += 1) {
      const part = parts.slice(0, count).join('/')
      const found = await lstat(join(this.top, part)).catch(() => null)
      if (found === null) return null
      if (
        !found.isDirectory() ||
        (count === parts.length && (await readdir(join(this.top, part))).length > 0)
      )
        return part
    }
    return null
  }

  /** Takes the patch over, into the index too; returns the files that conflict. All or, where git refuses, nothing. */
  async apply({ patch, strip }: AppliedPatch): Promise<string[]> {
    await this.#git(['update-index', '-q', '--refresh'])
    const applied = await this.#git([...APPLY, `-p${strip}`, '--3way'], { input: patch })
    if (applied.code === 0) return []
    const conflicts = await this.listConflicts()
    if (conflicts.length === 0)
      throw new CommandFailure(`The changes were not applied: ${reasonOf(applied)}.`)
    return conflicts
  }

  /** Binary files and links have none. */
  async hasMarkers(file: string): Promise<boolean> {
    const content = await readFile(join(this.top, file)).catch(() => null)
    return content?.includes('<<<<<<< ') ?? false
  }

  /** Without the index: somebody may have taken it over by `git apply` alone. */
  async #isApplied(patch: Buffer, strip: number): Promise<boolean> {
    const reversed = await this.#git([...APPLY, `-p${strip}`, '--check', '--reverse'], { input: patch })
    return reversed.code === 0
  }

  async #scratchEnvironment(scratch: string): Promise<NodeJS.ProcessEnv> {
    const pathOf = async (name: string): Promise<string> => {
      const path = await this.#expect(['rev-parse', '--git-path', name])
      return resolve(this.top, path.toString().replace(/\n$/, ''))
    }
    const [index, objects] = await Promise.all([pathOf('index'), pathOf('objects')])
    const { GIT_ALTERNATE_OBJECT_DIRECTORIES: alternates } = currentProcess().env
    const environment = {
      GIT_INDEX_FILE: join(scratch, 'index'),
      GIT_OBJECT_DIRECTORY: join(scratch, 'objects'),
      // Quoted, since a colon parts them.
      GIT_ALTERNATE_OBJECT_DIRECTORIES: [JSON.stringify(objects), ...(alternates ? [alternates] : [])].join(
        ':',
      ),
    }
    await mkdir(environment.GIT_OBJECT_DIRECTORY)
    // Where nothing was ever added, there is none.
    await copyFile(index, environment.GIT_INDEX_FILE).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
    return environment
  }

  #git(args: readonly string[], options: Partial<Parameters<typeof runGit>[1]> = {}): Promise<GitResult> {
    return runGit(args, { directory: this.top, ...options })
  }

  async #expect(args: string[], options: Partial<Parameters<typeof runGit>[1]> = {}): Promise<Buffer> {
    const result = await this.#git(args, options)
    if (result.code !== 0) throw new CommandFailure(`git ${args[0]} failed: ${reasonOf(result)}.`)
    return result.stdout
  }
}

const tooOld = (): CommandFailure =>
  new CommandFailure('This git is too old: 2.32 is needed.', {
    hint: 'update git, or apply the patch yourself: `runyard diff RUN_ID | git apply --3way`',
  })

const STATUS: Partial<Record<string, ChangedFile['status']>> = { A: 'added', D: 'deleted', R: 'renamed' }

/** What `--raw --numstat -z` prints: see the RAW OUTPUT FORMAT in git-diff-index(1). */
function readChanges(output: Buffer): ChangedFile[] {
  const tokens = readNames(output)
  const files = new Map<string, ChangedFile>()
  for (let at = 0; at < tokens.length; at += 1) {
    const first = tokens[at] ?? ''
    if (first.startsWith(':')) {
      const letter = first.split(' ')[4]?.[0] ?? ''
      const previous_path = letter === 'R' ? tokens[++at] : undefined
      const path = tokens[++at] ?? ''
      files.set(path, {
        path,
        ...(previous_path === undefined ? {} : { previous_path }),
        status: STATUS[letter] ?? 'modified',
        additions: 0,
        deletions: 0,
      })
      continue
    }
    const [additions = '', deletions = '', ...counted] = first.split('\t')
    let path = counted.join('\t')
    // A renamed file's two names follow.
    if (path === '') {
      at += 2
      path = tokens[at] ?? ''
    }
    const file = files.get(path)
    if (!file) continue
    if (additions === '-') file.binary = true
    else Object.assign(file, { additions: Number(additions), deletions: Number(deletions) })
  }
  return [...files.values()]
}
