import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MarkerFinder } from './marker-finder.ts'

const MARKER = Buffer.from('\x1e\x1eab\x1e\x1eac')

/** All that is told of `text` when it comes in pieces of so many bytes. */
function findIn(text: string, size: number): { before: string; behind: string | null; rest: string } {
  const finder = new MarkerFinder(MARKER)
  const bytes = Buffer.from(text, 'latin1')
  let [before, behind]: [string, string | null] = ['', null]
  for (let at = 0; at < bytes.length; at += size) {
    const piece = bytes.subarray(at, at + size)
    if (behind !== null) behind += piece.toString('latin1')
    else {
      const found = finder.find(piece)
      before += found.before.toString('latin1')
      behind = found.behind?.toString('latin1') ?? null
    }
  }
  return { before, behind, rest: finder.rest().toString('latin1') }
}

test('finds the marker wherever the stream is cut', () => {
  const marker = MARKER.toString('latin1')
  for (const before of ['', 'text', '\x1e', '\x1e\x1e\x1eab\x1e\x1ea', '\x1e\x1eab\x1e\x1eab\x1e'])
    for (let size = 1; size <= before.length + marker.length + 2; size++)
      assert.deepEqual(findIn(`${before}${marker}0\n`, size), { before, behind: '0\n', rest: '' }, `${size}`)
})

test('keeps every byte of a stream without one, and holds back no more than may be its beginning', () => {
  const finder = new MarkerFinder(MARKER)
  assert.equal(finder.find(Buffer.from('text\n')).before.toString(), 'text\n')
  assert.equal(finder.find(Buffer.from('a\x1e\x1eab\x1e')).before.toString(), 'a')
  assert.equal(finder.find(Buffer.from('\x1eab\x1e\x1e')).before.toString(), '\x1e\x1eab')
  assert.equal(finder.rest().toString(), '\x1e\x1eab\x1e\x1e')
  for (let size = 1; size < 9; size++) {
    const text = '\x1e\x1eab\x1e\x1eab\x1e\x1ea'
    const { before, rest } = findIn(text, size)
    assert.equal(before + rest, text)
  }
})
