import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { isCostly } from './costly-markdown.ts'

const SIZE = 48 * 1024
const fill = (text: string): string => text.repeat(Math.ceil(SIZE / text.length)).slice(0, SIZE)
const table = (columns: number, rows: number): string =>
  `${'|a'.repeat(columns)}\n${'|-'.repeat(columns)}\n${'|\n'.repeat(rows)}`

test('text that takes the parser seconds, or more memory than there is, is told', () => {
  const costly = {
    'a table of empty cells': table(8_000, 8_000),
    'a table of many rows': table(400, 20_000),
    'a table in a quote': table(400, 400).replace(/^/gm, '> '),
    brackets: fill('['),
    'brackets that close': '['.repeat(SIZE / 2) + ']'.repeat(SIZE / 2),
    links: fill('[a]('),
    footnotes: fill('[^1]'),
    strikes: fill('~a~~a'),
    stars: fill('a**b'),
    headings: fill('a\n=\n'),
    quotes: fill(`${'> '.repeat(29)}a\n\n`),
    lists: fill(`${'- '.repeat(29)}a\n`),
  }
  for (const [name, text] of Object.entries(costly)) assert(isCostly(text), name)
})

test('what people and agents write is set', () => {
  const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8')
  const plain = {
    readme,
    table: `| File | Was | Is |\n|---|---|---|\n${'| a.ts | 1 | 2 |\n'.repeat(500)}`,
    list: '- A thing, with *stress* and `code`.\n'.repeat(500),
    code: `\`\`\`sh\n${'cat a | sort | uniq -c | head | tr a b\n'.repeat(900)}\`\`\``,
    prose: fill('Some words with snake_case_names and [links](https://example.com/a_b).\n\n'),
  }
  for (const [name, text] of Object.entries(plain)) assert(!isCostly(text), name)
})
