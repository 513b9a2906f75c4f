import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../../test/support/service.ts'
import { createProxiedFetch } from './proxied-fetch.ts'
import { planToolServers } from './tool-servers.ts'

/** Stored by an older version, which took it. */
const BROKEN = 'a%zz:b%'

test('a stored address whose user cannot be decoded is no fault of the service', async () => {
  const { servers, secrets } = planToolServers(
    {
      config: { mcp_servers: { a: { url: `https://${BROKEN}@tools.example/` } } },
    },
    {},
    {},
  )
  assert.equal(servers.length, 1)
  assert(secrets.includes('a%zz'))

  const heard: Array<string | undefined> = []
  const proxy = createServer((request, response) => {
    heard.push(request.headers.authorization)
    response.end('{}')
  })
  proxy.on('connect', (request, socket) => {
    heard.push(request.url)
    socket.end('HTTP/1.1 502 No\r\n\r\n')
  })
  const path = join(temporaryDirectory('proxy'), 'proxy.sock')
  await new Promise<void>((resolve) => proxy.listen(path, resolve))
  try {
    const plain = createProxiedFetch(async () => path, 'http://tools.example')
    assert.equal((await plain(`http://${BROKEN}@tools.example/`)).status, 200)
    const secure = createProxiedFetch(async () => path, 'https://tools.example')
    await assert.rejects(
      secure(`https://${BROKEN}@tools.example/`),
      (error: Error) => error.name !== 'URIError',
    )
  } finally {
    proxy.close()
  }
  assert.deepEqual(heard, [`Basic ${Buffer.from(BROKEN).toString('base64')}`, 'tools.example:443'])
})
