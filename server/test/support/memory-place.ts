import { cpSync, existsSync, mkdtempSync, readdirSync, statfsSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
/** What the databases of all tests together are far below. */
const PLENTY_BYTES = 4 * 1024 ** 3

/** In memory where there is plenty: a database is hundreds of files, which some disks are slow to make. */
export function placeOfDatabases(): string {
  const { bavail, bsize } = existsSync(MEMORY) ? statfsSync(MEMORY) : { bavail: 0, bsize: 0 }
  return bavail * bsize > PLENTY_BYTES ? MEMORY : tmpdir()
}

/** Makes the database of a data directory a link to a copy of the empty one in `cache`; returns where, to be removed. */
export function linkDatabase(data_dir: string, cache: string): string | null {
  const place = placeOfDatabases()
  const empty = existsSync(cache) && readdirSync(cache).find((name) => /^database-\d/.test(name))
  if (!empty || place !== MEMORY || existsSync(join(data_dir, 'db'))) return null
  const directory = mkdtempSync(join(place, 'runyard-database-'))
  cpSync(join(cache, empty), directory, { recursive: true })
  symlinkSync(directory, join(data_dir, 'db'))
  return directory
}
