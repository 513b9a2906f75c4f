import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readPage } from './page-text.ts'

test('a page becomes Markdown', async () => {
  assert.equal(await readPage('<h1>T</h1><p>a <b>b</b></p>'), '# T\n\na **b**')
})

// Each row of a table is filled up to its widest: 130 KB become 300 MB at once, which ends a whole process of Node.
test('a page that needs too much memory ends nothing but its own conversion', async () => {
  const rows = '<tr><td>a</td></tr>'.repeat(3_000)
  assert.equal(await readPage(`<table><tr><td>${'x'.repeat(100_000)}</td></tr>${rows}</table>`), null)
})

test('a page whose text would be far longer than itself is given up', async () => {
  const rows = '<tr><td>a</td></tr>'.repeat(1_000)
  assert.equal(await readPage(`<table><tr><td>${'x'.repeat(10_000)}</td></tr>${rows}</table>`), null)
})

test('who stops it does not wait for it', async () => {
  const signal = AbortSignal.abort()
  assert.equal(await readPage('<p>a</p>', signal), null)
})
