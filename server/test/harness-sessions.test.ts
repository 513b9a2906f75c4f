/** What a worker gives a harness: one session for the time it holds a run, with state that outlives it. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, describe, test } from 'node:test'
import { LOOP } from '../src/contract/harness-fields.ts'
import type { Execution, Harness, Session, TurnRequest } from '../src/harness/harness.ts'
import { openPostgres, type Store } from '../src/store/db.ts'
import { migrate } from '../src/store/migrate.ts'
import { until } from './support/cluster.ts'
import { createDatabase, stopTestServer } from './support/databases.ts'
import { findPostgres } from './support/postgres-server.ts'
import { addPrincipal, addRun, follow, interrupt, readStored, readWholeLog } from './support/stored.ts'
import { openTestWorker, type TestWorker } from './support/worker.ts'

const skip = findPostgres() || process.env.RUNYARD_TEST_POSTGRES ? false : 'PostgreSQL is not installed'

describe('harness sessions', { skip }, () => {
  let database: Awaited<ReturnType<typeof createDatabase>>
  let store: Store
  let worker: TestWorker | undefined
  before(async () => {
    database = await createDatabase()
    store = openPostgres({ url: database.url })
    await migrate(store.db)
  })
  afterEach(() => worker?.stop())
  after(async () => {
    await store?.close()
    await database?.drop()
    await stopTestServer()
  })

  /** What happened, in order. */
  let story: string[] = []
  const startRun = async (
    turn: (request: TurnRequest, execution: Execution) => Promise<void>,
    more: Partial<Session> = {},
  ) => {
    story = []
    const harness: Harness = {
      traits: { ...LOOP, name: 'told' },
      async open(execution) {
        story.push('open')
        return {
          async turn(request) {
            story.push('turn')
            await turn(request, execution)
            return { state: 'SUCCEEDED' }
          },
          async close() {
            story.push('close')
          },
          ...more,
        }
      },
    }
    const pool = randomUUID()
    worker = await openTestWorker({ store, pool, harnesses: [harness] })
    const principal_id = await addPrincipal(store.db)
    const run_id = await addRun(store.db, principal_id, { pool })
    return { run_id, principal_id }
  }
  const settled = (run_id: string, state: string) =>
    until('the run to be let go', async () => {
      const run = await readStored(store.db, run_id)
      return run.worker_id === null && run.state === state
    })
  const during = (count: number) =>
    until('the turn', () => story.filter((what) => what === 'turn').length === count)
  const textsOf = async (run_id: string) =>
    (await readWholeLog(store.db, run_id)).flatMap((event) =>
      event.type === 'message.user' ? [event.data.text] : [],
    )

  test('one lasts from turn to turn, and hears of a follow-up that waits', async () => {
    const { run_id, principal_id } = await startRun(async ({ history, inbox }) => {
      if (history.filter((event) => event.type === 'message.user').length === 1) await inbox.waiting()
    })
    await during(1)
    await follow(store.db, run_id, principal_id, { message: 'more' })
    await settled(run_id, 'SUCCEEDED')
    assert.deepEqual(story, ['open', 'turn', 'turn', 'close'])
  })

  test('one that is interrupted is closed', async () => {
    const { run_id, principal_id } = await startRun(
      ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
    )
    await during(1)
    await interrupt(store.db, run_id, principal_id)
    await settled(run_id, 'BLOCKED')
    assert.deepEqual(story, ['open', 'turn', 'close'])
  })

  test('the next one finds what the last one kept, and the tools of its execution', async () => {
    const found: unknown[] = []
    const { run_id, principal_id } = await startRun(async (_request, { state, tools, run }) => {
      found.push(state.read())
      await state.write({ session_id: `of attempt ${run.attempt}` })
      found.push(state.read())
      assert.deepEqual([...tools.keys()].includes('bash'), true)
    })
    await settled(run_id, 'SUCCEEDED')
    await follow(store.db, run_id, principal_id, { message: 'more' })
    await until('the second session', () => story.length === 6)
    await settled(run_id, 'SUCCEEDED')
    assert.deepEqual(found, [
      null,
      { session_id: 'of attempt 1' },
      { session_id: 'of attempt 1' },
      { session_id: 'of attempt 2' },
    ])
  })

  test('one that can be steered gets what comes in the middle of a turn, once', async () => {
    const steered = Promise.withResolvers<void>()
    const { run_id, principal_id } = await startRun(() => steered.promise, {
      async steer({ data }) {
        story.push(`steer ${data.text}`)
        if (data.text === 'two') steered.resolve()
        return true
      },
    })
    await during(1)
    await follow(store.db, run_id, principal_id, { message: 'one' })
    await until('the first', () => story.includes('steer one'))
    await follow(store.db, run_id, principal_id, { message: 'two' })
    await settled(run_id, 'SUCCEEDED')
    assert.deepEqual(story, ['open', 'turn', 'steer one', 'steer two', 'close'])
    assert.deepEqual(await textsOf(run_id), ['Do it.', 'one', 'two'])
  })

  test('a message that comes as the turn ends, and is not taken into it, makes another turn', async () => {
    const ending = Promise.withResolvers<void>()
    let seen = 0
    const { run_id, principal_id } = await startRun(
      ({ history }) => {
        seen = history.filter((event) => event.type === 'message.user').length
        return seen === 1 ? ending.promise : Promise.resolve()
      },
      {
        async steer() {
          ending.resolve()
          return false
        },
      },
    )
    await during(1)
    await follow(store.db, run_id, principal_id, { message: 'one' })
    await settled(run_id, 'SUCCEEDED')
    assert.deepEqual([story, seen], [['open', 'turn', 'turn', 'close'], 2])
  })

  test('what models used by the time the worker stops is told, though nothing else is', async () => {
    const { run_id } = await startRun(async ({ signal }, { emit }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      const used = { input_tokens: 3, output_tokens: 4, total_tokens: 7 }
      await emit({ type: 'usage', data: { model_id: 'a/b', ...used } }).catch(() => {})
      await emit({
        type: 'error',
        data: { message: 'late', error_code: 'internal_error', retryable: false },
      }).catch(() => {})
    })
    await during(1)
    await worker?.stop()
    const run = await readStored(store.db, run_id)
    assert.deepEqual([run.state, run.input_tokens], ['QUEUED', 3])
    const log = await readWholeLog(store.db, run_id)
    assert.deepEqual(
      log.filter(({ type }) => type === 'error'),
      [],
    )
  })
})
