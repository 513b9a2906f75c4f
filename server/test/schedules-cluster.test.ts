/** Schedules with three processes that fire them, while these are killed. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { sql } from 'kysely'
import type { ListFiringsResponse, ScheduledAgentItem, ScheduleFiring } from '../src/contract/schedule.ts'
import { type Db, openPostgres } from '../src/store/db.ts'
import { type Cluster, type InnerServe, startCluster, until } from './support/cluster.ts'
import { startCuttingProxy } from './support/cutting-proxy.ts'
import { createMigrated, stopTestServer } from './support/databases.ts'
import { LONG } from './support/once.ts'
import { findPostgres } from './support/postgres-server.ts'

const EVERY_SECONDS = 5
const SCHEDULES = 10
const KILLS = LONG ? 5 : 2

/** What is due around the nights in which clocks change in Berlin, by hand: `30 2` is left out in spring and comes twice in autumn. */
const CHANGES = [
  {
    change: 'forward',
    from: '2026-03-28T23:10:00.000Z',
    due: {
      '15 * * * *': ['28T23:15', '29T00:15', '29T01:15', '29T02:15', '29T03:15'].map((at) => `2026-03-${at}`),
      '30 2 * * *': ['2026-03-29T01:00'],
      '0 3 * * *': ['2026-03-29T01:00'],
    },
  },
  {
    change: 'back',
    from: '2026-10-24T23:10:00.000Z',
    due: {
      '15 * * * *': ['24T23:15', '25T00:15', '25T01:15', '25T02:15', '25T03:15'].map((at) => `2026-10-${at}`),
      '30 2 * * *': ['2026-10-25T00:30'],
      '0 3 * * *': ['2026-10-25T02:00'],
    },
  },
]

const hasFired = (role: InnerServe): boolean => role.log().includes('A schedule created a run.')

/** Makes the clock of all whose search path begins with `moved` one of its own, which begins with the right time. */
async function addClock(db: Db): Promise<void> {
  await sql`create schema moved`.execute(db)
  await sql`create table moved.clock (ahead interval not null)`.execute(db)
  await sql`insert into moved.clock values ('0')`.execute(db)
  await sql`create function moved.clock_timestamp() returns timestamptz language sql volatile
    as 'select pg_catalog.clock_timestamp() + ahead from moved.clock'`.execute(db)
}

/** Puts it to this time, from where it goes on; `null`: to the right one. */
async function setClock(db: Db, at: string | null): Promise<void> {
  await sql`update moved.clock set ahead = coalesce(${at}::timestamptz - clock_timestamp(), '0')`.execute(db)
}

const skip = findPostgres() || process.env.RUNYARD_TEST_POSTGRES ? false : 'PostgreSQL is not installed'
describe('schedules of three processes on PostgreSQL', { skip }, () => {
  let database: Awaited<ReturnType<typeof createMigrated>>
  let cluster: Cluster
  let serving: InnerServe[] = []
  let schedules: ScheduledAgentItem[] = []

  before(async () => {
    database = await createMigrated()
    const url = new URL(database.url)
    // Named behind another schema, the catalog is looked into after it.
    url.searchParams.set('options', '-c search_path=moved,pg_catalog,public')
    const store = openPostgres({ url: database.url, max: 1 })
    await addClock(store.db).finally(() => store.close())
    cluster = await startCluster(database.url, {
      DATABASE_URL: url.href,
      RUNYARD_MIN_SCHEDULE_SECONDS: '1',
    })
    serving = [cluster.first, ...(await Promise.all([cluster.serve(), cluster.serve()]))]
  })
  after(async () => {
    await cluster?.stop()
    await database?.drop()
    await stopTestServer()
  })

  const api = () => {
    const [one] = serving
    assert(one, 'No process is up.')
    return one.api
  }
  const firingsOf = async (id: string): Promise<ScheduleFiring[]> =>
    (await api().json<ListFiringsResponse>('GET', `/agent/schedules/${id}/firings?limit=500`)).firings
  const count = async (): Promise<number> => {
    const found = await sql<{ count: number }>`select count(*)::int as count from schedule_firings`.execute(
      cluster.store.db,
    )
    return found.rows[0]?.count ?? 0
  }
  /** When the schedules are due next, in milliseconds from now. */
  const untilDue = (): number => EVERY_SECONDS * 1000 - (Date.now() % (EVERY_SECONDS * 1000))

  /** Each firing has its run, and each run its firing. */
  async function assertPaired(id: string, firings: readonly ScheduleFiring[]): Promise<void> {
    const runs = await sql<{ run_id: string; due_at: Date | null }>`
      select r.run_id, f.due_at from runs r left join schedule_firings f using (run_id)
      where r.schedule->>'schedule_id' = ${id}`.execute(cluster.store.db)
    assert(runs.rows.every(({ due_at }) => due_at !== null))
    const made = firings.map((firing) => firing.run_id)
    assert.deepEqual(runs.rows.map((run) => run.run_id).sort(), made.sort())
  }

  test(`each due time creates one run while processes are killed ${KILLS} times`, async () => {
    schedules = await Promise.all(
      Array.from({ length: SCHEDULES }, (_, index) =>
        api().json<ScheduledAgentItem>('POST', '/agent/schedules', {
          ...{ name: `s${index}`, cron_schedule: `*/${EVERY_SECONDS} * * * * *`, prompt: 'x' },
          ...{ overlap: 'allow', agent_config: { worker_host: 'nobody' } },
        }),
      ),
    )
    const seen = [...serving]
    for (let kill = 0; kill < KILLS; kill++) {
      const victim = await until('a process to have fired', async () => serving.find(hasFired))
      // In the middle of what the three do then; each time a little later.
      await wait(untilDue() + kill * 8)
      await victim.end('SIGKILL')
      const next = await cluster.serve()
      seen.push(next)
      serving = [...serving.filter((role) => role !== victim), next]
    }
    const before = await count()
    await until('all to be fired after the last kill', async () => (await count()) >= before + 2 * SCHEDULES)
    for (const { id } of schedules) await api().json('POST', `/agent/schedules/${id}/pause`)
    const fired = seen.filter(hasFired)
    // Those that were killed, and whoever fired after the last kill.
    assert(fired.length > KILLS, `${fired.length} processes fired.`)

    for (const { id, next_runs } of schedules) {
      const firings = await firingsOf(id)
      assert(firings.every(({ outcome, reason }) => outcome === 'created' && reason === undefined))
      const first = Date.parse(next_runs[0] ?? '')
      const due = firings.map(({ due_at }) => Date.parse(due_at)).reverse()
      assert(due.length > KILLS)
      assert.deepEqual(
        due,
        due.map((_, index) => first + index * EVERY_SECONDS * 1000),
      )
      await assertPaired(id, firings)
    }
  })

  test('through both changes of the clocks each due time is one run, while processes are killed', async () => {
    const { db } = cluster.store
    for (const { change, from, due } of CHANGES) {
      await setClock(db, from)
      const made = await Promise.all(
        Object.entries(due).map(async ([cron_schedule, times]) => ({
          times: times.map((time) => `${time}:00.000Z`),
          ...(await api().json<ScheduledAgentItem>('POST', '/agent/schedules', {
            ...{ name: `${change} ${cron_schedule}`, cron_schedule, time_zone: 'Europe/Berlin', prompt: 'x' },
            ...{ overlap: 'allow', agent_config: { worker_host: 'nobody' } },
          })),
        })),
      )
      const all = made.flatMap(({ times }) => times)
      for (const [index, moment] of [...new Set(all)].sort().entries()) {
        const wanted = (await count()) + all.filter((time) => time === moment).length
        await setClock(db, moment)
        if (LONG || index % 3 === 1) {
          const [victim, ...others] = serving
          await victim?.end('SIGKILL')
          serving = [...others, await cluster.serve()]
        }
        await until(`all to be fired at ${moment}`, async () => (await count()) >= wanted)
      }
      for (const { id, times } of made) {
        await api().json('POST', `/agent/schedules/${id}/pause`)
        const firings = await firingsOf(id)
        assert.deepEqual(
          firings.map(({ due_at, outcome, reason }) => [due_at, outcome, reason]).reverse(),
          times.map((time) => [time, 'created', undefined]),
        )
        await assertPaired(id, firings)
      }
    }
    await setClock(db, null)
  })

  test('after all were down, one run stands for what was missed', async () => {
    const before = new Map<string, number>()
    for (const { id } of schedules) {
      await api().json('POST', `/agent/schedules/${id}/resume`)
      before.set(id, (await firingsOf(id)).length)
    }
    await Promise.all(serving.map((role) => role.end('SIGKILL')))
    await until('three due times to pass', async () => {
      const late = await sql<{ seconds: number }>`
        select extract(epoch from clock_timestamp() - max(next_run_at))::double precision as seconds from schedules`.execute(
        cluster.store.db,
      )
      return (late.rows[0]?.seconds ?? 0) > 2 * EVERY_SECONDS
    })
    serving = [await cluster.innerServe()]
    await until('each to be fired again', async () => {
      const left = await sql`select 1 from schedules where next_run_at < clock_timestamp()`.execute(
        cluster.store.db,
      )
      return left.rows.length === 0
    })
    for (const { id } of schedules) await api().json('POST', `/agent/schedules/${id}/pause`)
    for (const { id } of schedules) {
      const all = await firingsOf(id)
      const firings = all.slice(0, all.length - (before.get(id) ?? 0))
      const standing = firings.filter(({ reason }) => reason?.includes('This run stands for them'))
      assert.equal(standing.length, 1)
      assert.equal(new Set(all.map(({ due_at }) => due_at)).size, all.length)
      await assertPaired(id, all)
    }
  })

  test('any answer of the database may be lost', async (t) => {
    const [schedule] = schedules
    assert(schedule)
    const { id } = schedule
    const proxy = await startCuttingProxy(database.url, [
      /from schedules where next_run_at is not null/,
      /for update of s skip locked/,
      /insert into schedule_firings/,
      /insert into runs/,
      /update schedules set next_run_at/,
      /Q.{4}commit/s,
    ])
    t.after(async () => {
      await Promise.all(serving.map((role) => role.end('SIGTERM')))
      await proxy.close()
    })
    await api().json('POST', `/agent/schedules/${id}/resume`)
    await Promise.all(serving.map((role) => role.end('SIGTERM')))
    serving = [await cluster.innerServe({ DATABASE_URL: proxy.url })]
    const before = (await firingsOf(id)).length
    await until('every answer to be lost', () => proxy.left().length === 0)
    await until('two more firings', async () => (await firingsOf(id)).length > before + 2)
    await api().json('POST', `/agent/schedules/${id}/pause`)
    const firings = await firingsOf(id)
    assert(firings.every(({ outcome }) => outcome === 'created'))
    await assertPaired(id, firings)
    assert.equal(
      (await api().json<ScheduledAgentItem>('GET', `/agent/schedules/${id}`)).last_spawn_error,
      null,
    )
  })
})
