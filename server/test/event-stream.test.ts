/** Streams over many runs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EventSource } from 'eventsource'
import type { RunEvent } from '../src/contract/event.ts'
import { NOBODY, onEitherService } from './support/each-service.ts'
import { readMessages, type StreamMessage } from './support/event-stream.ts'
import { shell } from './support/service.ts'

const IDLE = { config: { worker_host: NOBODY } }

/** Ids of a stream are cursors, so only the type is compared with the data. */
function eventOf({ event, data = '' }: StreamMessage): RunEvent {
  const parsed = JSON.parse(data) as RunEvent
  assert.equal(event, parsed.type)
  return parsed
}
const placeOf = ({ run_id, sequence }: RunEvent): string => `${run_id} ${sequence}`

onEitherService('streams of many runs', (service) => {
  const stream = (query: string, headers: Record<string, string> = {}) =>
    service().admin.call('GET', `/agent/events/stream?${query}`, undefined, headers)
  const readAll = async (query: string, headers: Record<string, string> = {}) => {
    const messages: StreamMessage[] = []
    let end: { cursor: string } | undefined
    const response = await stream(query, headers)
    // Who comes back and has all of it is told not to come again.
    if (response.status === 204) return { messages, events: [], end }
    for await (const message of readMessages(response)) {
      assert.equal(end, undefined)
      if (message.event === 'end') end = JSON.parse(message.data ?? '') as { cursor: string }
      else if (message.event !== 'message.assistant.delta') messages.push(message)
    }
    return { messages, events: messages.map(eventOf), end }
  }

  test('a tree that grows, cut at every place: nothing is lost, nothing comes twice', async () => {
    const { admin } = service()
    const root = await admin.create({ prompt: shell('echo root; sleep 1') })
    const other = await admin.create({ prompt: shell('for i in 1 2 3; do echo $i; done') })
    const query = `run_ids=${root},${other}&ancestor_run_id=${root}`
    const live: RunEvent[] = []
    let cursor = ''
    let child = ''
    for (let ended = false; !ended; ) {
      let messages = 0
      const response = await stream(query, { 'last-event-id': cursor })
      // It was left just before the end message.
      if (response.status === 204) break
      for await (const message of readMessages(response)) {
        if (message.event === 'end') ended = true
        else {
          assert(message.id)
          cursor = message.id
          live.push(eventOf(message))
        }
        // While the stream is open, so that it has to hear of it.
        if (!child) child = await admin.create({ prompt: shell('echo child'), parent_run_id: root })
        messages += 1
        if (messages === 3) break
      }
    }
    const logs = await Promise.all([root, other, child].map((run_id) => admin.events(run_id)))
    assert.deepEqual(new Set(live.map(placeOf)), new Set(logs.flat().map(placeOf)))
    for (const log of logs)
      assert.deepEqual(
        live.filter((event) => event.run_id === log[0]?.run_id),
        log,
      )

    const whole = await readAll(query)
    assert.deepEqual(new Set(whole.events.map(placeOf)), new Set(live.map(placeOf)))
    const times = whole.events.map((event) => event.occurred_at)
    assert.deepEqual(times, times.toSorted(), 'Those of different runs come by time.')
    for (const [cut, { id = '' }] of whole.messages.entries()) {
      const rest = whole.events.slice(cut + 1)
      assert.deepEqual((await readAll(query, { 'last-event-id': id })).events, rest)
      if (cut % 5 === 0) assert.deepEqual((await readAll(`${query}&since=${id}`)).events, rest)
    }
    const { end } = whole
    assert(end)
    assert.deepEqual(await readAll(`${query}&since=${end.cursor}`), { messages: [], events: [], end })
    // What a cursor says of runs that are not followed is not said again.
    const alone = `run_ids=${other}`
    assert.deepEqual((await readAll(`${alone}&since=${end.cursor}`)).end, (await readAll(alone)).end)
    // Below the root only, and from a moment on.
    const below = await readAll(`ancestor_run_id=${root}`)
    assert.deepEqual(below.events, logs[2])
    const [first, ...later] = whole.events
    assert(first)
    const since = await readAll(`${query}&since=${encodeURIComponent(first.occurred_at)}`)
    assert.deepEqual(
      since.events,
      later.filter((event) => event.occurred_at > first.occurred_at),
    )
  })

  test('a stream of an ancestor waits for its end, and one that follows outlives it', async () => {
    const { admin } = service()
    const root = await admin.create({ prompt: 'x', ...IDLE })
    const response = await stream(`ancestor_run_id=${root}`)
    const reader = readMessages(response)
    const next = reader.next()
    const child = await admin.create({ prompt: 'y', parent_run_id: root, ...IDLE })
    const message = await next
    assert(!message.done)
    assert.equal(eventOf(message.value).run_id, child)
    for (const run_id of [child, root]) await admin.json('POST', `/agent/runs/${run_id}/cancel`, {})
    const events: string[] = []
    for await (const { event = '' } of reader) events.push(event)
    assert.equal(events.at(-1), 'end')

    const following = readMessages(await stream(`run_ids=${root}&follow=true`))
    let count = 0
    for await (const found of following) {
      assert.notEqual(found.event, 'end')
      count += 1
      if (count === (await admin.events(root)).length) break
    }
  })

  test('what cannot be followed is refused, and says why', async () => {
    const { admin, other, base_url, keys } = service()
    const run_id = await admin.create({ prompt: 'x', team: false, ...IDLE })
    const ids = Array.from(
      { length: 201 },
      (_, at) => `01980000-0000-7000-8000-${String(at).padStart(12, '0')}`,
    )
    const cases: Array<[string, number, RegExp, Record<string, string>?]> = [
      ['', 400, /^run_ids: /],
      ['run_ids=7', 400, /^run_ids\.0: must be a run id/],
      [`run_ids=${ids}`, 400, /^run_ids: /],
      ['ancestor_run_id=7', 400, /^ancestor_run_id: /],
      [`run_ids=${run_id}&since=yesterday`, 400, /^since: /],
      [`run_ids=${run_id}&follow=1`, 400, /^follow: /],
      [`run_ids=${run_id}`, 400, /^Last-Event-ID: /, { 'last-event-id': '7' }],
      [`run_ids=${run_id},${ids[0]}`, 404, /^run_ids: /],
      [`ancestor_run_id=${ids[0]}`, 404, /^ancestor_run_id: /],
    ]
    for (const [query, status, detail, headers] of cases) {
      const response = await stream(query, headers)
      assert.equal(response.status, status, query.slice(0, 80))
      assert.match(((await response.json()) as { detail: string }).detail, detail)
    }
    const hidden = await other.call('GET', `/agent/events/stream?run_ids=${run_id}`)
    assert.equal(hidden.status, 404)
    const head = await fetch(`${base_url}/agent/events/stream?run_ids=${run_id}`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${keys.admin}` },
    })
    assert.deepEqual(
      [head.status, head.headers.get('content-type')],
      [200, 'text/event-stream; charset=utf-8'],
    )
    assert.equal(await head.text(), '')
  })

  test('an EventSource comes back once after the end, and stops', { timeout: 30_000 }, async () => {
    const { admin } = service()
    const run_id = await admin.create({ prompt: shell('echo seen') })
    await admin.ended(run_id)
    const { length } = await admin.events(run_id)
    const end = (await readAll(`run_ids=${run_id}`)).end?.cursor
    const paths = [
      `/agent/runs/${run_id}/events`,
      `/agent/runs/${run_id}/events?after=${length}`,
      `/agent/events/stream?run_ids=${run_id}`,
      `/agent/events/stream?run_ids=${run_id}&since=${end}`,
      // Of a run that has none below it.
      `/agent/events/stream?ancestor_run_id=${run_id}`,
    ]
    const follow = async (path: string) => {
      const statuses: number[] = []
      const closed = Promise.withResolvers<void>()
      const source = new EventSource(`${service().base_url}${path}`, {
        fetch: async (_address, init) => {
          const headers = Object.fromEntries(new Headers(init?.headers))
          const response = await admin.call('GET', path, undefined, headers)
          statuses.push(response.status)
          return response
        },
      })
      source.onerror = () => source.readyState === source.CLOSED && closed.resolve()
      await closed.promise
      assert.deepEqual(statuses, [200, 204], path)
    }
    await Promise.all(paths.map(follow))
    // One that waits for follow-ups has no end.
    const waiting = await stream(`run_ids=${run_id}&follow=true`, { 'last-event-id': String(end) })
    assert.equal(waiting.status, 200)
    await waiting.body?.cancel()
  })
})
