import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '../contract/error.ts'
import { Computations } from './computations.ts'

const open = (most: { jobs?: number; bytes?: number } = {}) => {
  const { jobs = 100, bytes = 1_000 } = most
  const queue = new Computations({
    running: { most: 1, in_all: 2 },
    jobs: { most: jobs, in_all: jobs + 1 },
    bytes: { most: bytes, in_all: bytes * 2 },
  })
  const begun: string[] = []
  const ends: Array<() => void> = []
  const ask = (name: string, bytes = 1, is_bounded = false) =>
    queue.run({ owner: name.charAt(0), bytes, is_bounded }, () => {
      begun.push(name)
      return new Promise<void>((end) => ends.push(end))
    })
  const endAll = async (asked: Array<Promise<void>>) => {
    const all = Promise.all(asked)
    let is_over = false
    const over = all.finally(() => {
      is_over = true
    })
    while (!is_over) {
      ends.shift()?.()
      await new Promise((next) => setImmediate(next))
    }
    await over
  }
  return { ask, begun, endAll }
}

const isFull = (detail: RegExp) => (error: unknown) =>
  error instanceof AppError &&
  error.status === 429 &&
  error.code === 'resource_unavailable' &&
  error.headers['retry-after'] !== undefined &&
  detail.test(error.detail)

test('owners take turns, however many one of them asks, and each has its own part', async () => {
  const { ask, begun, endAll } = open()
  const asked = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'].map((name) => ask(name))
  await endAll(asked)
  assert.deepEqual(begun, ['a1', 'b1', 'a2', 'b2', 'c1', 'a3', 'a4'])
})

test('what waits is bounded in number and bytes, for an owner and for all, and room comes back', async () => {
  const number = open({ jobs: 2 })
  // One runs, two wait.
  const few = ['a1', 'a2', 'a3'].map((name) => number.ask(name))
  await assert.rejects(number.ask('a4'), isFull(/your/))
  // `b1` runs, `b2` waits: then three are waiting in all, as many as may.
  few.push(number.ask('b1'), number.ask('b2'))
  await assert.rejects(number.ask('c1'), isFull(/all/))
  // A run that asks for its own result is bounded elsewhere.
  few.push(number.ask('r1', 1, true))
  await number.endAll(few)
  await number.endAll([number.ask('a5')])

  const bytes = open({ bytes: 100 })
  const large = [bytes.ask('a1', 90)]
  await assert.rejects(bytes.ask('a2', 20), isFull(/your/))
  large.push(bytes.ask('b1', 90))
  await assert.rejects(bytes.ask('c1', 30), isFull(/all/))
  await bytes.endAll(large)
  await bytes.endAll([bytes.ask('a3', 90)])
})

test('a computation that fails gives its place back', async () => {
  const queue = new Computations({
    running: { most: 1, in_all: 1 },
    jobs: { most: 1, in_all: 1 },
    bytes: { most: 10, in_all: 10 },
  })
  const fail = () => queue.run({ owner: 'a', bytes: 10 }, () => Promise.reject(new Error('It broke.')))
  await assert.rejects(fail(), /It broke/)
  assert.equal(await queue.run({ owner: 'a', bytes: 10 }, async () => 1), 1)
})
