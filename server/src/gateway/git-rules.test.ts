import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import type { GitRules } from './gateway.ts'
import { mayPush } from './git-rules.ts'

/** git itself, which says what a name is; bytes as Latin-1. */
const isTakenByGit = (ref: string): boolean => spawnSync('git', ['check-ref-format', ref]).status === 0

const RULES: GitRules = {
  ...{ repositories: [], credentials: [], kinds: {} },
  branches: ['docs/*', 'exact', 'release*'],
}

test('a name that git refuses is no branch that may be pushed, whatever the pattern says', () => {
  for (const rest of [
    '../main',
    '..',
    './main',
    '.x',
    'a//b',
    '/main',
    'a.lock',
    'a.lock/b',
    'a.',
    'a@{1}',
    'a~1',
  ])
    for (const ref of [`refs/heads/docs/${rest}`, `refs/heads/release/${rest}`]) {
      assert.equal(isTakenByGit(ref), false, ref)
      assert.equal(mayPush(RULES, ref), false, ref)
    }
  // What makes a name of git's one of a branch, too.
  for (const branch of ['HEAD', '-x', '@'])
    assert.equal(mayPush({ ...RULES, branches: ['*'] }, `refs/heads/${branch}`), false, branch)
  for (const ref of [
    'docs/a',
    'refs/tags/docs/a',
    'refs/heads/main',
    'refs/heads/docs',
    'refs/heads/exact/x',
  ])
    assert.equal(mayPush(RULES, ref), false, ref)
  for (const branch of ['docs/a', 'docs/a.b', 'docs/a-b/c', 'exact', 'release', 'release/1', 'docs/\xc3\xa9'])
    assert.equal(mayPush(RULES, `refs/heads/${branch}`), true, branch)
})
