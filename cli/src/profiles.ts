import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { usageFailure } from './failure.ts'
import { forgetInKeyring, keepInKeyring, readFromKeyring } from './keyring.ts'
import { readPrivately, userFolder, writePrivately } from './private-file.ts'

/** A server that the user has logged in to, with the key that was made for it. */
export interface Profile {
  name: string
  base_url: string
  /** Read when it is asked for: the system's keyring may want a person to unlock it, and throws where nobody does. */
  readonly api_key: string
  /** The key was made for this login by the page, and by nobody used but here. */
  made_here: boolean
  /** Where the login is stored; of a key that is in the keyring, the key's id there. */
  file: string
}

/** Where the key of a login is. */
export type KeyPlace = 'keyring' | 'file'

export interface Profiles {
  /** The one that commands use. */
  current?: string
  profiles: Profile[]
}

/** The key itself, or its id in the keyring. */
type StoredKey = { api_key: string } | { keyring: string }

type StoredProfile = StoredKey & { base_url: string; made_here?: boolean }

interface Stored {
  current?: string
  profiles: Record<string, StoredProfile>
}

const fileOf = (environment: NodeJS.ProcessEnv): string => join(userFolder(environment), 'logins.json')

/** What a name of a login is made of: it stands in commands. */
export const isProfileName = (name: string): boolean => /^[\w.:-]{1,100}$/.test(name) && !name.startsWith('-')

export function readProfiles(environment: NodeJS.ProcessEnv): Profiles {
  const file = fileOf(environment)
  const { current, profiles } = readStored(file)
  return {
    ...(current !== undefined && Object.hasOwn(profiles, current) ? { current } : {}),
    profiles: Object.entries(profiles).map(([name, { base_url, made_here = false, ...key }]) => ({
      ...{ name, base_url, made_here, file },
      get api_key() {
        return 'keyring' in key ? readFromKeyring(key.keyring, name) : key.api_key
      },
    })),
  }
}

/**
 * Stores a login, and uses it from now on. With `keyring` its key goes to the system's, where there is one; says where it went.
 * Where it cannot be stored, everything is as it was.
 */
export function saveProfile(
  environment: NodeJS.ProcessEnv,
  { name, base_url, api_key, made_here }: Omit<Profile, 'file'>,
  { keyring }: { keyring: boolean },
): KeyPlace {
  const id = randomUUID()
  const is_kept = keyring && keepInKeyring(id, api_key, environment)
  const key: StoredKey = is_kept ? { keyring: id } : { api_key }
  let before: StoredProfile | undefined
  try {
    change(environment, ({ profiles }) => {
      before = profiles[name]
      return { current: name, profiles: { ...profiles, [name]: { base_url, ...key, made_here } } }
    })
  } catch (error) {
    if (is_kept) forgetInKeyring(id)
    throw error
  }
  forgetKey(before)
  return is_kept ? 'keyring' : 'file'
}

/** False where its key is in a keyring that cannot be reached. */
const forgetKey = (profile: StoredProfile | undefined): boolean =>
  profile && 'keyring' in profile ? forgetInKeyring(profile.keyring) : true

export const chooseProfile = (environment: NodeJS.ProcessEnv, name: string): void =>
  change(environment, (stored) => ({ ...stored, current: name }))

/**
 * The others stay. Of these none is used until one is chosen, unless it is the only one. False where the key stays in a keyring that
 * cannot be reached.
 */
export function removeProfile(environment: NodeJS.ProcessEnv, name: string): boolean {
  let removed: StoredProfile | undefined
  change(environment, ({ current, profiles }) => {
    const { [name]: one, ...others } = profiles
    removed = one
    const [only, ...more] = Object.keys(others)
    const next = current === name ? (more.length === 0 ? only : undefined) : current
    return { ...(next === undefined ? {} : { current: next }), profiles: others }
  })
  return forgetKey(removed)
}

function change(environment: NodeJS.ProcessEnv, to: (stored: Stored) => Stored): void {
  const file = fileOf(environment)
  writePrivately(file, to(readStored(file)))
}

function readStored(file: string): Stored {
  const text = readPrivately(file)
  if (text === null) {
    if (!existsSync(file)) return { profiles: {} }
    // Its keys would be lost when it is written anew.
    throw usageFailure(`${file} can be read by others, or not by you.`, `chmod 600 ${file}`)
  }
  try {
    const { current, profiles } = JSON.parse(text) as Partial<Stored>
    const is_whole =
      typeof profiles === 'object' &&
      profiles !== null &&
      Object.values(profiles).every(
        (one) =>
          typeof one?.base_url === 'string' &&
          typeof ('keyring' in one ? one.keyring : one.api_key) === 'string',
      )
    if (is_whole) return { profiles, ...(typeof current === 'string' ? { current } : {}) }
  } catch {}
  throw usageFailure(`${file} cannot be read as logins.`, 'delete it, and log in again: runyard login URL')
}
