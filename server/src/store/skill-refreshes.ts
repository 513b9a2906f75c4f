import { type RawBuilder, sql } from 'kysely'
import type { Db } from './db.ts'

/** A worker that has said nothing for so long is taken to be lost. */
const CLAIM_SECONDS = 120

/** When something was asked for or claimed, to the microsecond. */
type Moment = string

export interface SkillRefresh {
  environment_id: string
  /** Who asked. */
  principal_id: string
  claimed_at: Moment
}

/** Asks for the repositories of these environments to be read; what is read from now on is the answer. */
export async function requestRefreshes(
  db: Db,
  environments: readonly string[],
  { principal_id, pool }: { principal_id: string; pool: string },
): Promise<Moment> {
  // Later than what is being read already: the embedded database's clock goes by milliseconds. In one order, so that two at
  // once wait for each other and do not block each other.
  const { rows } = await sql<{ at: Moment }>`
    with latest as (
      select greatest(now(), max(greatest(claimed_at, served_at)) + interval '1 microsecond') as at
      from skill_refreshes where environment_id = any (${[...environments]}::text[])),
    asked as (
      insert into skill_refreshes (environment_id, principal_id, pool, requested_at)
      select uid, ${principal_id}::uuid, ${pool}, latest.at from environments, latest
      where uid = any (${[...environments]}::text[]) order by uid
      on conflict (environment_id) do update
      set principal_id = excluded.principal_id, pool = excluded.pool, requested_at = excluded.requested_at
      returning 1)
    select at::text, (select count(*) from asked) from latest`.execute(db)
  return rows[0]?.at ?? ''
}

const isUnserved = (pool: string): RawBuilder<boolean> => sql`pool = ${pool}
  and (served_at is null or served_at < requested_at)
  and (claimed_at is null or claimed_at < clock_timestamp() - make_interval(secs => ${CLAIM_SECONDS}))`

/** Whether environments of the pool wait to be read. */
export const refreshesWait = (pool: string): RawBuilder<boolean> =>
  sql`exists (select from skill_refreshes where ${isUnserved(pool)})`

/** Takes the oldest that nobody is at; `null`: there is none. */
export async function claimRefresh(db: Db, pool: string): Promise<SkillRefresh | null> {
  const { rows } = await sql<SkillRefresh>`
    update skill_refreshes set claimed_at = greatest(clock_timestamp(), requested_at)
    where environment_id = (
      select environment_id from skill_refreshes
      where ${isUnserved(pool)}
      order by requested_at for update skip locked limit 1)
    returning environment_id, principal_id, claimed_at::text`.execute(db)
  return rows[0] ?? null
}

/** Ends a claim, unless another worker has it by now. `problem`: why nothing was read. */
export async function endRefresh(
  db: Db,
  { environment_id, claimed_at }: SkillRefresh,
  problem: string | null,
): Promise<void> {
  await sql`
    update skill_refreshes set served_at = claimed_at, claimed_at = null, problem = ${problem}
    where environment_id = ${environment_id} and claimed_at = ${claimed_at}::timestamptz`.execute(db)
}

/** Hands a claim back: another worker takes it. */
export async function releaseRefresh(db: Db, { environment_id, claimed_at }: SkillRefresh): Promise<void> {
  await sql`
    update skill_refreshes set claimed_at = null
    where environment_id = ${environment_id} and claimed_at = ${claimed_at}::timestamptz`.execute(db)
}

/** What became of these since they were asked for; one that is not there has no answer yet. */
export async function readRefreshes(
  db: Db,
  environments: readonly string[],
  since: Moment,
): Promise<Map<string, { problem: string | null }>> {
  const { rows } = await sql<{ environment_id: string; problem: string | null }>`
    select environment_id, problem from skill_refreshes
    where environment_id = any (${[...environments]}::text[]) and served_at >= ${since}::timestamptz`.execute(
    db,
  )
  return new Map(rows.map(({ environment_id, problem }) => [environment_id, { problem }]))
}
