/** Who executes runs, and what waits for them: through the API, to admins and to others. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { sql } from 'kysely'
import type { Queue, WorkerItem } from '../src/contract/worker.ts'
import { beat, releaseRun } from '../src/store/leases.ts'
import { drainWorker, markDisk, retireWorker } from '../src/store/workers.ts'
import { onFace } from './support/face.ts'
import type { apiOf } from './support/service.ts'
import { RowWorker } from './support/stored-runs.ts'

type Api = ReturnType<typeof apiOf>

onFace('workers and the queue', (service) => {
  const list = async (api: Api, pool: string) =>
    (await api.json<{ workers: WorkerItem[] }>('GET', `/agent/workers?pool=${pool}`)).workers
  const queueOf = (api: Api, query: string) => api.json<Queue>('GET', `/agent/queue?${query}`)
  const named = () => `p-${randomUUID().slice(0, 8)}`

  test('a worker says where it is, what it holds and whether it takes runs', async () => {
    const { admin, other, store } = service()
    const worker = new RowWorker(service(), { pool: named(), slots: 3 })
    await worker.register()
    const { worker_id, pool } = worker
    const shared = await admin.create({ prompt: 'shared', team: true, config: { worker_host: pool } })
    const lease = await worker.take(shared)
    const own = await worker.take(
      await admin.create({
        prompt: 'x',
        title: 'A private title',
        team: false,
        config: { worker_host: pool },
      }),
    )
    const [seen] = await list(admin, pool)
    const { started_at, ...rest } = seen ?? ({} as WorkerItem)
    assert(started_at)
    const { title } = await admin.get(shared)
    assert.deepEqual(rest, {
      ...{ worker_id, pool, state: 'ready', host: 'a-host', version: '0.0.0', sandbox: 'host' },
      ...{ slots: 3, slots_busy: 2, seen_at: null },
      runs: [
        { run_id: shared, title, state: 'CLAIMED' },
        { run_id: own.run_id, title: 'A private title', state: 'CLAIMED' },
      ],
    })
    // Somebody else's personal run is counted, and nothing is said of it.
    const [to_others] = await list(other, pool)
    assert.deepEqual([to_others?.slots_busy, to_others?.runs.map(({ run_id }) => run_id)], [2, [shared]])
    assert.doesNotMatch(await (await other.call('GET', '/agent/workers')).text(), /A private title/)

    assert(await beat(store.db, worker_id))
    assert.match((await list(admin, pool))[0]?.seen_at ?? '', /^20\d\d-/)
    const stateNow = async () => (await list(admin, pool))[0]?.state
    await markDisk(store.db, worker_id, true)
    assert.equal(await stateNow(), 'disk_full')
    await drainWorker(store.db, worker_id)
    assert.equal(await stateNow(), 'draining')
    await sql`update workers set lost = true where worker_id = ${worker_id}`.execute(store.db)
    assert.equal(await stateNow(), 'lost')
    await sql`update workers set seen_at = seen_at - interval '2 hours' where worker_id = ${worker_id}`.execute(
      store.db,
    )
    assert.equal(await stateNow(), 'lost', 'it holds runs')
    for (const held of [lease, own]) {
      await admin.json('POST', `/agent/runs/${held.run_id}/cancel`)
      await releaseRun(store.db, held)
    }
    assert.equal(await stateNow(), undefined)
    const other_worker = new RowWorker(service(), { pool })
    await other_worker.register()
    assert.equal(await stateNow(), 'ready')
    await retireWorker(store.db, other_worker.worker_id)
    assert.equal(await stateNow(), undefined, 'it has stopped in order')
  })

  test('the queue says how many wait, and why each run does that one may see', async () => {
    const { admin, other, store } = service()
    const worker = new RowWorker(service(), { pool: named(), slots: 1 })
    await worker.register()
    const { pool } = worker
    const ask = (title: string, team: boolean) =>
      admin.create({ prompt: 'x', title, team, config: { worker_host: pool } })
    assert.deepEqual(await queueOf(admin, `pool=${pool}`), { pools: [], runs: [], has_more: false })
    const lease = await worker.take(await ask('first', true))
    const secret = await ask('A private title', false)
    const shared = await ask('shared', true)
    const { pools, runs, has_more } = await queueOf(admin, `pool=${pool}`)
    assert.equal(has_more, false)
    const [queue] = pools
    assert.deepEqual(
      { ...queue, oldest_since: '' },
      {
        ...{ name: pool, queued_runs: 2, oldest_since: '', workers_ready: 1 },
        ...{ slots: 1, slots_free: 0 },
      },
    )
    assert.equal(queue?.oldest_since, (await admin.get(secret)).updated_at)
    assert.deepEqual(
      runs.map(({ run_id, waiting }) => [run_id, waiting.reason, waiting.ahead]),
      [
        [secret, 'pool_busy', 0],
        [shared, 'pool_busy', 1],
      ],
    )
    assert.deepEqual(runs[1]?.waiting, (await admin.get(shared)).waiting, 'as the run itself says it')
    const first = await queueOf(admin, `pool=${pool}&limit=1`)
    assert.deepEqual([first.runs.length, first.has_more], [1, true])

    const to_others = await queueOf(other, `pool=${pool}`)
    assert.equal(to_others.pools[0]?.queued_runs, 2)
    assert.deepEqual(
      to_others.runs.map(({ run_id }) => run_id),
      [shared],
    )
    assert.doesNotMatch(JSON.stringify(await queueOf(other, 'limit=500')), /A private title/)
    for (const run_id of [secret, shared, lease.run_id])
      await admin.json('POST', `/agent/runs/${run_id}/cancel`)
    await releaseRun(store.db, lease)
    await retireWorker(store.db, worker.worker_id)
  })

  test('a pool for some is shown to them alone, and a mistyped one to admins', async () => {
    const { admin, other, viewer, store } = service()
    const worker = new RowWorker(service(), { pool: named(), slots: 1 })
    await worker.register()
    const { pool } = worker
    const typo = named()
    const waiting = await admin.create({ prompt: 'x', team: true, config: { worker_host: typo } })
    const queued = await admin.create({ prompt: 'x', team: true, config: { worker_host: pool } })
    const principal_ids = [(await other.get(await other.create({ prompt: 'x' }))).creator.uid]
    await admin.json('PUT', '/agent/grants', { resource_type: 'pool', resource_id: pool, principal_ids })
    const shown = async (api: Api) => [
      (await list(api, pool)).length,
      (await queueOf(api, `pool=${pool}`)).pools.length,
      (await queueOf(api, `pool=${typo}`)).pools.length,
    ]
    assert.deepEqual(await shown(admin), [1, 1, 1])
    assert.deepEqual(await shown(other), [1, 1, 0])
    assert.deepEqual(await shown(viewer), [0, 0, 0])
    const { runs } = await queueOf(viewer, `pool=${typo}`)
    assert.match(runs[0]?.waiting.message ?? '', /^No worker serves the pool/)
    for (const run_id of [waiting, queued]) await admin.json('POST', `/agent/runs/${run_id}/cancel`)
    for (const query of ['limit=0', 'limit=501', `pool=${'x'.repeat(129)}`])
      for (const path of ['workers', 'queue'])
        assert.equal((await admin.call('GET', `/agent/${path}?${query}`)).status, 400, `${path}?${query}`)
    await retireWorker(store.db, worker.worker_id)
  })
})
