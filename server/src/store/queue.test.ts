import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { onPostgres } from '../../test/support/databases.ts'
import { actorOf, addPrincipal, addRun } from '../../test/support/stored.ts'
import type { Db } from './db.ts'
import { MOST_COUNTED, queuedRuns, queues, readQueuedRuns, readQueues } from './queue.ts'

/** PostgreSQL reads a small table as a whole, whatever its indexes. */
const EACH = Number(process.env.RUNYARD_TEST_QUEUE ?? 5_000)
const PART = 2_500

onPostgres('a long queue', (open) => {
  let db: Db
  let me: string
  before(async () => {
    db = (await open()).db
    me = await addPrincipal(db)
    const like = await addRun(db, await addPrincipal(db), { pool: 'long', scope: 'User' })
    for (let first = 1; first < 2 * EACH; first += PART)
      await sql`
        insert into runs select made.* from runs r cross join lateral (
          select n, ('01900000-' || substr(h, 1, 4) || '-7' || substr(h, 5, 3) || '-8000-' || substr(h, 8, 12))::uuid as id
          from generate_series(${first}::int, ${first + PART - 1}::int) n, lpad(to_hex(n), 19, '0') h) m,
          jsonb_populate_record(null::runs, to_jsonb(r) || jsonb_build_object('run_id', m.id, 'conversation_id', m.id,
            'root_run_id', m.id, 'state', case when m.n % 2 = 0 then 'QUEUED' else 'SUCCEEDED' end)) made
        where r.run_id = ${like}::uuid`.execute(db)
    await sql`analyze runs`.execute(db)
  })

  test('is read by what waits, not by what has ended', async () => {
    const mine = await addRun(db, me, { pool: 'long' })
    const actor = actorOf(me)
    const [queue] = await readQueues(db, {}, { ...actor, role: 'admin' })
    assert.deepEqual([queue?.name, queue?.queued_runs], ['long', Math.min(EACH + 2, MOST_COUNTED)])
    const found = await readQueuedRuns(db, { limit: 50 }, actor)
    assert.equal(found.at(-1)?.run_id, mine)
    for (const [name, query] of [
      ['pools', queues({}, actor)],
      ['runs', queuedRuns({ limit: 50 }, actor)],
    ] as const) {
      const { rows } = await sql<{ 'QUERY PLAN': string }>`explain (analyze) ${query}`.execute(db)
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
      if (process.env.RUNYARD_SHOW_PLANS) console.log(plan)
      assert.doesNotMatch(plan, /Seq Scan on runs/, `${name}:\n${plan}`)
      assert.match(plan, /runs_(state|waiting|queued|open)/, `${name}:\n${plan}`)
    }
  })
})
