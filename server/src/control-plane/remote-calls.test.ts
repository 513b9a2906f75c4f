import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { askServer, putFile } from './remote-calls.ts'

test('waits for an answer that goes on, however long it takes, and not for one that stands still', async () => {
  let received = 0
  const server = createServer(async (request, response) => {
    for await (const chunk of request) received += chunk.length
    response.write('{"value":')
    if (request.url?.endsWith('still')) return
    for (let n = 0; n < 6; n += 1) {
      await wait(2_000)
      response.write(' ')
    }
    response.end('1}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = { server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token: 't' }
  try {
    const still = assert.rejects(askServer(address, 'still', {}), { name: 'ControlPlaneAway' })
    assert.equal(await askServer(address, 'slow', { text: 'x'.repeat(1_000_000) }), 1)
    await still
    assert(received > 1_000_000)
  } finally {
    server.closeAllConnections()
    server.close()
  }
})

test('tells a way that is cut from a storage that refuses and from a source that fails', async () => {
  const server = createServer((request, response) => {
    if (request.url?.endsWith('cut')) return void request.socket.destroy()
    response.writeHead(Number(request.url?.split('/').at(-1))).end('{"detail":"no"}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = { server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token: 't' }
  const put = (key: string, data: Readable = Readable.from([Buffer.alloc(100_000)])) =>
    putFile(address, key, data)
  try {
    for (const key of ['cut', '503', '502']) await assert.rejects(put(key), { name: 'BlobsAway' }, key)
    for (const key of ['403', '409', '413', '500', '507'])
      await assert.rejects(put(key), { name: 'BlobsUnavailable', message: 'no' }, key)
    const failing = async function* () {
      yield Buffer.from('x')
      throw new Error('its own')
    }
    const slow = createServer(() => {})
    await new Promise<void>((resolve) => slow.listen(0, '127.0.0.1', resolve))
    const there = { server: `http://127.0.0.1:${(slow.address() as AddressInfo).port}`, token: 't' }
    await assert.rejects(putFile(there, 'x', Readable.from(failing())), { message: 'its own' })
    slow.closeAllConnections()
    slow.close()
  } finally {
    server.closeAllConnections()
    server.close()
  }
})
