import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readLastPlace } from './last-place.ts'
import { readOrigin, splitRepository } from './origin-search.ts'

test('an address may bring the prompt, a repository and an environment', () => {
  assert.deepEqual(
    readOrigin({ prompt: 'Fix it', repo: 'https://h/a/b#main', environment: 'site', other: 1 }),
    {
      ...{ prompt: 'Fix it', repo: 'https://h/a/b#main', environment: 'site' },
    },
  )
  assert.deepEqual(readOrigin({ prompt: 42, repo: '', environment: 7 }), { prompt: '42' })
  assert.equal(readOrigin({ prompt: 'x'.repeat(20_000) }).prompt?.length, 16_000)
  assert.deepEqual(readOrigin({ replay: 'r', prompt: 'Not this' }), { replay: 'r' })
  assert.deepEqual(splitRepository('https://h/a/b#feature/#1'), {
    repository: 'https://h/a/b',
    ref: 'feature/#1',
  })
  assert.deepEqual(splitRepository('https://h/a/b'), { repository: 'https://h/a/b', ref: '' })
})

test('the last choice is read from whatever a browser holds', () => {
  const nothing = { environment: '', repository: '', ref: '', model: '', harness: '' }
  for (const text of [null, '', '{', 'null', '7', '[]'])
    assert.deepEqual(readLastPlace(text), nothing, String(text))
  const stored = JSON.stringify({ environment: 'e', model: 7, prompt: 'p', repository: 'https://h/a/b' })
  assert.deepEqual(readLastPlace(stored), { ...nothing, environment: 'e', repository: 'https://h/a/b' })
})
