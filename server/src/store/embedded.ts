import { sql } from 'kysely'
import type { Db, Store } from './db.ts'
import { putEmptyDatabase } from './empty-database.ts'
import { forgetInstallation, foundInstallation } from './installation.ts'
import { migrate, SCHEMA_HASH } from './migrate.ts'
import { openPglite } from './pglite.ts'

/**
 * The embedded database in `directory`, whose lock the caller holds. A new one is a copy of an empty one kept in `cache`, a
 * directory, and has all migrations then.
 */
export async function openEmbedded(directory: string, cache: string): Promise<Store> {
  await putEmptyDatabase(directory, cache, `${SCHEMA_HASH}-lean`, async (draft) => {
    const store = await openPglite(draft)
    await migrate(store.db)
    await forgetInstallation(store.db)
    await dropTemplates(store.db)
    await store.close()
  })
  const store = await openPglite(directory)
  await foundInstallation(store.db)
  return store
}

/** Nobody makes another database from them, and they are two thirds of the files to copy. */
async function dropTemplates(db: Db): Promise<void> {
  await sql`update pg_database set datistemplate = false where datname like 'template_'`.execute(db)
  await sql`drop database template0`.execute(db)
  await sql`drop database template1`.execute(db)
  await sql`checkpoint`.execute(db)
}
