/** A log in which values are masked goes on elsewhere: what stands there as `***` is never executed. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Cluster, startCluster, until, type WorkerRole } from './support/cluster.ts'
import { createDatabase, stopTestServer } from './support/databases.ts'
import { type ChatRequest, type ModelServer, openModelServer, type Reply } from './support/model-server.ts'
import { findPostgres } from './support/postgres-server.ts'
import { shell } from './support/service.ts'
import { assertWhole, ofType, printed, workersOf } from './support/traces.ts'

const skip = findPostgres() || process.env.RUNYARD_TEST_POSTGRES ? false : 'PostgreSQL is not installed'
const BUILD_DIR = '/workspace/build-output'
const MAKE = 'mkdir -p build-output/cache precious/cache; echo made'
const CLEAN = `rm -rf ${BUILD_DIR}/cache; echo * */*`

function answer({ messages }: ChatRequest): Reply {
  const bash = (command: string) => ({ name: 'bash', arguments: { command } })
  if (messages.at(-1)?.role === 'user')
    return { calls: [bash(`${MAKE}; sleep 600`), bash(CLEAN), bash('echo exact')] }
  return { text: 'Done.' }
}

describe('a run with masked values', { skip }, () => {
  /** The worker that went on in the test before, of which the next one is the other's. */
  let left: WorkerRole[] = []
  let model: ModelServer
  let database: Awaited<ReturnType<typeof createDatabase>>
  let cluster: Cluster
  let environment_id: string
  before(async () => {
    model = await openModelServer(answer)
    database = await createDatabase()
    cluster = await startCluster(database.url)
    const created = await cluster.api.json<{ uid: string }>('POST', '/agent/environments', {
      name: 'build',
      variables: { BUILD_DIR },
    })
    environment_id = created.uid
  })
  after(async () => {
    await cluster?.stop()
    await model?.close()
    await database?.drop()
    await stopTestServer()
  })

  /** Ends the worker of a run in its first command; returns the log of what the next one did. */
  async function handOver(signal: 'SIGKILL' | 'SIGTERM', type: string, prompt: string) {
    const worker_host = 'masked'
    const env = {
      OPENAI_BASE_URL: model.url,
      RUNYARD_DEFAULT_MODEL: 'openai/scripted',
      RUNYARD_GRACE_SECONDS: '1',
    }
    const workers = [...left, await cluster.worker(worker_host, env)]
    if (left.length === 0) workers.push(await cluster.worker(worker_host, env))
    const config = { worker_host, environment_id, harness: { type } }
    const run_id = await cluster.api.create({ prompt, config })
    await until('the first command', async () => printed(await cluster.api.events(run_id)) === 'made\n')
    const [holder] = workersOf(await cluster.api.events(run_id))
    await workers.find((worker) => worker.worker_id() === holder)?.end(signal)
    left = workers.filter((worker) => worker.worker_id() !== holder)
    const run = await cluster.api.ended(run_id)
    const events = await cluster.api.events(run_id)
    assert.deepEqual([run.state, run.attempt], ['SUCCEEDED', 2], JSON.stringify(run.status_message))
    assertWhole(events)
    assert(!JSON.stringify(ofType(events, 'tool.call')).includes(BUILD_DIR))
    return events
  }

  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    test(`is not executed from its log after ${signal}: the model is asked again`, async () => {
      const events = await handOver(signal, 'oz', 'Clean up.')
      assert.equal(printed(events), 'made\nexact\n')
      const [, masked, exact] = ofType(events, 'tool.result')
      assert.match(masked?.data.output ?? '', /^interrupted: .*hidden/)
      assert.equal(exact?.data.output, 'exact')
    })
  }

  test('executes the commands of its runbook as its caller wrote them', async () => {
    const first = `[ -e build-output ] && exit; ${MAKE}; sleep 600`
    const events = await handOver('SIGKILL', 'runbook', [first, CLEAN].map(shell).join('\n'))
    assert.match(printed(events), /^made\n.*build-output precious precious\/cache\n$/)
  })
})
