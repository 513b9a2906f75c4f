/** Who posts to a trigger needs no key, so what is slow to arrive is not waited for as long as elsewhere. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import type { HookAnswer, Trigger } from '../src/contract/trigger.ts'
import { until } from './support/cluster.ts'
import { apiOf, startService } from './support/service.ts'
import { SIGN } from './support/sign-hook.ts'

test('a body that comes drop by drop is cut off, and one that is late is taken', async (t) => {
  const service = await startService()
  t.after(() => service.stop())
  const trigger = await apiOf(service).json<Trigger & { secret: string }>('POST', '/agent/triggers', {
    ...{ name: 'T', verification: 'github', prompt: 'x', agent_config: { worker_host: 'nobody' } },
  })
  const { hostname, port, pathname, host } = new URL(trigger.url)
  const open = async (body: string, id: string): Promise<{ socket: Socket; said: () => string }> => {
    const socket = connect(Number(port), hostname)
    await once(socket, 'connect')
    socket.on('error', () => {})
    let said = ''
    socket.on('data', (chunk) => {
      said += chunk
    })
    const headers = Object.entries(SIGN.github({ secret: trigger.secret, body, id }))
    const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
    socket.write(
      `POST ${pathname} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${body.length}\r\n${lines}\r\n`,
    )
    return { socket, said: () => said }
  }
  const slow = await Promise.all(['1', '2', '3'].map((id) => open(' '.repeat(60_000), id)))
  const drops = setInterval(() => {
    for (const { socket } of slow) socket.write(' ')
  }, 200)
  t.after(() => clearInterval(drops))

  const late = await open('{"n":1}', 'late')
  late.socket.write('{"n"')
  const answer = (await fetch(trigger.url, {
    ...{ method: 'POST', body: '{"n":2}' },
    headers: SIGN.github({ secret: trigger.secret, body: '{"n":2}', id: 'between' }),
  }).then((response) => response.json())) as HookAnswer
  assert.equal(answer.outcome, 'run_started')
  late.socket.write(':1}')
  await until('the late one to be taken', () => /^HTTP\/1.1 202 /.test(late.said()))

  await until('the slow ones to be cut off', () => slow.every(({ socket }) => socket.destroyed), 60)
  assert.deepEqual(
    slow.map(({ said }) => said()),
    ['', '', ''],
  )
  // The connection on which a body did come stays.
  assert.equal(late.socket.destroyed, false)
  late.socket.destroy()
})
