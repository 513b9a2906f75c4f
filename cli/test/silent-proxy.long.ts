import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { Home, printedBy } from './runyard.ts'

test('a proxy that accepts and goes silent is noticed, and the follow goes on', {
  timeout: 400_000,
}, async (t) => {
  const home = new Home()
  const dev = home.spawn(['dev', '--port', '0', '--json'])
  const { base_url, api_key } = JSON.parse(await printedBy(dev, /\n/)) as Record<string, string>
  const target = Number(new URL(base_url ?? '').port)
  let is_silent = false
  const sockets = new Set<Socket>()
  const proxy = createServer((socket) => {
    const onward = connect(target, '127.0.0.1')
    for (const [from, to] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      sockets.add(from)
      from.on('data', (chunk) => is_silent || to.write(chunk))
      from.on('error', () => {})
      from.on('close', () => to.destroy())
    }
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  t.after(async () => {
    for (const socket of sockets) socket.destroy()
    proxy.close()
    await home.remove()
  })
  const { port } = proxy.address() as AddressInfo
  const environment = { RUNYARD_BASE_URL: `http://127.0.0.1:${port}`, RUNYARD_API_KEY: api_key }
  const prompt = '```sh\necho one; sleep 100; echo two\n```'
  const watching = home.spawn(['run', prompt, '-o', 'ndjson'], { environment })
  const [line = ''] = (await printedBy(watching, /one\\n/)).split('\n')
  is_silent = true
  await printedBy(watching, /Reconnecting: /, 'stderr')
  is_silent = false
  const { code, stdout, stderr } = await watching.ended
  assert.equal(code, 0, stderr)
  assert.match(stderr, /Connected again after /)
  const { run_id } = JSON.parse(line) as { run_id: string }
  assert.equal(stdout, (await home.run(['follow', run_id, '-o', 'ndjson'])).stdout)
})
