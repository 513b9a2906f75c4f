import assert from 'node:assert/strict'
import test from 'node:test'
import { joinQuery } from './query.ts'

test('arrays repeat the key, maps use brackets, dates are RFC 3339, nothing is left out', () => {
  const query = joinQuery('/agent/runs', {
    state: ['QUEUED', 'FAILED'],
    metadata: { team: 'a&b', 'x.y': '1' },
    created_after: new Date(0),
    limit: 5,
    follow: false,
    q: undefined,
    name: null,
  })
  assert.equal(
    decodeURIComponent(query),
    '/agent/runs?state=QUEUED&state=FAILED&metadata[team]=a&b&metadata[x.y]=1&created_after=1970-01-01T00:00:00.000Z&limit=5&follow=false',
  )
  assert.match(query, /a%26b/)
  assert.equal(joinQuery('/agent/runs', { q: undefined }), '/agent/runs')
  assert.equal(joinQuery('/agent/runs?limit=5', { q: 'a' }), '/agent/runs?limit=5&q=a')
})
