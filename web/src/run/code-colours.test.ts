import assert from 'node:assert/strict'
import { test } from 'node:test'
import { common, createLowlight } from 'lowlight'
import { colourHunk, languageOf } from './code-colours.ts'
import type { DiffLine } from './patch.ts'

const highlighter = createLowlight(common)

test('a language is known by the ending of the name', () => {
  const found = ['a/b.ts', 'x.mjs', 'Dockerfile', 'c.yaml', 'README', 'a.unheard', '.gitignore'].map((path) =>
    languageOf(path, highlighter),
  )
  assert.deepEqual(found, ['ts', 'javascript', 'bash', 'yaml', undefined, undefined, undefined])
})

test('each line keeps its text, and old and new lines are coloured for themselves', () => {
  const lines: DiffLine[] = [
    { kind: 'same', text: '/* a comment' },
    { kind: 'added', text: 'new' },
    { kind: 'added', text: 'still */ const b = "x"' },
    { kind: 'removed', text: 'old */ const a = 1' },
    { kind: 'note', text: 'No newline at end of file' },
  ]
  const colours = colourHunk({ lines }, 'javascript', highlighter)
  assert(colours)
  const texts = colours.map((tokens) => tokens?.map(({ text }) => text).join(''))
  assert.deepEqual(texts, [...lines.slice(0, 4).map(({ text }) => text), undefined])
  const looks = (line: number) => colours[line]?.map(({ look }) => look).filter(Boolean)
  assert.deepEqual(looks(3), ['hljs-comment', 'hljs-keyword', 'hljs-number'])
  assert.deepEqual(looks(1), ['hljs-comment'])
  assert.deepEqual(looks(2), ['hljs-comment', 'hljs-keyword', 'hljs-string'])
  assert.equal(
    colourHunk({ lines: [{ kind: 'same', text: 'x'.repeat(200_000) }] }, 'javascript', highlighter),
    undefined,
  )
})
