import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { test } from 'node:test'
import { createEgressProxy } from './egress-proxy.ts'
import { createModelGateway } from './model-gateway.ts'

const TOKEN = 'rym_0123456789abcdefghij'

test('a question is passed on without a body, which could be another request', async () => {
  let received = ''
  const raw = createServer((socket) =>
    socket.on('data', (data) => {
      received += data
      setImmediate(() => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}'))
    }),
  )
  raw.listen(0, '127.0.0.1')
  await once(raw, 'listening')
  const base_url = `http://127.0.0.1:${(raw.address() as AddressInfo).port}`
  const models = createModelGateway(
    { token: TOKEN, providers: { openai: { api: 'openai', api_key: 'a-key', base_url } }, tokens_left: null },
    { onUsed() {}, onCall() {} },
  )
  const gateway = createEgressProxy({ hosts: [], private_hosts: [] }, () => {}, null, models.answer)
  gateway.listen(0, '127.0.0.1')
  await once(gateway, 'listening')
  const evil = 'POST /evil HTTP/1.1\r\n\r\n'
  for (const [framing, body] of [
    [`Content-Length: ${evil.length}`, evil],
    ['Transfer-Encoding: chunked', `${evil.length.toString(16)}\r\n${evil}\r\n0\r\n\r\n`],
  ]) {
    received = ''
    const client = connect((gateway.address() as AddressInfo).port, '127.0.0.1')
    client.resume()
    client.write(
      `GET /model/openai/v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nConnection: close\r\n${framing}\r\n\r\n${body}`,
    )
    await once(client, 'close')
    assert.match(received, /^GET \/models HTTP\/1\.1\r\n/)
    assert.doesNotMatch(received, /evil|content-length|transfer-encoding/i)
  }
  gateway.close()
  raw.close()
})
