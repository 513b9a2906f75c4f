import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Stream, TerminalText } from './terminal-text.ts'

const shown = (...chunks: (string | [Stream, string])[]) => {
  const text = new TerminalText()
  for (const chunk of chunks) {
    if (typeof chunk === 'string') text.append('stdout', chunk)
    else text.append(...chunk)
  }
  return { text, all: text.blocks.flatMap((block) => block.parts.map((part) => part.text)).join('') }
}

test('a carriage return starts the line again, wherever chunks are cut', () => {
  assert.equal(shown('10%\r99%\n').all, '99%\n')
  assert.equal(shown('done\n10%', '\r', '99%').all, 'done\n99%')
  assert.equal(shown('one\r', '\ntwo').all, 'one\ntwo')
  assert.equal(shown(['stderr', 'warn'], ['stdout', '\rnext']).all, 'next')
})

test('streams stay apart, and blocks that are full are left alone', () => {
  const { text } = shown('a', ['stderr', 'b'], 'c')
  assert.deepEqual(text.blocks[0]?.parts, [
    { stream: 'stdout', text: 'a' },
    { stream: 'stderr', text: 'b' },
    { stream: 'stdout', text: 'c' },
  ])
  const first = `${'x'.repeat(20_000)}\n`
  const { text: long } = shown(first)
  const block = long.blocks[0]
  long.append('stdout', 'more')
  assert.equal(long.blocks[0], block)
  assert.equal(long.blocks.length, 2)
})

test('the oldest goes first, and is counted', () => {
  const { text, all } = shown(...Array.from({ length: 40 }, () => `${'y'.repeat(20_000)}\n`))
  assert.ok(all.length <= 256 * 1024)
  assert.equal(text.dropped + all.length, 40 * 20_001)
  const { text: endless, all: rest } = shown('z'.repeat(400_000))
  assert.equal(endless.dropped + rest.length, 400_000)
})
