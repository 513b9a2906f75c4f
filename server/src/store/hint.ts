import { type RawBuilder, sql } from 'kysely'

/** On which processes tell each other what changed. */
export const CHANNEL = 'runyard'

/**
 * `, …` for the columns of a `select` from the rows a statement changed: tells other processes of it at the commit. No row and it
 * tells nothing. `null`: the caller tells it after the commit.
 */
export const telling = (hint: string | null): RawBuilder<unknown> =>
  hint === null ? sql`` : sql`, pg_notify(${CHANNEL}, ${hint}) is null as told`
