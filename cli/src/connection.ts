import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { CommandFailure, EXIT } from './failure.ts'

/** How a command reaches a service. */
export interface Connection {
  base_url: string
  api_key: string
}

export interface ConnectionSources {
  /** From --base-url and --api-key. */
  flags: Partial<Connection>
  environment: NodeJS.ProcessEnv
  /** Where the search for `.runyard/client.json` begins; it goes upwards. */
  directory: string
}

const FILE_NAME = 'client.json'

/**
 * Flags, then RUNYARD_BASE_URL and RUNYARD_API_KEY, then the nearest `.runyard/client.json`, then the one of the user's
 * configuration. A key only ever goes to the address it was given with: a stored key is used for its own address alone, and
 * a stored address gets a key from elsewhere only when it is on this machine or the user's own configuration names it.
 */
export function findConnection({ flags, environment, directory }: ConnectionSources): Connection {
  const base_url = flags.base_url || environment.RUNYARD_BASE_URL
  const api_key = flags.api_key || environment.RUNYARD_API_KEY
  if (base_url && api_key) return { base_url, api_key }
  const near = findUpwards(directory)
  const own = readConnection(userFile(environment))
  if (base_url) {
    const stored = [near, own].find((file) => file && sameAddress(file.base_url, base_url))
    if (stored) return { base_url, api_key: stored.api_key }
    throw new CommandFailure(`No API key is known for ${base_url}.`, {
      hint: 'give one with --api-key or RUNYARD_API_KEY',
      exit_code: EXIT.usage,
    })
  }
  if (api_key) {
    const stored = [near && isOnThisMachine(near.base_url) ? near : null, own].find(Boolean)
    return { base_url: stored?.base_url ?? 'http://127.0.0.1:4200', api_key }
  }
  const stored = near ?? own
  if (stored) return stored
  throw new CommandFailure('No Runyard server is known here.', {
    hint: 'start one with `runyard dev`, or set RUNYARD_BASE_URL and RUNYARD_API_KEY',
    exit_code: EXIT.unreachable,
  })
}

/** Stores the connection where commands find it: in the data directory and in the user's configuration. */
export function saveConnection(
  connection: Connection,
  data_dir: string,
  environment: NodeJS.ProcessEnv,
): string {
  const file = join(data_dir, FILE_NAME)
  writePrivately(file, connection)
  writePrivately(userFile(environment), connection)
  return file
}

/** The key that was stored in this data directory, if any. */
export const readStoredKey = (data_dir: string): string | undefined =>
  readConnection(join(data_dir, FILE_NAME))?.api_key

const userFile = (environment: NodeJS.ProcessEnv): string =>
  join(environment.XDG_CONFIG_HOME || join(environment.HOME || homedir(), '.config'), 'runyard', FILE_NAME)

function findUpwards(start: string): Connection | null {
  for (let directory = resolve(start); ; directory = dirname(directory)) {
    const found = readConnection(join(directory, '.runyard', FILE_NAME))
    if (found || dirname(directory) === directory) return found
  }
}

/** Null when there is no such file, or it is not a private one of this user: a cloned repository may hold one too. */
function readConnection(file: string): Connection | null {
  let text: string
  try {
    const { uid, mode } = statSync(file)
    const is_private = process.getuid === undefined || (uid === process.getuid() && (mode & 0o077) === 0)
    if (!is_private) return null
    text = readFileSync(file, 'utf8')
  } catch {
    return null
  }
  try {
    const { base_url, api_key } = JSON.parse(text) as Partial<Connection>
    if (typeof base_url === 'string' && typeof api_key === 'string') return { base_url, api_key }
  } catch {}
  throw new CommandFailure(`${file} is not a connection.`, {
    hint: 'delete it; `runyard dev` writes it anew',
    exit_code: EXIT.usage,
  })
}

function writePrivately(file: string, connection: Connection): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const temporary = `${file}.${randomUUID()}`
  writeFileSync(temporary, `${JSON.stringify(connection, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
  renameSync(temporary, file)
}

const addressOf = (base_url: string): string => base_url.replace(/\/+$/, '').replace(/\/api\/v1$/, '')
const sameAddress = (a: string, b: string): boolean => addressOf(a) === addressOf(b)

function isOnThisMachine(base_url: string): boolean {
  const host = URL.parse(base_url)?.hostname ?? ''
  return host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host)
}
