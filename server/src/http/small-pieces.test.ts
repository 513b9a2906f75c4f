import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { test } from 'node:test'
import { refuseSmallPieces } from './small-pieces.ts'

test('a body in pieces of a byte is refused before they are read, one in larger pieces arrives whole', async (t) => {
  const PIECES = 12_000
  let read = 0
  const server = createServer(async (request, response) => {
    request.on('data', () => {
      read += 1
    })
    const body = await buffer(request).catch(() => null)
    if (body) response.end(`${body.length}`)
  })
  refuseSmallPieces(server, (socket) => socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n'))
  server.listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const send = async (piece: string): Promise<string> => {
    const socket = connect(port, '127.0.0.1')
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n')
    socket.write(`${`${piece.length.toString(16)}\r\n${piece}\r\n`.repeat(PIECES)}0\r\n\r\n`)
    socket.on('error', () => {})
    return text(socket).catch(() => '')
  }
  await Promise.all(Array.from({ length: 8 }, () => send('x')))
  assert(read <= 8 * 500, `${read} pieces were read`)
  assert.match(await send('x'), /^HTTP\/1.1 400 /)
  assert.match(await send('x'.repeat(20)), new RegExp(`\r\n${20 * PIECES}(\r\n|$)`))
})
