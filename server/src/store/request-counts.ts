import { CompiledQuery, sql } from 'kysely'
import { RateLimiterPostgres } from 'rate-limiter-flexible'
import type { Db } from './db.ts'
import { removeInParts } from './remove-in-parts.ts'

const WINDOW_S = 60

interface Query {
  text: string
  values: unknown[]
}

/**
 * Counts for all processes together, one statement each: `consume(key)` resolves, or rejects with a `RateLimiterRes` where
 * `most` within the time (default: a minute) are used up, or with the fault of the database. Who is over it is refused without asking the database.
 */
export const createCounter = (db: Db, name: string, most: number, seconds = WINDOW_S): RateLimiterPostgres =>
  new RateLimiterPostgres({
    // Its statements on our connections: all it asks of a client is `query`.
    storeClient: {
      query: ({ text, values }: Query) => db.executeQuery(CompiledQuery.raw(text, values)),
    },
    storeType: 'client',
    tableName: 'request_counts',
    tableCreated: true,
    // The clean-up of the service does it.
    clearExpiredByTimeout: false,
    keyPrefix: name,
    points: most,
    duration: seconds,
    inMemoryBlockOnConsumed: most,
  })

export const removeOldCounts = (db: Db): Promise<void> =>
  removeInParts(db, 'request_counts', sql`expire < extract(epoch from clock_timestamp()) * 1000`)
