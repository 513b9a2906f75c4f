/** Workers that only dial out. */
import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { Actor } from '../contract/actor.ts'
import { activeKey, type FoundActor, toActor } from './api-keys.ts'
import type { Db } from './db.ts'
import { json } from './storable.ts'
import type { WorkerRegistration } from './workers.ts'

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest()

/** A worker's token. It can claim while the pool key works and the worker is not lost; afterwards it can only end what it holds. */
export interface RemoteWorkerRow {
  worker_id: string
  pool: string
  /** Where it makes its sandboxes, as it said when it was enrolled. */
  place: string
  lost: boolean
  /** The owner of the key that it was enrolled with. */
  actor: Actor
}

/** For one pool key. */
export const MAX_LIVING = 200

/** `taken`: there is another worker with this id; `full`: so many live with this key. Repeating it changes nothing. */
export async function enrolWorker(
  db: Db,
  worker: WorkerRegistration,
  { key_id, token }: { key_id: string; token: string },
): Promise<'enrolled' | 'taken' | 'full'> {
  await sql`
    insert into workers (worker_id, pool, host, version, place, slots, sandbox, models, lacking_agents, images, key_id, token_hash)
    select ${worker.worker_id}::uuid, ${worker.pool}::text, ${worker.host}::text, ${worker.version}::text, ${worker.place}::text, ${worker.slots}::int, ${worker.sandbox}::text,
      ${json(worker.models)}::jsonb, ${[...worker.lacking_agents]}::text[],
      ${worker.images ? json(worker.images) : null}::jsonb, ${key_id}::uuid, ${hashOf(token)}::bytea
    where (select count(*) from workers where key_id = ${key_id}::uuid and not lost) < ${MAX_LIVING}::int
    on conflict do nothing`.execute(db)
  const found = await sql<{ is_own: boolean }>`
    select key_id is not distinct from ${key_id}::uuid and token_hash is not distinct from ${hashOf(token)}::bytea as is_own
    from workers where worker_id = ${worker.worker_id}::uuid`.execute(db)
  const [row] = found.rows
  if (!row) return 'full'
  return row.is_own ? 'enrolled' : 'taken'
}

/** `null`: no such token, or its pool key does not work any more. */
export async function findRemoteWorker(db: Db, token: string): Promise<RemoteWorkerRow | null> {
  const found = await sql<
    FoundActor & { worker_id: string; worker_pool: string; place: string; lost: boolean }
  >`
    select w.worker_id, w.pool as worker_pool, w.place, w.lost, k.principal_id, k.key_id, k.role, k.pool,
      p.type = 'service_account' as is_identity
    from workers w join api_keys k using (key_id) join principals p using (principal_id)
    where w.token_hash = ${hashOf(token)} and ${activeKey}`.execute(db)
  const [row] = found.rows
  if (!row) return null
  const { worker_id, worker_pool: pool, place, lost, ...actor } = row
  return { worker_id, pool, place, lost, actor: toActor(actor) }
}

/** Whether a worker may read this file: it is of a run that it holds, or one that such a run names. */
export async function mayReadFile(db: Db, worker_id: string, blob_key: string): Promise<boolean> {
  const found = await sql`
    select 1 from runs r where r.worker_id = ${worker_id} and (starts_with(${blob_key}, 'runs/' || r.run_id || '/')
      or exists (select from attachments a where a.run_id = r.run_id and a.blob_key = ${blob_key})
      or exists (select from snapshots s where s.run_id = r.run_id and s.blob_key = ${blob_key})) limit 1`.execute(
    db,
  )
  return found.rows.length > 0
}

/** Whether a worker holds the run that a file is stored for, as its key says. */
export async function mayWriteFile(db: Db, worker_id: string, blob_key: string): Promise<boolean> {
  const found = await sql`
    select 1 from runs r, unnest(array['artifacts', 'snapshots', 'indexes']) folder
    where r.worker_id = ${worker_id} and starts_with(${blob_key}, 'runs/' || r.run_id || '/' || folder || '/') limit 1`.execute(
    db,
  )
  return found.rows.length > 0
}

/** Which of these runs are of this pool. */
export async function findRunsOfPool(db: Db, pool: string, run_ids: readonly string[]): Promise<Set<string>> {
  if (run_ids.length === 0) return new Set()
  const found = await sql<{ run_id: string }>`
    select run_id from runs where run_id = any(${[...run_ids]}::uuid[]) and pool = ${pool}`.execute(db)
  return new Set(found.rows.map(({ run_id }) => run_id))
}

/** The principal that asked for a claimed refresh, if it is of this pool. */
export async function findClaimedRefresh(
  db: Db,
  pool: string,
  { environment_id, claimed_at }: { environment_id: string; claimed_at: string },
): Promise<{ principal_id: string } | null> {
  const found = await sql<{ principal_id: string }>`
    select principal_id from skill_refreshes
    where environment_id = ${environment_id} and pool = ${pool} and claimed_at::text = ${claimed_at}`.execute(
    db,
  )
  return found.rows[0] ?? null
}
