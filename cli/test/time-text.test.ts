import assert from 'node:assert/strict'
import test from 'node:test'
import { formatAge, formatDuration, formatUntil, parseDuration } from '../src/time-text.ts'

test('durations', () => {
  const cases: Array<[number, string]> = [
    [0, '0 ms'],
    [35, '35 ms'],
    [250, '0.3 s'],
    [12_040, '12.0 s'],
    [59_949, '59.9 s'],
    [59_960, '1 m 0 s'],
    [184_000, '3 m 4 s'],
    [7_500_000, '2 h 5 m'],
  ]
  for (const [ms, text] of cases) assert.equal(formatDuration(ms), text)
  assert.equal(parseDuration('PT1H2M3.5S'), 3_723_500)
  assert.equal(parseDuration('PT0S'), 0)
})

test('ages', () => {
  const now = Date.parse('2026-01-02T00:00:00Z')
  assert.equal(formatAge('2026-01-01T23:59:59.500Z', now), 'just now')
  assert.equal(formatAge('2026-01-01T23:59:30Z', now), '30s ago')
  assert.equal(formatAge('2026-01-01T20:00:00Z', now), '4h ago')
  assert.equal(formatAge('2025-12-20T00:00:00Z', now), '13d ago')
})

test('times to come', () => {
  const now = Date.parse('2026-01-02T00:00:00Z')
  assert.equal(formatUntil('2026-01-01T00:00:00Z', now), 'now')
  assert.equal(formatUntil('2026-01-02T00:00:12Z', now), 'in 12s')
  assert.equal(formatUntil('2026-01-02T23:59:59Z', now), 'in 23h')
  assert.equal(formatUntil('2026-01-09T00:00:00Z', now), 'in 7d')
})
