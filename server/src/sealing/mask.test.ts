import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Mask } from './mask.ts'

const SECRET = 'hunter2&"pässword"/'
const mask = new Mask([SECRET, 'tok_123456', 'tok_123456789', 'short'])

test('a value is masked wherever it stands, and nothing else is', () => {
  assert.equal(mask.text(`a ${SECRET}, b ${SECRET}${SECRET}.`), 'a ***, b ******.')
  assert.equal(mask.text('tok_12345 tok_123456 tok_123456789 tok_1234567'), 'tok_12345 *** *** ***7')
  assert.equal(mask.text('short and harmless'), 'short and harmless')
  assert.equal(new Mask().text(SECRET), SECRET)
})

for (const [form, text] of Object.entries({
  'URL-encoded': encodeURIComponent(SECRET),
  'in a form': new URLSearchParams({ a: SECRET }).toString().slice(2),
  'in JSON': JSON.stringify({ a: SECRET }).slice(6, -2),
  'in hexadecimal': Buffer.from(SECRET).toString('hex'),
})) {
  test(`it is masked ${form}`, () => assert.equal(mask.text(`<${text}>`), '<***>'))
}

test('it is masked in base64, whatever stands before and behind it', () => {
  for (const before of ['', 'x', 'xy', 'user:']) {
    for (const encoding of ['base64', 'base64url'] as const) {
      const text = Buffer.from(`${before}${SECRET}!`).toString(encoding)
      const masked = mask.text(text)
      assert(masked.includes('***'), text)
      const shown = masked.split('***').map((part) => Buffer.from(part, encoding).toString())
      assert(!shown.join('').includes('unter2'), masked)
    }
  }
})

test('in pieces it is masked wherever it is cut, and nothing is lost or held back for long', () => {
  const text = `begin ${SECRET} tok_123456 tok_12 end`
  for (let first = 0; first <= text.length; first += 1) {
    for (let second = first; second <= text.length; second += 3) {
      const stream = mask.stream()
      const pieces = [text.slice(0, first), text.slice(first, second), text.slice(second)]
      const told = pieces.map((piece) => stream.push(piece)).join('') + stream.end()
      assert.equal(told, 'begin *** *** tok_12 end')
    }
  }
  const stream = mask.stream()
  assert.equal(stream.push('hello hunt'), 'hello ')
  assert.equal(stream.push('ing'), 'hunting')
  assert.equal(stream.push('hunt'), '')
  assert.equal(stream.end(), 'hunt')
})

test('all strings of a value are masked, keys are not', () => {
  assert.deepEqual(mask.json({ [SECRET]: [SECRET, { deep: `x${SECRET}` }, 7, null] }), {
    [SECRET]: ['***', { deep: 'x***' }, 7, null],
  })
})

test('a long value is masked, whole or cut by lines', () => {
  const long = Array.from({ length: 40 }, (_, index) => `line ${index} of a key`).join('\n')
  const masked = new Mask([long]).text(`<${long}>`)
  assert.match(masked, /^<(\*\*\*)+>$/)
})

for (const [name, values, text] of [
  ['values that share a beginning', (index: number) => `${'a'.repeat(100)}${index}`, 'a'.repeat(500_000)],
  ['values inside each other', (index: number) => 'a'.repeat(8 + (index % 900)), 'a'.repeat(500_000)],
  ['long values', (index: number) => `${'a'.repeat(1_000)}${index}`, 'a'.repeat(500_000)],
] as const) {
  test(`${name} cost no more than others`, () => {
    const mask = new Mask(Array.from({ length: 1_000 }, (_, index) => values(index)))
    const stream = mask.stream()
    let told = 0
    for (let at = 0; at < text.length; at += 1_000) told += stream.push(text.slice(at, at + 1_000)).length
    assert(told + stream.end().length > 0)
  })
}
