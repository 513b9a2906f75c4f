import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSameSearch, readSaved, withFilter } from './saved-filters.ts'

test('saved filters are read from whatever a browser holds', () => {
  const mine = { name: 'Mine that failed', search: { creator: 'me', state: 'failed' as const } }
  assert.deepEqual(readSaved(JSON.stringify([mine])), [mine])
  assert.deepEqual(readSaved(null), [])
  for (const text of ['', '{', 'null', '7', '{"name":"a"}']) assert.deepEqual(readSaved(text), [], text)
  const odd = [
    null,
    7,
    {},
    { name: 7, search: {} },
    { name: ' ', search: mine.search },
    { name: 'a', search: null },
  ]
  assert.deepEqual(readSaved(JSON.stringify([...odd, { name: 'a', search: { state: 'gone' } }, mine])), [
    mine,
  ])
  const many = Array.from({ length: 30 }, (_, n) => ({ ...mine, name: `${n}` }))
  assert.equal(readSaved(JSON.stringify(many)).length, 20)
})

test('a filter replaces the one of the same name', () => {
  const [a, b] = [
    { name: 'a', search: { q: '1' } },
    { name: 'b', search: { q: '2' } },
  ]
  assert.deepEqual(withFilter([a, b], { name: 'a', search: { q: '3' } }), [
    b,
    { name: 'a', search: { q: '3' } },
  ])
})

test('the order of what is chosen does not matter', () => {
  assert.equal(isSameSearch({ q: 'a', days: 7 }, { days: 7, q: 'a' }), true)
  assert.equal(isSameSearch({ q: 'a' }, { q: 'a', days: 7 }), false)
})
