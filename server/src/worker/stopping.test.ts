import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Stopping } from './stopping.ts'

test('a graver cause takes the place of a lesser one, never the other way', () => {
  const stopping = new Stopping()
  const [cancelled, lost] = [stopping.from('cancelled'), stopping.from('lost')]
  assert.equal(stopping.stop('interrupt'), true)
  assert.equal(stopping.stop('interrupt'), false)
  assert.deepEqual([stopping.turn.aborted, cancelled.aborted], [true, false])
  assert.equal(stopping.stop('shutdown'), true)
  assert.equal(stopping.stop('cancelled'), false)
  assert.deepEqual([stopping.is('shutdown'), cancelled.aborted, lost.aborted], [true, true, false])
  stopping.stop('lost')
  assert.deepEqual([stopping.is('lost'), lost.aborted], [true, true])
  assert.equal(stopping.from('overfull').aborted, true, 'Asked for late.')
})

test('a new turn forgets what ended the last one, and nothing else', () => {
  const stopping = new Stopping()
  stopping.stop('budget')
  stopping.beginTurn()
  assert.deepEqual([stopping.is('interrupt'), stopping.turn.aborted], [false, false])
  for (const cause of ['overfull', 'cancelled'] as const) {
    stopping.stop(cause)
    stopping.beginTurn()
    assert.deepEqual([stopping.is(cause), stopping.turn.aborted], [true, true])
  }
})
