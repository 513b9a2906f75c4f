import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ExecOutput } from './exec-output.ts'

async function read(output: ExecOutput): Promise<string> {
  let text = ''
  for await (const { stream, data } of output)
    text += `${stream === 'stdout' || data.length === 0 ? '' : '!'}${Buffer.from(data).toString()}`
  return text
}

test('everything passes up to the limit, whatever the chunks', async () => {
  const output = new ExecOutput(10)
  for (const letter of 'abcdefghij') output.push('stdout', Buffer.from(letter))
  output.end()
  assert.equal(await read(output), 'abcdefghij')
  assert.equal(output.truncated_bytes, 0)
})

test('beyond the limit the first and the last half stay, in order and by stream', async () => {
  const output = new ExecOutput(10)
  output.push('stdout', Buffer.from('abcdefg'))
  output.push('stderr', Buffer.from('hijklmnopq'))
  output.push('stdout', Buffer.from('rs'))
  output.end()
  assert.equal(await read(output), 'abcde!opqrs')
  assert.equal(output.truncated_bytes, 9)
})

test('the first chunk of each stream behind the gap says so, and none where nothing is dropped', async () => {
  const gaps = async (bytes: number) => {
    const output = new ExecOutput(bytes)
    for (const stream of ['stdout', 'stdout', 'stderr', 'stdout', 'stderr'] as const)
      output.push(stream, Buffer.from('abc'))
    output.end()
    const told: string[] = []
    for await (const { stream, data, after_gap } of output)
      told.push(`${stream} ${Buffer.from(data)}${after_gap ? ' after gap' : ''}`)
    return told
  }
  assert.deepEqual(await gaps(14), [
    'stdout abc',
    'stdout abc',
    'stderr a',
    'stderr c after gap',
    'stdout abc after gap',
    'stderr ab',
    'stderr c',
  ])
  assert.deepEqual((await gaps(2)).slice(1), ['stderr c after gap', 'stdout  after gap'])
  assert(!(await gaps(15)).join().includes('gap'))
})

test('a limit of nothing drops everything and still counts it', async () => {
  const output = new ExecOutput(0)
  output.push('stdout', Buffer.from('abc'))
  output.end()
  assert.equal(await read(output), '')
  assert.equal(output.truncated_bytes, 3)
})

test('asks to wait once the reader is far behind, and says when it has caught up', async () => {
  const output = new ExecOutput(Number.POSITIVE_INFINITY)
  let drained = 0
  output.onDrain = () => drained++
  assert.equal(output.push('stdout', Buffer.alloc(100_000)), true)
  assert.equal(output.push('stdout', Buffer.alloc(200_000)), false)
  const reader = output[Symbol.asyncIterator]()
  await reader.next()
  assert.equal(drained, 1)
  assert.equal(output.push('stdout', Buffer.alloc(1)), true)
})

test('what is dropped asks nobody to wait', () => {
  const output = new ExecOutput(1000)
  assert.equal(output.push('stdout', Buffer.alloc(10_000_000)), true)
  assert.equal(output.truncated_bytes, 10_000_000 - 1000)
})

test('what waits for a slow reader is joined, however small the writes were', async () => {
  const output = new ExecOutput(1024 ** 2)
  for (let at = 0; at < 1_200_000; at += 1) output.push('stdout', Buffer.from([at % 251]))
  output.end()
  let chunks = 0
  const parts: Uint8Array[] = []
  for await (const { data } of output) {
    chunks += 1
    parts.push(data)
  }
  assert.ok(chunks < 100, `${chunks} chunks`)
  const written = Buffer.from(Array.from({ length: 1_200_000 }, (_, at) => at % 251))
  const half = 512 * 1024
  assert.deepEqual(Buffer.concat(parts), Buffer.concat([written.subarray(0, half), written.subarray(-half)]))
  assert.equal(output.truncated_bytes, 1_200_000 - 1024 ** 2)
})

test('streams that change with every byte keep their order, and reading them leaves others their turn', async () => {
  const output = new ExecOutput(20_000)
  for (let at = 0; at < 50_000; at += 1) output.push(at % 2 ? 'stderr' : 'stdout', Buffer.from([at % 251]))
  output.end()
  let turns = 0
  const count = setInterval(() => {
    turns += 1
  }, 0)
  let at = 0
  for await (const { stream, data } of output) {
    assert.deepEqual([stream, ...data], [at % 2 ? 'stderr' : 'stdout', at % 251])
    at = at === 9_999 ? 40_000 : at + 1
  }
  clearInterval(count)
  assert.equal(at, 50_000)
  assert.ok(turns > 3, `${turns} turns`)
})
