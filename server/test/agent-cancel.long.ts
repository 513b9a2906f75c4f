/** How long processes of an agent outlive the cancelling of their run. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { until } from './support/cluster.ts'
import { scriptedAgent } from './support/scripted-agent.ts'
import { apiOf, startService, type TestService } from './support/service.ts'
import { findProcesses } from './support/traces.ts'

const TRIES = 50

let service: TestService
before(async () => {
  service = await startService({
    env: { RUNYARD_ACP_AGENTS: JSON.stringify({ mine: { command: scriptedAgent() } }) },
  })
})
after(() => service?.stop())

test('they are gone within a second', { timeout: 600_000 }, async (t) => {
  const api = apiOf(service)
  const took: number[] = []
  for (let n = 0; n < TRIES; n += 1) {
    const marker = `6${String(n).padStart(3, '0')}.471`
    const run_id = await api.create({ prompt: `$ sleep ${marker}`, config: { harness: { type: 'mine' } } })
    await until('the command', () => findProcesses(marker).length > 0, 60, 10)
    const started = performance.now()
    await api.json('POST', `/agent/runs/${run_id}/cancel`)
    await until('its end', () => findProcesses(marker).length === 0, 60, 5)
    took.push(performance.now() - started)
  }
  took.sort((a, b) => a - b)
  const figures = [took[Math.floor(TRIES / 2)], took.at(-1)].map((ms) => Math.round(ms ?? Number.NaN))
  t.diagnostic(`median ${figures[0]} ms, longest of ${TRIES} ${figures[1]} ms`)
  assert((took.at(-1) ?? 0) < 1_000)
})
