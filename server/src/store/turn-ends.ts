import { type RawBuilder, sql } from 'kysely'
import type { Db } from './db.ts'
import { held, type Lease } from './leases.ts'

/** What a workspace is at the end of a turn: kept by a snapshot, as it was prepared, or not kept. */
export type WorkspaceEnd = { snapshot_id: string } | 'pristine' | 'unkept'

/** The end of a turn. */
export interface TurnEnd {
  turn: number
  /** The last event of its log. */
  sequence: number
  snapshot_id: string | null
  /** The workspace was as it had been prepared, so there was nothing to keep. */
  pristine: boolean
}

/** Says that a turn of the runs `r` of these `rows` ends at `sequence`, once however often it is said. */
export function insertTurnEnd(
  workspace: WorkspaceEnd,
  sequence: RawBuilder<number>,
  rows: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const snapshot_id = typeof workspace === 'object' ? workspace.snapshot_id : null
  return sql`
    insert into turn_ends (run_id, turn, sequence, snapshot_id, pristine)
    select r.run_id, (select count(*)::int from events e where e.run_id = r.run_id and e.type = 'message.user'), ${sequence},
      (select s.snapshot_id from snapshots s where s.snapshot_id = ${snapshot_id}::uuid), ${workspace === 'pristine'}
    from ${rows}
    on conflict (run_id, turn) do update set sequence = excluded.sequence, snapshot_id = excluded.snapshot_id,
      pristine = excluded.pristine`
}

/** Says that a turn ends here; nothing where the lease is lost. The end of a run says it by itself. */
export async function recordTurnEnd(db: Db, lease: Lease, workspace: WorkspaceEnd): Promise<void> {
  await insertTurnEnd(workspace, sql`r.last_sequence`, sql`runs r where ${held(lease)}`).execute(db)
}

/** The ends of a run's turns, in order. */
export async function readTurnEnds(db: Db, run_id: string): Promise<TurnEnd[]> {
  const found = await sql<TurnEnd>`
    select turn, sequence, snapshot_id, pristine from turn_ends where run_id = ${run_id} order by turn`.execute(
    db,
  )
  return found.rows
}

/** The snapshots of the last turns of a run. */
export const snapshotsOfTurns = (run_id: string, turns: number): RawBuilder<unknown> => sql`
  select t.snapshot_id from (
    select snapshot_id from turn_ends where run_id = ${run_id}::uuid order by turn desc limit ${turns}::int) t
  where t.snapshot_id is not null`
