import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { sql } from 'kysely'
import type { Pool } from '../src/contract/pool.ts'
import type { ListRunsResponse } from '../src/contract/run.ts'
import { claimRuns, releaseRun } from '../src/store/leases.ts'
import { onFace } from './support/face.ts'
import type { apiOf } from './support/service.ts'
import { RowWorker } from './support/stored-runs.ts'

type Api = ReturnType<typeof apiOf>
const SLOTS = 3

interface Page {
  pools: Pool[]
  page_info: { next_cursor?: string }
}

const list = async (api: Api): Promise<Pool[]> => (await api.json<Page>('GET', '/agent/pools')).pools
const find = async (api: Api, name: string): Promise<Pool | undefined> =>
  (await list(api)).find((pool) => pool.name === name)

onFace('pools', (service) => {
  const grant = (resource_id: string, principal_ids: string[]) =>
    service().admin.json('PUT', '/agent/grants', { resource_type: 'pool', resource_id, principal_ids })
  const idOf = async (api: Api) => (await api.get(await api.create({ prompt: 'x' }))).creator.uid

  test('one that has workers says how many, and what they hold', async () => {
    const { admin, store, viewer } = service()
    const worker = new RowWorker(service(), { pool: 'default', slots: SLOTS })
    await worker.register()
    const idle = {
      ...{ name: 'default', is_default: true, restricted: false, workers: 1, workers_ready: 1 },
      ...{ slots: SLOTS, slots_busy: 0, queued_runs: 0 },
    }
    assert.deepEqual(await find(viewer, 'default'), idle)
    const runs: string[] = []
    for (let count = 0; count < SLOTS + 2; count += 1) runs.push(await admin.create({ prompt: 'x' }))
    const leases = await claimRuns(store.db, worker, SLOTS)
    assert.deepEqual(await find(viewer, 'default'), { ...idle, slots_busy: SLOTS, queued_runs: 2 })
    for (const run_id of runs) await admin.json('POST', `/agent/runs/${run_id}/cancel`)
    for (const lease of leases) await releaseRun(store.db, lease)
    assert.deepEqual(await find(viewer, 'default'), idle)
  })

  test('one that nobody serves is said at create, and each queued run says why it waits', async () => {
    const { admin, store } = service()
    const create = (worker_host: string) =>
      admin.json<{ run_id: string; warnings?: string[] }>('POST', '/agent/runs', {
        ...{ prompt: 'x', config: { worker_host } },
      })
    const why = async (run_id: string) => {
      const { waiting } = await admin.get(run_id)
      const { runs } = await admin.json<ListRunsResponse>('GET', `/agent/runs?run_id_prefix=${run_id}`)
      assert.deepEqual(runs[0]?.waiting, waiting)
      return waiting
    }
    const served = `fast-${randomUUID().slice(0, 8)}`
    const worker = new RowWorker(service(), { pool: served, slots: 1 })
    await worker.register()
    const typo = await create(`${served}x`)
    assert.match(
      typo.warnings?.join() ?? '',
      new RegExp(`^No worker serves the pool "${served}x": .*Pools with workers: .*"${served}"`),
    )
    const lost = await why(typo.run_id)
    assert.deepEqual([lost?.reason, lost?.pool, lost?.ahead], ['no_worker', `${served}x`, 0])
    assert.match(lost?.message ?? '', new RegExp(`"${served}"`))

    const request = { prompt: 'x', agent_config: { worker_host: `${served}x` } }
    for (const [path, more] of [
      ['/agent/schedules', { name: served, cron_schedule: '0 0 1 1 *', enabled: true }],
      ['/agent/triggers', { name: served, verification: 'standard_webhooks' }],
    ] as const) {
      const made = await admin.json<{ warnings?: string[] }>('POST', path, { ...request, ...more })
      assert.match(made.warnings?.join() ?? '', /^No worker serves the pool/)
    }
    // One that they have by default of who executes them.
    const identity = await admin.json<{ uid: string; warnings?: string[] }>('POST', '/agent/identities', {
      ...{ name: served, worker_host: `${served}x` },
    })
    const scheduled = await admin.json<{ warnings?: string[] }>('POST', '/agent/schedules', {
      ...{ name: served, cron_schedule: '0 0 1 1 *', enabled: true, prompt: 'x', agent_uid: identity.uid },
    })
    for (const { warnings } of [identity, scheduled])
      assert.match(warnings?.join() ?? '', /^No worker serves the pool/)

    const first = await create(served)
    assert.equal(first.warnings, undefined)
    assert.equal((await why(first.run_id))?.reason, 'starting')
    const [lease] = await claimRuns(store.db, worker, 1)
    assert.equal(await why(first.run_id), undefined, 'it waits no more')
    const second = await create(served)
    const third = await create(served)
    const busy = await why(third.run_id)
    assert.deepEqual([busy?.reason, busy?.ahead], ['pool_busy', 1])
    assert.match(
      busy?.message ?? '',
      /^All 1 slots of the pool .* are busy\. 1 older run waits in the pool\.$/,
    )
    const { rows } = await sql<{ max_running: number }>`update principals set max_running = 1
      where principal_id = (select principal_id from runs where run_id = ${third.run_id}::uuid)
      returning (select max(max_running) from principals)::int as max_running`.execute(store.db)
    assert.equal((await why(third.run_id))?.reason, 'principal_limit')
    await sql`update principals set max_running = ${rows[0]?.max_running ?? 8}`.execute(store.db)
    await sql`update workers set draining = true where pool = ${served}`.execute(store.db)
    assert.equal((await why(third.run_id))?.reason, 'workers_not_ready')
    for (const { run_id } of [typo, first, second, third])
      await admin.json('POST', `/agent/runs/${run_id}/cancel`)
    await sql`update workers set lost = true where pool = ${served}`.execute(store.db)
    if (lease) await releaseRun(store.db, lease)
  })

  test('one with grants is listed to those who have one, and to admins', async () => {
    const { admin, other, viewer } = service()
    const name = `gpu-${randomUUID().slice(0, 8)}`
    await admin.create({ prompt: 'x', config: { worker_host: name } })
    // Nobody serves it, and nobody was named: it is a word in a run.
    assert.equal(await find(admin, name), undefined)
    await grant(name, [await idOf(other)])
    const waiting = {
      ...{ name, is_default: false, restricted: true, workers: 0, workers_ready: 0 },
      ...{ slots: 0, slots_busy: 0, queued_runs: 1 },
    }
    assert.deepEqual(await find(admin, name), waiting)
    assert.deepEqual(await find(other, name), waiting)
    assert.equal(await find(viewer, name), undefined)
    assert.equal((await viewer.call('GET', '/agent/pools')).status, 200)
    await grant(name, [])
    assert.equal(await find(other, name), undefined)
  })

  test('they come by name, in pages', async () => {
    const { admin, other } = service()
    const names = ['a-pool', 'B-pool', 'z-pool']
    const somebody = await idOf(other)
    for (const name of names) await grant(name, [somebody])
    const all: string[] = []
    for (let cursor = ''; ; ) {
      const page = await admin.json<Page>('GET', `/agent/pools?limit=1${cursor && `&cursor=${cursor}`}`)
      assert.equal(page.pools.length, 1)
      all.push(...page.pools.map((pool) => pool.name))
      if (!page.page_info.next_cursor) break
      cursor = page.page_info.next_cursor
    }
    assert.deepEqual(all, ['B-pool', 'a-pool', 'default', 'z-pool'])
    for (const query of ['cursor=x', 'limit=0', 'limit=501', `cursor=${btoa('[1]')}`])
      assert.equal((await admin.call('GET', `/agent/pools?${query}`)).status, 400, query)
    for (const name of names) await grant(name, [])
  })
})
