import { randomBytes } from 'node:crypto'
import {
  chownSync,
  constants,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  type Stats,
  statSync,
} from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import type { GatewayArguments } from './gateway-pipe.ts'

/** The user of gateways that root started; those of sandboxes come after it. */
const UID = 0x5fff_ffff
const PREFIX = 'runyard-gateway-'
/** A socket that is listened to while the gateway of the place lives. */
const LIFE = 'life'
/** One that has just been made has no gateway yet. */
const SETTLED_MS = 60_000

/** Where a gateway's sockets are to be: each name is chosen once. Paths of Unix sockets have 107 bytes at most. */
export function choosePlace(): GatewayArguments {
  const uid = process.getuid?.() === 0 ? UID : null
  const name = `${PREFIX}${randomBytes(8).toString('hex')}`
  const fits = Buffer.byteLength(tmpdir()) <= 32 && (uid === null || isForAll(tmpdir()))
  return { directory: join(fits ? tmpdir() : '/tmp', name), uid }
}

/** Root may have a temporary folder of its own, where the gateway's user could not get in, or not remove what it made. */
const isForAll = (folder: string): boolean =>
  (modeOf(folder) & constants.S_IWOTH) !== 0 && canBePassed(folder)

const canBePassed = (path: string): boolean =>
  (modeOf(path) & constants.S_IXOTH) !== 0 && (path === '/' || canBePassed(dirname(path)))

const modeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mode ?? 0

/** Throws where somebody else has taken the place. */
export function makePlace({ directory, uid }: GatewayArguments): void {
  try {
    mkdirSync(directory, { mode: 0o700 })
    if (uid !== null) chownSync(directory, uid, uid)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    if (!isOurs(lstatSync(directory), uid)) throw new Error(`${directory} is not the gateway’s.`)
  }
}

/** Says that the gateway of the place lives, until this process ends. */
export function showLife({ directory }: GatewayArguments): void {
  const life = join(directory, LIFE)
  // Of one before that was killed.
  rmSync(life, { force: true })
  createServer((socket) => socket.destroy())
    .on('error', () => {})
    .listen(life)
    .unref()
}

/** Removes what gateways left beside this place that were killed together with their workers. */
export async function removeOldPlaces({ directory, uid }: GatewayArguments): Promise<void> {
  const folder = dirname(directory)
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(PREFIX) || name === basename(directory)) continue
    const path = join(folder, name)
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (!found || !isOurs(found, uid) || Date.now() - found.mtimeMs < SETTLED_MS) continue
    if (await isDead(path)) rmSync(path, { recursive: true, force: true })
  }
}

const isDead = (directory: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(join(directory, LIFE))
    socket.on('connect', () => {
      socket.destroy()
      resolve(false)
    })
    socket.on('error', ({ code }: NodeJS.ErrnoException) =>
      resolve(code === 'ECONNREFUSED' || code === 'ENOENT'),
    )
  })

const isOurs = (found: Stats, uid: number | null): boolean =>
  found.isDirectory() && found.uid === (uid ?? process.getuid?.())
