/** Messages to a run in every state, and interrupts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { RunEvent } from '../src/contract/event.ts'
import type { RunItem } from '../src/contract/run.ts'
import type { RunFollowupResponse } from '../src/contract/run-request.ts'
import { NOBODY, onEitherService, SLOTS } from './support/each-service.ts'
import { LONG } from './support/once.ts'
import { shell } from './support/service.ts'

onEitherService('follow-ups', (service) => {
  const follow = (run_id: string, body: object) =>
    service().admin.call('POST', `/agent/runs/${run_id}/followups`, body)
  const send = async (run_id: string, message: string, more: object = {}): Promise<RunFollowupResponse> => {
    const response = await follow(run_id, { message, ...more })
    assert.equal(response.status, 200)
    return (await response.json()) as RunFollowupResponse
  }
  const interrupt = (run_id: string) => service().admin.call('POST', `/agent/runs/${run_id}/interrupt`)
  const cancel = (run_id: string) => service().admin.json('POST', `/agent/runs/${run_id}/cancel`)
  const working = async (command: string): Promise<string> => {
    const run_id = await service().admin.create({ prompt: shell(command) })
    await untilEvents(run_id, (log) => log.some((event) => event.type === 'tool.call'))
    return run_id
  }
  const untilEvents = async (run_id: string, done: (log: RunEvent[]) => boolean): Promise<RunEvent[]> => {
    for (const deadline = Date.now() + 30_000; ; await wait(50)) {
      const log = await service().admin.events(run_id)
      if (done(log)) return log
      assert(Date.now() < deadline, 'Waited in vain for events.')
    }
  }
  /** Fills every slot for as long as `body` takes. */
  const whileBusy = async <T>(body: () => Promise<T>): Promise<T> => {
    const sleepers = await Promise.all(Array.from({ length: SLOTS }, () => working('sleep 60')))
    const result = await body()
    for (const run_id of sleepers) await cancel(run_id)
    return result
  }

  test('to a run that has not started: queued_prompt, in order, before the agent starts', async () => {
    const { admin } = service()
    const prompt = shell('echo prompt')
    const run_id = await whileBusy(async () => {
      const id = await admin.create({ prompt })
      assert.equal((await send(id, shell('echo first'))).outcome, 'queued_prompt')
      assert.equal((await send(id, shell('echo second'), { on_busy: 'reject' })).outcome, 'queued_prompt')
      const queued = await admin.get(id)
      assert.equal(queued.state, 'QUEUED')
      assert.equal(queued.prompt, prompt)
      return id
    })
    const run = await admin.ended(run_id)
    assert.equal(run.state, 'SUCCEEDED')
    assert.equal(run.execution, 1)
    assert.equal(run.prompt, prompt)
    const log = await admin.events(run_id)
    assert.deepEqual(userTexts(log), [prompt, shell('echo first'), shell('echo second')])
    assert.equal(outputOf(log), 'prompt\nfirst\nsecond\n')
    const started = log.findIndex((event) => event.type === 'tool.call')
    assert(log.findLastIndex((event) => event.type === 'message.user') < started)
  })

  test('to a working run: live_session at its next step', async () => {
    const { admin } = service()
    const run_id = await working('sleep 0.7; echo one')
    assert.equal((await send(run_id, shell('echo two'))).outcome, 'live_session')
    const run = await admin.ended(run_id)
    assert.equal(run.state, 'SUCCEEDED')
    assert.equal(run.execution, 1)
    assert.equal(run.attempt, 1)
    assert.equal(outputOf(await admin.events(run_id)), 'one\ntwo\n')
  })

  test('to a working run, interrupting: its turn stops and the message is next', async () => {
    const { admin } = service()
    const run_id = await working('sleep 60; echo never')
    assert.equal(
      (await send(run_id, shell('echo instead'), { on_busy: 'interrupt' })).outcome,
      'live_session',
    )
    const log = await untilEvents(run_id, (events) => outputOf(events) === 'instead\n')
    assert(log.some((event) => event.type === 'interrupted'))
    const run = await admin.ended(run_id)
    assert.equal(run.execution, 1)
    assert.doesNotMatch(outputOf(await admin.events(run_id)), /never/)
  })

  test('to a working run, rejecting: 409 that is not worth repeating, and nothing is stored', async () => {
    const { admin } = service()
    const run_id = await working('sleep 60')
    const refused = await follow(run_id, { message: 'x', on_busy: 'reject' })
    const { error_code, retryable } = (await refused.json()) as { error_code: string; retryable: boolean }
    assert.deepEqual([refused.status, error_code, retryable], [409, 'conflict', false])
    assert.equal(refused.headers.get('x-should-retry'), 'false')
    await cancel(run_id)
    assert.equal(count(await admin.events(run_id), 'followup.accepted'), 0)
  })

  const endings: Array<[string, () => Promise<RunItem>]> = [
    ['SUCCEEDED', async () => service().admin.ended(await service().admin.create({ prompt: KEEP }))],
    [
      'FAILED',
      async () =>
        service().admin.ended(await service().admin.create({ prompt: `${KEEP}\n${shell('exit 1')}` })),
    ],
    [
      'CANCELLED',
      async () => {
        const run_id = await service().admin.create({ prompt: `${KEEP}\n${shell('sleep 60')}` })
        await untilEvents(run_id, (log) => count(log, 'tool.call') === 2)
        await cancel(run_id)
        return service().admin.ended(run_id)
      },
    ],
    [
      'BLOCKED',
      async () => {
        const run_id = await service().admin.create({ prompt: `${KEEP}\n${shell('sleep 60')}` })
        await untilEvents(run_id, (log) => count(log, 'tool.call') === 2)
        assert.equal((await interrupt(run_id)).status, 202)
        return service().admin.until(run_id, (run) => run.state === 'BLOCKED' && !run.is_sandbox_running)
      },
    ],
  ]
  for (const [state, reach] of endings) {
    test(`to a run that is ${state}: handoff_execution, with its workspace`, async () => {
      const { admin } = service()
      const before = await reach()
      assert.equal(before.state, state)
      const { run_id } = before
      await whileBusy(async () => {
        assert.equal((await send(run_id, shell('cat kept'))).outcome, 'handoff_execution')
        const queued = await admin.get(run_id)
        assert.equal(queued.state, 'QUEUED')
        assert.equal(queued.execution, 2)
        assert.equal(queued.finished_at, null)
        assert.equal(queued.status_message, undefined)
        assert.equal((await send(run_id, shell('echo too'))).outcome, 'queue_pending')
      })
      const after = await admin.ended(run_id)
      assert.equal(after.execution, 2)
      assert.equal(after.conversation_id, before.conversation_id)
      assert.match(outputOf(await admin.events(run_id)), /kept here\ntoo\n$/)
    })
  }

  test('to a run that was just cancelled, while its processes still print: nothing is lost', async () => {
    const { admin } = service()
    for (let round = 0; round < (LONG ? 3 : 1); round += 1) {
      const run_id = await working('while true; do echo on and on; done')
      await cancel(run_id)
      assert.match((await send(run_id, shell('echo next'))).outcome, /handoff_execution|queue_pending/)
      const run = await admin.ended(run_id)
      assert.equal(run.execution, 2)
      assert.match(outputOf(await admin.events(run_id)), /next\n$/)
    }
  })

  test('without a message: only where there is something to continue', async () => {
    const { admin } = service()
    const fresh = await admin.create({ prompt: 'x', config: { worker_host: NOBODY } })
    assert.equal((await follow(fresh, { message: '' })).status, 400)
    await cancel(fresh)
    assert.equal((await follow(fresh, { message: '' })).status, 400)
    const ended = await admin.create({ prompt: shell('true') })
    await admin.ended(ended)
    assert.equal((await follow(ended, {})).status, 200)
    await admin.ended(ended)
  })

  test('fifty messages of ten callers at once: each in the log once, in the order of acceptance', async () => {
    const { admin } = service()
    const steps = Array.from({ length: 6 }, (_, index) => shell(`echo ${index}; sleep 0.1`))
    const run_id = await admin.create({ prompt: steps.join('\n') })
    const sent = await Promise.all(
      Array.from({ length: 10 }, async (_, caller) => {
        const ids: string[] = []
        for (let turn = 0; turn < 5; turn += 1) {
          const { followup_id } = await send(run_id, `caller ${caller} turn ${turn}`)
          ids.push(followup_id)
        }
        return ids
      }),
    )
    const log = await untilEvents(run_id, (events) => count(events, 'followup.delivered') >= 50)
    await admin.ended(run_id)
    const accepted = log.flatMap((event) =>
      event.type === 'followup.accepted' ? [event.data.followup_id] : [],
    )
    const delivered = log.flatMap((event) =>
      event.type === 'followup.delivered' ? [event.data.followup_id] : [],
    )
    const texts = userTexts(log).slice(1)
    assert.deepEqual(accepted.toSorted(), sent.flat().sort())
    assert.deepEqual(delivered, accepted)
    assert.equal(new Set(texts).size, 50)
    assert.equal(texts.length, 50)
    for (const ids of sent)
      assert.deepEqual(
        accepted.filter((id) => ids.includes(id)),
        ids,
      )
    assert.deepEqual(
      log.map((event) => event.sequence),
      log.map((_, index) => index + 1),
    )
  })

  test('interrupt: keeps the run for a person, and frees its slot', async () => {
    const { admin } = service()
    const run_id = await working('sleep 60')
    const answer = await interrupt(run_id)
    assert.equal(answer.status, 202)
    assert.deepEqual(await answer.json(), { run_id })
    const run = await admin.until(run_id, (item) => item.state === 'BLOCKED' && !item.is_sandbox_running)
    assert.equal(run.finished_at, null)
    assert.match(run.status_message?.message ?? '', /^Interrupted\./)
    const log = await admin.events(run_id)
    assert.equal(count(log, 'interrupted'), 1)
    const again = await interrupt(run_id)
    assert.deepEqual([again.status, again.headers.get('x-should-retry')], [409, 'false'])
    await send(run_id, shell('echo onwards'))
    assert.match(outputOf(await untilEvents(run_id, (events) => outputOf(events) !== '')), /onwards/)
    await admin.ended(run_id)
  })

  test('interrupt: 409 while queued, 400 once ended, 404 where there is nothing', async () => {
    const { admin } = service()
    const queued = await admin.create({ prompt: 'x', config: { worker_host: NOBODY } })
    const early = await interrupt(queued)
    assert.deepEqual([early.status, early.headers.get('x-should-retry')], [409, 'true'])
    await cancel(queued)
    assert.equal((await interrupt(queued)).status, 400)
    assert.equal((await interrupt('01900000-0000-7000-8000-000000000000')).status, 404)
  })
})

/** A prompt that leaves something in the workspace. */
const KEEP = shell('echo kept here > kept')

const userTexts = (log: RunEvent[]): string[] =>
  log.flatMap((event) => (event.type === 'message.user' ? [event.data.text] : []))
const outputOf = (log: RunEvent[]): string =>
  log.flatMap((event) => (event.type === 'tool.output' ? [event.data.text] : [])).join('')
const count = (log: RunEvent[], type: RunEvent['type']): number =>
  log.filter((event) => event.type === type).length
