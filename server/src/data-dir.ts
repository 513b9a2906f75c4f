import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { AppError } from './contract/error.ts'

/** Another process holds the lock of the data directory. */
export class DataDirInUse extends AppError {}

/** Holds the directory for this process alone until `release` or its death: the lock is the kernel's, not a file's age. */
export function lockDataDir(data_dir: string): { release(): void } {
  mkdirSync(data_dir, { recursive: true, mode: 0o700 })
  // SQLite's exclusive lock is an fcntl lock: it goes with the process, however that ends.
  const lock = new DatabaseSync(join(data_dir, 'lock'))
  try {
    lock.exec('pragma locking_mode = exclusive; begin exclusive')
  } catch (error) {
    lock.close()
    if (!(error instanceof Error) || !/locked/.test(error.message)) throw error
    throw new DataDirInUse(
      'conflict',
      `Another runyard process uses the data directory ${data_dir}. Stop it, or give this one another with --data-dir.`,
      { cause: error },
    )
  }
  return { release: () => lock.close() }
}

/** The installation's secret: the one configured, else the directory's own, made at the first start. */
export function readSecretKey(data_dir: string, configured: string | undefined): string {
  if (configured) return configured
  mkdirSync(data_dir, { recursive: true, mode: 0o700 })
  const file = join(data_dir, 'secret-key')
  try {
    // Two processes may start at once: only one makes the file, both read it.
    writeFileSync(file, `${randomBytes(32).toString('base64url')}\n`, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
  return readFileSync(file, 'utf8').trim()
}
