/** Answers every request with the same small run; prints its address and ends with its input. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buildRun } from '../../client/test/fault-answer.ts'

const run = JSON.stringify(buildRun({ state: 'SUCCEEDED' }))
const server = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': run.length }).end(run)
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
process.stdin.resume().on('end', () => process.exit())
