import assert from 'node:assert/strict'
import test from 'node:test'
import { v7 as uuidv7 } from 'uuid'
import { decodePlaces, encodePlaces, tailOf } from './stream-cursor.ts'

test('places of 200 runs come back as they were, and fit into a header', () => {
  const sequences = [1, 127, 128, 16_383, 16_384, 2 ** 31 - 1]
  const places = new Map(
    Array.from({ length: 200 }, (_, at) => [tailOf(uuidv7()), sequences[at % sequences.length] ?? 1]),
  )
  const cursor = encodePlaces(places)
  assert.deepEqual(decodePlaces(cursor), places)
  assert(cursor.length < 4000, String(cursor.length))
  assert.deepEqual(decodePlaces(encodePlaces(new Map([[tailOf(uuidv7()), 0]]))), new Map())
})

test('what is no cursor is told apart', () => {
  const good = encodePlaces(new Map([[tailOf(uuidv7()), 300]]))
  for (const text of ['', '7', 'x', '!', 'Ag', good.slice(0, -1), `${good}=`, `${good}AA`, good.slice(0, 8)])
    assert.equal(decodePlaces(text), null, text)
  // A number that never ends, and one that is too great.
  for (const bytes of [
    [1, ...Array(8).fill(0), ...Array(9).fill(255)],
    [1, ...Array(8).fill(0), 255, 255, 255, 255, 127],
  ])
    assert.equal(decodePlaces(Buffer.from(bytes).toString('base64url')), null)
})
