import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { BrokenLines, readLines, writeLine } from './pkt-line.ts'
import { readPush, writeRejection } from './push-commands.ts'

const [NOTHING, ONE, TWO] = ['0', '1', '2'].map((digit) => digit.repeat(40))
const bodyOf = (...parts: Array<string | Buffer>): PassThrough => {
  const body = new PassThrough()
  for (const part of parts) body.write(part)
  body.end()
  return body
}

describe('a push', () => {
  test('says which branches it changes and deletes; the pack stays in the stream', async () => {
    const body = bodyOf(
      writeLine(`shallow ${ONE}`),
      writeLine(`${NOTHING} ${ONE} refs/heads/runyard/a\0 report-status side-band-64k agent=git/2`),
      writeLine(`${TWO} ${NOTHING} refs/heads/gone\n`),
      '0000PACK and more',
    )
    const push = await readPush(body)
    assert.deepEqual(push?.commands, [
      { ref: 'refs/heads/runyard/a', deletes: false },
      { ref: 'refs/heads/gone', deletes: true },
    ])
    assert.equal(push?.capabilities.has('side-band-64k'), true)
    assert.match(push.head.toString('latin1') + (await text(body)), /^0034shallow .*0000PACK and more$/s)
  })

  test('is read however it is cut', async () => {
    const whole = Buffer.concat([
      writeLine(`${NOTHING} ${ONE} refs/heads/a\0report-status`),
      Buffer.from('0000PACK'),
    ])
    const body = new PassThrough()
    const reading = readPush(body)
    for (const byte of whole) {
      body.write(Buffer.from([byte]))
      await new Promise(setImmediate)
    }
    assert.deepEqual((await reading)?.commands, [{ ref: 'refs/heads/a', deletes: false }])
    body.end()
  })

  test('is heard on every line, as servers do', async () => {
    const body = bodyOf(
      writeLine(`${NOTHING} ${ONE} refs/heads/a\0report-status`),
      writeLine(`${NOTHING} ${ONE} refs/heads/b\0push-options`),
      '0000',
    )
    assert.deepEqual([...((await readPush(body))?.capabilities ?? [])], ['report-status', 'push-options'])
  })

  test('may ask for nothing: git does, to see whether it may push at all', async () => {
    assert.deepEqual((await readPush(bodyOf('0000')))?.commands, [])
  })

  for (const [name, ...parts] of [
    ['ends too early', '0032'],
    ['is signed', writeLine('push-cert\0report-status'), '0000'],
    ['has a command without a branch', writeLine(`${NOTHING} ${ONE}`), '0000'],
    ['has a branch with a space', writeLine(`${NOTHING} ${ONE} refs/heads/a b`), '0000'],
    ['has a branch with a line end', writeLine(`${NOTHING} ${ONE} refs/heads/a\nrefs/heads/main`), '0000'],
    [
      'has no end',
      ...Array.from({ length: 20_000 }, (_, at) => writeLine(`${NOTHING} ${ONE} refs/heads/${at}`)),
    ],
  ] as const)
    test(`that ${name} is none`, async () => {
      assert.equal(await readPush(bodyOf(...parts)), null)
    })

  for (const lines of ['0003', '0004', 'zzzz', 'fff5', '-001'])
    test(`a line of the length ${lines} is none`, () => {
      assert.throws(() => readLines(Buffer.from(`${lines}${' '.repeat(70_000)}`)), BrokenLines)
    })
})

describe('a rejection', () => {
  const commands = Array.from({ length: 5_000 }, (_, at) => ({ ref: `refs/heads/${at}`, deletes: false }))
  const read = (bytes: Buffer) => readLines(bytes).lines.map((line) => line.toString())

  test('names each branch with a reason', () => {
    const push = { commands: commands.slice(0, 2), capabilities: new Set<string>(), head: Buffer.alloc(0) }
    assert.deepEqual(read(writeRejection(push, (place) => `no ${place}`)), [
      'unpack ok\n',
      'ng refs/heads/0 no 0\n',
      'ng refs/heads/1 no 1\n',
    ])
  })

  test('goes in the band that git reads reports from', () => {
    const push = { commands, capabilities: new Set(['side-band-64k']), head: Buffer.alloc(0) }
    const bands = readLines(writeRejection(push, () => 'no')).lines
    assert.equal(bands.length > 1, true)
    assert.equal(
      bands.every((band) => band[0] === 1),
      true,
    )
    assert.equal(read(Buffer.concat(bands.map((band) => band.subarray(1)))).length, 5_001)
  })
})
