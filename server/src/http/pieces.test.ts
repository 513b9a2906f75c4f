import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { Pieces } from './pieces.ts'

test('what comes in pieces of any size is put together again, and then nothing is left', () => {
  const bytes = randomBytes(300_000)
  const pieces = new Pieces()
  for (let at = 0, size = 1; at < bytes.length; at += size, size = (size * 7) % 10_007)
    pieces.add(bytes.subarray(at, at + size), size % 2 === 0)
  assert.deepEqual(pieces.take(), bytes)
  assert.equal(pieces.take().length, 0)
})

test('a body in pieces of a byte takes about its size', () => {
  const before = process.memoryUsage()
  const pieces = new Pieces()
  for (let count = 0; count < 1_000_000; count++) pieces.add(Buffer.from([count]), true)
  const { heapUsed, external } = process.memoryUsage()
  const grown = heapUsed + external - before.heapUsed - before.external
  // A buffer for each of them takes 100 MB and more.
  assert(grown < 60_000_000, `${grown} bytes`)
  assert.equal(pieces.take().length, 1_000_000)
})
