import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openTestSandbox } from '../../test/support/sandbox.ts'
import { collectExec, type Sandbox } from '../sandbox/sandbox.ts'
import { findOutsideWork } from './outside-work.ts'

let sandbox: Sandbox
before(async () => {
  sandbox = await openTestSandbox()
})
after(() => sandbox.destroy())

test('what takes too long to be looked at is told, beside what was found by then', async () => {
  const command = `git init --quiet site && cd site && git config user.name a && git config user.email a@b.c
    git commit --quiet --allow-empty -m first && git rev-parse HEAD; main=$(git symbolic-ref --short HEAD)
    git checkout --quiet -b fix && git commit --quiet --allow-empty -m fix && git checkout --quiet $main
    git worktree add --quiet --detach ../slow >/dev/null && git config filter.slow.clean 'sleep 60; cat'
    echo '* filter=slow' > ../slow/.gitattributes; echo new > ../slow/file`
  const { stdout, stderr, exit } = await collectExec(
    sandbox.exec({ command, cwd: '/workspace', env: {}, timeout_ms: 20_000 }),
  )
  assert.equal(exit.code, 0, stderr.toString())
  const commits = { site: stdout.toString().trim() }
  const { works, is_whole } = await findOutsideWork(sandbox, commits, AbortSignal.timeout(30_000), 3_000)
  assert.equal(is_whole, false)
  assert.match(works[0]?.parts.join() ?? '', /^branch fix \(1 commit, \w{8}\)$/)
  await collectExec(
    sandbox.exec({ command: 'git config --unset filter.slow.clean', cwd: '/workspace/site', env: {} }),
  )
  const all = await findOutsideWork(sandbox, commits, AbortSignal.timeout(30_000))
  assert.equal(all.is_whole, true)
  assert.match(all.works[0]?.parts.join() ?? '', /branch fix .*worktree slow/)
})
