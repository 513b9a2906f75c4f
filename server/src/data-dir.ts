import { randomBytes } from 'node:crypto'
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { AppError } from './contract/error.ts'
import { deriveKey } from './sealing/sealing.ts'

/** Another process holds the lock of the data directory. */
export class DataDirInUse extends AppError {}

const STICKY = 0o1000

/** What only a data directory holds; a directory without is somebody's, and is not closed to others. */
const OURS = [['secret-key'], ['db', 'PG_VERSION'], ['sandboxes', 'bubblewrap']]

/**
 * Makes the directory, for this user alone: everything in it relies on nobody else getting in. One that is there is
 * closed (0700) when it is this user's and refused otherwise. Throws `invalid_request` saying what to do.
 */
export function prepareDataDir(data_dir: string): void {
  try {
    makeDirectory(data_dir)
    requireOwn(data_dir)
    accessSync(data_dir, constants.W_OK | constants.X_OK)
  } catch (error) {
    throw explainDataDir(error, data_dir)
  }
}

/** Node's recursive way hides why it failed, and never ends below `/proc`. */
function makeDirectory(path: string): void {
  const make = (): string | undefined => {
    try {
      mkdirSync(path, 0o700)
      return undefined
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'ENOENT' && dirname(path) !== path) return code
      // There already, or on a read-only file system, where it may be there too.
      if (code === 'EEXIST' ? statSync(path).isDirectory() : isDirectory(path)) return undefined
      throw error
    }
  }
  if (make() === undefined) return
  makeDirectory(dirname(path))
  mkdirSync(path, 0o700)
}

const isDirectory = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

function requireOwn(data_dir: string): void {
  const uid = process.getuid?.()
  if (uid === undefined) return
  const link = lstatSync(data_dir)
  // Whoever owns the link decides where it leads.
  if (link.isSymbolicLink() && link.uid !== uid && link.uid !== 0)
    throw refuse(data_dir, OTHERS(link.uid, uid))
  const { mode, uid: owner } = statSync(data_dir)
  if (owner !== uid) throw refuse(data_dir, OTHERS(owner, uid))
  if ((mode & 0o077) === 0) return
  const names = readdirSync(data_dir)
  if (
    (mode & STICKY) !== 0 ||
    (names.length > 0 && !OURS.some((path) => existsSync(join(data_dir, ...path))))
  ) {
    throw refuse(
      data_dir,
      'is used for other things too, and a data directory is closed to all other users. Choose an empty one',
    )
  }
  chmodSync(data_dir, 0o700)
  // For the day on which they are copied elsewhere. Blobs are made private; sandboxes have users of their own.
  for (const name of ['lock', 'secret-key', 'client.json', 'db']) closeTree(join(data_dir, name))
}

/** Takes a tree away from other users. PGlite makes the files of a new database readable and writable for all. */
export function closeTree(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (!found || found.isSymbolicLink()) return
  chmodSync(path, found.mode & 0o700)
  if (found.isDirectory()) for (const name of readdirSync(path)) closeTree(join(path, name))
}

const OTHERS = (owner: number, uid: number): string =>
  `belongs to the user ${owner}, and this process runs as the user ${uid}. Run all processes of an installation as one user, or choose another directory`

const refuse = (data_dir: string, why: string): AppError =>
  new AppError('invalid_request', `The data directory ${data_dir} ${why} (--data-dir, RUNYARD_DATA_DIR).`)

const DISK_FULL = 'is on a full disk. Free some space, or choose another place'
const FAULTS: Record<string, string> = {
  EEXIST: 'is a file. Choose a directory',
  ENOTDIR: 'lies below a file. Choose another place',
  EACCES: 'cannot be written by this user. Choose one that can',
  EPERM: 'cannot be written by this user. Choose one that can',
  EROFS: 'is on a read-only file system. Choose another place',
  ENOSPC: DISK_FULL,
  EDQUOT: 'is over its quota. Free some space, or choose another place',
  ELOOP: 'is a link that leads to itself. Choose another place',
  ENAMETOOLONG: 'has too long a path. Choose a shorter one',
  ENOENT: 'cannot be made there, or is a link that leads nowhere. Choose another place',
  // PostgreSQL's word for a full disk, which the embedded one uses too.
  '53100': DISK_FULL,
}

/** What is wrong with the directory, where that is what the error is about. */
export function explainDataDir(error: unknown, data_dir: string): unknown {
  const code = String((error as { code?: unknown } | null)?.code)
  const why = error instanceof AppError ? undefined : FAULTS[code]
  return why ? refuse(data_dir, why) : error
}

/** Holds the directory for this process alone until `release` or its death: the lock is the kernel's, not a file's age. */
export function lockDataDir(data_dir: string): { release(): void } {
  prepareDataDir(data_dir)
  // SQLite's exclusive lock is an fcntl lock: it goes with the process, however that ends.
  const lock = new DatabaseSync(join(data_dir, 'lock'))
  try {
    lock.exec('pragma locking_mode = exclusive; begin exclusive')
  } catch (error) {
    lock.close()
    if (error instanceof Error && /disk is full/.test(error.message)) throw refuse(data_dir, DISK_FULL)
    if (!(error instanceof Error) || !/locked/.test(error.message)) throw error
    throw new DataDirInUse(
      'conflict',
      `Another runyard process uses the data directory ${data_dir}. Stop it, or give this one another with --data-dir.`,
      { cause: error },
    )
  }
  return { release: () => lock.close() }
}

/** What may be stored of the secret to tell it from another. */
export const fingerprintOf = (secret: string): string =>
  deriveKey(secret, 'fingerprint').toString('base64url').slice(0, 16)

/** The installation's secret: the one configured, else the directory's own, made at the first start. */
export function readSecretKey(data_dir: string, configured: string | undefined): string {
  if (configured) return configured
  prepareDataDir(data_dir)
  const file = join(data_dir, 'secret-key')
  try {
    // Two processes may start at once: only one makes the file, both read it.
    writeFileSync(file, `${randomBytes(32).toString('base64url')}\n`, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
  return readFileSync(file, 'utf8').trim()
}
