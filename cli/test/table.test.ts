import assert from 'node:assert/strict'
import test from 'node:test'
import { formatTable, truncate, widthOf } from '../src/table.ts'

const columns = [{ heading: 'ID' }, { heading: 'TITLE', flexible: true }, { heading: 'AGE' }]

test('columns are aligned by what characters take on a terminal', () => {
  const table = formatTable(columns, [
    ['1', '漢字', 'now'],
    ['22', 'plain', '3m'],
  ])
  assert.equal(table, 'ID  TITLE  AGE\n1   漢字   now\n22  plain  3m')
})

test('the flexible column gives way, and no line is wider than the terminal', () => {
  const table = formatTable(
    columns,
    [['1', 'a title that is far too long for this terminal 漢字漢字', 'now']],
    30,
  )
  for (const line of table.split('\n')) assert.ok(widthOf(line) <= 30, line)
  assert.match(table, /a title that is fa.*… {2}now$/)
})

test('where that is not enough, spare columns are left out, the first of them first', () => {
  const wide = [
    { heading: 'RUN' },
    { heading: 'TITLE', flexible: true },
    { heading: 'AGENT', spare: true },
    { heading: 'UPDATED', spare: true },
  ]
  const rows = [['x'.repeat(20), 'a long title', 'reviewer', 'just now']]
  assert.match(formatTable(wide, rows, 60), /^RUN +TITLE +AGENT +UPDATED\n/)
  assert.match(formatTable(wide, rows, 48), /^RUN +TITLE +UPDATED\nx+ {2}a long title {2}just now$/)
  assert.match(formatTable(wide, rows, 30), /^RUN +TITLE\nx+ {2}a long …$/)
  assert.match(formatTable(wide, rows, 10), /^RUN +TITLE\nx+ {2}a long …$/)
})

test('where no column is spare, columns go from the right, and an id stays whole', () => {
  const id = '019d5c1e-0000-7000-8000-000000000000'
  const wide = [
    { heading: 'ID' },
    { heading: 'NAME', flexible: true },
    { heading: 'ROLE' },
    { heading: 'STATE' },
  ]
  const rows = [[id, 'somebody with a long name', 'member', 'disabled']]
  assert.equal(formatTable(wide, rows, 60).split('\n')[1], `${id}  somebody with…  member`)
  assert.equal(formatTable(wide, rows, 50).split('\n')[1], `${id}  somebody wi…`)
})

test('without a terminal nothing is cut', () => {
  const title = 'x'.repeat(500)
  assert.ok(formatTable(columns, [['1', title, 'now']]).includes(title))
})

test('paint does not change the alignment', () => {
  const painted = [
    { heading: 'STATE', paint: (text: string) => `\u001b[32m${text}\u001b[39m` },
    { heading: 'X' },
  ]
  assert.equal(formatTable(painted, [['OK', 'y']]), 'STATE  X\n\u001b[32mOK\u001b[39m     y')
})

test('truncate counts columns, not characters', () => {
  assert.equal(truncate('short', 5), 'short')
  assert.equal(truncate('longer', 5), 'long…')
  assert.ok(widthOf(truncate('漢字漢字', 5)) <= 5)
})

test('cutting looks at no more of a text than can be shown', () => {
  const shown = truncate('\u001b]8;;'.repeat(200_000), 80)
  assert.ok(shown.length < 80 * 32 + 2)
  assert.equal(truncate('x'.repeat(1_000_000), 5), 'xxxx…')
})
