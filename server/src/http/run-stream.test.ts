import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { onEitherDatabase } from '../../test/support/databases.ts'
import { holdRun } from '../../test/support/stored.ts'
import type { NewEvent } from '../contract/event.ts'
import type { Store } from '../store/db.ts'
import { appendEvents } from '../store/events.ts'
import { startRun } from '../store/transitions.ts'
import { Watch } from '../store/watch.ts'
import { KeyCheck } from './key-check.ts'
import { LogTails } from './log-tails.ts'
import { RunStream, type RunStreamOptions } from './run-stream.ts'

const output = (text: string): NewEvent => ({
  type: 'tool.output',
  data: { tool_call_id: 't', stream: 'stdout', text },
})
/** What a run's log holds when its work begins. */
const BEFORE = 5
const upTo = (last: number): number[] => Array.from({ length: last }, (_, n) => n + 1)
const idsOf = (text: string): number[] => [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))

onEitherDatabase('the stream of a run', (open) => {
  let store: Store
  let watch: Watch
  let tails: LogTails
  before(async () => {
    store = await open()
    watch = new Watch(store)
    await watch.start()
    tails = new LogTails(store.db, watch)
  })
  after(() => watch?.close())

  const startWork = async () => {
    const lease = await holdRun(store.db)
    await startRun(store.db, lease, { harness: 'runbook' })
    let batch = 0
    const append = async (...events: NewEvent[]) => {
      await appendEvents(store.db, lease, ++batch, events)
      watch.touchLog(lease.run_id)
    }
    return { run_id: lease.run_id, append }
  }
  const follow = (run_id: string, more: Partial<RunStreamOptions> = {}) =>
    new RunStream(tails, { run_id, after: 0, follow: true, key: new KeyCheck(async () => true), ...more })
  const until = async (is_so: () => boolean) => {
    for (const deadline = Date.now() + 10_000; !is_so(); await wait(5))
      assert(Date.now() < deadline, 'in vain')
  }

  test('brings everything in order and once while the log grows, to readers at different places', async () => {
    const { run_id, append } = await startWork()
    const streams = [follow(run_id), follow(run_id), follow(run_id, { after: 3 })]
    const texts = streams.map(() => '')
    for (const [n, stream] of streams.entries())
      stream.setEncoding('utf8').on('data', (text: string) => {
        texts[n] += text
      })
    for (let n = 0; n < 30; n++) await append(output(`${n}é`), output('x'.repeat(5_000)))
    await until(() => texts.every((text) => idsOf(text).includes(BEFORE + 60)))
    const all = upTo(BEFORE + 60)
    assert.deepEqual(texts.map(idsOf), [all, all, all.slice(3)])
    for (const stream of streams) stream.destroy()
  })

  test('reads no further for a reader who takes nothing, and goes on where that one goes on', async () => {
    const { run_id, append } = await startWork()
    for (let n = 0; n < 20; n++) await append(output('x'.repeat(20_000)))
    const stream = follow(run_id)
    stream.read(0)
    await until(() => stream.readableLength > 64_000)
    await append(output('more'))
    await wait(200)
    assert(stream.readableLength < 200_000, `${stream.readableLength} bytes wait`)
    let text = ''
    stream.setEncoding('utf8').on('data', (some: string) => {
      text += some
    })
    await until(() => text.includes('"more"'))
    assert.deepEqual(idsOf(text), upTo(BEFORE + 21))
    stream.destroy()
  })

  test('ends without an end message when its key may no longer read, though nothing happens', async () => {
    const { run_id } = await startWork()
    let is_allowed = true
    const stream = follow(run_id, { key: new KeyCheck(async () => is_allowed, 50) })
    let text = ''
    stream.setEncoding('utf8').on('data', (some: string) => {
      text += some
    })
    await until(() => idsOf(text).length === BEFORE)
    const ended = new Promise((resolve) => stream.once('end', resolve))
    is_allowed = false
    await ended
    assert(!text.includes('event: end'))
  })

  test('a run that is not there, and a stream that is ended or destroyed, leave nothing behind', async () => {
    const stream = follow('00000000-0000-7000-8000-000000000000')
    stream.resume()
    await new Promise((resolve) => stream.once('end', resolve))
    const { run_id, append } = await startWork()
    // In the middle of a page that is read.
    const ended = follow(run_id)
    ended.resume()
    ended.end()
    await new Promise((resolve) => ended.once('end', resolve))
    const gone = follow(run_id)
    gone.once('data', () => gone.destroy())
    await new Promise((resolve) => gone.once('close', resolve))
    await append(output('after'))
    await wait(100)
    assert.equal(gone.destroyed, true)
  })
})
