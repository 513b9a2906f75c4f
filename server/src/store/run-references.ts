import { sql } from 'kysely'
import type { EventData } from '../contract/event.ts'
import type { Db } from './db.ts'
import { held, type Lease } from './leases.ts'
import { keepUrl } from './run-urls.ts'
import { AT_WORK } from './sql-fragments.ts'
import { json } from './storable.ts'

/** What lies elsewhere and a run reported, one of each address. */
export type RunReference = EventData<'reference.reported'>

/**
 * Stores a reference and its event in one fenced statement, in place of the one with the same address; nothing where that says
 * the same. False when the lease is lost.
 */
export async function recordReference(
  db: Db,
  lease: Lease,
  { artifact_uid, ...reference }: RunReference,
): Promise<boolean> {
  const { reference_type, url, title = null } = reference
  const of_run = sql`f.run_id = ${lease.run_id}::uuid and f.url = ${url}`
  const is_stored = sql`exists (select 1 from run_references f
    where ${of_run} and f.reference_type = ${reference_type} and f.title is not distinct from ${title}::text)`
  const recorded = await sql`
    with known as (select artifact_uid from run_references f where ${of_run}),
    owned as (
      update runs set last_sequence = last_sequence + 1, updated_at = next_update(updated_at)
      where ${held(lease)} and ${AT_WORK} and not ${is_stored} returning run_id, last_sequence),
    logged as (
      insert into events (run_id, sequence, type, data)
      select run_id, last_sequence, 'reference.reported', ${json(reference)}
        || jsonb_build_object('artifact_uid', coalesce((select artifact_uid from known), ${artifact_uid}::uuid)) from owned),
    found_by as (${keepUrl(url)})
    insert into run_references (artifact_uid, run_id, reference_type, url, title)
    select ${artifact_uid}::uuid, run_id, ${reference_type}, ${url}, ${title}::text from owned
    on conflict (run_id, url) do update set reference_type = excluded.reference_type, title = excluded.title
    returning 1`.execute(db)
  if (recorded.rows.length > 0) return true
  const found = await sql<{ is_stored: boolean }>`select ${is_stored} as is_stored`.execute(db)
  return found.rows[0]?.is_stored ?? false
}

/** The addresses that a run has reported. */
export async function readReferenceUrls(db: Db, run_id: string): Promise<Set<string>> {
  const found = await sql<{ url: string }>`select url from run_references where run_id = ${run_id}`.execute(
    db,
  )
  return new Set(found.rows.map(({ url }) => url))
}
