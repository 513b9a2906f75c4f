import { sql } from 'kysely'
import type { NewArtifact } from './artifacts.ts'
import type { Db } from './db.ts'
import { held, type Lease } from './leases.ts'
import { json } from './storable.ts'

/**
 * Stores the plan of a run with its event in one fenced statement, once however often it is said: it takes the place of the one
 * before and keeps that one's id. One that says the same changes nothing. `replaced`: the blob that no row names any more. `null` when the lease is lost.
 */
export async function putPlan(
  db: Db,
  lease: Lease,
  plan: NewArtifact & { title: string },
): Promise<{ replaced: string | null } | null> {
  const { artifact_uid, filename, filepath, mime_type, size_bytes, sha256, blob_key, title } = plan
  const event = { artifact_type: 'PLAN', filename, filepath, mime_type, size_bytes, title }
  const of_run = sql`a.run_id = ${lease.run_id}::uuid and a.artifact_type = 'PLAN'`
  const is_stored = sql`exists (select 1 from artifacts a where ${of_run} and a.sha256 = ${sha256} and a.title = ${title})`
  const put = await sql<{ replaced: string | null }>`
    with known as (select a.artifact_uid, a.blob_key from artifacts a where ${of_run}),
    owned as (
      update runs set last_sequence = last_sequence + 1, updated_at = next_update(updated_at)
      where ${held(lease)} and state in ('CLAIMED', 'INPROGRESS') and not ${is_stored} returning run_id, last_sequence),
    logged as (
      insert into events (run_id, sequence, type, data)
      select run_id, last_sequence, 'artifact.created', ${json(event)}
        || jsonb_build_object('artifact_uid', coalesce((select artifact_uid from known), ${artifact_uid}::uuid)) from owned)
    insert into artifacts as a
      (artifact_uid, run_id, artifact_type, filename, filepath, mime_type, size_bytes, sha256, blob_key, title)
    select ${artifact_uid}::uuid, run_id, 'PLAN', ${filename}, ${filepath}, ${mime_type}, ${size_bytes}::int, ${sha256},
      ${blob_key}, ${title} from owned
    on conflict (run_id) where artifact_type = 'PLAN' do update set size_bytes = excluded.size_bytes,
      sha256 = excluded.sha256, blob_key = excluded.blob_key, title = excluded.title
    returning (select blob_key from known) as replaced`.execute(db)
  const [row] = put.rows
  if (row) return row
  const found = await sql<{ blob_key: string }>`
    select a.blob_key from artifacts a where ${of_run} and a.sha256 = ${sha256} and a.title = ${title}`.execute(
    db,
  )
  const [stored] = found.rows
  return stored ? { replaced: stored.blob_key === blob_key ? null : blob_key } : null
}
