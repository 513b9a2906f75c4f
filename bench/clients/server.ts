/** Answers every request with the same small run; prints its address and ends with its input. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const at = '2026-01-01T00:00:00Z'
const run = JSON.stringify({
  run_id: 'r1',
  title: 'A run',
  state: 'SUCCEEDED',
  prompt: 'x',
  created_at: at,
  updated_at: at,
})
const server = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': run.length }).end(run)
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
process.stdin.resume().on('end', () => process.exit())
