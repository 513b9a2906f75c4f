/**
 * Keys of a running `dev`, whose process alone may use the embedded database: JSON over a Unix socket in the data directory.
 * Its folder is 0700 and checked to be this user's own by both sides, and opened before it is used, so that nobody else
 * reaches the socket or puts another in its place.
 */
import { createHash } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fstatSync,
  mkdirSync,
  openSync,
  realpathSync,
  rmSync,
} from 'node:fs'
import { createServer, type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { z } from 'zod'
import { Role } from './contract/actor.ts'
import { AppError, ErrorCode } from './contract/error.ts'
import type { KeyListing, NewKey } from './store/api-keys.ts'

export interface KeyOrder {
  name: string
  role: Role
  /** A pool key: its role is `viewer`. */
  pool?: string | undefined
  principal_id?: string | undefined
}

/** What can be done with keys, here or in the process that has the database. */
export interface Keys {
  /** A key of this principal, else of a new one of the key's name. `null` when there is no such active principal. */
  create(options: KeyOrder): Promise<NewKey | null>
  /** A key in place of this one, which ends after `grace_ms`; `null` when it is not active. */
  rotate(key_id: string, grace_ms: number): Promise<NewKey | null>
  list(): Promise<KeyListing[]>
  /** False when there is no such key or it was revoked before. */
  revoke(key_id: string): Promise<boolean>
}

const Order = z.discriminatedUnion('do', [
  z.object({
    do: z.literal('create'),
    name: z.string(),
    role: Role,
    pool: z.string().optional(),
    principal_id: z.string().optional(),
  }),
  z.object({ do: z.literal('rotate'), key_id: z.string(), grace_ms: z.int().min(0) }),
  z.object({ do: z.literal('list') }),
  z.object({ do: z.literal('revoke'), key_id: z.string() }),
])
type Order = z.infer<typeof Order>

/** What the process answers. A fault is told as itself, so that the command says the same as at the database. */
const Answer = z.union([z.object({ value: z.unknown() }), z.object({ code: ErrorCode, detail: z.string() })])

const SOCKET = 'control.sock'
/** macOS takes 103 bytes, Linux 107. */
const LONGEST_PATH_BYTES = 100
const ANSWER_MS = 30_000
/** Names an open folder by few bytes, whatever its own path. */
const OPEN_FILES = '/proc/self/fd'

/** Answers until closed. The caller holds the lock of the directory, so a socket that is there is a dead one's. */
export async function serveKeys(data_dir: string, keys: Keys): Promise<() => Promise<void>> {
  const place = placeOf(data_dir)
  mkdirSync(place, { recursive: true, mode: 0o700 })
  const folder = openFolder(place, (fd) => fchmodSync(fd, 0o700))
  const socket = join(folder.path, SOCKET)
  const server = createServer((incoming, response) => {
    obey(keys, incoming).then(
      (value) => response.end(JSON.stringify({ value })),
      (error: unknown) => {
        const { code, detail } =
          error instanceof AppError ? error : new AppError('internal_error', String(error))
        response.end(JSON.stringify({ code, detail }))
      },
    )
  })
  try {
    rmSync(socket, { force: true })
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(socket, resolve))
    chmodSync(socket, 0o600)
  } catch (error) {
    server.close()
    folder.close()
    throw error
  }
  return async () => {
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
    folder.close()
  }
}

/** The keys of the process that serves this directory. Where none does, their methods fail as `isUnserved` says. */
export function reachKeys(data_dir: string): Keys {
  const send = async (order: Order): Promise<unknown> => {
    const folder = openFolder(placeOf(data_dir))
    try {
      const answer = Answer.parse(JSON.parse(await post(join(folder.path, SOCKET), JSON.stringify(order))))
      if ('code' in answer) throw new AppError(answer.code, answer.detail)
      return answer.value
    } finally {
      folder.close()
    }
  }
  return {
    create: async (order) => (await send({ do: 'create', ...order })) as NewKey | null,
    rotate: async (key_id, grace_ms) => (await send({ do: 'rotate', key_id, grace_ms })) as NewKey | null,
    list: async () => ((await send({ do: 'list' })) as KeyListing[]).map(reviveTimes),
    revoke: async (key_id) => (await send({ do: 'revoke', key_id })) as boolean,
  }
}

/** Whether a `dev` runs on this directory now. */
export async function isServed(data_dir: string): Promise<boolean> {
  try {
    await reachKeys(data_dir).list()
    return true
  } catch {
    return false
  }
}

/** Nobody was asked: there is no socket, or it is a dead process's. */
export const isUnserved = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ECONNREFUSED')

async function obey(keys: Keys, incoming: IncomingMessage): Promise<unknown> {
  const order = Order.parse(JSON.parse(await text(incoming)))
  if (order.do === 'create') return keys.create(order)
  if (order.do === 'rotate') return keys.rotate(order.key_id, order.grace_ms)
  return order.do === 'list' ? keys.list() : keys.revoke(order.key_id)
}

const post = (socketPath: string, body: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(ANSWER_MS)
    // No agent: the path names an open file, and the next one may have the same number.
    request({ socketPath, method: 'POST', signal, agent: false }, (response) => resolve(text(response)))
      .on('error', (error) =>
        reject(
          isUnserved(error)
            ? error
            : new AppError('resource_unavailable', 'The running `runyard dev` did not answer. Try again.', {
                cause: error,
              }),
        ),
      )
      .end(body)
  })

/** Where a path through an open folder is none, a long one needs another place. */
function placeOf(data_dir: string): string {
  const place = join(realpathSync(data_dir), 'control')
  if (existsSync(OPEN_FILES) || Buffer.byteLength(join(place, SOCKET)) <= LONGEST_PATH_BYTES) return place
  return join(tmpdir(), `runyard-${createHash('sha256').update(place).digest('hex').slice(0, 16)}`)
}

/** A folder that is this user's alone, held open, so that it stays the one that was checked. */
function openFolder(place: string, close_to_others?: (fd: number) => void): { path: string; close(): void } {
  const fd = openSync(place, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  const close = (): void => closeSync(fd)
  try {
    const { uid } = fstatSync(fd)
    if (uid === process.getuid?.()) close_to_others?.(fd)
    if (uid !== process.getuid?.() || (fstatSync(fd).mode & 0o077) !== 0) {
      throw new AppError(
        'conflict',
        `${place} is not a folder of this user alone. Run this as the user of \`runyard dev\` (uid ${uid}), or delete the folder.`,
      )
    }
    return { path: existsSync(OPEN_FILES) ? `${OPEN_FILES}/${fd}` : place, close }
  } catch (error) {
    close()
    throw error
  }
}

/** JSON has no times. */
function reviveTimes(key: KeyListing): KeyListing {
  const revive = (time: Date | null): Date | null => (time === null ? null : new Date(time))
  return {
    ...key,
    created_at: new Date(key.created_at),
    expires_at: revive(key.expires_at),
    grace_until: revive(key.grace_until),
    last_used_at: revive(key.last_used_at),
    revoked_at: revive(key.revoked_at),
  }
}
