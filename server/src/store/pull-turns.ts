/**
 * Turns at opening a pull request: of two runs that push the same files at the same moment, the second looks for the pull request
 * of the first when that is open, and not before.
 */
import { sql } from 'kysely'
import type { Db } from './db.ts'
import { held, type Lease } from './leases.ts'
import type { Files } from './pushes.ts'
import { AT_WORK } from './sql-fragments.ts'

/** False: another run has the turn, and works. One that was lost with its worker has it until it ends, and takes it again. */
export async function takePullTurn(db: Db, lease: Lease, { repository, tree }: Files): Promise<boolean> {
  const { rows } = await sql`
    insert into pull_turns (repository, tree, owner, run_id)
    select ${repository}, ${tree}, case when scope = 'Team' then '' else principal_id::text end, run_id
    from runs where ${held(lease)}
    on conflict (repository, tree, owner) do update set run_id = excluded.run_id
    where pull_turns.run_id = excluded.run_id or not exists (
      select from runs r where r.run_id = pull_turns.run_id and ${AT_WORK})
    returning 1`.execute(db)
  return rows.length > 0
}

export async function endPullTurn(db: Db, { run_id }: Lease, { repository, tree }: Files): Promise<void> {
  await sql`delete from pull_turns where repository = ${repository} and tree = ${tree} and run_id = ${run_id}`.execute(
    db,
  )
}
