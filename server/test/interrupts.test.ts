/** Interrupts over HTTP: each stops the turn it was aimed at, and no other, whatever becomes of its worker. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type InnerCluster, startInnerCluster } from './support/cluster.ts'
import { createMigrated, stopTestServer } from './support/databases.ts'
import { LONG, onlyLong } from './support/once.ts'
import { findPostgres } from './support/postgres-server.ts'
import { shell } from './support/service.ts'
import { assertWhole, ofType, printed, workersOf } from './support/traces.ts'

const skip = findPostgres() || process.env.RUNYARD_TEST_POSTGRES ? false : 'PostgreSQL is not installed'
const RUNS = LONG ? 40 : 8
const AT_ONCE = 8

describe('interrupts', { skip }, () => {
  let database: Awaited<ReturnType<typeof createMigrated>>
  let cluster: InnerCluster
  before(async () => {
    database = await createMigrated()
    cluster = await startInnerCluster(database.url)
  })
  after(async () => {
    await cluster?.stop()
    await database?.drop()
    await stopTestServer()
  })

  test(`${RUNS} follow-ups that interrupt, at any time of a turn: each is executed`, async () => {
    await cluster.worker('default')
    const left = Array.from({ length: RUNS }, (_, index) => index).values()
    const interruptEach = async (): Promise<void> => {
      for (const index of left) await interruptWith(index)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, interruptEach))
  })

  /** Short steps, so that the message often meets the end of one; a last one that only an interrupt ends. */
  async function interruptWith(index: number): Promise<void> {
    const { api } = cluster
    const steps = [...Array.from({ length: 10 }, () => 'true'), 'sleep 600']
    const run_id = await api.create({ prompt: steps.map(shell).join('\n') })
    await api.found(run_id, (events) => ofType(events, 'tool.call').length > 0)
    await wait((index * 37) % 260)
    const body = { message: shell('echo instead'), on_busy: 'interrupt' }
    const { outcome } = await api.json<{ outcome: string }>('POST', `/agent/runs/${run_id}/followups`, body)
    assert.equal(outcome, 'live_session')
    const run = await api.until(run_id, ({ state }) => state === 'SUCCEEDED' || state === 'BLOCKED')
    const events = await api.events(run_id)
    assert.equal(run.state, 'SUCCEEDED', `run ${index}`)
    assert.equal(printed(events), 'instead\n')
    const order = events.flatMap(({ type }) => (/^(message\.user|interrupted)$/.test(type) ? [type] : []))
    assert.deepEqual(order, ['message.user', 'interrupted', 'message.user'])
    assertWhole(events)
  }

  for (const [name, signal] of [
    ['is lost', 'SIGKILL'],
    ['stops', 'SIGTERM'],
  ] as const) {
    const registered = signal === 'SIGKILL' ? test : onlyLong
    registered(`one that its worker did not hear of before it ${name} is obeyed by the next`, async () => {
      const { api } = cluster
      const pool = `heirs-${signal.toLowerCase()}`
      const holder = await cluster.outerWorker(pool, { RUNYARD_GRACE_SECONDS: '0' })
      const prompt = ['echo one; sleep 600', 'echo two'].map(shell).join('\n')
      const run_id = await api.create({ prompt, config: { worker_host: pool } })
      const begun = await api.found(run_id, (events) => printed(events) === 'one\n' && events)
      assert.deepEqual(workersOf(begun), [holder.worker_id()])
      await cluster.worker(pool)
      holder.signal('SIGSTOP')
      assert.equal((await api.call('POST', `/agent/runs/${run_id}/interrupt`)).status, 202)
      const ended = holder.end(signal)
      holder.signal('SIGCONT')
      await ended
      const run = await api.until(run_id, ({ state }) => state === 'BLOCKED' || state === 'SUCCEEDED')
      assert.equal(run.state, 'BLOCKED')
      assert.match(run.status_message?.message ?? '', /^Interrupted\./)
      assert.equal(run.status_message?.waits_for, 'message')
      const events = await api.events(run_id)
      assert.equal(ofType(events, 'interrupted').length, 1)
      const [result, ...more] = ofType(events, 'tool.result')
      assert.match(result?.data.output ?? '', /^interrupted: /, 'the command that was cut off is closed')
      assert.deepEqual(more, [])
      assert.doesNotMatch(printed(events), /two/)
      // What comes next is the next message, and not what was interrupted.
      await api.json('POST', `/agent/runs/${run_id}/followups`, { message: shell('echo next') })
      assert.equal((await api.ended(run_id)).state, 'SUCCEEDED')
      assert.match(printed(await api.events(run_id)), /^one\nnext\n$/)
    })
  }
})
