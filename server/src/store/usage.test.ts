import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { onEitherDatabase } from '../../test/support/databases.ts'
import { actorOf, addPrincipal, addRun } from '../../test/support/stored.ts'
import type { Db } from './db.ts'
import { readUsage } from './usage.ts'

onEitherDatabase('usage', (open) => {
  let db: Db
  let ada: string
  let bob: string
  before(async () => {
    db = (await open()).db
    ada = await addPrincipal(db)
    bob = await addPrincipal(db)
  })
  const add = async (
    created_at: string,
    state: string,
    {
      seconds = 0,
      cost = 0,
      tokens = 0,
      who = ada,
      ...more
    }: Record<string, unknown> & { who?: string } = {},
  ) => {
    const run_id = await addRun(db, who, more)
    await sql`
      update runs set created_at = ${created_at}, state = ${state}, started_at = ${created_at}, run_time_ms = ${seconds}::int * 1000,
        inference_cost_usd = ${cost}::double precision, input_tokens = ${tokens}::int where run_id = ${run_id}`.execute(
      db,
    )
  }

  test('counts by day, agent, model and environment, of what the asker may see', async () => {
    const own = { scope: 'User' as const }
    await add('2026-03-01T10:00:00Z', 'SUCCEEDED', { seconds: 10, cost: 0.1, tokens: 5, model_id: 'a/b' })
    await add('2026-03-01T11:00:00Z', 'FAILED', { seconds: 30, cost: 0.2, model_id: 'a/b' })
    await add('2026-03-02T10:00:00Z', 'ERROR', { seconds: 20 })
    await add('2026-03-02T11:00:00Z', 'BLOCKED')
    await add('2026-03-02T12:00:00Z', 'INPROGRESS', { config: { harness: { type: 'claude' } } })
    await add('2026-03-02T13:00:00Z', 'CANCELLED', { who: bob, ...own, seconds: 5 })
    await add('2026-03-03T00:00:00Z', 'SUCCEEDED')
    const span = { from: '2026-03-01T00:00:00Z', to: '2026-03-03T00:00:00Z' }
    const { totals, days, by_agent, by_model, by_environment } = await readUsage(db, span, actorOf(ada))
    assert.deepEqual(totals, {
      ...{ runs: 5, succeeded: 1, failed: 1, errors: 1, cancelled: 0, blocked: 1, open: 1 },
      ...{ run_seconds_p50: 20, run_seconds_p95: 30, total_tokens: 5, cost_usd: 0.3 },
      ...{ cache_read_tokens: 0, cache_write_tokens: 0 },
    })
    assert.deepEqual(
      days.map(({ date, runs, cost_usd }) => [date, runs, cost_usd]),
      [
        ['2026-03-01', 2, 0.3],
        ['2026-03-02', 3, 0],
      ],
    )
    assert.deepEqual(
      by_agent.map(({ agent, runs, open }) => [agent, runs, open]),
      [
        ['oz', 4, 0],
        ['claude', 1, 1],
      ],
    )
    assert.deepEqual(
      by_model.map(({ model_id, runs }) => [model_id, runs]),
      [
        [null, 3],
        ['a/b', 2],
      ],
    )
    assert.deepEqual(
      by_environment.map(({ environment_id, runs }) => [environment_id, runs]),
      [[null, 5]],
    )
    assert.equal((await readUsage(db, span, actorOf(bob))).totals.runs, 6)
    const of_bob = await readUsage(db, { ...span, creator: bob }, actorOf(bob))
    assert.deepEqual([of_bob.totals.runs, of_bob.totals.run_seconds_p50], [1, 5])
    const of_asker = await readUsage(db, { ...span, creator: 'me' }, actorOf(bob))
    assert.deepEqual(of_asker.totals, of_bob.totals)
    assert.equal((await readUsage(db, { ...span, creator: 'nobody' }, actorOf(bob))).totals.runs, 0)
    assert.equal((await readUsage(db, { ...span, creator: bob }, actorOf(ada))).totals.runs, 0)
  })

  test('days are those of the time zone, of 23 and of 25 hours as well', async () => {
    // The clocks of Berlin go forward on 29 March 2026 and back on 25 October.
    for (const moment of [
      '2026-03-28T22:59:59Z',
      '2026-03-28T23:00:00Z',
      '2026-03-29T21:59:59Z',
      '2026-03-29T22:00:00Z',
    ])
      await add(moment, 'SUCCEEDED')
    for (const moment of ['2026-10-24T22:00:00Z', '2026-10-25T22:59:59Z', '2026-10-25T23:00:00Z'])
      await add(moment, 'SUCCEEDED')
    const read = async (from: string, to: string) => {
      const { days } = await readUsage(db, { from, to, time_zone: 'Europe/Berlin' }, actorOf(ada))
      return days.map(({ date, runs }) => [date, runs])
    }
    assert.deepEqual(await read('2026-03-27T23:00:00Z', '2026-03-30T22:00:00Z'), [
      ['2026-03-28', 1],
      ['2026-03-29', 2],
      ['2026-03-30', 1],
    ])
    assert.deepEqual(await read('2026-10-24T22:00:00Z', '2026-10-26T23:00:00Z'), [
      ['2026-10-25', 2],
      ['2026-10-26', 1],
    ])
  })

  test('a zone means what it means elsewhere, whatever PostgreSQL calls so', async () => {
    const span = { from: '2024-07-01T00:00:00.000Z', to: '2024-07-02T12:00:00.000Z' }
    await add('2024-07-01T07:30:00Z', 'SUCCEEDED')
    await add('2024-07-01T20:30:00Z', 'SUCCEEDED')
    const read = async (time_zone: string) => {
      const { days, ...usage } = await readUsage(db, { ...span, time_zone }, actorOf(ada))
      assert.equal(usage.time_zone, time_zone)
      return days.filter(({ runs }) => runs > 0).map(({ date, runs }) => [date, runs])
    }
    // In summer Los Angeles is 7 hours behind, and India 5.5 ahead.
    assert.deepEqual(await read('PST'), [['2024-07-01', 2]])
    assert.deepEqual(await read('IST'), [
      ['2024-07-01', 1],
      ['2024-07-02', 1],
    ])
    for (const zone of ['US/Pacific-New', 'CTT', 'AET', 'europe/berlin']) await read(zone)
  })

  test('without a span it is 30 whole days, and those without runs are there', async () => {
    const { from, days, totals } = await readUsage(
      db,
      { to: '2025-04-10T12:00:00.000Z', time_zone: 'Europe/Berlin' },
      actorOf(ada),
    )
    assert.equal(from, '2025-03-11T23:00:00.000Z')
    assert.deepEqual([days.length, days[0]?.date, days.at(-1)?.date], [30, '2025-03-12', '2025-04-10'])
    assert.deepEqual([totals.runs, totals.run_seconds_p50, totals.cost_usd, days[3]?.runs], [0, null, 0, 0])
  })
})
