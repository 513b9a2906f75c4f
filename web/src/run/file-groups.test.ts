import assert from 'node:assert/strict'
import { test } from 'node:test'
import { groupByFolder } from './file-groups.ts'

test('files stand in their folders, each folder once', () => {
  const file = (path: string, additions = 1) => ({ path, status: 'added' as const, additions, deletions: 2 })
  const groups = groupByFolder([
    file('src/a.ts'),
    file('README.md'),
    file('src/cart/b.ts'),
    file('src/c.ts', 5),
  ])
  assert.deepEqual(
    groups.map(({ folder, files, additions, deletions }) => [
      folder,
      files.map(({ path }) => path),
      additions,
      deletions,
    ]),
    [
      ['', ['README.md'], 1, 2],
      ['src/', ['src/a.ts', 'src/c.ts'], 6, 4],
      ['src/cart/', ['src/cart/b.ts'], 1, 2],
    ],
  )
})
