import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { usageFailure } from './failure.ts'
import { readPrivately, userFolder, writePrivately } from './private-file.ts'

/** A server that the user has logged in to, with the key that was made for it. */
export interface Profile {
  name: string
  base_url: string
  api_key: string
  /** The key was made for this login by the page, and by nobody used but here. */
  made_here: boolean
  /** Where it is stored. */
  file: string
}

export interface Profiles {
  /** The one that commands use. */
  current?: string
  profiles: Profile[]
}

interface Stored {
  current?: string
  profiles: Record<string, { base_url: string; api_key: string; made_here?: boolean }>
}

const fileOf = (environment: NodeJS.ProcessEnv): string => join(userFolder(environment), 'logins.json')

/** What a name of a login is made of: it stands in commands. */
export const isProfileName = (name: string): boolean => /^[\w.:-]{1,100}$/.test(name) && !name.startsWith('-')

export function readProfiles(environment: NodeJS.ProcessEnv): Profiles {
  const file = fileOf(environment)
  const { current, profiles } = readStored(file)
  return {
    ...(current !== undefined && Object.hasOwn(profiles, current) ? { current } : {}),
    profiles: Object.entries(profiles).map(([name, { made_here = false, ...profile }]) => ({
      ...{ name, ...profile, made_here, file },
    })),
  }
}

/** Stores a login, and uses it from now on. */
export function saveProfile(
  environment: NodeJS.ProcessEnv,
  { name, base_url, api_key, made_here }: Omit<Profile, 'file'>,
): void {
  change(environment, ({ profiles }) => ({
    current: name,
    profiles: { ...profiles, [name]: { base_url, api_key, made_here } },
  }))
}

export const chooseProfile = (environment: NodeJS.ProcessEnv, name: string): void =>
  change(environment, (stored) => ({ ...stored, current: name }))

/** The others stay. Of these none is used until one is chosen, unless it is the only one. */
export function removeProfile(environment: NodeJS.ProcessEnv, name: string): void {
  change(environment, ({ current, profiles }) => {
    const { [name]: _, ...others } = profiles
    const [only, ...more] = Object.keys(others)
    const next = current === name ? (more.length === 0 ? only : undefined) : current
    return { ...(next === undefined ? {} : { current: next }), profiles: others }
  })
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
        (one) => typeof one?.base_url === 'string' && typeof one.api_key === 'string',
      )
    if (is_whole) return { profiles, ...(typeof current === 'string' ? { current } : {}) }
  } catch {}
  throw usageFailure(`${file} cannot be read as logins.`, 'delete it, and log in again: runyard login URL')
}
