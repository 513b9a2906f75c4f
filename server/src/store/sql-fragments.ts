import { type RawBuilder, sql } from 'kysely'
import { type RunState, TERMINAL_STATES, WORKING_STATES } from '../contract/state.ts'

/** A set of states as it stands in SQL, for `state in (…)`: written out, so that partial indexes are found. */
export const among = (states: readonly RunState[]): RawBuilder<unknown> =>
  sql.join(states.map((state) => sql.lit(state)))

/** A worker is at the run: at an execution, or at a debug turn, which leaves the state as it was. */
export const AT_WORK = sql<boolean>`(state in (${among(WORKING_STATES)}) or debug is not distinct from 'working')`

/** The run `r` has ended, its worker has let go, and no debug turn is due. */
export const SETTLED = sql<boolean>`(r.worker_id is null and r.state in (${among(TERMINAL_STATES)}) and r.debug is null)`

/** The present, in the milliseconds that the wire carries. */
export const now = sql<Date>`date_trunc('milliseconds', clock_timestamp())`
