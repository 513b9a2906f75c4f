/** What each principal may ask in a minute, over two processes on one database. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { sql } from 'kysely'
import { RequestLimits } from '../src/http/request-limits.ts'
import { readConfig, startServe } from '../src/main.ts'
import { openPostgres, type Store } from '../src/store/db.ts'
import { toAppError } from '../src/store/faults.ts'
import { removeOldCounts } from '../src/store/request-counts.ts'
import { createMigrated, stopTestServer } from './support/databases.ts'
import { findPostgres } from './support/postgres-server.ts'
import { makeKeys } from './support/seed-keys.ts'
import { apiOf, temporaryDirectory } from './support/service.ts'
import { SIGN } from './support/sign-hook.ts'

const REQUESTS = 30
const CREATES = 5
const RUN = { prompt: 'x', config: { worker_host: 'nobody' } }
type Api = ReturnType<typeof apiOf>

describe('limits of requests', {
  skip: findPostgres() || process.env.RUNYARD_TEST_POSTGRES ? false : 'no PostgreSQL',
}, () => {
  const stops: Array<() => Promise<unknown>> = []
  let store: Store
  let apis: Record<'busy' | 'creator' | 'other' | 'eager', Api[]>
  before(async () => {
    const database = await createMigrated()
    stops.unshift(stopTestServer, database.drop)
    const settings = (more: Record<string, string>) =>
      readConfig({
        DATABASE_URL: database.url,
        RUNYARD_DATA_DIR: temporaryDirectory('limits'),
        RUNYARD_SECRET_KEY: 'the same key for both processes, 32 characters',
        RUNYARD_PORT: '0',
        // Any of them may fire a schedule.
        RUNYARD_MAX_OPEN_RUNS: '12',
        RUNYARD_LOG_LEVEL: 'silent',
        ...more,
      })
    const limits = {
      RUNYARD_REQUESTS_PER_MINUTE: String(REQUESTS),
      RUNYARD_CREATES_PER_MINUTE: String(CREATES),
    }
    store = openPostgres({ url: database.url, max: 2 })
    stops.unshift(() => store.close())
    const keys = await makeKeys(store.db, {
      eager: { role: 'member' },
      busy: { role: 'member' },
      creator: { role: 'member' },
      other: { role: 'member' },
    })
    const services = [
      await startServe({ config: settings(limits) }),
      await startServe({ config: settings(limits) }),
    ]
    const quota = {
      RUNYARD_REQUESTS_PER_MINUTE: '0',
      RUNYARD_CREATES_PER_MINUTE: '0',
      RUNYARD_MIN_SCHEDULE_SECONDS: '1',
    }
    const limited = [
      await startServe({ config: settings(quota) }),
      await startServe({ config: settings(quota) }),
    ]
    stops.unshift(...[...services, ...limited].map((service) => service.stop))
    const eager = limited.map(({ base_url }) => apiOf({ base_url, api_key: keys.eager }))
    const of = (api_key: string) => services.map(({ base_url }) => apiOf({ base_url, api_key }))
    apis = { busy: of(keys.busy), creator: of(keys.creator), other: of(keys.other), eager }
  })
  after(async () => {
    for (const stop of stops) await stop()
  })
  const onBoth = (who: keyof typeof apis, count: number, call: (api: Api) => Promise<Response>) =>
    Promise.all(
      Array.from({ length: count }, (_, at) => {
        const api = apis[who][at % 2]
        assert(api)
        return call(api)
      }),
    )
  const statusesOf = (responses: Response[]) => {
    const count = (status: number) => responses.filter((response) => response.status === status).length
    return [count(200), count(429)]
  }

  test('requests of a principal are counted over both, each once, and those beyond are refused', async () => {
    const responses = await onBoth('busy', REQUESTS + 20, (api) => api.call('GET', '/agent/runs'))
    assert.deepEqual(statusesOf(responses), [REQUESTS, 20])
    const left = responses.flatMap((response) => {
      const { headers, status } = response
      assert.equal(
        headers.get('ratelimit-policy'),
        `"requests";q=${REQUESTS};w=60, "creates";q=${CREATES};w=60`,
      )
      const [, r, t] = /^"requests";r=(\d+);t=(\d+)$/.exec(headers.get('ratelimit') ?? '') ?? []
      assert(Number(t) >= 1 && Number(t) <= 60, headers.get('ratelimit') ?? 'none')
      return status === 200 ? [Number(r)] : []
    })
    assert.deepEqual(
      left.toSorted((a, b) => b - a),
      Array.from({ length: REQUESTS }, (_, at) => REQUESTS - 1 - at),
    )
    const refused = responses.find((response) => response.status === 429)
    assert(refused)
    const seconds = Number(refused.headers.get('retry-after'))
    assert(seconds >= 1 && seconds <= 60)
    assert.equal(refused.headers.get('x-should-retry'), 'true')
    assert.match(refused.headers.get('content-type') ?? '', /^application\/problem\+json/)
    const problem = (await refused.json()) as Record<string, unknown>
    assert.deepEqual([problem.error_code, problem.status], ['resource_unavailable', 429])
    assert.match(String(problem.detail), /30 requests per minute/)
    // Of another key nothing was counted.
    assert.equal((await apis.other[0]?.call('GET', '/agent/runs'))?.status, 200)
  })

  test('creates have a limit of their own', async () => {
    const responses = await onBoth('creator', CREATES + 4, (api) => api.call('POST', '/agent/runs', RUN))
    assert.deepEqual(statusesOf(responses), [CREATES, 4])
    const refused = responses.find((response) => response.status === 429)
    assert(refused)
    assert.match(refused.headers.get('ratelimit') ?? '', /^"requests";r=\d+;t=\d+, "creates";r=0;t=\d+$/)
    assert.match(((await refused.json()) as { detail: string }).detail, /5 new runs per minute/)
    assert.equal((await apis.creator[0]?.call('GET', '/agent/runs'))?.status, 200)
  })

  test('an open stream counts once', async () => {
    const [api] = apis.other
    assert(api)
    const run_id = await api.create(RUN)
    const left = async () => {
      const response = await api.call('GET', '/agent/runs')
      return Number(/r=(\d+)/.exec(response.headers.get('ratelimit') ?? '')?.[1])
    }
    const before_it = await left()
    const stream = await api.call('GET', `/agent/events/stream?run_ids=${run_id}`)
    assert.equal(stream.status, 200)
    await api.json('POST', `/agent/runs/${run_id}/cancel`, {})
    await stream.text()
    assert.equal(before_it - (await left()), 3)
  })

  test('of 50 creates over two processes as many are taken as may be open', async () => {
    const [api] = apis.eager
    assert(api)
    const responses = await onBoth('eager', 50, (each) => each.call('POST', '/agent/runs', RUN))
    assert.deepEqual(statusesOf(responses), [12, 38])
    const refused = responses.find((response) => response.status === 429)
    assert(refused)
    assert.deepEqual(
      [refused.headers.get('retry-after'), refused.headers.get('x-should-retry')],
      ['30', 'true'],
    )
    assert.equal(refused.headers.get('ratelimit'), null)
    // A schedule stays due and says why; it fires when there is room.
    const { id } = await api.json<{ id: string }>('POST', '/agent/schedules', {
      ...{ name: 's', cron_schedule: '* * * * * *', enabled: true },
      ...{ prompt: 'x', agent_config: RUN.config },
    })
    const why = async () =>
      (await api.json<{ last_spawn_error: string | null }>('GET', `/agent/schedules/${id}`)).last_spawn_error
    const give_up = Date.now() + 60_000
    while ((await why()) === null && Date.now() < give_up) await wait(100)
    assert.match((await why()) ?? '', /12 runs of the same person .*RUNYARD_MAX_OPEN_RUNS/)
    // In the audit log as well, about no run: none was made.
    const { rows } = await sql<{ target: string | null }>`
      select target from audit_log where action = 'createRun' and status = 429
        and principal_id in (select creator_id from runs where state = 'QUEUED')`.execute(store.db)
    assert.deepEqual([...new Set(rows.map(({ target }) => target))], [null])
    // A trigger's delivery waits.
    const trigger = await api.json<{ url: string; trigger_id: string; secret: string }>(
      'POST',
      '/agent/triggers',
      {
        ...{ name: 'T', verification: 'github', prompt: 'Look.', agent_config: RUN.config },
      },
    )
    const sent = await fetch(trigger.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...SIGN.github({ secret: trigger.secret, body: '{}', id: 'one' }),
      },
      body: '{}',
    })
    assert.equal(sent.status, 202)
    const { deliveries } = await api.json<{ deliveries: Array<{ outcome: string; reason: string }> }>(
      'GET',
      `/agent/triggers/${trigger.trigger_id}/deliveries`,
    )
    assert.equal(deliveries[0]?.outcome, 'waiting')
    assert.match(deliveries[0].reason, /12 runs of the same person .*RUNYARD_MAX_OPEN_RUNS/)
    await api.call('DELETE', `/agent/schedules/${id}`)
  })

  test('a database that is away is 503, and counts that are over are removed', async () => {
    const away = openPostgres({ url: 'postgres://127.0.0.1:1/none', max: 1 })
    stops.unshift(() => away.close())
    const limits = new RequestLimits(away.db, { requests_per_minute: 1, creates_per_minute: 0 })
    await assert.rejects(limits.take('key', false), (error) => toAppError(error).status === 503)
    const none = new RequestLimits(away.db, { requests_per_minute: 0, creates_per_minute: 0 })
    assert.deepEqual(await none.take('key', true), {}, 'Without a limit nothing is asked.')
    const { db } = store
    const count = async () =>
      (
        await db
          .selectFrom('request_counts' as never)
          .selectAll()
          .execute()
      ).length
    assert((await count()) > 0)
    await removeOldCounts(db)
    const kept = await count()
    assert(kept > 0, 'They are not over yet.')
  })
})
