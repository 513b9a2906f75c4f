import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findText } from './find-text.ts'

test('finds what indexOf finds', () => {
  // The same "random" texts of few letters each time.
  let seed = 1
  const random = (below: number) => {
    seed = (seed * 48_271) % 0x7fffffff
    return seed % below
  }
  const word = (length: number) => Array.from({ length }, () => 'ab😀'[random(4)]).join('')
  for (let round = 0; round < 5_000; round += 1) {
    const text = word(random(40))
    const wanted = word(1 + random(6))
    const from = random(5)
    assert.equal(findText(text, wanted, from), text.indexOf(wanted, from), `${text} ${wanted} ${from}`)
  }
})

test('a text that repeats itself takes no longer', () => {
  // indexOf takes an hour for the first alone.
  const text = 'a'.repeat(50_000_000)
  for (const wanted of [
    `${'a'.repeat(500_000)}b${'a'.repeat(500_000)}`,
    `b${'a'.repeat(1_000_000)}`,
    `${'a'.repeat(1_000_000)}b`,
  ])
    assert.equal(findText(text, wanted), -1)
})
