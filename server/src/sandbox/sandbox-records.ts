import { createHash, randomUUID } from 'node:crypto'
import { chmod, link, lstat, mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { removeTrees } from './tree-removal.ts'

/** What is written in one go takes milliseconds; what is left of it after so long is of a killed process. */
const LEFT_AFTER_MS = 60_000

/** What is known of one sandbox kept in a directory of this place. */
export interface SandboxRecord<Details> {
  id: string
  run_id: string
  attempt: number
  created_at: number
  /** Counts the changes: the number of the file that holds this state. */
  version: number
  /** Being removed: nobody may use it again. */
  removed: boolean
  details: Details
}

/**
 * The sandboxes of one place, one directory each. Ownership is a chain of files `0001.json`,
 * `0002.json`, … of which the last counts. Each is linked into place complete and only if it is not there yet, so of
 * two processes that read the same state one wins and the other reads again: a compare-and-set that outlives both.
 */
export class SandboxRecords<Details> {
  readonly root: string

  constructor(root: string) {
    this.root = root
  }

  async open(): Promise<void> {
    await mkdir(this.root, { recursive: true })
    // Traversable, not listable: sandboxes run as users of their own.
    await chmod(this.root, 0o711)
  }

  /** An id of this directory, made once and kept in it: it goes where the disk goes. */
  async readPlace(): Promise<string> {
    const file = join(this.root, 'place')
    const draft = join(this.root, `place-${randomUUID()}`)
    // Linked when it is whole: of two processes that start at once one makes it and both read it.
    await writeFile(draft, randomUUID(), { mode: 0o600 })
    await link(draft, file).catch((error) => {
      if (error.code !== 'EEXIST') throw error
    })
    await rm(draft, { force: true })
    return (await readFile(file, 'utf8')).trim()
  }

  directory(id: string): string {
    return join(this.root, id)
  }

  /** Makes the record and its directory; `null` when this attempt already has one. */
  async create(run_id: string, attempt: number, details: Details): Promise<SandboxRecord<Details> | null> {
    // Named by run and creating attempt, which never come twice: a slow removal cannot hit a successor.
    const id = `${nameOfRun(run_id)}-${attempt}`
    await mkdir(this.directory(id), { recursive: true })
    const record = { id, run_id, attempt, version: 1, created_at: Date.now(), removed: false, details }
    return (await this.#append(record)) ? record : null
  }

  /** All of a run's sandboxes here, the latest attempt first; those being removed included. */
  async ofRun(run_id: string): Promise<Array<SandboxRecord<Details>>> {
    const prefix = `${nameOfRun(run_id)}-`
    const names = (await readdir(this.root)).filter((name) => name.startsWith(prefix))
    const records = await this.#readAll(names)
    return records.filter((record) => record.run_id === run_id).sort((a, b) => b.attempt - a.attempt)
  }

  /** Exists as soon as `record` is no longer the current state. */
  successorFile(record: SandboxRecord<Details>): string {
    return this.#file(record.id, record.version + 1)
  }

  async read(id: string): Promise<SandboxRecord<Details> | null> {
    const [name, before] = (await readEntries(this.directory(id))).filter(isRecordName).sort().reverse()
    if (!name) return null
    const readState = (file: string) => readFile(join(this.directory(id), file), 'utf8')
    try {
      const state = await readState(name)
      if (state !== '') return JSON.parse(state)
      // An empty file is a removal on a full disk; alone it is the end of one.
      if (before === undefined) return null
      return { ...JSON.parse(await readState(before)), version: Number.parseInt(name, 10), removed: true }
    } catch (error) {
      if (isMissing(error)) return null
      throw error
    }
  }

  /** Applies `change` to the state it was shown, however many others try; `null` from it leaves everything alone. */
  async update(
    id: string,
    change: (record: SandboxRecord<Details>) => SandboxRecord<Details> | null,
  ): Promise<SandboxRecord<Details> | null> {
    for (;;) {
      const last = await this.read(id)
      const changed = last && change(last)
      if (!changed) return null
      const next = { ...changed, version: last.version + 1 }
      if (await this.#append(next)) return next
    }
  }

  async list(): Promise<Array<SandboxRecord<Details>>> {
    return this.#readAll(await readdir(this.root))
  }

  /** Deletes the directory: the files first, the record last, so a removal cut short is found and finished. */
  async remove(id: string): Promise<void> {
    const entries = await readEntries(this.directory(id))
    const files = entries.filter((name) => !isRecordName(name))
    await removeTrees(files.map((name) => join(this.directory(id), name)))
    for (const name of entries.filter(isRecordName).sort())
      await rm(join(this.directory(id), name), { force: true })
    await rm(this.directory(id), { recursive: true, force: true })
  }

  /** Removes directories without a record, and drafts, whose processes were killed in between; how many they were. */
  async removeLeftovers(): Promise<number> {
    const names = await readdir(this.root)
    const sandboxes = names.filter((name) => /-\d+$/.test(name) && !isDraftOfPlace(name))
    const unrecorded: string[] = []
    for (const name of sandboxes) if ((await this.read(name)) === null) unrecorded.push(name)
    const left = await findOld(this.root, [...unrecorded, ...names.filter(isDraftOfPlace)])
    await removeTrees(left)
    return left.length
  }

  #file(id: string, version: number): string {
    return join(this.directory(id), `${String(version).padStart(6, '0')}.json`)
  }

  async #readAll(ids: string[]): Promise<Array<SandboxRecord<Details>>> {
    const records = await Promise.all(ids.map((id) => this.read(id)))
    return records.filter((record) => record !== null)
  }

  async #append(record: SandboxRecord<Details>): Promise<boolean> {
    const directory = this.directory(record.id)
    const draft = join(directory, `draft-${randomUUID()}`)
    try {
      await writeFile(draft, JSON.stringify(record), { mode: 0o600 }).catch(async (error) => {
        // A full disk must not keep what fills it: there is always room for an empty file.
        if (!(record.removed && error.code === 'ENOSPC')) throw error
        await truncate(draft)
      })
      await link(draft, this.#file(record.id, record.version))
      return true
    } catch (error) {
      if (isMissing(error) || (error instanceof Error && 'code' in error && error.code === 'EEXIST'))
        return false
      throw error
    } finally {
      await rm(draft, { force: true })
    }
  }
}

const isDraftOfPlace = (name: string) => name.startsWith('place-')

/** Paths of those entries that were last changed long ago. */
export async function findOld(directory: string, names: readonly string[]): Promise<string[]> {
  const found: string[] = []
  for (const path of names.map((name) => join(directory, name))) {
    const changed_at = (await lstat(path).catch(() => null))?.mtimeMs ?? Number.POSITIVE_INFINITY
    if (Date.now() - changed_at > LEFT_AFTER_MS) found.push(path)
  }
  return found
}

function nameOfRun(run_id: string): string {
  if (/^[A-Za-z0-9_]{1,64}$/.test(run_id) || /^[0-9a-f-]{36}$/.test(run_id)) return run_id
  return createHash('sha256').update(run_id).digest('hex').slice(0, 32)
}

const isRecordName = (name: string) => /^\d{6}\.json$/.test(name)

/** Names of what is in the directory; none where there is no such directory. */
export async function readEntries(directory: string): Promise<string[]> {
  try {
    return await readdir(directory)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')
}
