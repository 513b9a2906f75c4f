/**
 * What deleted runs and expired files leave behind: logs and files, which go in parts, behind the answer. Every step can be done
 * again after a crash, and one process at a time does them.
 */
import { type RawBuilder, sql } from 'kysely'
import { readNamedBlobs } from './blob-keys.ts'
import type { Db } from './db.ts'
import { eraseRuns } from './deleted-runs.ts'
import { json } from './storable.ts'

/** Whether something waits to be removed. */
export const PURGE_WAITS: RawBuilder<boolean> = sql<boolean>`(
  exists (select from deleted_runs where not noted)
  or exists (select from deleted_runs where not purged)
  or exists (select from removed_files))`

const TURN = sql`interval '60 seconds'`

/** Takes the turn, or keeps it for a minute more; false: another process has it. */
export async function takeTurn(db: Db, purger: string): Promise<boolean> {
  const taken = await sql`
    update installation set purger = ${purger}::uuid, purger_until = clock_timestamp() + ${TURN}
    where purger is null or purger = ${purger}::uuid or purger_until < clock_timestamp() returning 1`.execute(
    db,
  )
  return taken.rows.length > 0
}

export async function giveTurnBack(db: Db, purger: string): Promise<void> {
  await sql`update installation set purger = null, purger_until = null where purger = ${purger}::uuid`.execute(
    db,
  )
}

/** An entry of the list of deleted runs, as it is kept beside the database too. */
export interface DeletedRun {
  run_id: string
  deleted_at: string
  deleted_by: string | null
  forked_from: string | null
}

/** The oldest that only the database knows. */
export async function readUnnoted(db: Db, most: number): Promise<DeletedRun[]> {
  const found = await sql<Omit<DeletedRun, 'deleted_at'> & { deleted_at: Date }>`
    select run_id, deleted_at, deleted_by, forked_from from deleted_runs where not noted
    order by deleted_at limit ${most}::int`.execute(db)
  return found.rows.map((row) => ({ ...row, deleted_at: row.deleted_at.toISOString() }))
}

/** The list `name` beside the database has them, and this database knows it. */
export async function markNoted(db: Db, name: string, run_ids: readonly string[]): Promise<void> {
  await sql`
    with known as (insert into deletion_notes (name) values (${name}) on conflict do nothing)
    update deleted_runs set noted = true where run_id = any(${[...run_ids]}::uuid[])`.execute(db)
}

/** Which of these lists this database has not read or written. */
export async function findUnknownNotes(db: Db, names: readonly string[]): Promise<string[]> {
  const found = await sql<{ name: string }>`
    select name from unnest(${[...names]}::text[]) name
    where not exists (select from deletion_notes n where n.name = name.name)`.execute(db)
  return found.rows.map(({ name }) => name)
}

/** What lists that are merged into another one, or gone, are remembered for no more. */
export async function forgetNotes(db: Db, names: readonly string[]): Promise<void> {
  await sql`delete from deletion_notes where name = any(${[...names]}::text[])`.execute(db)
}

/** Reading a list again is no harm. */
export async function rememberNote(db: Db, name: string): Promise<void> {
  await sql`insert into deletion_notes (name) values (${name}) on conflict do nothing`.execute(db)
}

/**
 * Takes up entries of a list that was written after the backup which this database was restored from: those of their runs that
 * are there again are deleted again, whatever their state. How many were.
 */
export async function deleteAgain(db: Db, entries: readonly DeletedRun[]): Promise<number> {
  return db.transaction().execute(async (trx) => {
    const found = await sql<{ run_id: string }>`
      select run_id from runs where run_id = any(${entries.map(({ run_id }) => run_id)}::uuid[])
      order by run_id for update`.execute(trx)
    await sql`
      insert into deleted_runs (run_id, deleted_at, deleted_by, forked_from, noted, purged)
      select run_id, deleted_at, deleted_by, forked_from, true, false
      from jsonb_to_recordset(${json(entries)})
        e (run_id uuid, deleted_at timestamptz, deleted_by uuid, forked_from uuid)
      on conflict (run_id) do update set noted = true`.execute(trx)
    await eraseRuns(
      trx,
      found.rows.map(({ run_id }) => run_id),
      {
        deleted_by: null,
        audit: { via: 'service', detail: 'It had been deleted before, and a backup brought it back.' },
      },
    )
    return found.rows.length
  })
}

/** Removes some of the events of deleted runs, the oldest deletions first. False: there is nothing more to remove. */
export async function purgeLogs(
  db: Db,
  { runs, events }: { runs: number; events: number },
): Promise<boolean> {
  const due = await sql<{ run_id: string }>`
    select run_id from deleted_runs where not purged order by deleted_at limit ${runs}::int`.execute(db)
  if (due.rows.length === 0) return false
  const ids = due.rows.map(({ run_id }) => run_id)
  const removed = await sql`
    delete from events where ctid = any(array(
      select ctid from events where run_id = any(${ids}::uuid[]) limit ${events}::int))`.execute(db)
  if (Number(removed.numAffectedRows ?? 0) < events)
    await sql`update deleted_runs set purged = true where run_id = any(${ids}::uuid[])`.execute(db)
  return true
}

/** Some files whose rows were deleted, after this key, and of these the ones that another row still names. */
export async function readRemovedFiles(
  db: Db,
  most: number,
  after = '',
): Promise<Array<{ blob_key: string; is_named: boolean }>> {
  const found = await sql<{ blob_key: string }>`
    select blob_key from removed_files where blob_key > ${after} order by blob_key limit ${most}::int`.execute(
    db,
  )
  const keys = found.rows.map(({ blob_key }) => blob_key)
  const named = await readNamedBlobs(db, keys)
  return keys.map((blob_key) => ({ blob_key, is_named: named.has(blob_key) }))
}

export async function forgetFiles(db: Db, keys: readonly string[]): Promise<void> {
  await sql`delete from removed_files where blob_key = any(${[...keys]}::text[])`.execute(db)
}
