/** A run whose setup failed is asked in the sandbox that this left, and stays as it ended. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { sql } from 'kysely'
import type { EnvironmentConfig } from '../src/contract/environment.ts'
import type { RunEvent } from '../src/contract/event.ts'
import type { RunItem } from '../src/contract/run.ts'
import { apiOf, shell, startService, type TestService, temporaryDirectory } from './support/service.ts'
import { assertWhole, ofType, printed } from './support/traces.ts'

const SECRET = 'a-secret-of-some-length'

describe('a debug turn', { concurrency: 2 }, () => {
  let service: TestService
  let api: ReturnType<typeof apiOf>
  before(async () => {
    service = await startService()
    api = apiOf(service)
  })
  after(() => service?.stop())

  const fail = async (config: Partial<EnvironmentConfig>, body: object = {}): Promise<RunItem> => {
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
      name: `debugged ${randomUUID()}`,
      setup_commands: ['echo left > ~/mark; echo again >> /workspace/setups', 'exit 3'],
      ...config,
    })
    const run_id = await api.create({
      prompt: shell('echo began'),
      config: { environment_id: uid, idle_timeout_minutes: 5 },
      ...body,
    })
    const run = await api.ended(run_id)
    assert.deepEqual([run.state, run.status_message?.error_code], ['FAILED', 'environment_setup_failed'])
    return run
  }
  const ask = (run_id: string, message: string, more: object = {}) =>
    api.json<{ outcome: string }>('POST', `/agent/runs/${run_id}/followups`, { message, ...more })
  const endsOf = (events: RunEvent[]) => ofType(events, 'debug.ended')
  /** The whole log once this many turns are over and their worker has let go. */
  const turned = async (run_id: string, turns = 1): Promise<RunEvent[]> => {
    await api.found(run_id, (events) => endsOf(events).length >= turns)
    await api.until(run_id, (run) => !run.is_sandbox_running)
    return api.events(run_id)
  }
  const unchanged = ({ status_message, ...run }: RunItem) => {
    const { message, error_code, retryable } = status_message ?? {}
    const { state, finished_at, started_at, execution, result, resolved } = run
    return { state, finished_at, started_at, execution, result, resolved, message, error_code, retryable }
  }
  const minutesLeft = ({ status_message, finished_at }: RunItem): number =>
    (Date.parse(status_message?.session_debug_until ?? '') - Date.parse(finished_at ?? '')) / 60_000

  test('works where the setup failed, and leaves the run as it ended', async () => {
    const failed = await fail({ failure_session_retention_minutes: 90, variables: { TOKEN: SECRET } })
    const { run_id } = failed
    assert.equal(failed.debug_agent_available, true)
    assert.equal(Math.round(minutesLeft(failed)), 90)
    const deliveries = await countDeliveries(run_id)
    const command = 'cat ~/mark /workspace/setups /workspace/attachments/note; echo $TOKEN'
    const said = await ask(run_id, shell(command), {
      attachments: [
        { file_name: 'note', mime_type: 'text/plain', data: Buffer.from('attached\n').toString('base64') },
      ],
    })
    assert.equal(said.outcome, 'queue_pending')
    const events = await turned(run_id)
    assertWhole(events)
    assert.equal(printed(events), 'left\nagain\nattached\n***\n')
    assert.deepEqual(
      endsOf(events).map(({ data }) => data.outcome),
      ['SUCCEEDED'],
    )
    assert.deepEqual(
      ofType(events, 'run.state').map(({ data }) => data.state),
      ['QUEUED', 'CLAIMED', 'FAILED'],
    )
    const run = await api.get(run_id)
    assert.deepEqual(unchanged(run), unchanged(failed))
    assert.equal(run.debug_agent_available, true)
    assert.equal(run.status_message?.debug_agent_active, undefined)
    assert(minutesLeft(run) > minutesLeft(failed), 'The turn has moved the end of the window.')
    assert.equal(await countDeliveries(run_id), deliveries, 'No webhook hears of it.')
    const { steps } = await api.json<{ steps: unknown[] }>('GET', `/agent/runs/${run_id}/conversation`)
    assert.equal(steps.length, 2, 'The message and the turn are in the conversation.')
    const listed = await api.json<{ runs: RunItem[] }>('GET', `/agent/runs?q=${run_id}`)
    assert.deepEqual(listed.runs[0]?.status_message, run.status_message)
    const last = await ask(run_id, shell('echo once more >> ~/mark; cat ~/mark'))
    assert.equal(last.outcome, 'queue_pending')
    assert.equal(printed(await turned(run_id, 2)), 'left\nagain\nattached\n***\nleft\nonce more\n')
  })

  test('is interrupted, and gets what is said meanwhile, but the run cannot be cancelled', async () => {
    const { run_id } = await fail({ failure_session_retention_minutes: 30 })
    const wait = 'touch /workspace/here; until [ -e /workspace/go ]; do sleep 0.05; done'
    await ask(run_id, shell(wait))
    const active = await api.until(run_id, (run) => run.status_message?.debug_agent_active === true)
    assert.deepEqual([active.state, active.debug_agent_available], ['FAILED', true])
    await api.found(run_id, (events) => ofType(events, 'tool.call').length > 0)
    const cancelled = await api.call('POST', `/agent/runs/${run_id}/cancel`)
    assert.equal(cancelled.status, 400)
    assert.match(await cancelled.text(), /already ended/)
    const refused = await api.call('POST', `/agent/runs/${run_id}/followups`, {
      message: 'x',
      on_busy: 'reject',
    })
    assert.equal(refused.status, 409)
    assert.equal((await api.call('POST', `/agent/runs/${run_id}/interrupt`)).status, 202)
    const events = await turned(run_id)
    assert.equal(ofType(events, 'interrupted').length, 1)
    assert.deepEqual(endsOf(events)[0]?.data, {
      attempt: 2,
      outcome: 'BLOCKED',
      status_message: { message: 'Interrupted. Send a follow-up to go on.', waits_for: 'message' },
    })
    // One that is said while a turn works is part of it, or of another turn at once.
    await ask(run_id, shell(wait))
    await api.found(run_id, (all) => ofType(all, 'tool.call').length > 1)
    assert.equal((await ask(run_id, shell('echo second'))).outcome, 'live_session')
    const folder = join(service.data_dir, 'sandboxes/bubblewrap')
    const place = [1, 2, 3].map((n) => join(folder, `${run_id}-${n}`)).find((path) => existsSync(path)) ?? ''
    writeFileSync(join(place, 'workspace/go'), '')
    const both = await turned(run_id, 2)
    assert.equal(printed(both), 'second\n')
    assert.equal(endsOf(both).length, 2)
  })

  test('is held to the budget of its run, in time and by what it says', async () => {
    const { run_id } = await fail(
      { failure_session_retention_minutes: 30 },
      { budget: { max_duration_minutes: 60 } },
    )
    await sql`update runs set run_time_ms = 3600000 where run_id = ${run_id}`.execute(service.store.db)
    await ask(run_id, shell('echo not this'))
    const events = await turned(run_id)
    assert.equal(printed(events), '')
    const [end] = endsOf(events)
    assert.equal(end?.data.status_message?.error_code, 'budget_exceeded')
    assert.equal(ofType(events, 'followup.delivered').length, 1)
    await ask(run_id, shell('echo this'), { budget: { max_duration_minutes: 120 } })
    assert.match(printed(await turned(run_id, 2)), /this\n$/)
    assert.equal((await api.get(run_id)).state, 'FAILED')
  })

  test('says that the sandbox is gone, and the next follow-up begins anew', async () => {
    const { run_id } = await fail({ failure_session_retention_minutes: 30 })
    await sql`update sandboxes set ref = jsonb_set(ref, '{backend}', '"another"') where run_id = ${run_id}`.execute(
      service.store.db,
    )
    await ask(run_id, shell('echo lost'))
    const [end] = endsOf(await turned(run_id))
    assert.match(end?.data.status_message?.message ?? '', /not there any more/)
    const run = await api.get(run_id)
    assert.equal(run.debug_agent_available, false)
    assert.equal((await ask(run_id, shell('true'))).outcome, 'handoff_execution')
  })

  for (const [what, minutes, late] of [
    ['its window is over', 30, true],
    ['its environment keeps nothing', 0, false],
    ['its environment says nothing of it', undefined, false],
  ] as const)
    test(`is none when ${what}: the run is executed again`, async () => {
      const { run_id } = await fail({
        ...(minutes === undefined ? {} : { failure_session_retention_minutes: minutes }),
        setup_commands: ['[ -e ~/mark ] && exit 0; touch ~/mark; exit 3'],
      })
      if (late)
        await sql`update runs set debug_until = clock_timestamp() where run_id = ${run_id}`.execute(
          service.store.db,
        )
      const before = await api.get(run_id)
      assert.deepEqual(
        [before.debug_agent_available, before.status_message?.session_debug_until],
        [false, undefined],
      )
      assert.equal((await ask(run_id, shell('true'))).outcome, 'handoff_execution')
      const run = await api.until(run_id, ({ execution, state }) => execution === 2 && state === 'FAILED')
      assert.equal(run.status_message?.error_code, 'environment_setup_failed', 'It was set up anew.')
    })

  test('ends with its worker, and the next one goes on in the same place', async () => {
    const data_dir = temporaryDirectory('restarted')
    let other = await startService({ data_dir })
    try {
      const before = apiOf(other)
      const { uid } = await before.json<{ uid: string }>('POST', '/agent/environments', {
        ...{ name: 'restarted', failure_session_retention_minutes: 30 },
        setup_commands: ['echo left > ~/mark', 'exit 3'],
      })
      const run_id = await before.create({ prompt: 'x', config: { environment_id: uid } })
      await before.ended(run_id)
      const wait = 'touch /workspace/here; until [ -e /workspace/go ]; do sleep 0.05; done'
      const message = `${shell(wait)}\n${shell('echo not this')}`
      await before.json('POST', `/agent/runs/${run_id}/followups`, { message })
      await before.found(run_id, (events) => ofType(events, 'tool.call').length > 0)
      const stopped = other.stop()
      writeFileSync(join(data_dir, 'sandboxes/bubblewrap', `${run_id}-1`, 'workspace/go'), '')
      await stopped
      other = await startService({ data_dir })
      const after = apiOf(other)
      const events = await after.events(run_id)
      const [end] = endsOf(events)
      assert.deepEqual(
        [end?.data.outcome, end?.data.status_message?.message],
        ['ERROR', 'The worker is stopping.'],
      )
      assert.equal((await after.get(run_id)).state, 'FAILED')
      await after.json('POST', `/agent/runs/${run_id}/followups`, { message: shell('cat ~/mark') })
      await after.found(run_id, (all) => endsOf(all).length > 1)
      assert.equal(printed(await after.events(run_id)), 'left\n')
    } finally {
      await other.stop()
    }
  })

  test('is none of a run whose agent has begun', async () => {
    const { uid: environment_id } = await api.json<{ uid: string }>('POST', '/agent/environments', {
      ...{ name: `debugged ${randomUUID()}`, failure_session_retention_minutes: 30 },
    })
    const run_id = await api.create({ prompt: shell('exit 7'), config: { environment_id } })
    assert.equal((await api.ended(run_id)).debug_agent_available, false)
    assert.equal((await ask(run_id, shell('true'))).outcome, 'handoff_execution')
    assert.equal((await api.ended(run_id)).state, 'SUCCEEDED')
  })

  const countDeliveries = async (run_id: string): Promise<number> => {
    const { rows } = await sql<{ n: number }>`
      select count(*)::int as n from webhook_deliveries where run_id = ${run_id}`.execute(service.store.db)
    return rows[0]?.n ?? -1
  }
})
