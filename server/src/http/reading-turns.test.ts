import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import Fastify from 'fastify'
import { ReadingTurns } from './reading-turns.ts'

test('large bodies that arrive together are read one in each turn of the event loop', async () => {
  const reading = new ReadingTurns()
  const read: number[] = []
  let turn = 0
  const app = Fastify()
  app.post('/', async (request) => {
    request.body_bytes = 1_000_000
    await reading.take(request, () => read.push(turn))
    return {}
  })
  await app.ready()
  const asked = Promise.all(Array.from({ length: 5 }, () => app.inject({ method: 'POST', url: '/' })))
  let is_over = false
  asked.finally(() => {
    is_over = true
  })
  for (; !is_over; turn += 1) await nextTurn()
  assert.equal(read.length, 5)
  assert.equal(new Set(read).size, 5, read.join(' '))
  await app.close()
})
