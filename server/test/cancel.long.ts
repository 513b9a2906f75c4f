/** How long what a run started outlives its cancelling: in each harness, on each sandbox. */
import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { AGENT_CASES, openAgents, whyNotCase } from './support/agent-cancels.ts'
import { until } from './support/cluster.ts'
import { whyNoBubblewrap, whyNoDocker } from './support/machine.ts'
import { type ModelServer, openModelServer } from './support/model-server.ts'
import { obey } from './support/obedient-model.ts'
import { type BackendName, TEST_IMAGE } from './support/sandbox-backends.ts'
import { scriptedAgent } from './support/scripted-agent.ts'
import { apiOf, shell, startService, type TestService } from './support/service.ts'
import { findProcesses } from './support/traces.ts'

const TRIES = 50
/** Of 50, the 99th percentile is the longest. */
const LIMIT_MS = 1_000
/** How each harness is asked to run a command, and what else it leaves running. */
const HARNESSES = {
  oz: (command: string) => `$ ${command}`,
  runbook: (command: string) => shell(command),
  mine: (command: string) => `$ ${command}`,
}

measure('bubblewrap', whyNoBubblewrap())
measure('docker', whyNoDocker())

describe('after a cancel of an agent, on bubblewrap', { skip: whyNoBubblewrap() }, () => {
  let agents: Awaited<ReturnType<typeof openAgents>>
  before(async () => {
    agents = await openAgents('bubblewrap')
  })
  after(() => agents?.close())

  for (const name of AGENT_CASES)
    test(`its processes are gone within a second: ${name}`, {
      timeout: 1_200_000,
      skip: whyNotCase(name),
    }, async (t) => {
      const took: number[] = []
      for (let n = 0; n < TRIES; n += 1)
        took.push((await agents.cancel(name, `5${String(n).padStart(3, '0')}.471`)).ended_ms)
      judge(t, took)
    })
})

function measure(sandbox: BackendName, skip: string | false): void {
  describe(`after a cancel, on ${sandbox}`, { skip }, () => {
    let service: TestService
    let model: ModelServer
    before(async () => {
      model = await openModelServer(obey)
      service = await startService({
        sandbox,
        env: {
          RUNYARD_ACP_AGENTS: JSON.stringify({ mine: { command: scriptedAgent() } }),
          RUNYARD_DEFAULT_IMAGE: TEST_IMAGE,
          OPENAI_BASE_URL: model.url,
          OPENAI_API_KEY: 'sk-scripted',
        },
      })
    })
    after(async () => {
      await service?.stop()
      await model?.close()
    })

    for (const [type, ask] of Object.entries(HARNESSES))
      test(`the processes of ${type} are gone within a second`, { timeout: 600_000 }, async (t) => {
        const api = apiOf(service)
        const took: number[] = []
        for (let n = 0; n < TRIES; n += 1) {
          const marker = `6${String(n).padStart(3, '0')}.471`
          // One that left its group and its session as well.
          const prompt = ask(`setsid sleep ${marker} & sleep ${marker}`)
          const run_id = await api.create({ prompt, config: { harness: { type } } })
          await until('the command', () => findProcesses(marker).length > 1, 60, 10)
          const started = performance.now()
          await api.json('POST', `/agent/runs/${run_id}/cancel`)
          await until('its end', () => findProcesses(marker).length === 0, 60, 5)
          took.push(performance.now() - started)
          assert.equal((await api.get(run_id)).state, 'CANCELLED')
        }
        judge(t, took)
      })
  })
}

function judge(t: TestContext, took: number[]): void {
  took.sort((a, b) => a - b)
  const figures = [took[Math.floor(TRIES / 2)], took.at(-1)].map((ms) => Math.round(ms ?? Number.NaN))
  t.diagnostic(`median ${figures[0]} ms, longest of ${TRIES} ${figures[1]} ms`)
  assert((took.at(-1) ?? 0) < LIMIT_MS)
}
