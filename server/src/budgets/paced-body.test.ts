import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import { PacedBodies, PIECES_A_TURN } from './paced-body.ts'

test('bodies in pieces of a byte arrive whole, so many pieces in each turn of the event loop', async (t) => {
  const SENDERS = 8
  const PIECES = 12_000
  const paced = new PacedBodies()
  let in_turn = 0
  let most = 0
  const turn = () => {
    most = Math.max(most, in_turn)
    in_turn = 0
    next = setImmediate(turn)
  }
  let next = setImmediate(turn)
  t.after(() => clearImmediate(next))
  const arrived: number[] = []
  const server = createServer(async (request, response) => {
    let bytes = 0
    for await (const piece of paced.read(request, request.url ?? '')) {
      bytes += piece.length
      in_turn += 1
    }
    arrived.push(bytes)
    response.end()
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const body = `${'1\r\nx\r\n'.repeat(PIECES)}0\r\n\r\n`
  const ends = Array.from({ length: SENDERS }, async (_, at) => {
    const socket = connect(port, '127.0.0.1').resume()
    socket.write(`POST /${at} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n`)
    socket.write(body)
    await once(socket, 'close')
  })
  await Promise.all(ends)
  assert.deepEqual(arrived, Array(SENDERS).fill(PIECES))
  // Each begins before its first turn.
  assert(most <= (SENDERS + 1) * PIECES_A_TURN, `${most} pieces in one turn`)
})
