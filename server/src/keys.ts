import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Role } from './contract/actor.ts'
import { isUnserved, type Keys, reachKeys, serveKeys } from './control.ts'
import { DataDirInUse } from './data-dir.ts'
import {
  addKey,
  createPrincipalWithKey,
  findActor,
  findPrincipalNamed,
  listKeys,
  revokeKey,
  rotateKey,
} from './store/api-keys.ts'
import { appendAudit } from './store/audit-log.ts'
import type { Db, Store } from './store/db.ts'
import { createSignInLink } from './store/sign-in-links.ts'

/** A process that holds the data directory may be starting, or be a command that ends soon. */
const HELD_MS = 30_000

export const keysOf = (db: Db): Keys => ({
  create: async ({ principal_id, ...options }) => {
    const key =
      principal_id === undefined
        ? await createPrincipalWithKey(db, options)
        : await addKey(db, principal_id, options)
    if (key) await noteKey(db, 'createApiKey', key.key_id, describeRight(options))
    return key
  },
  rotate: async (key_id, grace_ms) => {
    const key = await rotateKey(db, key_id, { grace_ms })
    if (key) await noteKey(db, 'rotateApiKey', key_id, `replaced by ${key.key_id}`)
    return key
  },
  list: () => listKeys(db),
  revoke: async (key_id) => {
    const done = await revokeKey(db, key_id)
    if (done) await noteKey(db, 'revokeApiKey', key_id)
    return done
  },
})

/** A key's rights, for the audit log. */
export const describeRight = ({ role, pool }: { role: Role; pool?: string | undefined }): string =>
  pool === undefined ? role : `pool ${pool}`

const noteKey = (
  db: Db,
  action: 'createApiKey' | 'rotateApiKey' | 'revokeApiKey' | 'createSignInLink',
  target: string,
  detail: string | null = null,
): Promise<void> => appendAudit(db, [{ action, target, via: 'command_line', detail }])

/**
 * The key of the user of `dev`: the known one while it is good, else one more of the same principal, whose personal runs
 * would be out of sight otherwise. That is the first principal of this name.
 */
export async function keyOfDev(
  db: Db,
  known_key: string | undefined,
): Promise<{ api_key: string; key_id: string }> {
  const known = known_key === undefined ? null : await findActor(db, known_key)
  if (known_key !== undefined && known && known.pool === undefined)
    return { api_key: known_key, key_id: known.key_id }
  const options = { name: 'dev', role: 'admin' } as const
  const principal_id = await findPrincipalNamed(db, options.name)
  const added = principal_id && (await addKey(db, principal_id, options))
  const key = added || (await createPrincipalWithKey(db, options))
  await noteKey(db, 'createApiKey', key.key_id, options.role)
  return key
}

/** The token of a link that signs in with this key. */
export async function linkOfDev(db: Db, key_id: string): Promise<string> {
  const { token } = await createSignInLink(db, key_id)
  await noteKey(db, 'createSignInLink', key_id)
  return token
}

/** Without its socket, which some file systems do not have, the service is as good; `keys` says then who is in the way. */
export async function offerKeys(data_dir: string, { db }: Store, log: Logger): Promise<() => Promise<void>> {
  try {
    return await serveKeys(data_dir, keysOf(db))
  } catch (error) {
    log.warn({ err: error }, '`runyard keys` will not work while this runs.')
    return async () => {}
  }
}

/** Uses keys at the database, or, where another process has it open, through that process. */
export async function useKeys<T>(
  data_dir: string,
  useAtDatabase: () => Promise<T>,
  use: (keys: Keys) => Promise<T>,
): Promise<T> {
  for (const deadline = Date.now() + HELD_MS; ; await wait(100)) {
    try {
      return await useAtDatabase()
    } catch (error) {
      if (!(error instanceof DataDirInUse)) throw error
      try {
        return await use(reachKeys(data_dir))
      } catch (unreached) {
        if (!isUnserved(unreached)) throw unreached
        if (Date.now() > deadline) throw error
      }
    }
  }
}
