import { type RawBuilder, sql } from 'kysely'
import type { Actor } from '../contract/actor.ts'
import { RESTING_STATES } from '../contract/state.ts'
import { readNamedBlobs } from './blob-keys.ts'
import type { Db } from './db.ts'
import { held, type Lease } from './leases.ts'
import { visibleTo } from './runs.ts'
import type { Commits } from './sandboxes.ts'
import { among } from './sql-fragments.ts'
import { json } from './storable.ts'
import { snapshotsOfTurns } from './turn-ends.ts'

/** Where a run stood when its workspace was packed. */
export interface SnapshotMoment {
  execution: number
  turn: number
  sequence: number
  attachments_written: string[]
}

/** A packed workspace; only prepared ones are kept. */
export interface SnapshotRow extends SnapshotMoment {
  snapshot_id: string
  run_id: string
  attempt: number
  last_execution: number
  folders: string[]
  commits: Commits
  backend: string
  sandbox_id: string
  image: string | null
  stamp: string | null
  blob_key: string
  /** The index of its files; null: it was packed before there were any. */
  index_blob_key: string | null
  size_bytes: number
  expanded_bytes: number
  entries: number
  sha256: string
  created_at: Date
}

export type NewSnapshot = Omit<SnapshotRow, 'run_id' | 'attempt' | 'last_execution' | 'created_at'>

const SNAPSHOT = sql`s.*, s.size_bytes::double precision as size_bytes, s.expanded_bytes::double precision as expanded_bytes`
/** The files of the rows `removed`. */
const FILES = sql`
  select blob_key from (select blob_key from removed union all select index_blob_key from removed) f where blob_key is not null`
const NEWEST_FIRST = sql`s.attempt desc, s.sequence desc, s.snapshot_id desc`

/** What the log and the workspace hold now; ask before the workspace is packed. `null`: the lease is lost. */
export async function readMoment(db: Db, lease: Lease): Promise<SnapshotMoment | null> {
  const found = await sql<SnapshotMoment>`
    select r.execution, r.last_sequence as sequence, ${turnOf(lease.run_id)} as turn,
      coalesce((select s.attachments_written from sandboxes s where s.run_id = r.run_id), '{}') as attachments_written
    from runs r where ${held(lease)}`.execute(db)
  return found.rows[0] ?? null
}

/**
 * Stores a snapshot in place of the run's others, once however often it is said. Those of so many turns stay, and the newest of
 * an execution before: it is what that one left. Returns the blobs that no row names any more; `null`: the lease is lost.
 */
export async function insertSnapshot(
  db: Db,
  lease: Lease,
  snapshot: NewSnapshot,
  turns = 0,
): Promise<string[] | null> {
  const { snapshot_id, execution, turn, sequence, folders, attachments_written, backend, sandbox_id, image } =
    snapshot
  const stored = await sql<{ removed: string[] }>`
    with owned as (select run_id, attempt from runs where ${held(lease)}),
    inserted as (
      insert into snapshots (snapshot_id, run_id, attempt, execution, last_execution, turn, sequence, folders, commits,
        attachments_written, backend, sandbox_id, image, stamp, blob_key, index_blob_key, size_bytes, expanded_bytes, entries,
        sha256)
      select ${snapshot_id}::uuid, run_id, attempt, ${execution}::int, ${execution}::int, ${turn}::int, ${sequence}::int,
        ${[...folders]}::text[], ${json(snapshot.commits)}, ${[...attachments_written]}::uuid[], ${backend}, ${sandbox_id}, ${image}::text,
        ${snapshot.stamp}::text, ${snapshot.blob_key}, ${snapshot.index_blob_key}::text, ${snapshot.size_bytes}::bigint,
        ${snapshot.expanded_bytes}::bigint, ${snapshot.entries}::int, ${snapshot.sha256} from owned
      on conflict do nothing),
    left_before as (
      select s.snapshot_id from snapshots s join owned using (run_id)
      where s.execution < ${execution}::int order by ${NEWEST_FIRST} limit 1),
    removed as (
      delete from snapshots s using owned o
      where s.run_id = o.run_id and s.snapshot_id <> ${snapshot_id}::uuid
        and s.snapshot_id not in (select snapshot_id from left_before)
        and s.snapshot_id not in (${snapshotsOfTurns(lease.run_id, turns)}) returning s.blob_key, s.index_blob_key)
    select array(${FILES}) as removed from owned`.execute(db)
  const removed = stored.rows[0]?.removed
  return removed ? withoutNamed(db, removed) : null
}

/** What a fork begins with is named by that one, too. */
async function withoutNamed(db: Db, removed: readonly string[]): Promise<string[]> {
  if (removed.length === 0) return []
  const named = await readNamedBlobs(db, removed)
  return removed.filter((blob_key) => !named.has(blob_key))
}

/** Says that the workspace still holds what it held; called at the end of a turn. */
export async function confirmSnapshot(db: Db, lease: Lease, snapshot_id: string): Promise<void> {
  await sql`
    update snapshots s set sequence = r.last_sequence, turn = ${turnOf(lease.run_id)}, last_execution = r.execution
    from (select run_id as held_run, last_sequence, execution from runs where ${held(lease)}) r
    where s.run_id = r.held_run and s.snapshot_id = ${snapshot_id}::uuid`.execute(db)
}

/** Removes all but the newest snapshot of a run whose execution has ended and those of so many turns; returns their blobs. */
export async function removeOlderSnapshots(db: Db, lease: Lease, turns = 0): Promise<string[]> {
  const removed = await sql<{ blob_key: string }>`
    with removed as (
      delete from snapshots o using (
        select s.snapshot_id, row_number() over (order by ${NEWEST_FIRST}) as rank
        from snapshots s join (select run_id from runs where ${held(lease)}) r using (run_id)) ranked
      where o.snapshot_id = ranked.snapshot_id and ranked.rank > 1
        and o.snapshot_id not in (${snapshotsOfTurns(lease.run_id, turns)}) returning o.blob_key, o.index_blob_key)
    ${FILES}`.execute(db)
  return withoutNamed(
    db,
    removed.rows.map((row) => row.blob_key),
  )
}

/** The newest snapshot of a run. */
export async function findSnapshot(db: Db, run_id: string): Promise<SnapshotRow | null> {
  const found = await sql<SnapshotRow>`
    select ${SNAPSHOT} from snapshots s where s.run_id = ${run_id} order by ${NEWEST_FIRST} limit 1`.execute(
    db,
  )
  return found.rows[0] ?? null
}

/** What the last execution that ended left; `null` where nothing was kept of it. A blocked run waits for its next one. */
export async function findHandoff(db: Db, run_id: string): Promise<SnapshotRow | null> {
  const found = await sql<SnapshotRow>`
    select ${SNAPSHOT} from snapshots s join runs r using (run_id)
    where s.run_id = ${run_id} and r.execution - case when r.state in (${among(RESTING_STATES)}) then 0 else 1 end
      between s.execution and s.last_execution
    order by ${NEWEST_FIRST} limit 1`.execute(db)
  return found.rows[0] ?? null
}

/** One that the caller may see. */
export async function findVisibleSnapshot(
  db: Db,
  snapshot_id: string,
  actor: Actor,
): Promise<SnapshotRow | null> {
  const found = await sql<SnapshotRow>`
    select ${SNAPSHOT} from snapshots s join runs r using (run_id)
    where s.snapshot_id = ${snapshot_id} and ${visibleTo(actor)}`.execute(db)
  return found.rows[0] ?? null
}

const turnOf = (run_id: string): RawBuilder<number> =>
  sql<number>`(select count(*)::int from events where run_id = ${run_id} and type = 'message.user')`

/** A workspace that was kept at the end of a turn, and whether its files can be listed. */
export interface KeptTurn {
  turn: number
  snapshot: Pick<SnapshotRow, 'snapshot_id' | 'run_id' | 'blob_key' | 'index_blob_key'> | null
  pristine: boolean
}

/** The ends of a run's turns with their workspaces, in order. */
export async function readKeptTurns(db: Db, run_id: string): Promise<KeptTurn[]> {
  const found = await sql<KeptTurn>`
    select t.turn, t.pristine, case when s.snapshot_id is not null then jsonb_build_object('snapshot_id', s.snapshot_id,
      'run_id', s.run_id, 'blob_key', s.blob_key, 'index_blob_key', s.index_blob_key) end as snapshot
    from turn_ends t left join snapshots s using (snapshot_id) where t.run_id = ${run_id} order by t.turn`.execute(
    db,
  )
  return found.rows
}
