/** Many streams of many runs: how many a principal may follow, and what a change of one run costs. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { KyselyPlugin } from 'kysely'
import type { Lease } from '../src/store/leases.ts'
import { until } from './support/cluster.ts'
import { onEitherDatabase } from './support/databases.ts'
import { readMessages } from './support/event-stream.ts'
import { type Face, openFace } from './support/face.ts'

const RUNS = 20
const STREAMS = 25

onEitherDatabase('many streams of many runs', (open) => {
  let face: Face
  let lease: Lease
  let queries: string[] = []
  const run_ids: string[] = []
  const counting: KyselyPlugin = {
    transformQuery: ({ node }) => {
      queries.push(JSON.stringify(node))
      return node
    },
    transformResult: async ({ result }) => result,
  }
  before(async () => {
    const store = await open()
    face = await openFace({ ...store, db: store.db.withPlugin(counting) })
    for (let count = 0; count < RUNS; count++)
      run_ids.push(await face.other.create({ prompt: 'x', config: { worker_host: face.worker.pool } }))
    lease = await face.worker.start(run_ids[0] ?? '')
  })
  after(() => face?.stop())
  const follow = (ids: readonly string[]) =>
    face.other.call('GET', `/agent/events/stream?${ids.map((id) => `run_ids=${id}`).join('&')}`)

  test('a run that changes is read once for all streams, and the others not at all', async (t) => {
    // Also when it fails: the next test counts the streams that are open.
    t.after(() => face.app.server.closeAllConnections())
    const streams = await Promise.all(Array.from({ length: STREAMS }, () => follow(run_ids)))
    const one = await face.other.call('GET', `/agent/runs/${run_ids[0]}/events`, undefined, {
      accept: 'text/event-stream',
    })
    // For each stream, in the failure's message: this failed once under load without saying which stream was silent.
    const heard: string[][] = [...streams, one].map(() => [])
    const reading = [...streams, one].map(async (response, at) => {
      for await (const { data = '' } of readMessages(response)) {
        const said = /"text":"(\w+) was said"/.exec(data)?.[1]
        if (said !== undefined) heard[at]?.push(said)
      }
      heard[at]?.push('(ended)')
    })
    const all = (word: string) => heard.every((words) => words.filter((said) => said === word).length === 1)
    const say = async (word: string) => {
      queries = []
      await face.worker.append(lease, [
        { type: 'tool.output', data: { tool_call_id: 't', stream: 'stdout', text: `${word} was said` } },
      ])
      await until(`${word} to be heard`, () => all(word)).catch((error: unknown) => {
        const state = { heard, connections: face.store.connections?.() }
        throw new Error(JSON.stringify(state), { cause: error })
      })
      return queries.filter((query) => / events\b/.test(query)).length
    }
    // From then on all of them only wait for what comes.
    await say('first')
    const reads = await say('second')
    // Appending is one, and each notification may be heard twice.
    assert(reads <= 6, `${reads} statements ask for events`)
    face.app.server.closeAllConnections()
    await Promise.allSettled(reading)
  })

  test('a principal follows so many runs at once, and as many again when streams end', async () => {
    const many = [...run_ids]
    while (many.length < 200)
      many.push(await face.other.create({ prompt: 'x', config: { worker_host: 'nobody' } }))
    const streams = await Promise.all(Array.from({ length: 12 }, () => follow(many)))
    const statuses = streams.map(({ status }) => status).toSorted()
    assert.deepEqual(statuses, [...Array(10).fill(200), 429, 429])
    // Another principal is not concerned.
    const other = await face.admin.call('GET', `/agent/events/stream?run_ids=${many[0]}`)
    assert.equal(other.status, 200)
    for (const response of [...streams, other]) response.body?.cancel().catch(() => {})
    await until('room again', async () => {
      const again = await follow(many)
      await again.body?.cancel()
      return again.status === 200
    })
    face.app.server.closeAllConnections()
  })
})
