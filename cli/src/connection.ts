import { existsSync, linkSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { CommandFailure, EXIT, usageFailure } from './failure.ts'
import { readPrivately, userFolder, writePrivately } from './private-file.ts'
import { type Profile, readProfiles } from './profiles.ts'
import type { Traced, TracedConnection } from './used-connection.ts'

/** How a command reaches a service. */
export interface Connection {
  base_url: string
  api_key: string
}

export interface ConnectionSources {
  /** From --base-url, --api-key and --profile. */
  flags: Partial<Connection> & { profile?: string }
  environment: NodeJS.ProcessEnv
  /** Where the search for `.runyard/client.json` begins; it goes upwards. */
  directory: string
}

const FILE_NAME = 'client.json'

/**
 * Flags, then RUNYARD_BASE_URL and RUNYARD_API_KEY, then RUNYARD_PROFILE, then the nearest `.runyard/client.json`, then the login in
 * use, then the `client.json` of the user's configuration. A key only ever goes to the address it was given with: a stored key is used for its own address alone, and
 * a stored address gets a key from elsewhere only when it is on this machine or the user's own configuration names it.
 */
export function findConnection(sources: ConnectionSources): Connection {
  const { base_url, api_key } = traceConnection(sources)
  return { base_url: base_url.value, api_key: api_key.value }
}

/** The same, and where each part is from. */
export function traceConnection({ flags, environment, directory }: ConnectionSources): TracedConnection {
  if (flags.profile !== undefined) return connectProfile(flags, environment)
  const base_url =
    given(flags.base_url, '--base-url') ?? given(environment.RUNYARD_BASE_URL, 'RUNYARD_BASE_URL')
  const api_key = given(flags.api_key, '--api-key') ?? given(environment.RUNYARD_API_KEY, 'RUNYARD_API_KEY')
  if (base_url && api_key) return { base_url, api_key }
  const { current, profiles } = readProfiles(environment)
  const named = environment.RUNYARD_PROFILE
  const near = named ? ofProfile(findProfile(profiles, named)) : findUpwards(directory)
  const logins = profiles.map(ofProfile)
  const own = logins.find(({ name }) => name === current) ?? readConnection(userFile(environment))
  const shadows = (used: StoredConnection | undefined) =>
    used && used === near && own && own.file !== near.file ? { shadowed: own.file } : {}
  if (base_url) {
    const stored = [near, own, ...logins, readConnection(userFile(environment))].find(
      (file) => file && sameAddress(file.base_url, base_url.value),
    )
    if (stored) return { base_url, api_key: partOf(stored, 'api_key'), ...shadows(stored) }
    throw new CommandFailure(`No API key is known for ${base_url.value}.`, {
      hint: 'give one with --api-key or RUNYARD_API_KEY',
      exit_code: EXIT.usage,
    })
  }
  if (api_key) {
    const stored = [near && (named || isOnThisMachine(near.base_url)) ? near : null, own].find(
      (file) => file !== null,
    )
    const address = stored
      ? partOf(stored, 'base_url')
      : { value: 'http://127.0.0.1:4200', from: 'the default address' }
    return { base_url: address, api_key, ...shadows(stored) }
  }
  const stored = near ?? own
  if (stored)
    return {
      ...{ base_url: partOf(stored, 'base_url'), api_key: partOf(stored, 'api_key') },
      ...shadows(stored),
    }
  throw new CommandFailure('No Runyard server is known here.', {
    hint: 'start one with `runyard dev`, or log in to one: `runyard login URL`',
    exit_code: EXIT.unreachable,
  })
}

function connectProfile(
  { profile = '', base_url, api_key }: ConnectionSources['flags'],
  environment: NodeJS.ProcessEnv,
) {
  if (base_url !== undefined || api_key !== undefined)
    throw usageFailure(
      '--profile says where the server is and which key is used: leave --base-url and --api-key out.',
    )
  const stored = ofProfile(findProfile(readProfiles(environment).profiles, profile))
  return { base_url: partOf(stored, 'base_url'), api_key: partOf(stored, 'api_key') }
}

/** Throws where there is none of this name, and says which there are. */
export function findProfile(profiles: readonly Profile[], name: string): Profile {
  const found = profiles.find((profile) => profile.name === name)
  if (found) return found
  const names = profiles.map((profile) => profile.name)
  throw usageFailure(
    `There is no login "${name}".`,
    names.length > 0 ? `there are: ${names.join(', ')}` : '`runyard login URL` makes one',
  )
}

const ofProfile = (profile: Profile): StoredConnection & { name: string } => ({
  ...{
    name: profile.name,
    base_url: profile.base_url,
    file: profile.file,
    from: `the login ${profile.name}`,
  },
  get api_key() {
    return profile.api_key
  },
})

const given = (value: string | undefined, from: string): Traced | undefined =>
  value ? { value, from } : undefined

const partOf = (stored: StoredConnection, part: keyof Connection): Traced => ({
  value: stored[part],
  from: stored.from ?? stored.file,
  file: stored.file,
})

/** Whether commands are told of a service by a file. */
export const hasConnection = ({ directory, environment }: Omit<ConnectionSources, 'flags'>): boolean =>
  readProfiles(environment).current !== undefined ||
  (findUpwards(directory) ?? readConnection(userFile(environment))) !== null

/**
 * What became of the user's configuration: written, left alone because `dev` did not write it, or because another `dev` did
 * that still runs, not to be had (a user without a home, a disk that is read-only), or not wanted.
 */
export type UserFileFate = 'written' | 'foreign' | 'of another dev' | 'not to be had' | 'unwanted'

export interface Saved {
  file: string
  user_file: string
  fate: UserFileFate
}

/** Where the connection of a `dev` is stored, and whether the one of another folder still runs. */
export interface SavePlace {
  data_dir: string
  environment: NodeJS.ProcessEnv
  /** False: only the data directory is written to. */
  for_user: boolean
  isServed: (data_dir: string) => Promise<boolean>
}

/** Stores the connection where commands find it: in the data directory and in the user's configuration. */
export async function saveConnection(connection: Connection, place: SavePlace): Promise<Saved> {
  const { data_dir, environment, for_user } = place
  const file = join(data_dir, FILE_NAME)
  writePrivately(file, connection)
  const user_file = userFile(environment)
  const fate = for_user ? await saveForUser(user_file, connection, place).catch(isNotToBeHad) : 'unwanted'
  return { file, user_file, fate }
}

const NO_PLACE = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'ENOENT'])

function isNotToBeHad(error: unknown): 'not to be had' {
  if (error instanceof Error && 'code' in error && NO_PLACE.has(String(error.code))) return 'not to be had'
  throw error
}

/** Only a file that `dev` wrote says whose it is: by its data directory. */
async function saveForUser(
  file: string,
  connection: Connection,
  { data_dir, isServed }: SavePlace,
): Promise<UserFileFate> {
  const content = { ...connection, data_dir }
  if (!existsSync(file)) {
    // Somebody else may write it meanwhile.
    return writePrivately(file, content, linkSync) ? 'written' : 'foreign'
  }
  const writer = readWriter(file)
  if (writer === undefined) return 'foreign'
  if (writer !== data_dir && (await isServed(writer))) return 'of another dev'
  writePrivately(file, content)
  return 'written'
}

/** Takes back from the user's configuration what this `dev` wrote there: it leads nowhere once the server has stopped. */
export function forgetConnection(data_dir: string, environment: NodeJS.ProcessEnv): void {
  const file = userFile(environment)
  if (readWriter(file) === data_dir) rmSync(file, { force: true })
}

/** The data directory of the `dev` that wrote this file. */
function readWriter(file: string): string | undefined {
  try {
    const { data_dir } = JSON.parse(readFileSync(file, 'utf8')) as { data_dir?: unknown }
    return typeof data_dir === 'string' ? data_dir : undefined
  } catch {
    return undefined
  }
}

/** The key that was stored in this data directory, if any. */
export const readStoredKey = (data_dir: string): string | undefined =>
  readConnection(join(data_dir, FILE_NAME))?.api_key

interface StoredConnection extends Connection {
  file: string
  /** What it is called to people; default: the file. */
  from?: string
}

const userFile = (environment: NodeJS.ProcessEnv): string => join(userFolder(environment), FILE_NAME)

function findUpwards(start: string): StoredConnection | null {
  for (let directory = resolve(start); ; directory = dirname(directory)) {
    const found = readConnection(join(directory, '.runyard', FILE_NAME))
    if (found || dirname(directory) === directory) return found
  }
}

/** Null when there is no such file, or it is not a private one of this user: a cloned repository may hold one too. */
function readConnection(file: string): StoredConnection | null {
  const text = readPrivately(file)
  if (text === null) return null
  try {
    const { base_url, api_key } = JSON.parse(text) as Partial<Connection>
    if (typeof base_url === 'string' && typeof api_key === 'string') return { base_url, api_key, file }
  } catch {}
  throw new CommandFailure(`${file} is not a connection.`, {
    hint: 'delete it; `runyard dev` writes it anew',
    exit_code: EXIT.usage,
  })
}

const addressOf = (base_url: string): string => base_url.replace(/\/+$/, '').replace(/\/api\/v1$/, '')
export const sameAddress = (a: string, b: string): boolean => addressOf(a) === addressOf(b)

export function isOnThisMachine(base_url: string): boolean {
  const host = URL.parse(base_url)?.hostname ?? ''
  return host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host)
}
