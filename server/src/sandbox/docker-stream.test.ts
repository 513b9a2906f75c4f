import assert from 'node:assert/strict'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { splitDockerStream } from './docker-stream.ts'
import { passOn } from './pass-on.ts'

function frame(stream: 1 | 2, data: string): Buffer {
  const header = Buffer.alloc(8)
  header.writeUInt8(stream, 0)
  header.writeUInt32BE(Buffer.byteLength(data), 4)
  return Buffer.concat([header, Buffer.from(data)])
}

const FRAMES = Buffer.concat([frame(1, 'one '), frame(2, 'error'), frame(1, ''), frame(1, 'two')])

test('takes frames apart wherever the chunks are cut', async () => {
  for (const size of [1, 3, 8, 11, FRAMES.length]) {
    const chunks = Array.from({ length: Math.ceil(FRAMES.length / size) }, (_, index) =>
      FRAMES.subarray(index * size, (index + 1) * size),
    )
    const { stdout, stderr } = splitDockerStream(Readable.from(chunks))
    assert.deepEqual(await Promise.all([text(stdout), text(stderr)]), ['one two', 'error'], `${size}`)
  }
})

test('a connection that breaks ends both streams', async () => {
  const source = new PassThrough()
  const { stdout, stderr } = splitDockerStream(source)
  source.write(frame(1, 'begun'))
  const reading = Promise.all([text(stdout), text(stderr)])
  source.destroy(new Error('connection reset'))
  const [, error] = await reading
  assert.equal(error, '')
})

test('waits for a slow reader', async () => {
  let sent = 0
  const source = Readable.from(
    (function* () {
      for (; sent < 100; sent++) yield frame(1, 'x'.repeat(50_000))
    })(),
  )
  const { stdout } = splitDockerStream(source)
  const reader = stdout[Symbol.asyncIterator]()
  await reader.next()
  await new Promise((resolve) => setImmediate(resolve))
  assert.ok(sent < 50, `${sent} frames were taken for one that was read`)
  stdout.destroy()
})

test('leaves nothing behind on a target that is slow over and over', async () => {
  const target = new PassThrough()
  const before = ['drain', 'close', 'error'].map((name) => target.listenerCount(name))
  for (let index = 0; index < 50; index++) {
    const passed = passOn(target, Buffer.alloc(100_000))
    while (target.read());
    await passed
  }
  assert.deepEqual(
    ['drain', 'close', 'error'].map((name) => target.listenerCount(name)),
    before,
  )
})
