/** Whoever opens a stream and does not read holds nothing for long. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { until } from './support/cluster.ts'
import { apiOf, shell, startService } from './support/service.ts'

test('a stream that nobody reads is closed, and one that is read slowly is not', async (t) => {
  const service = await startService()
  t.after(() => service.stop())
  const api = apiOf(service)
  // More than the kernel's buffers hold.
  const megabyte = shell('head -c 800000 /dev/urandom | base64 -w 0 | head -c 1000000')
  const run_id = await api.create({ prompt: Array(16).fill(megabyte).join('\n') })
  await api.ended(run_id)
  const { hostname, port, pathname } = new URL(service.base_url)
  const open = async () => {
    const socket = connect(Number(port), hostname)
    await once(socket, 'connect')
    socket.write(
      `GET ${pathname}/agent/runs/${run_id}/events?follow=true HTTP/1.1\r\nhost: ${hostname}\r\n` +
        `authorization: Bearer ${service.api_key}\r\naccept: text/event-stream\r\n\r\n`,
    )
    return socket
  }
  const [stalled, slow] = [await open(), await open()]
  stalled.pause()
  // Small reads, far apart: together they take longer than a reader may stand still.
  let read = 0
  slow.pause()
  const reading = setInterval(() => {
    read += slow.read(64 * 1024)?.length ?? slow.read()?.length ?? 0
  }, 2_000)
  let is_closed = false
  slow.once('close', () => {
    is_closed = true
  })
  t.after(() => {
    clearInterval(reading)
    slow.destroy()
  })
  // What was on its way arrives; then the connection has ended.
  await until('the stalled reader to be cut off', () => cutOff(port, stalled.localPort ?? 0), 150, 1_000)
  assert.equal(is_closed, false)
  assert(read > 0)
  stalled.destroy()
})

/** Whether the service holds this connection no more. */
function cutOff(port: string, client_port: number): boolean {
  const listed = execFileSync('ss', ['-Htn', `sport = :${port} and dport = :${client_port}`], {
    encoding: 'utf8',
  })
  return !/ESTAB/.test(listed)
}
