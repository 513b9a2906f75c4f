/** How much PostgreSQL is asked while nothing happens. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { type InnerCluster, startInnerCluster } from './support/cluster.ts'
import { createDatabase, stopTestServer, type TestDatabase } from './support/databases.ts'
import { findPostgres } from './support/postgres-server.ts'

const skip = findPostgres() ? false : 'PostgreSQL is not installed'
/**
 * A second, of a server and a worker: each asks whether work waits, and for each heartbeat, every other second, looks for lost
 * workers and asks once whether its listening connection lives, as does the test's own; and the heartbeat. A late heartbeat is
 * looked for twice a second. A busy machine makes timers late, never early, so it asks less.
 */
const STATEMENTS = 9
const BEATS = 8

describe('a service at rest', { skip }, () => {
  let database: TestDatabase
  let cluster: InnerCluster
  let client: pg.Client
  before(async () => {
    database = await createDatabase()
    cluster = await startInnerCluster(database.url)
    await cluster.worker('default')
    client = new pg.Client(database.url)
    await client.connect()
  })
  after(async () => {
    await client?.end()
    await cluster?.stop()
    await database?.drop()
    await stopTestServer()
  })

  /** Heartbeats, and all statements but those of this function: each is a transaction of its own. */
  let own = 0
  const count = async () => {
    own += 1
    const { rows } = await client.query<{ beats: number; statements: number }>(`
      select (select sum(beat) from workers)::int as beats,
        (select xact_commit from pg_stat_database where datname = current_database())::int as statements`)
    const { beats = 0, statements = 0 } = rows[0] ?? {}
    return { beats, statements: statements - own, at_s: performance.now() / 1_000 }
  }
  const countFrom = async (beats: number) => {
    for (const deadline = Date.now() + 60_000; ; await wait(100)) {
      const found = await count()
      if (found.beats >= beats) return found
      assert(Date.now() < deadline, 'The worker does not beat.')
    }
  }

  test('asks the database little while it beats', async () => {
    const { beats: now } = await count()
    // What a start leaves to be done.
    const first = await countFrom(now + 2)
    const last = await countFrom(first.beats + BEATS)
    const statements = (last.statements - first.statements) / (last.at_s - first.at_s)
    assert(statements <= STATEMENTS, `${statements} statements a second`)
    assert(statements >= 1, `${statements} statements a second: they are not counted`)
  })
})
