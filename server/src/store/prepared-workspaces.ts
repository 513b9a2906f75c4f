import { sql } from 'kysely'
import type { Db } from './db.ts'

/** What a setup left, packed. */
export interface PreparedWorkspace {
  /** A hash of everything that the setup depends on. */
  key: string
  environment_id: string
  folders: string[]
  blob_key: string
  size_bytes: number
  expanded_bytes: number
  entries: number
  sha256: string
}

/** What is older is set up anew: a setup may fetch what has changed since. */
const FRESH = sql`interval '24 hours'`

/** Marks it as used. */
export async function usePreparedWorkspace(db: Db, key: string): Promise<PreparedWorkspace | null> {
  const found = await sql<PreparedWorkspace>`
    update prepared_workspaces set used_at = clock_timestamp()
    where key = ${key} and created_at > clock_timestamp() - ${FRESH}
    returning key, environment_id, folders, blob_key, size_bytes::double precision as size_bytes,
      expanded_bytes::double precision as expanded_bytes, entries, sha256`.execute(db)
  return found.rows[0] ?? null
}

/**
 * Stores it in place of the one with its key, and removes what is old or, beyond `max_bytes` of all together, was not used for
 * longest. Returns the blobs that no row names any more: its own where its environment is gone.
 */
export async function insertPreparedWorkspace(
  db: Db,
  prepared: PreparedWorkspace,
  max_bytes: number,
): Promise<string[]> {
  const { key, environment_id, folders, blob_key, size_bytes, expanded_bytes, entries, sha256 } = prepared
  return db.transaction().execute(async (trx) => {
    const replaced = await sql<{ blob_key: string }>`
      delete from prepared_workspaces where key = ${key} returning blob_key`.execute(trx)
    const stored = await sql`
      insert into prepared_workspaces (key, environment_id, folders, blob_key, size_bytes, expanded_bytes, entries, sha256)
      select ${key}, uid, ${[...folders]}::text[], ${blob_key}, ${size_bytes}::bigint, ${expanded_bytes}::bigint,
        ${entries}::int, ${sha256}
      from environments where uid = ${environment_id} for key share
      on conflict do nothing returning 1`.execute(trx)
    const removed = await sql<{ blob_key: string }>`
      with ranked as (
        select key, created_at, sum(size_bytes) over (order by used_at desc, key) as total from prepared_workspaces)
      delete from prepared_workspaces p using ranked r
      where p.key = r.key and (r.total > ${max_bytes}::bigint or r.created_at <= clock_timestamp() - ${FRESH})
      returning p.blob_key`.execute(trx)
    // Said a second time it replaces itself.
    const others = replaced.rows.filter((row) => row.blob_key !== blob_key)
    const unnamed = stored.rows.length === 0 ? [blob_key] : []
    return [...others, ...removed.rows].map((row) => row.blob_key).concat(unnamed)
  })
}

/** Removes one that turned out to be of no use. */
export async function deletePreparedWorkspace(db: Db, blob_key: string): Promise<void> {
  await sql`delete from prepared_workspaces where blob_key = ${blob_key}`.execute(db)
}
