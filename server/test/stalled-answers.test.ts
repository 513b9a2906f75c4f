/** Whoever asks and does not read what comes holds memory and a connection for a minute, and no longer. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { openApp } from './support/app.ts'
import { until } from './support/cluster.ts'
import { openEmbedded } from './support/databases.ts'

/** More than the kernel takes. */
const BYTES = 24 * 1024 ** 2

test('an answer that nobody takes is cut off, and one that is taken slowly is not', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const store = await openEmbedded()
  const app = openApp(store)
  app.get('/large', async () => 'x'.repeat(BYTES))
  await app.listen({ host: '127.0.0.1', port: 0 })
  t.after(async () => {
    await app.close()
    await store.close()
  })
  const whole = await app.inject({ url: '/large', headers: { host: '127.0.0.1' } })
  assert.deepEqual([whole.headers['content-length'], whole.body.length], [String(BYTES), BYTES])
  const { port } = app.server.address() as AddressInfo
  const ask = async () => {
    const accepted = once(app.server, 'connection')
    const socket = connect(port, '127.0.0.1')
    socket.pause()
    const [served] = (await accepted) as [Socket]
    socket.write('GET /large HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
    // The kernel has taken what it takes.
    await until('an answer on its way', () => served.writableLength > 0)
    return { socket, served }
  }
  const [stopped, slow] = [await ask(), await ask()]
  slow.socket.on('data', () => slow.socket.pause())
  // Each look is a quarter of a minute; one more is the first that sees how much was taken.
  for (let look = 0; look < 8; look += 1) {
    const taken = slow.served.bytesWritten - slow.served.writableLength
    const some = () => {
      slow.socket.resume()
      return slow.served.bytesWritten - slow.served.writableLength > taken
    }
    await until('some to be taken', some, 30, 1)
    // It also sends a byte of its next request each time.
    if (!stopped.served.destroyed) stopped.socket.write('G')
    t.mock.timers.tick(15_000)
  }
  assert.equal(stopped.served.destroyed, true)
  assert.equal(slow.served.destroyed, false)
  slow.socket.destroy()
  stopped.socket.destroy()
})
