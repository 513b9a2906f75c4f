import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Checkout } from '../src/checkout.ts'
import { Repository } from './repository.ts'

const home = mkdtempSync(join(tmpdir(), 'runyard-checkout-'))
after(() => rmSync(home, { recursive: true }))
let made = 0
const create = (): Repository =>
  Repository.create(join(home, `${++made}/app`), 'seq 9 > file.txt; ln -s ../.. out')

const newFile = (name: string, text = 'evil'): string =>
  [
    `diff --git ${name.replace('?', 'a')} ${name.replace('?', 'b')}`,
    'new file mode 100644',
    '--- /dev/null',
    `+++ ${name.replace('?', 'b')}`,
    `@@ -0,0 +1 @@\n+${text}\n`,
  ].join('\n')

/** Names that lead out of the checkout, or into what git and the user run. */
const HOSTILE: Array<[string, 1 | 2, string]> = [
  ['a folder above', 1, newFile('?/../evil')],
  ['a folder above, from below', 1, newFile('?/deep/../../evil')],
  ['an absolute name', 1, newFile('?//tmp/evil')],
  ['hooks', 1, newFile('?/.git/hooks/pre-commit')],
  ['configuration', 1, newFile('?/.git/config')],
  ['configuration on another file system', 1, newFile('?/.GIT/config')],
  ['configuration by a short name', 1, newFile('?/git~1/config')],
  ['configuration of a repository below', 1, newFile('?/below/.git/config')],
  ['behind a link that is there', 1, newFile('?/out/evil')],
  [
    'behind a link of its own',
    1,
    [
      'diff --git a/way b/way',
      'new file mode 120000',
      '--- /dev/null',
      '+++ b/way',
      '@@ -0,0 +1 @@\n+..\n\\ No newline at end of file\n',
    ].join('\n') + newFile('?/way/evil'),
  ],
  ['a quoted folder above', 1, newFile('"?/\\056\\056/evil"')],
  ['a folder above the one of its repository', 2, newFile('?/app/../../evil')],
  ['a repository that is git’s folder', 2, newFile('?/app/.git/hooks/pre-commit')],
  [
    'a rename out',
    1,
    [
      'diff --git a/file.txt b/../evil',
      'similarity index 100%',
      'rename from file.txt',
      'rename to ../evil\n',
    ].join('\n'),
  ],
]

for (const [what, strip, text] of HOSTILE) {
  test(`a hostile patch is refused and nothing is done: ${what}`, async () => {
    const repository = create()
    const before = repository.snapshot()
    const checkout = await Checkout.find(repository.directory)
    const patch = { patch: Buffer.from(text), strip }
    assert.equal((await checkout.plan(patch)).outcome, 'refused')
    await assert.rejects(checkout.apply(patch), /^Error: The changes were not applied: /)
    assert.equal(repository.git('status', '--porcelain'), '')
    assert.ok(!existsSync(join(repository.directory, '../evil')))
    assert.ok(!existsSync(join(repository.directory, '../../evil')))
    repository.sh('git update-index --refresh')
    assert.equal(repository.snapshot().replace(/index .*/, ''), before.replace(/index .*/, ''))
  })
}

test('what a plan says is what applying does', async () => {
  const repository = create()
  const checkout = await Checkout.find(repository.directory)
  const patch = { patch: Buffer.from(newFile('?/fresh.txt', 'text')), strip: 1 } as const
  const file = { path: 'fresh.txt', status: 'added', additions: 1, deletions: 0 }
  assert.deepEqual(await checkout.plan(patch), { outcome: 'clean', files: [file], conflicts: [] })
  assert.deepEqual(await checkout.apply(patch), [])
  assert.equal(repository.git('diff', '--cached', '--name-status'), 'A\tfresh.txt\n')
  assert.deepEqual(await checkout.plan(patch), { outcome: 'applied already' })
})

test('a file makes room for a folder, and a folder for a file', async () => {
  const repository = Repository.create(
    join(home, `${++made}/app`),
    'echo 1 > one; mkdir two; echo 2 > two/file',
  )
  repository.sh('rm -r one two; mkdir one; echo 1 > one/file; echo 2 > two')
  repository.git('add', '--all')
  const [tree, patch] = [repository.tree(), repository.git('diff', '--cached', '--binary', '--no-renames')]
  repository.git('reset', '--quiet', '--hard')
  const checkout = await Checkout.find(repository.directory)
  assert.equal((await checkout.plan({ patch: Buffer.from(patch), strip: 1 })).outcome, 'clean')
  assert.deepEqual(await checkout.apply({ patch: Buffer.from(patch), strip: 1 }), [])
  assert.equal(repository.tree(), tree)
})

test('a checkout without a commit takes new files', async () => {
  const repository = new Repository(join(home, 'unborn'))
  new Repository(home).git('init', '--quiet', 'unborn')
  const checkout = await Checkout.find(repository.directory)
  const patch = { patch: Buffer.from(newFile('?/first.txt')), strip: 1 } as const
  assert.equal((await checkout.plan(patch)).outcome, 'clean')
  assert.deepEqual(await checkout.apply(patch), [])
  assert.equal(repository.git('status', '--porcelain'), 'A  first.txt\n')
})

test('the folder of git itself and a bare repository are no checkouts', async () => {
  const repository = create()
  await assert.rejects(Checkout.find(join(repository.directory, '.git')), /in no git checkout/)
  new Repository(home).git('init', '--quiet', '--bare', 'bare')
  await assert.rejects(Checkout.find(join(home, 'bare')), /in no git checkout/)
})

test('a worktree and a folder with a colon in its name are', async () => {
  const repository = create()
  repository.git('worktree', 'add', '--quiet', '--detach', join(home, 'a:b'))
  const checkout = await Checkout.find(join(home, 'a:b'))
  const patch = { patch: Buffer.from(newFile('?/fresh.txt')), strip: 1 } as const
  assert.equal((await checkout.plan(patch)).outcome, 'clean')
  const colon = Repository.create(join(home, 'c:"d'), 'seq 9 > file.txt')
  colon.sh('echo 10 >> file.txt')
  const change = { patch: Buffer.from(colon.git('diff')), strip: 1 } as const
  colon.git('restore', '.')
  assert.equal((await (await Checkout.find(colon.directory)).plan(change)).outcome, 'clean')
})
