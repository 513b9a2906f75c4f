import { openPglite, type Store } from './db.ts'
import { putEmptyDatabase } from './empty-database.ts'
import { forgetInstallation, foundInstallation } from './installation.ts'
import { migrate, SCHEMA_HASH } from './migrate.ts'

/**
 * The embedded database in `directory`, whose lock the caller holds. A new one is a copy of an empty one kept in `cache`, a
 * directory, and has all migrations then.
 */
export async function openEmbedded(directory: string, cache: string): Promise<Store> {
  await putEmptyDatabase(directory, cache, SCHEMA_HASH, async (draft) => {
    const store = await openPglite(draft)
    await migrate(store.db)
    await forgetInstallation(store.db)
    await store.close()
  })
  const store = await openPglite(directory)
  await foundInstallation(store.db)
  return store
}
