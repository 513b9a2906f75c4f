import {
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'

/** Of PGlite, which decides what an empty database is. */
const { version } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.resolve('@electric-sql/pglite')), 'utf8'),
) as { version: string }

const PREFIX = 'database-'
/** No process prepares one for so long: its draft is a leftover then. */
const LEFTOVER_MS = 3_600_000

/**
 * Puts the files of an empty database into `directory`, where there is none yet. They take seconds to make and are the same
 * for all, so they are made once (`make`, which also closes what it made) and kept in `cache` under the name of their `schema`.
 * Does nothing where that cannot be done: PGlite then makes them in `directory`, or says why not.
 */
export async function putEmptyDatabase(
  directory: string,
  cache: string,
  schema: string,
  make: (directory: string) => Promise<void>,
): Promise<void> {
  if (existsSync(join(directory, 'PG_VERSION'))) return
  // Whole or not at all: half a database would be taken for one at the next start.
  const draft = `${directory}-draft`
  try {
    const kept = join(cache, `${PREFIX}${version}-${schema}`)
    if (!existsSync(kept)) await keepEmptyDatabase(kept, cache, make)
    rmSync(draft, { recursive: true, force: true })
    copyTree(kept, draft)
    renameSync(draft, directory)
  } catch {
    rmSync(draft, { recursive: true, force: true })
  }
}

async function keepEmptyDatabase(
  kept: string,
  cache: string,
  make: (directory: string) => Promise<void>,
): Promise<void> {
  mkdirSync(cache, { recursive: true, mode: 0o700 })
  removeLeftovers(cache)
  const draft = mkdtempSync(join(cache, `${PREFIX}draft-`))
  try {
    await make(draft)
    // After a power cut an empty file here would spoil every database to come.
    await syncFiles(draft)
    renameSync(draft, kept)
  } catch (error) {
    rmSync(draft, { recursive: true, force: true })
    // Of two processes that start at once one keeps what it made.
    if (!existsSync(kept)) throw error
  }
}

/** Of other versions too. */
function removeLeftovers(cache: string): void {
  for (const name of readdirSync(cache).filter((name) => name.startsWith(PREFIX))) {
    const found = statSync(join(cache, name), { throwIfNoEntry: false })
    if (found && Date.now() - found.mtimeMs > LEFTOVER_MS)
      rmSync(join(cache, name), { recursive: true, force: true })
  }
}

function copyTree(from: string, to: string): void {
  mkdirSync(to, { mode: 0o700 })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const copy = entry.isDirectory()
      ? copyTree
      : (file: string, other: string) => copyFileSync(file, other, constants.COPYFILE_FICLONE)
    copy(join(from, entry.name), join(to, entry.name))
  }
}

async function syncFiles(directory: string): Promise<void> {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true })
  await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map(async (entry) => {
        const file = await open(join(entry.parentPath, entry.name))
        await file.sync().finally(() => file.close())
      }),
  )
}
