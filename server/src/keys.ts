import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import { isUnserved, type Keys, reachKeys, serveKeys } from './control.ts'
import { DataDirInUse } from './data-dir.ts'
import { createPrincipalWithKey, listKeys, revokeKey } from './store/api-keys.ts'
import type { Db, Store } from './store/db.ts'

/** A process that holds the data directory may be starting, or be a command that ends soon. */
const HELD_MS = 10_000

export const keysOf = (db: Db): Keys => ({
  create: ({ name, role }) => createPrincipalWithKey(db, { name, role }),
  list: () => listKeys(db),
  revoke: (key_id) => revokeKey(db, key_id),
})

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
