import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { makeCertificate } from '../../test/support/certificate.ts'
import { isAway, KubernetesApi, KubernetesError, retryWhileAway, toError } from './kubernetes-api.ts'

const { key, cert } = makeCertificate('127.0.0.1')

async function listen(server: Server, port = 0): Promise<number> {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

const open = (port: number): KubernetesApi =>
  new KubernetesApi(
    {
      server: new URL(`https://127.0.0.1:${port}/clusters/one`),
      tls: { ca: cert.toString() },
      authorize: async () => ({ authorization: 'Bearer secret' }),
      cluster: 'one',
    },
    'sandboxes',
  )

test('a call has its path below the server’s own, its token, and its body whatever the method is', async () => {
  const seen: unknown[] = []
  const server = createServer({ key, cert }, async (request, response) => {
    const { method, url, headers } = request
    seen.push([method, url, headers.authorization, await text(request)])
    response.end('{"done": true}')
  })
  const api = open(await listen(server))
  for (const method of ['DELETE', 'POST'] as const)
    assert.deepEqual(await api.call(api.path('pods/x'), { method, body: { a: 'ü' }, query: { b: 'c d' } }), {
      done: true,
    })
  const path = '/clusters/one/api/v1/namespaces/sandboxes/pods/x?b=c+d'
  assert.deepEqual(seen, [
    ['DELETE', path, 'Bearer secret', '{"a":"ü"}'],
    ['POST', path, 'Bearer secret', '{"a":"ü"}'],
  ])
  server.close()
  server.closeAllConnections()
})

test('a call goes through an API server that breaks its connections for a while', async () => {
  let calls = 0
  const server = createServer({ key, cert }, (request, response) => {
    calls += 1
    if (calls < 3) request.socket.destroy()
    else response.end('{"done": true}')
  })
  const api = open(await listen(server))
  assert.deepEqual(await api.call('/version'), { done: true })
  assert.equal(calls, 3)
  server.close()
  server.closeAllConnections()
})

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
