import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clip, cutLine, shorten } from './cut-text.ts'

const SECRET = 'ghp_16C7e42F292c6912E7710c838347Ae178B4a'
const mask = (text: string) => text.replaceAll(SECRET, '***')
const asIs = (text: string) => text

test('clip keeps both ends and never leaves half a character', () => {
  assert.equal(clip('abc', 3, asIs), 'abc')
  assert.match(clip('😀'.repeat(10), 9, asIs), /^😀😀\ufffd?\n\[… 12 characters left out …\]\n\ufffd?😀😀$/u)
})

for (const [name, cut] of Object.entries({
  shorten: (text: string) => shorten(text, mask),
  clip: (text: string) => clip(text, 80, mask),
  cutLine: (text: string) => cutLine(text, 80, mask),
})) {
  test(`${name} leaves no part of a value that stands where it cuts`, () => {
    for (let before = 0; before < 100; before += 1) {
      const told = cut(`${'.'.repeat(before)}${SECRET}${'.'.repeat(100 - before)}`)
      assert(!told.includes(SECRET.slice(0, 4)) && !told.includes(SECRET.slice(-4)), told)
    }
    assert.equal(cut(`short ${SECRET}`), `short ${SECRET}`)
  })
}
