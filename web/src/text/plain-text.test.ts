import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatBytes, formatDuration } from './format.ts'
import { EscapeFilter, firstLine, plainText } from './plain-text.ts'

const SAMPLE =
  'a\x1b[31mred\x1b[0m \x1b]0;title\x07b \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x1bP1$r\x1b\\c \x1b(Bd\x9b1me\x07\x08f\u202eg\n\th'
const PLAIN = 'ared b link c defg\n\th'

test('escape sequences and controls are left out, and text keeps its order', () => {
  assert.equal(plainText(SAMPLE), PLAIN)
  assert.equal(plainText('a\r\nb\rc'), 'a\nb\nc')
  assert.equal(plainText({ a: ['<b>'] }), '{\n  "a": [\n    "<b>"\n  ]\n}')
  assert.equal(plainText(undefined), '')
})

test('a sequence that is cut anywhere between two chunks is left out all the same', () => {
  for (let cut = 0; cut <= SAMPLE.length; cut += 1) {
    const filter = new EscapeFilter()
    assert.equal(filter.push(SAMPLE.slice(0, cut)) + filter.push(SAMPLE.slice(cut)), PLAIN, `cut at ${cut}`)
  }
  const filter = new EscapeFilter()
  assert.equal([...SAMPLE].map((character) => filter.push(character)).join(''), PLAIN)
})

test('a sequence without an end does not swallow what follows', () => {
  const filter = new EscapeFilter()
  assert.equal(filter.push('before \x1b]0;'), 'before ')
  const long = 'x'.repeat(5000)
  assert.match(filter.push(long), /x{5000}$/)
  assert.equal(filter.push('after'), 'after')
})

test('durations and sizes read well', () => {
  const durations = [0, 999, 1000, 9949, 9999, 59_400, 59_600, 61_000, 3_599_600, 7_260_000].map(
    formatDuration,
  )
  const expected = [
    '0 ms',
    '999 ms',
    '1.0 s',
    '9.9 s',
    '10 s',
    '59 s',
    '1 min 0 s',
    '1 min 1 s',
    '1 h 0 min',
    '2 h 1 min',
  ]
  assert.deepEqual(durations, expected)
  assert.deepEqual([30, 999, 1500, 250_000, 3_400_000].map(formatBytes), [
    '30 B',
    '999 B',
    '1.5 kB',
    '250 kB',
    '3.4 MB',
  ])
})

test('the first line of Markdown is read without its marks, and with what only looks like them', () => {
  assert.equal(firstLine('\n**Which** one: `a` or **b**?\n\nMore.'), 'Which one: a or b?')
  assert.equal(firstLine('rm *.log && echo 2 * 3'), 'rm *.log && echo 2 * 3')
})
