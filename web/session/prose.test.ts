import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findSpans } from './prose.js'

const set = (text: string) => findSpans(text).map(({ kind, text }) => (kind ? `<${kind}>${text}</>` : text))

test('code and strong text are found, and what only looks like them stays', () => {
  assert.deepEqual(set('Run `npm test` **now**, not ``a ` b``.'), [
    'Run ',
    '<code>npm test</>',
    ' ',
    '<strong>now</>',
    ', not ',
    '<code>a ` b</>',
    '.',
  ])
  for (const plain of ['', 'a ` b', '`` a `', 'one `line\nand` another', '** a **', '**a', '2 ** 3', '***'])
    assert.deepEqual(set(plain), plain === '' ? [] : [plain])
  assert.deepEqual(set('`**a**` **`b`**'), ['<code>**a**</>', ' ', '<strong>`b`</>'])
})

for (const [name, text] of Object.entries({
  backticks: '`'.repeat(200_000),
  'runs of backticks': Array.from({ length: 1200 }, (_, at) => `a${'`'.repeat(at % 300)}`).join(''),
  'pairs of backticks': '`a '.repeat(70_000),
  'openings of strong text': '**a '.repeat(50_000),
  'a strong text without an end': `**${'a '.repeat(100_000)}`,
})) {
  test(`${name} are taken apart in time that grows with the text`, () => {
    const began = performance.now()
    findSpans(text)
    assert.ok(performance.now() - began < 5000)
  })
}
