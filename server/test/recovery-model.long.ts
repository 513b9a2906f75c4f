/** Workers killed at each point of a step of the built-in agent: the next goes on, and the provider takes what it is told. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { WORKER_LOST } from '../src/log/interruption.ts'
import { MISTRAL_IDS } from './support/chat-rules.ts'
import { type Cluster, startCluster, until } from './support/cluster.ts'
import { createDatabase, stopTestServer } from './support/databases.ts'
import { type ChatRequest, type ModelServer, openModelServer, type Reply } from './support/model-server.ts'
import { findPostgres } from './support/postgres-server.ts'
import { assertWhole, findProcesses, ofType, printed, workersOf } from './support/traces.ts'

const skip = findPostgres() || process.env.RUNYARD_TEST_POSTGRES ? false : 'PostgreSQL is not installed'
const MARKER = `700${Date.now()}`
const bash = (command: string) => ({ name: 'bash', arguments: { command } })
const resultsIn = ({ messages }: ChatRequest) => messages.filter(({ role }) => role === 'tool')

describe('a run of the built-in agent', { skip }, () => {
  let database: Awaited<ReturnType<typeof createDatabase>>
  let cluster: Cluster
  let model: ModelServer
  /** Of the requests that hold so many results: how many there were. */
  const asked: number[] = [0, 0, 0, 0]
  /** Of those, the ones whose answer is held back. */
  const held = new Set<number>()
  const never = new Promise<never>(() => {})

  /** Does what the conversation has no result of yet. Of its third answer half comes at first, of its fourth nothing. */
  function answer(request: ChatRequest): Reply {
    const results = resultsIn(request).length
    const is_first = asked[results] === 0
    asked[results] = (asked[results] ?? 0) + 1
    const hold = (from: number): Partial<Reply> => {
      if (!is_first) return {}
      const pace = (chunk: number) => {
        if (chunk < from) return
        held.add(results)
        return never
      }
      return { pace }
    }
    if (results === 0) return { text: 'One.', calls: [bash('echo one >> done; echo one')] }
    if (results === 1) return { calls: [bash(`echo two >> done; sleep ${MARKER}`)] }
    if (results === 2) return { text: ['Let me ', 'see.'], calls: [bash('cat done')], ...hold(2) }
    return { text: 'All done.', ...hold(0) }
  }

  before(async () => {
    model = await openModelServer(answer, { call_ids: MISTRAL_IDS })
    database = await createDatabase()
    cluster = await startCluster(database.url, {
      ...{ OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'sk-test', RUNYARD_DEFAULT_MODEL: 'openai/scripted' },
    })
  })
  after(async () => {
    await cluster?.stop()
    await database?.drop()
    await model?.close()
    await stopTestServer()
  })

  test('goes on when its worker is killed in a call, in an answer and between two steps', async () => {
    const pool = 'killed'
    const workers = await Promise.all(Array.from({ length: 4 }, () => cluster.worker(pool)))
    const run_id = await cluster.api.create({ prompt: 'Do it.', config: { worker_host: pool } })
    const killHolder = async () => {
      const holder_id = workersOf(await cluster.api.events(run_id)).at(-1)
      const holder = workers.find((worker) => worker.worker_id() === holder_id)
      assert(holder)
      await holder.end('SIGKILL')
    }

    await until('the call', () => findProcesses(MARKER).length > 0)
    await killHolder()
    await until('half an answer', () => held.has(2))
    await killHolder()
    await until('the step after the next', () => held.has(3))
    await killHolder()

    const run = await cluster.api.ended(run_id)
    const events = await cluster.api.events(run_id)
    assert.deepEqual([run.state, run.attempt], ['SUCCEEDED', 4], run.status_message?.message)
    assertWhole(events)
    assert.equal(new Set(workersOf(events)).size, 4)
    // Each call was made once, the one that was cut off as well: the agent was told, and looked.
    assert.equal(ofType(events, 'tool.call').length, 3)
    assert.equal(printed(events), 'one\none\ntwo\n')
    const told = model.requests.map(({ body }) => resultsIn(body).map(({ content }) => content))
    assert.deepEqual(told.slice(2), [
      ...Array(2).fill(['one', WORKER_LOST]),
      ...Array(2).fill(['one', WORKER_LOST, 'one\ntwo']),
    ])
    assert.deepEqual(asked, [1, 1, 2, 2])
    assert.deepEqual(
      ofType(events, 'message.assistant').map(({ data }) => data.text),
      ['One.', 'Let me see.', 'All done.'],
    )
  })
})
