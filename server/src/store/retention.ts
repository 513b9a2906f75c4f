/** What is kept for so many days after the last change of its run, and then removed in small parts. */
import { type RawBuilder, sql } from 'kysely'
import { RESTING_STATES } from '../contract/state.ts'
import { RUN_FILES } from './blob-keys.ts'
import type { Db } from './db.ts'
import { type Deletion, eraseRuns } from './deleted-runs.ts'
import { among } from './sql-fragments.ts'

export const KINDS = ['run', 'workspace', 'artifact'] as const
/** Runs with their logs and all else; workspaces that can be gone on with; files that agents left. */
export type RetentionKind = (typeof KINDS)[number]

/** Days; null: for ever. */
export type Retention = Readonly<Record<RetentionKind, number | null>>

/** What is over: of all runs, or of those of an environment that keeps things for a shorter time. */
export interface Expiry {
  kind: RetentionKind
  days: number
  environment_id: string | null
}

/** What to look for: the installation's days are the most, and an environment may have fewer. */
export async function readExpiries(db: Db, installation: Retention): Promise<Expiry[]> {
  const found = await sql<{ uid: string; kind: RetentionKind; days: number }>`
    select e.uid, k.kind, (e.config #>> array['retention', k.kind || '_days'])::int as days
    from environments e cross join unnest(${[...KINDS]}::text[]) k (kind)
    where e.config ? 'retention' and e.config #>> array['retention', k.kind || '_days'] is not null
    order by e.uid`.execute(db)
  const all = KINDS.flatMap((kind) => {
    const days = installation[kind]
    return days === null ? [] : [{ kind, days, environment_id: null }]
  })
  const shorter = found.rows.flatMap(({ uid, kind, days }) =>
    days < (installation[kind] ?? Number.POSITIVE_INFINITY) ? [{ kind, days, environment_id: uid }] : [],
  )
  return [...all, ...shorter]
}

/** Removes some of what is over; how many. */
export function removeExpired(db: Db, expiry: Expiry, most: number): Promise<number> {
  if (expiry.kind === 'run') return removeRuns(db, expiry, most)
  return removeFiles(db, expiry.kind === 'workspace' ? 'snapshots' : 'artifacts', expiry, most)
}

/** Nobody works on the run `r`, and it has not changed for so long. */
const isOver = ({ days, environment_id }: Expiry): RawBuilder<boolean> => sql<boolean>`
  r.updated_at < clock_timestamp() - ${days}::int * interval '1 day'
    and r.state in (${among(RESTING_STATES)}) and r.worker_id is null and r.debug is null
    ${environment_id === null ? sql`` : sql`and r.environment_id = ${environment_id}`}`

/** A run with others below it waits until these are gone. */
async function removeRuns(db: Db, expiry: Expiry, most: number): Promise<number> {
  return db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ run_id: string }>`
      select r.run_id from runs r where ${isOver(expiry)}
        and not exists (select from runs d where d.ancestor_run_ids @> array[r.run_id] and d.parent_run_id is not null)
      order by r.updated_at limit ${most}::int for update of r skip locked`.execute(trx)
    const deletion: Deletion = {
      deleted_by: null,
      audit: { via: 'service', detail: `Not changed for ${expiry.days} days, which is its retention.` },
    }
    await eraseRuns(
      trx,
      rows.map(({ run_id }) => run_id),
      deletion,
    )
    return rows.length
  })
}

async function removeFiles(
  db: Db,
  table: 'snapshots' | 'artifacts',
  expiry: Expiry,
  most: number,
): Promise<number> {
  const from = sql.table(table)
  const named = RUN_FILES.filter((one) => one.table === table).map(({ column }) => sql.ref(column))
  const removed = await sql`
    with gone as (
      delete from ${from} where ctid = any(array(
        select f.ctid from ${from} f join runs r using (run_id)
        where f.created_at < clock_timestamp() - ${expiry.days}::int * interval '1 day' and ${isOver(expiry)}
        limit ${most}::int))
      returning array[${sql.join(named)}] as blob_keys),
    named as (
      insert into removed_files (blob_key)
      select distinct k from gone, unnest(blob_keys) k where k is not null on conflict do nothing)
    select 1 from gone`.execute(db)
  return removed.rows.length
}
