import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
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
import type { Db, Store } from './store/db.ts'

/** A process that holds the data directory may be starting, or be a command that ends soon. */
const HELD_MS = 30_000

export const keysOf = (db: Db): Keys => ({
  create: ({ name, role, principal_id }) =>
    principal_id === undefined
      ? createPrincipalWithKey(db, { name, role })
      : addKey(db, principal_id, { name, role }),
  rotate: (key_id, grace_ms) => rotateKey(db, key_id, { grace_ms }),
  list: () => listKeys(db),
  revoke: (key_id) => revokeKey(db, key_id),
})

/**
 * The key of the user of `dev`: the known one while it is good, else one more of the same principal, whose personal runs
 * would be out of sight otherwise. That is the first principal of this name.
 */
export async function keyOfDev(db: Db, known_key: string | undefined): Promise<string> {
  if (known_key && (await findActor(db, known_key))) return known_key
  const options = { name: 'dev', role: 'admin' } as const
  const principal_id = await findPrincipalNamed(db, options.name)
  const added = principal_id && (await addKey(db, principal_id, options))
  return (added || (await createPrincipalWithKey(db, options))).api_key
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
