/** Many runs at once on the embedded service: all end well, each claimed once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ListRunsResponse } from '../src/contract/run.ts'
import { until } from './support/cluster.ts'
import { LONG } from './support/once.ts'
import { apiOf, shell, startService } from './support/service.ts'
import { assertWhole, ofType, printed } from './support/traces.ts'

const RUNS = LONG ? 1_000 : 24
const CLIENTS = 12

test(`${RUNS} runs created as fast as ${CLIENTS} clients can all succeed at the first attempt`, async (t) => {
  const service = await startService()
  t.after(() => service.stop())
  const api = apiOf(service)
  const began = performance.now()
  const wanted = Array.from({ length: RUNS }, (_, index) => `run ${index}`)
  const created = new Map<string, string>()
  const waiting = wanted.values()
  await inParallel(async () => {
    for (const text of waiting) created.set(await api.create({ prompt: shell(`echo ${text}`) }), text)
  })
  const all_created = performance.now()
  assert.equal(created.size, RUNS)
  await until(
    'all runs to end',
    async () => {
      const states = 'QUEUED,CLAIMED,INPROGRESS'
      const { runs } = await api.json<ListRunsResponse>('GET', `/agent/runs?limit=1&state=${states}`)
      return runs.length === 0
    },
    500,
    500,
  )
  const seconds = (performance.now() - began) / 1000
  const created_in = (all_created - began) / 1000
  t.diagnostic(`created in ${created_in.toFixed(1)} s, all ended after ${seconds.toFixed(1)} s`)

  const ended = created.entries()
  await inParallel(async () => {
    for (const [run_id, text] of ended) {
      const [run, events] = [await api.get(run_id), await api.events(run_id)]
      assert.deepEqual([run.state, run.attempt], ['SUCCEEDED', 1])
      assert.equal(ofType(events, 'attempt.started').length, 1)
      assert.equal(printed(events), `${text}\n`)
      assertWhole(events)
    }
  })
})

async function inParallel(work: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: CLIENTS }, work))
}
