import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describePart } from './content-part.ts'

test('the address of a page says of what type its bytes are', () => {
  for (const [data, told] of [
    ['data:image/png;base64,AAAA', 'image, image/png, 3 bytes'],
    ['data:image/png;name=a.png;base64,AAAA', 'image, image/png, 3 bytes'],
    ['data:;base64,AAAA', 'image, of unknown type, 3 bytes'],
    ['AAAA', 'image, of unknown type, 3 bytes'],
  ] as const)
    assert.ok(describePart({ type: 'image', data }).text.startsWith(`[${told}, kept as `), data)
})

test('megabytes that only begin like an address take no time', () => {
  for (const filler of ['a', ';base64', ';'])
    assert.match(describePart({ type: 'image', data: `data:${filler.repeat(1_000_000)}` }).text, /^\[image, /)
})
