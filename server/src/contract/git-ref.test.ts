import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, test } from 'node:test'
import { BranchPattern, GitRef } from './git-ref.ts'

/** git itself, which says what a name is. */
const isTakenByGit = (name: string): boolean =>
  spawnSync('git', ['check-ref-format', '--allow-onelevel', name]).status === 0

const NAMES = [
  ...[
    'main',
    'feature/#123-x',
    'feat/機能',
    "it's",
    'a=b,c(d)',
    'v1.2+build',
    'refs/heads/x',
    'refs/pull/7/head',
  ],
  ...[
    '1a2b3c4d',
    'DEADBEEF',
    'a"b',
    'a;b',
    '$(id)',
    '`id`',
    '&|<>',
    'a%20b',
    'é',
    '😀',
    'a{b}',
    'a@b',
    '!',
    '#',
    'a.b',
  ],
  ...[
    'a..b',
    'HEAD~1',
    'main^',
    'main:file',
    'a b',
    'a\tb',
    'a\nb',
    'a\u007fb',
    'a?',
    'a*',
    'a[b',
    'a\\b',
    '@',
    'a@{1}',
  ],
  ...['/a', 'a/', 'a//b', '.a', 'a/.b', 'a.lock', 'a.lock/b', 'a.', 'a./b', '..', '.'],
]

describe('a ref', () => {
  for (const name of NAMES)
    test(`${JSON.stringify(name)} is one to us as it is to git`, () =>
      assert.equal(GitRef.safeParse(name).success, isTakenByGit(name)))

  for (const name of ['', '-x', '--upload-pack=touch /tmp/x', '\ud800'])
    test(`is not ${JSON.stringify(name)}`, () => assert.equal(GitRef.safeParse(name).success, false))

  test('is refused with what is wrong and the forms that work', () =>
    assert.match(
      GitRef.safeParse('main~1').error?.issues[0]?.message ?? '',
      /^is no ref: it has "~", .* a branch such as feature\/x, a tag, a whole ref .* a commit by its id\.$/,
    ))
})

describe('a branch that may be pushed', () => {
  for (const [pattern, kept] of [
    ['docs', 'docs'],
    ['release/*', 'release/*'],
    ['*', '*'],
    ['feat/機能-*', 'feat/機能-*'],
    ["it's", "it's"],
    ['refs/heads/fix/#1', 'fix/#1'],
    ['a.*', 'a.*'],
    ['a/*', 'a/*'],
  ] as const)
    test(`is kept of ${pattern}`, () => assert.equal(BranchPattern.parse(pattern), kept))

  for (const pattern of ['', '-x', 'a*b', '**', 'a..*', 'a b*', '/x', 'x/', 'HEAD', 'a.lock', './*'])
    test(`is not ${JSON.stringify(pattern)}`, () =>
      assert.equal(BranchPattern.safeParse(pattern).success, false))
})
