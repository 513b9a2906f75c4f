import { type RawBuilder, sql } from 'kysely'
import type { RunState } from '../contract/state.ts'

/** A set of states as it stands in SQL, for `state in (…)`: written out, so that partial indexes are found. */
export const among = (states: readonly RunState[]): RawBuilder<unknown> =>
  sql.join(states.map((state) => sql.lit(state)))

/** The present, in the milliseconds that the wire carries. */
export const now = sql<Date>`date_trunc('milliseconds', clock_timestamp())`
