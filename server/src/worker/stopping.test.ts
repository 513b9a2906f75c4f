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
  assert.deepEqual([stopping.cause, cancelled.aborted, lost.aborted], ['shutdown', true, false])
  stopping.stop('lost')
  assert.deepEqual([stopping.cause, lost.aborted], ['lost', true])
  assert.equal(stopping.from('overfull').aborted, true, 'Asked for late.')
})

test('a new turn forgets what ended the last one, and nothing else', () => {
  const stopping = new Stopping()
  stopping.stop('budget')
  assert.equal(stopping.beginTurn(), true)
  assert.deepEqual([stopping.cause, stopping.turn.aborted], [null, false])
  stopping.stop('cancelled')
  assert.equal(stopping.beginTurn(), false)
  assert.deepEqual([stopping.cause, stopping.turn.aborted], ['cancelled', true])
})
