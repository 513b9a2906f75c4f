import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { Home } from './runyard.ts'

const LIMIT = { timeout: 600_000 }
const AT = '2026-01-01T00:00:00.000Z'
const RUN_ID = '019a8c41-0000-7000-8000-000000000001'
const RUN = {
  run_id: RUN_ID,
  state: 'INPROGRESS',
  title: 'A run',
  session_link: 'http://127.0.0.1/sessions/r1',
  at_capacity: false,
}

test('a server that stays away ends the watching with 4 and how to see the rest', LIMIT, async (t) => {
  let streams = 0
  const server = createServer((request, response) => {
    const is_stream = request.url?.includes('/events')
    if (is_stream) streams += 1
    if (is_stream && streams === 1) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const sequence of [1, 2]) {
        const event = { sequence, run_id: RUN_ID, type: 'usage', occurred_at: AT, data: {} }
        response.write(`event: usage\ndata: ${JSON.stringify(event)}\n\n`)
      }
      setImmediate(() => response.destroy())
    } else if (is_stream) {
      // What a proxy says whose server is away, without the waits between.
      response.writeHead(503, { 'retry-after-ms': '1', 'content-type': 'text/html' }).end('<h1>Away</h1>')
    } else {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(RUN))
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const home = new Home()
  t.after(async () => {
    server.closeAllConnections()
    server.close()
    await home.remove()
  })
  const environment = {
    RUNYARD_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    RUNYARD_API_KEY: 'ry_x',
  }
  const words =
    /^Reconnecting: [^\n]+\nerror: [^\n]+\nhint: the run may go on; see the rest of it with `runyard follow 019a8c41-0000-7000-8000-000000000001 --after 2`\n$/
  const followed = await home.run(['follow', RUN_ID], { environment })
  assert.match(followed.stderr, words)
  assert.deepEqual([followed.code, streams], [4, 31])
  // The run was made before the server went away.
  const started = await home.run(['run', 'prompt', '-o', 'ndjson'], { environment })
  assert.match(
    started.stderr,
    /hint: the run may go on; see the rest of it with `runyard follow 019a8c41-0000-7000-8000-000000000001`\n$/,
  )
  assert.equal(started.code, 4)
})

test('a server that was never there is not waited for', LIMIT, async (t) => {
  const home = new Home()
  t.after(() => home.remove())
  const environment = { RUNYARD_BASE_URL: 'http://127.0.0.1:1', RUNYARD_API_KEY: 'ry_x' }
  const { code, stderr } = await home.run(['follow', RUN_ID], { environment })
  assert.match(stderr, /^error: Cannot reach [^\n]+\nhint: is it running\? [^\n]+\n$/)
  assert.equal(code, 4)
})
