import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromWire, toWire } from './wire-value.ts'

test('what the port answers comes through JSON as it was, whatever people wrote in it', () => {
  const values = [
    ...[null, true, 1.5, 'text', [], {}],
    { at: new Date('2026-11-28T10:00:00.123Z'), none: null, list: [new Date(0)] },
    new Map([['a', { place: 'x', held: null }]]),
    new Set(['one', 'two']),
    { $date: 'not a date' },
    { data: { $plain: { $map: [['a', 1]] }, other: 1 }, $set: [1], more: 2 },
    { $plain: { $plain: 1 } },
    { $: 1 },
  ]
  for (const value of values) assert.deepEqual(fromWire(JSON.parse(JSON.stringify(toWire(value)))), value)
})

test('a field without a value is left out', () => {
  assert.deepEqual(toWire({ a: undefined, b: 1 }), { b: 1 })
  assert.equal(toWire(undefined), null)
})
