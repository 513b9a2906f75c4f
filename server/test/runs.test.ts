/** Runs from their creation to their end, as callers see them. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { Conversation } from '../src/contract/conversation.ts'
import type { RunEvent } from '../src/contract/event.ts'
import type { Pool } from '../src/contract/pool.ts'
import type { ListRunsResponse, RunItem } from '../src/contract/run.ts'
import { NOBODY, onEitherService, SLOTS } from './support/each-service.ts'
import { eventOf, readMessages, readToEnd } from './support/event-stream.ts'
import { shell } from './support/service.ts'

const SSE = { accept: 'text/event-stream' }

onEitherService('runs', (service) => {
  const stream = (run_id: string, query = '', headers: Record<string, string> = {}) =>
    service().admin.call('GET', `/agent/runs/${run_id}/events${query}`, undefined, { ...SSE, ...headers })

  test('the longest skill there may be, in characters that do not compress', async () => {
    const { admin } = service()
    const random = (first: number, count: number, length: number) =>
      Array.from({ length }, () => String.fromCodePoint(first + Math.floor(Math.random() * count))).join('')
    for (const skill of [random(0x4e00, 20_000, 1024), `x${random(0x20000, 40_000, 511)}x`]) {
      const run_id = await admin.create({ skill, config: { worker_host: NOBODY } })
      const run = await admin.get(run_id)
      assert.equal(run.agent_skill?.full_path, skill)
      assert(skill.startsWith(run.title) && run.title.isWellFormed() && run.title.length >= 511)
      const { name = '' } = run.agent_config
      assert(skill.startsWith(name) && name.isWellFormed() && name.length >= 255)
      const query = new URLSearchParams({ name, sort_by: 'title', skill })
      const { runs } = await admin.json<ListRunsResponse>('GET', `/agent/runs?${query}`)
      assert.deepEqual(
        runs.map((found) => found.run_id),
        [run_id],
      )
    }
  })

  test('a run and its log, by pages and by streams cut at every place', async () => {
    const { admin } = service()
    const run_id = await admin.create({
      prompt: `Count.\n${shell('for i in 1 2 3; do echo line $i; sleep 0.15; done; echo oops >&2')}\n${shell('true')}`,
    })
    // From before its start to its end, hanging up after every second message.
    const live: RunEvent[] = []
    for (let ended = false; !ended; ) {
      let messages = 0
      for await (const message of readMessages(
        await stream(run_id, `?after=${live.at(-1)?.sequence ?? 0}`),
      )) {
        if (message.event === 'end') {
          assert.deepEqual(JSON.parse(message.data ?? ''), { run_id, last_sequence: live.length })
          ended = true
        } else live.push(eventOf(message))
        messages += 1
        if (messages === 2) break
      }
    }
    const run = await admin.get(run_id)
    assert.equal(run.state, 'SUCCEEDED')
    assert.equal(run.is_sandbox_running, false)
    const log = await admin.events(run_id)
    assert.deepEqual(live, log)
    assert.deepEqual(
      log.map((event) => event.sequence),
      log.map((_, index) => index + 1),
    )
    const states = log.flatMap((event) => (event.type === 'run.state' ? [event.data.state] : []))
    assert.deepEqual(states, ['QUEUED', 'CLAIMED', 'INPROGRESS', 'SUCCEEDED'])
    assert.equal(textOf(log), 'line 1\nline 2\nline 3\noops\n')

    const end = { run_id, last_sequence: log.length }
    for (let cut = 0; cut <= log.length; cut += 1) {
      const rest = { events: log.slice(cut), end }
      assert.deepEqual(await readToEnd(await stream(run_id, `?after=${cut}`)), rest)
      // Who comes back and has all of it is told not to come again.
      const returned = await stream(run_id, '', { 'last-event-id': String(cut) })
      if (cut === log.length) assert.equal(returned.status, 204)
      else assert.deepEqual(await readToEnd(returned), rest)
      const page = await admin.json('GET', `/agent/runs/${run_id}/events?after=${cut}&limit=3`)
      assert.deepEqual(page, { events: log.slice(cut, cut + 3), has_more: log.length > cut + 3 })
    }
    // The header of a reconnecting reader is newer than the address it was given.
    const both = await readToEnd(await stream(run_id, '?after=1', { 'last-event-id': '5' }))
    assert.deepEqual(both.events, log.slice(5))
  })

  test('a stream that follows outlives the end of the run', async () => {
    const { admin } = service()
    const run_id = await admin.create({ prompt: shell('true') })
    await admin.ended(run_id)
    const types: string[] = []
    for await (const message of readMessages(await stream(run_id, '?follow=true'))) {
      const event = eventOf(message)
      types.push(event.type === 'run.state' ? event.data.state : event.type)
      if (types.at(-1) === 'SUCCEEDED' && event.sequence > 10) break
      if (types.at(-1) === 'SUCCEEDED') {
        await admin.json('POST', `/agent/runs/${run_id}/followups`, { message: shell('true') })
      }
    }
    assert.equal(types.filter((type) => type === 'SUCCEEDED').length, 2)
    assert(types.includes('followup.delivered'))
  })

  test('updated_at grows with every change of the run, and not with output', async () => {
    const { admin } = service()
    const run_id = await admin.create({ prompt: shell('for i in $(seq 12); do echo $i; sleep 0.12; done') })
    const seen: Array<{ updated_at: string; fields: string; output: number }> = []
    for (
      let state = '';
      state !== 'SUCCEEDED' || seen.at(-1)?.fields.includes('"is_sandbox_running":true');
    ) {
      // Both are worked out at each read.
      const { updated_at, run_time: _, session_link: __, ...fields } = await admin.get(run_id)
      state = fields.state
      const output = (await admin.events(run_id)).filter((event) => event.type === 'tool.output').length
      seen.push({ updated_at, fields: JSON.stringify(fields), output })
      await wait(10)
    }
    for (const [index, { updated_at, fields }] of seen.entries()) {
      const before = seen[index - 1]
      if (!before) continue
      if (before.fields === fields) assert(before.updated_at <= updated_at)
      else assert(before.updated_at < updated_at, `${before.fields} became ${fields}`)
    }
    const working = seen.filter(({ fields }) => fields.includes('"state":"INPROGRESS"'))
    assert(new Set(working.map(({ output }) => output)).size > 3)
    assert.equal(new Set(working.map(({ updated_at }) => updated_at)).size, 1)
  })

  test('who sees SUCCEEDED can read the whole answer, with U+FFFD for what is no text', async () => {
    const { admin } = service()
    const run_id = await admin.create({
      prompt: shell(
        "seq 40000; printf 'a\\0b\\377c\\355\\240\\200d'; printf '\\303' >&2; sleep 0.3; printf '\\251' >&2",
      ),
    })
    await admin.until(run_id, (run) => run.state === 'SUCCEEDED')
    const { steps } = await admin.json<Conversation>('GET', `/agent/runs/${run_id}/conversation`)
    const [result] = steps
      .flatMap((step) => step.messages)
      .flatMap((message) => message.content)
      .filter((block) => block.type === 'action_result')
    assert.equal(result?.output.exit_code, 0)
    const lines = Array.from({ length: 40_000 }, (_, index) => `${index + 1}\n`).join('')
    const output = textOf(await admin.events(run_id))
    const [numbers, rest] = [output.slice(0, lines.length), output.slice(lines.length)]
    assert(numbers === lines, 'A number is missing.')
    // The conversation has the end, which is all but a few bytes of one width.
    assert.equal(result.output.is_truncated, true)
    assert.equal(Buffer.byteLength(result.output.text), 64 * 1024)
    assert(output.endsWith(result.output.text))
    assert.equal(rest.replace('é', ''), 'a\ufffdb\ufffdc\ufffd\ufffd\ufffdd')
    // One character, though its bytes came one at a time.
    assert(rest.includes('é'))
  })

  test('at_capacity tells when no slot was known to be free', async () => {
    const { admin } = service()
    const create = (body: object) =>
      admin.json<{ run_id: string; at_capacity: boolean }>('POST', '/agent/runs', body)
    const free = await create({ prompt: shell('sleep 60') })
    assert.equal(free.at_capacity, false)
    const sleepers = [free.run_id]
    while (sleepers.length < SLOTS) sleepers.push(await admin.create({ prompt: shell('sleep 60') }))
    for (const run_id of sleepers) await admin.until(run_id, (run) => run.state === 'INPROGRESS')
    const late = await create({ prompt: shell('true') })
    assert.equal(late.at_capacity, true)
    const { pools } = await admin.json<{ pools: Pool[] }>('GET', '/agent/pools')
    assert.deepEqual(
      pools.map(({ name, workers_ready, slots, slots_busy }) => [name, workers_ready, slots, slots_busy]),
      [['default', 1, SLOTS, SLOTS]],
    )
    const elsewhere = await create({ prompt: 'x', config: { worker_host: NOBODY } })
    assert.equal(elsewhere.at_capacity, true)
    for (const run_id of sleepers) await admin.json('POST', `/agent/runs/${run_id}/cancel`)
    assert.equal((await admin.ended(late.run_id)).state, 'SUCCEEDED')
    for (const run_id of sleepers) await admin.ended(run_id)
  })

  test('a run that fails says why', async () => {
    const { admin } = service()
    const failed = await admin.ended(await admin.create({ prompt: shell('exit 3') }))
    assert.equal(failed.state, 'FAILED')
    assert.equal(failed.status_message?.message, 'Step 1 "exit 3" ended with exit code 3.')
    const empty = await admin.ended(
      await admin.create({ prompt: 'Please.', config: { harness: { type: 'runbook' } } }),
    )
    assert.equal(empty.state, 'FAILED')
    assert.equal(empty.status_message?.error_code, 'integration_not_configured')
    const unknown = await admin.call('POST', '/agent/runs', {
      prompt: 'Please.',
      config: { harness: { type: 'abacus' } },
    })
    assert.equal(unknown.status, 400)
    assert.match(await unknown.text(), /no harness \\"abacus\\"; it has oz, claude, .*, runbook\./)
  })

  const cancel = (run_id: string) => service().admin.call('POST', `/agent/runs/${run_id}/cancel`)
  /** Cancels, and checks what must be true at once and for ever. */
  const assertCancels = async (run_id: string): Promise<RunItem> => {
    const { admin } = service()
    const answer = await cancel(run_id)
    assert.equal(answer.status, 200)
    assert.equal(await answer.json(), run_id)
    const cancelled = await admin.get(run_id)
    assert.equal(cancelled.state, 'CANCELLED')
    assert.notEqual(cancelled.finished_at, null)
    assert.equal(cancelled.status_message?.message, 'Cancelled on request.')
    assert.equal((await cancel(run_id)).status, 400)
    const released = await admin.ended(run_id)
    assert.equal(released.state, 'CANCELLED')
    return released
  }

  test('cancel: QUEUED', async () => {
    const { admin } = service()
    const run_id = await admin.create({ prompt: 'x', config: { worker_host: NOBODY } })
    const run = await assertCancels(run_id)
    assert.equal(run.attempt, 0)
    const end = await readToEnd(await stream(run_id))
    assert.equal(end.events.length, 3)
  })

  test('cancel: CLAIMED, while the environment is set up', async () => {
    const { admin } = service()
    const mark = newMark()
    const setup_commands = [`sleep ${mark}`]
    const { uid } = await admin.json<{ uid: string }>('POST', '/agent/environments', {
      name: 'slow',
      setup_commands,
    })
    const run_id = await admin.create({ prompt: shell('true'), config: { environment_id: uid } })
    await untilProcesses(mark, (count) => count > 0)
    assert.equal((await admin.get(run_id)).state, 'CLAIMED')
    await assertCancels(run_id)
    await untilProcesses(mark, (count) => count === 0)
  })

  test('cancel: INPROGRESS, with its processes; what was said stays', async () => {
    const { admin } = service()
    const mark = newMark()
    const run_id = await admin.create({
      prompt: shell(`echo before; trap '' TERM INT HUP; sleep ${mark} & sleep ${mark}; echo after`),
    })
    await admin.until(run_id, (run) => run.state === 'INPROGRESS')
    await untilEvents(run_id, (log) => textOf(log) === 'before\n')
    await untilProcesses(mark, (count) => count >= 2)
    await assertCancels(run_id)
    await untilProcesses(mark, (count) => count === 0)
    assert.equal(textOf(await admin.events(run_id)), 'before\n')
    const { end } = await readToEnd(await stream(run_id))
    assert.notEqual(end, undefined)
  })

  test('cancel: BLOCKED', async () => {
    const { admin } = service()
    const run_id = await admin.create({ prompt: shell('sleep 60') })
    await admin.until(run_id, (run) => run.state === 'INPROGRESS')
    assert.equal((await admin.call('POST', `/agent/runs/${run_id}/interrupt`)).status, 202)
    await admin.until(run_id, (run) => run.state === 'BLOCKED')
    await assertCancels(run_id)
  })

  test('cancel: ended', async () => {
    const { admin } = service()
    const run_id = await admin.create({ prompt: shell('true') })
    await admin.ended(run_id)
    const refused = await cancel(run_id)
    assert.equal(refused.status, 400)
    assert.equal((await admin.get(run_id)).state, 'SUCCEEDED')
  })

  test('cancel: of ten at once, one is first', async () => {
    const { admin } = service()
    const run_id = await admin.create({ prompt: 'x', config: { worker_host: NOBODY } })
    const answers = await Promise.all(Array.from({ length: 10 }, () => cancel(run_id)))
    assert.equal(answers.filter((answer) => answer.status === 200).length, 1)
    assert.equal(answers.filter((answer) => answer.status === 400).length, 9)
    assert.equal((await admin.events(run_id)).length, 3)
  })

  const untilEvents = async (run_id: string, done: (log: RunEvent[]) => boolean): Promise<void> => {
    for (const deadline = Date.now() + 20_000; !done(await service().admin.events(run_id)); await wait(50)) {
      assert(Date.now() < deadline, 'Waited in vain for events.')
    }
  }
})

const textOf = (log: RunEvent[]): string =>
  log.flatMap((event) => (event.type === 'tool.output' ? [event.data.text] : [])).join('')

/** A time to sleep that no other process sleeps. */
const newMark = (): string => `${3_000 + Math.floor(Math.random() * 1e6)}.25`

async function untilProcesses(mark: string, done: (count: number) => boolean): Promise<void> {
  for (const deadline = Date.now() + 20_000; !done(countSleepers(mark)); await wait(50)) {
    assert(Date.now() < deadline, `Waited in vain; ${countSleepers(mark)} processes sleep.`)
  }
}

/** Processes of this machine that run `sleep MARK`, in whatever sandbox. */
function countSleepers(mark: string): number {
  const command = `sleep\0${mark}\0`
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8') === command
    } catch {
      return false
    }
  }).length
}
