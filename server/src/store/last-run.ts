import { type RawBuilder, sql } from 'kysely'
import type { Actor } from '../contract/actor.ts'
import type { RunState } from '../contract/state.ts'
import { instant } from './runs.ts'

export interface LastRun {
  id: string
  title: string
  state: RunState
  created_at: string
  updated_at: string
  started_at: string | null
}

const FIRST = sql`uuid '00000000-0000-0000-0000-000000000000'`
const LAST = sql`uuid 'ffffffff-ffff-ffff-ffff-ffffffffffff'`

/**
 * A LastRun or null: the newest run of an environment among those that `visibleTo` lets the caller see. In three parts, each
 * one row from the end of an index of 0010. As a range of whole index rows, since equal columns drop out of an order: for
 * `environment_id = … order by run_id desc` the planner may walk down all runs by their ids. With a million runs, half of
 * them somebody's own in this environment, that took 510 ms, with `visibleTo` 260 ms, and this takes 0.1 ms.
 */
export function lastRunIn(
  environment: RawBuilder<unknown>,
  { principal_id }: Pick<Actor, 'principal_id'>,
): RawBuilder<unknown> {
  const newest = (scope: 'Team' | 'User', ...keys: Array<[column: string, value: RawBuilder<unknown>]>) => {
    const columns = [...keys.map(([column]) => column), 'run_id'].map((column) => sql.ref(`r.${column}`))
    const values = keys.map(([, value]) => value)
    return sql`(
      select r.run_id, r.title, r.state, r.created_at, r.updated_at, r.started_at from runs r
      where r.scope = ${sql.lit(scope)} and r.environment_id is not null
        and (${sql.join(columns)}) between (${sql.join([...values, FIRST])}) and (${sql.join([...values, LAST])})
      order by ${sql.join(columns.map((column) => sql`${column} desc`))} limit 1)`
  }
  const me = sql`${principal_id}::uuid`
  return sql`(
    select jsonb_build_object('id', r.run_id, 'title', r.title, 'state', r.state, 'created_at', ${instant(sql`r.created_at`)},
      'updated_at', ${instant(sql`r.updated_at`)}, 'started_at', ${instant(sql`r.started_at`)})
    from (${newest('Team', ['environment_id', environment])}
      union all ${newest('User', ['environment_id', environment], ['principal_id', me])}
      union all ${newest('User', ['environment_id', environment], ['creator_id', me])}) r
    order by r.run_id desc limit 1)`
}
