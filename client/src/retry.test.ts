import assert from 'node:assert/strict'
import test from 'node:test'
import { createApiError } from './errors.ts'
import { retryDelay } from './retry.ts'

const NOW = Date.parse('2026-01-01T00:00:00Z')
const delay = (headers: Record<string, string>, retry = 0, random = 0) =>
  retryDelay(
    createApiError({ status: 503, status_text: '', body: '', headers: new Headers(headers) }),
    retry,
    NOW,
    random,
  )

test('the wait the server asks for is taken, up to a minute', () => {
  assert.equal(delay({ 'retry-after-ms': '120', 'retry-after': '7' }), 120)
  assert.equal(delay({ 'retry-after': '7' }), 7000)
  assert.equal(delay({ 'retry-after': '60' }), 60_000)
  assert.equal(delay({ 'retry-after': 'Thu, 01 Jan 2026 00:00:09 GMT' }), 9000)
  assert.equal(delay({ 'retry-after': 'Wed, 31 Dec 2025 23:59:00 GMT' }), 0)
})

test('without one, or with a long or senseless one, the wait grows to 8 s', () => {
  assert.deepEqual(
    [0, 1, 2, 3, 4, 5, 50].map((retry) => delay({}, retry)),
    [500, 1000, 2000, 4000, 8000, 8000, 8000],
  )
  assert.equal(delay({}, 4, 1), 6000)
  assert.equal(delay({ 'retry-after': '61' }), 500)
  assert.equal(delay({ 'retry-after': 'soon' }), 500)
})
