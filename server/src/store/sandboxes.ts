import { type RawBuilder, sql } from 'kysely'
import type { ResolvedRun } from '../contract/run.ts'
import type { Db } from './db.ts'
import { held, idleTime, type Lease } from './leases.ts'
import { json } from './storable.ts'

const UUID = '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'

/** What the backend finds the sandbox by. */
export interface StoredSandboxRef {
  backend: string
  id: string
  run_id: string
  attempt: number
}

/** What each repository was cloned at, by its folder; null: it had no commit. */
export type Commits = NonNullable<ResolvedRun['commits']>

export interface SandboxRow {
  run_id: string
  attempt: number
  worker_id: string
  place: string
  ref: StoredSandboxRef
  prepared: boolean
  commits: Commits
}

export interface NewSandbox extends Omit<SandboxRow, 'run_id' | 'attempt' | 'worker_id'> {
  /** What its workspace was restored with. */
  attachments_written?: readonly string[]
}

/** Records which sandbox the attempts of these `rows` of runs use. */
export function insertSandbox(sandbox: NewSandbox, rows: RawBuilder<unknown>): RawBuilder<unknown> {
  const { attachments_written = [] } = sandbox
  return sql`
    insert into sandboxes as s (run_id, attempt, worker_id, place, ref, prepared, commits, attachments_written)
    select run_id, attempt, worker_id, ${sandbox.place}, ${json(sandbox.ref)}, ${sandbox.prepared}, ${json(sandbox.commits)},
      ${[...attachments_written]}::uuid[]
    from ${rows}
    on conflict (run_id) do update set attempt = excluded.attempt, worker_id = excluded.worker_id,
      place = excluded.place, ref = excluded.ref, prepared = excluded.prepared, commits = excluded.commits, idle_until = null,
      attachments_written = case when s.ref->>'id' = excluded.ref->>'id' and excluded.attachments_written = '{}'
        then s.attachments_written else excluded.attachments_written end
      where s.attempt <= excluded.attempt
    returning 1`
}

/** Records which sandbox the attempt uses; fenced. */
export async function recordSandbox(db: Db, lease: Lease, sandbox: NewSandbox): Promise<boolean> {
  const recorded = await insertSandbox(sandbox, sql`runs where ${held(lease)}`).execute(db)
  return recorded.rows.length > 0
}

export async function readSandbox(db: Db, run_id: string): Promise<SandboxRow | null> {
  const found = await sql<SandboxRow>`
    select run_id, attempt, worker_id, place, ref, prepared, commits from sandboxes where run_id = ${run_id}`.execute(
    db,
  )
  return found.rows[0] ?? null
}

/**
 * Sandboxes of this place that nobody needs: idle for too long or, beyond `keep`, the least recently used. Rows are
 * removed here, in one statement with the choice, unless a worker holds the run; the caller then destroys what they name.
 * A run that ended away from its worker (cancelled after that was lost, say) never had its idle time set: it counts from
 * the run's last change.
 */
export async function takeExpiredSandboxes(db: Db, place: string, keep: number): Promise<StoredSandboxRef[]> {
  const taken = await sql<{ ref: StoredSandboxRef }>`
    with idle as (
      select s.run_id, s.attempt, greatest(coalesce(s.idle_until, r.updated_at + ${idleTime('r')}), r.debug_until) as until
      from sandboxes s join runs r using (run_id)
      where s.place = ${place} and r.worker_id is null and r.state <> 'QUEUED' and r.debug is null),
    ranked as (select *, row_number() over (order by until desc) as rank from idle)
    delete from sandboxes s using ranked p
    where s.run_id = p.run_id and s.attempt = p.attempt and (p.until < clock_timestamp() or p.rank > ${keep})
    returning s.ref`.execute(db)
  return taken.rows.map((row) => row.ref)
}

/**
 * Whether a run may say that this is its sandbox: it has the run's name, or that of one which this worker made in advance or the
 * run was given before; and no other run has it.
 */
export async function mayUseSandbox(
  db: Db,
  { run_id, worker_id }: Lease,
  { place, ref }: Pick<NewSandbox, 'place' | 'ref'>,
): Promise<boolean> {
  const found = await sql<{ is_own: boolean; is_others: boolean }>`
    select coalesce(bool_or(run_id = ${run_id} and ref->>'run_id' = ${ref.run_id}), false) as is_own,
      coalesce(bool_or(run_id <> ${run_id}), false) as is_others
    from sandboxes where run_id = ${run_id} or ref->>'run_id' = ${ref.run_id}
      or (place = ${place} and ref->>'id' = ${ref.id})`.execute(db)
  const { is_own = false, is_others = false } = found.rows[0] ?? {}
  const is_named = ref.run_id === run_id || is_own || ref.run_id.startsWith(`${worker_id}.warm-`)
  return is_named && !is_others
}

export interface SandboxOwner {
  /** The backend's id of the sandbox that is recorded, and where that is. */
  id: string | null
  place: string | null
  /** The attempt that a worker executes. */
  held: number | null
}

/**
 * What is known of these sandboxes, by the `run_id` they were made with: that of their run or, of one made in advance, a name
 * of its own, which only the row has. The reaper lists sandboxes first and asks second. `pool`: of runs of others no more is told than what a
 * worker executes, since workers of two pools may use one engine.
 */
export async function readSandboxOwners(
  db: Db,
  names: readonly string[],
  pool: string | null = null,
): Promise<Map<string, SandboxOwner>> {
  const found = await sql<SandboxOwner & { name: string }>`
    select n.name, case when o.is_told then s.ref->>'id' end as id, case when o.is_told then s.place end as place,
      case when r.worker_id is not null then r.attempt end as held
    from unnest(${[...names]}::text[]) as n (name)
    left join sandboxes s on s.ref->>'run_id' = n.name
    join runs r on r.run_id = coalesce(s.run_id, case when n.name ~ ${UUID} then n.name::uuid end)
    cross join lateral (select coalesce(r.pool = ${pool}::text, true) as is_told) o`.execute(db)
  return new Map(found.rows.map(({ name, ...owner }) => [name, owner]))
}
