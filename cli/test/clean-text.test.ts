import assert from 'node:assert/strict'
import test from 'node:test'
import { cleanText, TextCleaner } from '../src/clean-text.ts'

test('escape sequences, control characters and bidirectional overrides go; text, tabs and lines stay', () => {
  assert.equal(cleanText('\u001b[31mred\u001b[0m'), 'red')
  assert.equal(cleanText('\u001b]0;window title\u0007text'), 'text')
  assert.equal(cleanText('\u001b]8;;https://evil.test\u001b\\link\u001b]8;;\u001b\\'), 'link')
  assert.equal(cleanText('\u009b31mred'), 'red')
  assert.equal(cleanText('a\u0007b\u0008c\u0000d\u007fe'), 'abcde')
  assert.equal(cleanText('access = "user\u202e \u2066// check\u2069 \u2066"'), 'access = "user // check "')
  assert.equal(cleanText('tab\there\r\nnäxt 😀 漢字'), 'tab\there\nnäxt 😀 漢字')
})

test('of a line that was overwritten, the last state is kept', () => {
  assert.equal(cleanText('10%\r50%\r100%\ndone\r\n'), '100%\ndone\n')
})

const text = 'Hello \u001b[1;31mred\u001b[0m \u001b]0;title\u0007and \u001b(Bplain\u001b[2J text\n'

test('a sequence is removed wherever the text was cut', () => {
  for (let first = 0; first <= text.length; first += 1) {
    for (let second = first; second <= text.length; second += 1) {
      const cleaner = new TextCleaner()
      const pieces = [text.slice(0, first), text.slice(first, second), text.slice(second)]
      assert.equal(
        pieces.map((piece) => cleaner.push(piece)).join(''),
        'Hello red and plain text\n',
        `${first} ${second}`,
      )
    }
  }
})

test('a sequence that never ends does not hold text back for ever', () => {
  const cleaner = new TextCleaner()
  const shown = Array.from({ length: 2000 }, () => cleaner.push('x')).join('')
  assert.equal(shown.length, 2000)
  assert.equal(cleaner.push('\u001b]0;'), '')
  const held = Array.from({ length: 2000 }, () => cleaner.push('x')).join('')
  assert.ok(held.length > 1000 && !held.includes('\u001b'))
})

test('a link that is cut inside its end is removed, too', () => {
  const cleaner = new TextCleaner()
  const pieces = ['\u001b]8;;https://evil.test\u001b', '\\link\u001b]8;;\u001b', '\\.']
  assert.equal(pieces.map((piece) => cleaner.push(piece)).join(''), 'link.')
})

test('a carriage return at the end of a line overwrites nothing', () => {
  assert.equal(cleanText('kept\r\r\ngone\rkept\r'), 'kept\nkept')
})

for (const [name, piece] of Object.entries({
  'text without a line end': 'x',
  'commands without an end': '\u001b]0;',
  'sequences without an end': '\u001b[1;',
  'carriage returns': '\r',
  'carriage returns before line ends': 'x\r\r\n',
  'device strings': '\u001bP',
})) {
  test(`${name} are cleaned in time that grows with the text`, () => {
    // What looked again at all the text for each character would take an hour.
    const text = `${piece.repeat(3_000_000 / piece.length)}\r`
    cleanText(text)
    const cleaner = new TextCleaner()
    for (let at = 0; at < text.length; at += 100) cleaner.push(text.slice(at, at + 100))
  })
}
