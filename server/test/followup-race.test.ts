/** Follow-ups in the instant a run ends: each accepted one is delivered, once and in order. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type InnerCluster, startInnerCluster } from './support/cluster.ts'
import { createMigrated, stopTestServer } from './support/databases.ts'
import { LONG } from './support/once.ts'
import { findPostgres } from './support/postgres-server.ts'
import { shell } from './support/service.ts'
import { assertWhole, ofType, printed } from './support/traces.ts'

const skip = findPostgres() || process.env.RUNYARD_TEST_POSTGRES ? false : 'PostgreSQL is not installed'
/** Enough for each moment of the 160 ms, which are tried in steps of `STEP_MS`. */
const RUNS = LONG ? 100 : 10
const STEP_MS = LONG ? 7 : 17
const AT_ONCE = LONG ? 10 : 5

describe('follow-ups around the end of a run', { skip }, () => {
  let database: Awaited<ReturnType<typeof createMigrated>>
  let cluster: InnerCluster
  before(async () => {
    database = await createMigrated()
    cluster = await startInnerCluster(database.url)
    await Promise.all([cluster.worker('default'), cluster.worker('default')])
  })
  after(async () => {
    await cluster?.stop()
    await database?.drop()
    await stopTestServer()
  })

  test(`${RUNS} runs, two workers, each message once and in order`, async (t) => {
    const left = Array.from({ length: RUNS }, (_, index) => index).values()
    const outcomes = new Map<string, number>()
    const chase = async (): Promise<void> => {
      for (const index of left) {
        for (const outcome of await chaseEnd(index)) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, chase))
    t.diagnostic(JSON.stringify(Object.fromEntries(outcomes)))
    // Messages came before and after the end, or the test would prove little.
    assert(outcomes.size > 1)
  })

  /** One run and two messages, each sent a moment later after the step before was seen to end. */
  async function chaseEnd(index: number): Promise<string[]> {
    const { api } = cluster
    const run_id = await api.create({ prompt: shell(`echo run ${index}`) })
    const accepted: Array<{ followup_id: string; outcome: string }> = []
    for (const [steps, message] of ['first', 'second'].entries()) {
      await api.found(run_id, (events) => ofType(events, 'tool.result').length > steps)
      // One message comes after an end for sure.
      if (index === 0 && steps === 1) await api.ended(run_id)
      // The others are spread over what the end of a run and its release take.
      await wait((index * STEP_MS) % 160)
      accepted.push(
        await api.json('POST', `/agent/runs/${run_id}/followups`, { message: shell(`echo ${message}`) }),
      )
    }
    const run = await api.ended(run_id)
    const events = await api.events(run_id)
    const ids = accepted.map(({ followup_id }) => followup_id)
    const delivered = ofType(events, 'message.user').flatMap(({ data }) => data.followup_id ?? [])
    assert.equal(run.state, 'SUCCEEDED')
    assertWhole(events)
    assert.deepEqual(delivered, ids)
    assert.equal(printed(events), `run ${index}\nfirst\nsecond\n`)
    return accepted.map(({ outcome }) => outcome)
  }
})
