/** Agents that are not installed: refused when a run is created, wherever that can be known. */
import assert from 'node:assert/strict'
import { chmodSync, cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type InnerCluster, type InnerWorker, startInnerCluster, until } from './support/cluster.ts'
import { createDatabase, stopTestServer } from './support/databases.ts'
import { type ModelServer, openModelServer } from './support/model-server.ts'
import { findPostgres } from './support/postgres-server.ts'
import { apiOf, startService, type TestService, temporaryDirectory } from './support/service.ts'
import { ofType, printed } from './support/traces.ts'

const AGENT = fileURLToPath(new URL('./support/acp-agent.mjs', import.meta.url))
const asking = (prompt: string, more: object = {}) => ({
  prompt,
  config: { harness: { type: 'opencode' }, ...more },
})

/** The scripted agent under the name of a known one, as an installation leaves it. */
function install(folder: string): void {
  mkdirSync(join(folder, 'bin'), { recursive: true })
  cpSync(AGENT, join(folder, 'agent.mjs'))
  const program = join(folder, 'bin', 'opencode')
  writeFileSync(program, '#!/bin/sh\nexec node /opt/runyard/agent.mjs offers:\n')
  chmodSync(program, 0o755)
}

const uninstall = (folder: string): void => rmSync(join(folder, 'bin', 'opencode'))

describe('an agent that is not installed', () => {
  let model: ModelServer
  let service: TestService
  let api: ReturnType<typeof apiOf>
  let folder = ''

  before(async () => {
    model = await openModelServer(() => ({ text: 'Hello.' }))
    service = await startService({ env: { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'sk-scripted' } })
    api = apiOf(service)
    folder = join(service.data_dir, 'agents')
  })
  after(async () => {
    await service?.stop()
    await model?.close()
  })

  /** Of what answers 400; `null`: it was taken. */
  const refusal = async (path: string, body: object): Promise<string | null> => {
    const answer = await api.call('POST', path, body)
    const { detail = '', run_id } = (await answer.json()) as { detail?: string; run_id?: string }
    if (run_id) await api.call('POST', `/agent/runs/${run_id}/cancel`)
    if (answer.ok) return null
    assert.equal(answer.status, 400, detail)
    return detail
  }

  test('is refused at create, with how to install it', async () => {
    assert.match(
      (await refusal('/agent/runs', asking('$ echo x'))) ?? '',
      /^config\.harness\.type: the agent opencode is not installed at any worker of the pool default\. "runyard agents install opencode" /,
    )
  })

  test('is refused for schedules and triggers, in whose own fields it stands', async () => {
    const template = { prompt: 'x', agent_config: { harness: { type: 'opencode' } } }
    const schedule = { ...template, name: 'nightly', cron_schedule: '0 3 * * *', enabled: false }
    const trigger = { ...template, name: 'hook', verification: 'github', secret: 'a-secret-of-github' }
    for (const [path, body] of [
      ['/agent/schedules', schedule],
      ['/agent/triggers', trigger],
    ] as const)
      assert.match(
        (await refusal(path, body)) ?? '',
        /^agent_config\.harness\.type: the agent opencode is not/,
      )
  })

  test('is left to the worker where an environment may have it', async () => {
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
      name: 'of-its-own',
      variables: { PATH: '/workspace/bin:/usr/bin:/bin' },
    })
    const run = await api.ended(await api.create(asking('x', { environment_id: uid })))
    assert.deepEqual([run.state, run.status_message?.error_code], ['FAILED', 'feature_not_available'])
    assert.match(run.status_message?.message ?? '', /no program "opencode"/)
    const image = { name: 'of-an-image', docker_image: 'node:24' }
    const other = await api.json<{ uid: string }>('POST', '/agent/environments', image)
    assert.equal(await refusal('/agent/runs', asking('x', { environment_id: other.uid })), null)
  })

  test('is left to the workers of a pool that has none now', async () => {
    assert.equal(await refusal('/agent/runs', asking('x', { worker_host: 'elsewhere' })), null)
  })

  test('works once it is installed, and is refused once it is gone, both without a restart', async () => {
    install(folder)
    await until('the agent', async () => (await refusal('/agent/runs', asking('$ true'))) === null)
    const run_id = await api.create(asking('$ echo in""stalled'))
    const run = await api.ended(run_id)
    assert.equal(run.state, 'SUCCEEDED', JSON.stringify(run.status_message))
    assert.match(printed(await api.events(run_id)), /installed/)
    uninstall(folder)
    await until('its end', async () => (await refusal('/agent/runs', asking('$ true'))) !== null)
  })
})

const skip = findPostgres() || process.env.RUNYARD_TEST_POSTGRES ? false : 'PostgreSQL is not installed'

describe('of two workers of a pool, one without the agent', { skip }, () => {
  let database: Awaited<ReturnType<typeof createDatabase>>
  let model: ModelServer
  let cluster: InnerCluster
  let equipped: InnerWorker
  let tools = ''

  before(async () => {
    model = await openModelServer(() => ({ text: 'Hello.' }))
    database = await createDatabase()
    // Before the service is here, whose files are for its user alone: sandboxes have another one.
    tools = temporaryDirectory('tools')
    chmodSync(tools, 0o755)
    install(tools)
    cluster = await startInnerCluster(database.url, {
      OPENAI_BASE_URL: model.url,
      OPENAI_API_KEY: 'sk-scripted',
    })
    await cluster.worker('default')
    equipped = await cluster.worker('default', { RUNYARD_TOOLS_DIR: tools, RUNYARD_SLOTS: '1' })
  })
  after(async () => {
    await cluster?.stop()
    await database?.drop()
    await model?.close()
    await stopTestServer()
  })

  test('each run of it goes to the other, and any other run to either', async () => {
    const { api } = cluster
    const runs = await Promise.all([1, 2].map((n) => api.create(asking(`$ echo of ${n}; sleep 0.3`))))
    const plain = await api.create({
      prompt: '```sh\necho plain\n```',
      config: { harness: { type: 'runbook' } },
    })
    assert.equal((await api.ended(plain)).state, 'SUCCEEDED')
    for (const run_id of runs) {
      const run = await api.ended(run_id)
      assert.equal(run.state, 'SUCCEEDED', JSON.stringify(run.status_message))
      const [started] = ofType(await api.events(run_id), 'attempt.started')
      assert.equal(started?.data.worker_id, equipped.worker_id())
    }
  })

  test('once nobody has it, it is refused', async () => {
    uninstall(tools)
    const { api } = cluster
    const isRefused = async () => {
      const answer = await api.call('POST', '/agent/runs', asking('$ true'))
      await answer.text()
      return answer.status === 400
    }
    await until('the refusal', isRefused)
  })
})
