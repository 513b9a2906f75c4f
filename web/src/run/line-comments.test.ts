import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LineComment } from './line-comment.ts'
import { hasLine, keyOfLine, openComment, writeComments } from './line-comments.ts'
import { type DiffLine, parsePatch } from './patch.ts'

const added: DiffLine = { kind: 'added', text: 'const a = 1', new_line: 12 }
const removed: DiffLine = { kind: 'removed', text: '```js', old_line: 3 }

test('comments become one message, file by file, with the lines that they are about', () => {
  const text = writeComments([
    { path: 'src/a.ts', line: added, text: 'Name it.\nPlease. ', is_draft: false },
    { path: 'README.md', line: removed, text: 'Keep it.', is_draft: false },
    {
      path: 'src/a.ts',
      line: { kind: 'same', text: 'x'.repeat(300), old_line: 1, new_line: 2 },
      text: 'Why?',
      is_draft: false,
    },
  ])
  assert.equal(
    text,
    [
      'Comments on the changes:',
      'src/a.ts:',
      '- line 12\n  ```\n  const a = 1\n  ```\n  Name it.\n  Please.',
      `- line 2\n  \`\`\`\n  ${'x'.repeat(200)}…\n  \`\`\`\n  Why?`,
      'README.md:',
      '- removed line 3\n  ````\n  ```js\n  ````\n  Keep it.',
    ].join('\n\n'),
  )
})

test('a line that was removed is another one than that of its number now', () => {
  assert.notEqual(keyOfLine('a', { ...removed, old_line: 12 }), keyOfLine('a', added))
})

test('another comment keeps what was written in the one before, and takes away a field that is empty', () => {
  const draft: LineComment = { path: 'a', line: added, text: 'Half a sen', is_draft: true }
  const comments = openComment(new Map([[keyOfLine('a', added), draft]]), 'b', removed)
  assert.deepEqual([...comments.values()], [draft, { path: 'b', line: removed, text: '', is_draft: true }])
  assert.equal(openComment(comments, 'a', added), comments, 'that line has its field')
  const paths = [...openComment(comments, 'c', added).values()].map(({ path }) => path)
  assert.deepEqual(paths, ['a', 'c'])
})

test('a comment belongs to its line only while that line has the same number and text', () => {
  const on = (line: DiffLine): LineComment => ({ path: 'a', line, text: 'Why?', is_draft: false })
  const patch = (...lines: string[]) => parsePatch(['--- a/a', '+++ b/a', ...lines, ''].join('\n'))
  const before = patch('@@ -11,1 +11,2 @@', ' same', '+const a = 1')
  assert(hasLine(on(added), before))
  assert(hasLine(on({ kind: 'same', text: 'same', old_line: 11, new_line: 11 }), before))
  const after = patch('@@ -11,1 +11,2 @@', ' same', '+const b = 2')
  assert(!hasLine(on(added), after), 'another line has its number')
  assert(!hasLine(on(added), new Map()), 'its file is not changed any more')
  assert.notEqual(keyOfLine('a', added), keyOfLine('a', { ...added, text: 'const b = 2' }))
})
