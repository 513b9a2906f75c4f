import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isAway, KubernetesError, retryWhileAway, toError } from './kubernetes-api.ts'

test('a call is repeated while nobody answers or the server is busy, and not when it is refused', async () => {
  const answers: Array<Error | string> = [
    new Error('connect ECONNREFUSED'),
    new KubernetesError(429, 'TooManyRequests', 'busy'),
    new KubernetesError(503, '', 'starting'),
    'done',
  ]
  let calls = 0
  const call = async () => {
    const answer = answers[calls++] ?? 'none'
    if (answer instanceof Error) throw answer
    return answer
  }
  assert.equal(await retryWhileAway(call, 60_000), 'done')
  assert.equal(calls, 4)
  const refused = new KubernetesError(403, 'Forbidden', 'no')
  calls = 0
  await assert.rejects(
    retryWhileAway(async () => {
      calls += 1
      throw refused
    }, 60_000),
    refused,
  )
  assert.equal(calls, 1)
})

test('a server that stays away is given up when the time is over', async () => {
  const away = new Error('connect ECONNREFUSED')
  await assert.rejects(
    retryWhileAway(() => Promise.reject(away), 50),
    away,
  )
})

test('an answer that is not Kubernetes’ own is one as well', () => {
  const own = toError(
    404,
    JSON.stringify({ kind: 'Status', reason: 'NotFound', message: 'pods "x" not found' }),
  )
  assert.deepEqual([own.status, own.reason, own.message], [404, 'NotFound', 'pods "x" not found'])
  const proxy = toError(502, '<html>Bad Gateway</html>')
  assert.deepEqual([proxy.status, proxy.message], [502, '<html>Bad Gateway</html>'])
  assert.equal(isAway(proxy), true)
})
