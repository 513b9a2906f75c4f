import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { sql } from 'kysely'
import { type DrainOptions, startDraining } from './drain.ts'

const HOUR_MS = 3_600_000
const waits = sql<boolean>`false`

/** Drains what `take` answers. `change` announces one; `looks` counts. */
function drain(take: DrainOptions<string>['take'], rest_ms: number) {
  const listeners = new Set<() => void>()
  const sent: string[] = []
  let looks = 0
  const stop = startDraining<string>({
    take: (limit) => {
      looks++
      return take(limit)
    },
    send: async (item) => void sent.push(item),
    ...{ waits, at_once: 4, what: 'a letter', log: { warn() {} }, rest_ms },
    watch: {
      onAny(listener) {
        listeners.add(listener)
        return () => void listeners.delete(listener)
      },
      onWaiting(question, listener) {
        assert.equal(question, waits)
        listeners.add(listener)
        return () => void listeners.delete(listener)
      },
    },
  })
  const change = () => {
    for (const listener of listeners) listener()
  }
  return { stop, change, listeners, sent, looks: () => looks }
}

async function until(done: () => boolean): Promise<void> {
  for (const deadline = Date.now() + 30_000; !done(); await wait(5))
    assert(Date.now() < deadline, 'Waited in vain.')
}

test('where nothing waits it rests until a change is announced', async () => {
  const waiting: string[] = []
  const draining = drain(async () => (waiting.length > 0 ? waiting.splice(0) : null), HOUR_MS)
  await until(() => draining.looks() === 1)
  waiting.push('one')
  draining.change()
  await until(() => draining.sent.includes('one'))
  await draining.stop()
})

test('a change during a look is not missed', async () => {
  const first = Promise.withResolvers<string[] | null>()
  const answers = [first.promise, Promise.resolve(['one'])]
  const draining = drain(async () => answers.shift() ?? null, HOUR_MS)
  await until(() => draining.looks() === 1)
  draining.change()
  first.resolve(null)
  await until(() => draining.sent.includes('one'))
  await draining.stop()
})

test('where no change is announced it looks again after the rest', async () => {
  const draining = drain(async () => null, 1)
  await until(() => draining.looks() >= 3)
  await draining.stop()
})

test('what waits without being due is looked for without a change', async () => {
  const draining = drain(async () => [], HOUR_MS)
  await until(() => draining.looks() >= 3)
  await draining.stop()
})

test('one that rests is stopped at once, and listens no more', async () => {
  const draining = drain(async () => null, HOUR_MS)
  await until(() => draining.looks() === 1)
  // The rest begins half a second after the look.
  await wait(700)
  await draining.stop()
  assert.equal(draining.listeners.size, 0)
})
