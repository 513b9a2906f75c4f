import { randomBytes } from 'node:crypto'
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { AppError } from './contract/error.ts'
import { deriveKey } from './sealing/derive-key.ts'

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
    hideFromGit(data_dir)
  } catch (error) {
    throw refusalFor(error, data_dir) ?? error
  }
}

const GITIGNORE = '.gitignore'

/** `dev` is started in people's checkouts, and whoever adds everything would publish the keys. */
function hideFromGit(data_dir: string): void {
  // A folder with other things is somebody's checkout, perhaps.
  if (readdirSync(data_dir).length > 0 && !isOurs(data_dir)) return
  try {
    writeFileSync(join(data_dir, GITIGNORE), '*\n', { flag: 'wx' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
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

/**
 * Whether the directory is there; changes nothing. Throws like `prepareDataDir` when a start could not use it, or could not
 * make it.
 */
export function checkDataDir(data_dir: string): boolean {
  let nearest = data_dir
  while (!existsSync(nearest) && dirname(nearest) !== nearest) nearest = dirname(nearest)
  try {
    if (!statSync(nearest).isDirectory()) throw Object.assign(new Error(), { code: 'ENOTDIR' })
    if (nearest === data_dir) mustBeClosed(data_dir)
    accessSync(nearest, constants.W_OK | constants.X_OK)
    return nearest === data_dir
  } catch (error) {
    throw refusalFor(error, data_dir) ?? error
  }
}

function requireOwn(data_dir: string): void {
  if (!mustBeClosed(data_dir)) return
  chmodSync(data_dir, 0o700)
  // For the day on which they are copied elsewhere. Blobs are made private; sandboxes have users of their own.
  for (const name of ['lock', 'secret-key', 'client.json', 'db']) closeTree(join(data_dir, name))
}

/** Whether other users can get into the directory, which is this user's. Throws where it is not, or holds other things. */
function mustBeClosed(data_dir: string): boolean {
  const uid = process.getuid?.()
  if (uid === undefined) return false
  const link = lstatSync(data_dir)
  // Whoever owns the link decides where it leads.
  if (link.isSymbolicLink() && link.uid !== uid && link.uid !== 0)
    throw refuse(data_dir, OTHERS(link.uid, uid))
  const { mode, uid: owner } = statSync(data_dir)
  if (owner !== uid) throw refuse(data_dir, OTHERS(owner, uid))
  if ((mode & 0o077) === 0) return false
  const names = readdirSync(data_dir).filter((name) => name !== GITIGNORE)
  if ((mode & STICKY) !== 0 || (names.length > 0 && !isOurs(data_dir))) {
    throw refuse(
      data_dir,
      'is used for other things too, and a data directory is closed to all other users. Choose an empty one',
    )
  }
  return true
}

const isOurs = (data_dir: string): boolean => OURS.some((path) => existsSync(join(data_dir, ...path)))

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
const NO_FILES =
  'is on a disk that takes no more files (it has no free inodes). Remove some files, or choose another place'
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

/** What has nothing to do with one file of the directory but with the disk below. */
const OF_THE_DISK = new Set(['ENOSPC', 'EDQUOT', 'EROFS', '53100'])

/**
 * What is wrong with the directory, where that is what the error or its cause is about. What names another path, or comes from
 * another part of the system, is left as it is.
 */
export function explainDataDir(error: unknown, data_dir: string): unknown {
  for (let cause = error; cause instanceof Error && !(cause instanceof AppError); cause = cause.cause) {
    const { code, path, syscall } = cause as NodeJS.ErrnoException
    // PGlite's files say neither; a write to an open file has no path.
    const ours = path === undefined ? !syscall || OF_THE_DISK.has(String(code)) : isWithin(path, data_dir)
    const refusal = ours ? refusalFor(cause, data_dir) : null
    if (refusal) return refusal
  }
  return error
}

const isWithin = (path: string, data_dir: string): boolean =>
  path === data_dir || path.startsWith(data_dir.endsWith('/') ? data_dir : `${data_dir}/`)

function refusalFor(error: unknown, data_dir: string): AppError | null {
  const code = String((error as { code?: unknown } | null)?.code)
  const why = error instanceof AppError ? undefined : FAULTS[code]
  if (!why) return null
  return refuse(data_dir, code === 'ENOSPC' && !hasRoomForFiles(data_dir) ? NO_FILES : why)
}

/** Whether the disk of the directory, which may not be there yet, takes one more file. */
function hasRoomForFiles(path: string): boolean {
  try {
    const { files, ffree } = statfsSync(path)
    return files === 0 || ffree > 0
  } catch {
    return dirname(path) === path || hasRoomForFiles(dirname(path))
  }
}

/** Holds the directory for this process alone until `release` or its death: the lock is the kernel's, not a file's age. */
export function lockDataDir(data_dir: string): { release(): void } {
  prepareDataDir(data_dir)
  makeLockFile(data_dir)
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

/** SQLite would not say why it cannot. One that is there is not opened here: closing it would end the lock of this process. */
function makeLockFile(data_dir: string): void {
  try {
    closeSync(openSync(join(data_dir, 'lock'), 'wx', 0o600))
  } catch (error) {
    if (!isThere(error)) throw refusalFor(error, data_dir) ?? error
  }
}

const isThere = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'EEXIST'

/** Some file systems know no links. */
function linkOrRename(from: string, to: string): void {
  try {
    linkSync(from, to)
  } catch (error) {
    if (!/^(EPERM|ENOTSUP|ENOSYS)$/.test(String((error as NodeJS.ErrnoException).code))) throw error
    renameSync(from, to)
  }
}

/** What may be stored of the secret to tell it from another. */
export const fingerprintOf = (secret: string): string =>
  deriveKey(secret, 'fingerprint').toString('base64url').slice(0, 16)

/** The installation's secret: the one configured, else the directory's own, made at the first start. */
export function readSecretKey(data_dir: string, configured: string | undefined): string {
  if (configured) return configured
  prepareDataDir(data_dir)
  const file = join(data_dir, 'secret-key')
  if (!existsSync(file)) makeSecretKey(data_dir, file)
  const secret = readFileSync(file, 'utf8').trim()
  if (secret) return secret
  throw refuse(
    data_dir,
    'has an empty file secret-key. Put the key back into it, or remove it to get another',
  )
}

/** Linked when it is whole, since a full disk takes files without their content. Of two processes that start at once one makes it. */
function makeSecretKey(data_dir: string, file: string): void {
  const draft = `${file}-${randomBytes(8).toString('hex')}`
  try {
    writeFileSync(draft, `${randomBytes(32).toString('base64url')}\n`, { flag: 'wx', mode: 0o600 })
    linkOrRename(draft, file)
  } catch (error) {
    if (!isThere(error)) throw refusalFor(error, data_dir) ?? error
  } finally {
    rmSync(draft, { force: true })
  }
}
