import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import type { RunDiff, RunItem } from '@runyard/client'
import { LONG } from '../../server/test/support/once.ts'
import { Repository } from './repository.ts'
import { BINARY, Home, printedBy } from './runyard.ts'

const LIMIT = { timeout: 600_000 }
const home = new Home()
const place = (name: string): string => join(home.directory, name)
const block = (script: string): string => `\`\`\`sh\n${script}\n\`\`\``

const FIRST = String.raw`
seq 1 30 > text.txt
printf '\000\001\002' > binary.bin
seq 1 20 > 'old name.txt'
echo gone > gone.txt
printf 'caf\351 \033[5mblinks\n' > latin.txt
printf 'one\r\ntwo\r\n' > crlf.txt
echo 'echo hello' > script.sh
echo quoted > 'with "quotes" and spaces.txt'
echo lines > "$(printf 'new\nline.txt')"
ln -s text.txt link`
/** Of each kind of change one. Run in the sandbox, and beside it to know what is right. */
const CHANGE = String.raw`
sed -i 's/^15$/fifteen/' text.txt
printf '\000\001\377\376' > binary.bin
mv 'old name.txt' 'new name.txt'
rm gone.txt
printf 'th\351\n' >> latin.txt
printf 'one\r\n2\r\nthree\r\n' > crlf.txt
chmod +x script.sh
echo more >> 'with "quotes" and spaces.txt'
echo more >> "$(printf 'new\nline.txt')"
ln -sf latin.txt link
mkdir -p deep/er
echo fresh > deep/er/fresh.txt
printf 'x\033]0;title\007\033[31mred\033[0m\n' > escapes.txt
echo name > "$(printf 'n\033[2Jame\033]0;title\007.txt')"
echo latin > "$(printf 'l\351.txt')"
: > empty.txt`

let app: Repository
let run_id: string
let right_tree: string
let clones = 0
/** Their names, by their repositories. */
const environments = new Map<string, string>()
const cloneApp = (): Repository => app.clone(place(`clone-${++clones}/app`))

/** Runs a prompt on repositories; the run as it ended. */
async function runOn(repositories: string[], script: string): Promise<RunItem> {
  const name = `with-${repositories.join('-')}`
  let environment = environments.get(name)
  if (environment === undefined) {
    const repo = repositories.flatMap((path) => ['--repo', place(path)])
    const made = await home.run(['env', 'create', name, ...repo])
    assert.equal(made.code, 0, made.stderr)
    environment = made.stdout.trim()
    environments.set(name, environment)
  }
  const ended = await home.run(['run', block(script), '--env', environment, '-o', 'json'])
  assert.equal(ended.code, 0, ended.stdout + ended.stderr)
  return JSON.parse(ended.stdout) as RunItem
}

before(async () => {
  await home.serve({ env: { RUNYARD_LOCAL_REPOS: home.directory } })
  app = Repository.create(place('app'), FIRST)
  run_id = (await runOn(['app'], CHANGE)).run_id
  const right = cloneApp()
  right.sh(CHANGE)
  right.git('add', '--all')
  right_tree = right.tree()
}, LIMIT)
after(() => home.remove(), LIMIT)

test('the patch in a pipe is exact: git makes the same tree of it', LIMIT, async () => {
  const { stdout } = await home.run(['diff', run_id, '-o', 'json'])
  const diff = JSON.parse(stdout) as RunDiff
  assert.deepEqual([diff.turn, diff.files_changed, diff.notes], [1, 15, []])
  const checkout = cloneApp()
  const runyard = [process.execPath, BINARY]
  await promisify(execFile)('sh', ['-c', '"$@" | git apply --index', 'sh', ...runyard, 'diff', run_id], {
    cwd: checkout.directory,
    env: { PATH: process.env.PATH, HOME: home.directory },
  })
  assert.equal(checkout.tree(), right_tree)
})

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
const CONTROL = /[␛\u0000-\u0008\u000b-\u001f]/
/** What reaches a terminal, with its escape characters to be seen. */
const seen = (shown: string): string => shown.replaceAll('\u001b', '␛').replaceAll('\r\n', '\n')
const onTerminal = async (...args: string[]): Promise<string> => seen((await home.runOnTerminal(args)).stdout)

test('the patch on a terminal is coloured, and what is in it is not acted on', LIMIT, async () => {
  const shown = await onTerminal('diff', run_id)
  assert.match(shown, /^␛\[1mdiff --git a\/text\.txt b\/text\.txt␛\[22m$/m)
  assert.match(shown, /^␛\[36m@@ [^\n]* @@␛\[39m$/m)
  assert.match(shown, /^␛\[32m\+fifteen␛\[39m$/m)
  assert.match(shown, /^␛\[31m-15␛\[39m$/m)
  assert.match(shown, /^␛\[32m\+2\^M␛\[39m$/m)
  assert.match(shown, /^␛\[32m\+xred␛\[39m$/m)
  assert.match(shown, /^␛\[2m… 4 lines of binary data␛\[22m$/m)
  assert.doesNotMatch(shown.replace(/␛\[(1|2|22|31|32|36|39)m/g, ''), CONTROL)
  assert.ok((await onTerminal('diff', run_id, '--raw')).includes('␛]0;title'))
})

test('--stat has a line for each file that fits the terminal, and one for all', LIMIT, async () => {
  const { stdout } = await home.run(['diff', run_id, '--stat'])
  assert.match(stdout, /^ text\.txt +\| +2 \+-$/m)
  assert.match(stdout, /^ binary\.bin +\| +Bin$/m)
  assert.match(stdout, /^ old name\.txt => new name\.txt +\| +0$/m)
  assert.match(stdout, /^ gone\.txt \(deleted\) +\| +1 -$/m)
  assert.match(stdout, /^ deep\/er\/fresh\.txt \(new\) +\| +1 \+$/m)
  assert.match(stdout, /^ new line\.txt +\| +1 \+$/m)
  assert.match(stdout, /\n 15 files changed, 11 insertions\(\+\), 4 deletions\(-\)\n$/)
  const shown = seen((await home.spawnOnTerminal(['diff', run_id, '--stat']).ended).stdout)
  assert.match(shown, /2 ␛\[32m\+␛\[39m␛\[31m-␛\[39m\n/)
  const plain = shown.replace(/␛\[(32|31|39)m/g, '')
  assert.match(plain, /^ name\.txt \(new\) +\| +1 \+$/m)
  assert.doesNotMatch(plain, CONTROL)
  for (const line of plain.split('\n')) assert.ok(line.length <= 60, line)
})

test('where a run is shown, its changes are counted and the command for them is named', LIMIT, async () => {
  const followed = await home.run(['follow', run_id])
  assert.match(followed.stdout, /\n± 15 files changed, \+11 -4\n/)
  assert.match(followed.stdout, new RegExp(`\n  See the changes: runyard diff ${run_id}`))
  const shown = await home.run(['get', run_id])
  assert.match(shown.stdout, /\nartifacts\n {2}± 15 files changed, \+11 -4 \(turn 1\)\n/)
  assert.equal(shown.stderr, `See the changes: runyard diff ${run_id}\n`)
})

test('apply takes everything over and stages it; a second time it says so', LIMIT, async () => {
  const checkout = cloneApp()
  mkdirSync(join(checkout.directory, 'below'))
  const below = { directory: join(checkout.directory, 'below') }
  const { code, stdout, stderr } = await home.run(['apply', run_id], below)
  assert.equal(code, 0, stderr)
  assert.equal(checkout.tree(), right_tree)
  assert.equal(checkout.git('diff'), '')
  assert.match(stdout, /^ text\.txt +\| +2 \+-$/m)
  assert.match(stdout, /\n 15 files changed, 11 insertions\(\+\), 4 deletions\(-\)\n✓ Applied and staged in /)
  assert.match(stderr, /^To undo: git reset --hard\n$/)

  const again = await home.run(['apply', run_id], below)
  assert.deepEqual(
    [again.code, again.stdout, again.stderr],
    [0, 'The changes are here already. Nothing was done.\n', ''],
  )
  if (LONG) {
    checkout.git('reset', '--quiet')
    const unstaged = await home.run(['apply', run_id], below)
    assert.match(unstaged.stdout, /^The changes are here already\./, unstaged.stderr)
  }
  checkout.commit()
  const committed = await home.run(['apply', run_id, '--dry-run', '-o', 'json'], below)
  assert.equal(JSON.parse(committed.stdout).outcome, 'applied_already')

  checkout.git('reset', '--quiet', '--hard', 'HEAD~')
  const json = JSON.parse((await home.run(['apply', run_id, '-o', 'json'], below)).stdout)
  assert.deepEqual(
    [json.applied, json.outcome, json.files_changed, json.additions, json.deletions, json.conflicts],
    [true, 'applied', 15, 11, 4, []],
  )
})

test('apply runs no hook', LIMIT, async () => {
  const checkout = cloneApp()
  const hook = join(checkout.directory, '.git/hooks/post-index-change')
  writeFileSync(hook, '#!/bin/sh\ntouch "$(git rev-parse --show-toplevel)/../hooked"\n', { mode: 0o755 })
  checkout.sh('touch text.txt; git status >/dev/null')
  const hooked = join(checkout.directory, '../hooked')
  assert.ok(existsSync(hooked), 'git knows this hook')
  checkout.sh('rm ../hooked')
  assert.equal((await home.run(['apply', run_id], checkout)).code, 0)
  assert.ok(!existsSync(hooked))
})

test('apply refuses where tracked files are changed, unless --allow-dirty', LIMIT, async () => {
  const checkout = cloneApp()
  checkout.sh('echo mine >> gone.txt')
  const one = await home.run(['apply', run_id], checkout)
  assert.equal(one.code, 2)
  assert.match(one.stderr, /^error: gone\.txt has uncommitted changes here\.\nhint: .*--allow-dirty/)
  checkout.sh('echo mine > other.txt; git add other.txt; echo untracked > untracked.txt')
  const before = checkout.snapshot()
  const refused = await home.run(['apply', run_id], checkout)
  assert.equal(refused.code, 2)
  assert.match(
    refused.stderr,
    /^error: 2 tracked files have uncommitted changes here\.\nhint: .*--allow-dirty/,
  )
  const in_the_way = await home.run(['apply', run_id, '--allow-dirty'], checkout)
  assert.equal(in_the_way.code, 1)
  assert.match(
    in_the_way.stderr,
    /^error: The changes do not apply here: .*gone\.txt.* Nothing was done\.\nhint: /,
  )
  assert.equal(checkout.snapshot(), before)

  checkout.sh('rm gone.txt text.txt')
  const deleted = checkout.snapshot()
  if (LONG) assert.equal((await home.run(['apply', run_id, '--allow-dirty', '--dry-run'], checkout)).code, 1)
  const put_back = await home.run(['apply', run_id, '--allow-dirty'], checkout)
  assert.match(put_back.stderr, /text\.txt has changes of yours that are not staged/)
  assert.equal(checkout.snapshot(), deleted, 'what was deleted stays so')

  checkout.git('restore', 'gone.txt', 'text.txt')
  const { code, stderr } = await home.run(['apply', run_id, '--allow-dirty'], checkout)
  assert.equal(code, 0, stderr)
  const undo = /^To undo: runyard (diff .*) \| git (apply .*)\n$/.exec(stderr)
  assert.ok(undo, stderr)
  const patch = place('undo.patch')
  checkout.sh(`cat > '${patch}' < /dev/null`)
  const printed = home.start((undo[1] ?? '').split(' '))
  const chunks: Buffer[] = []
  printed.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  await printed.ended
  writeFileSync(patch, Buffer.concat(chunks))
  checkout.git(...(undo[2] ?? '').split(' '), patch)
  assert.equal(checkout.git('status', '--porcelain'), 'A  other.txt\n?? untracked.txt\n')
})

test('conflicts are told, and the rest is there', LIMIT, async () => {
  const checkout = cloneApp()
  checkout.sh("sed -i 's/^15$/XV/' text.txt; printf '\\000\\007' > binary.bin")
  checkout.commit()
  const before = checkout.snapshot()
  const foretold = await home.run(['apply', run_id, '--dry-run'], checkout)
  assert.equal(foretold.code, 1)
  assert.match(foretold.stdout, /\n ! binary\.bin\n ! text\.txt\n$/)
  assert.match(foretold.stderr, /^error: 2 files would have conflicts\. Nothing was done\.\n/)
  assert.equal(checkout.snapshot(), before)

  const { code, stdout, stderr } = await home.run(['apply', run_id], checkout)
  assert.equal(code, 1)
  assert.match(
    stdout,
    /\n 13 files changed, [^\n]*\n ! binary\.bin \(no markers: yours was kept\)\n ! text\.txt\n$/,
  )
  assert.match(stderr, /^error: 2 files have conflicts\. The rest is staged\.\nhint: .*git reset --hard/)
  assert.match(
    readFileSync(join(checkout.directory, 'text.txt'), 'utf8'),
    /<<<<<<< .*\nXV\n=======\nfifteen\n>>>>>>>/,
  )
  const again = await home.run(['apply', run_id, '--allow-dirty'], checkout)
  assert.equal(again.code, 2)
  assert.match(again.stderr, /^error: This checkout has conflicts already\./)

  checkout.git('reset', '--quiet', '--hard')
  const json = await home.run(['apply', run_id, '-o', 'json'], checkout)
  assert.equal(json.code, 1)
  const { outcome, conflicts } = JSON.parse(json.stdout)
  assert.deepEqual([outcome, conflicts], ['conflicts', ['binary.bin', 'text.txt']])
})

test('what has changed in the checkout since is merged', LIMIT, async () => {
  const checkout = cloneApp()
  checkout.sh(
    "sed -i '1i zero' text.txt; sed -i 's/^30$/thirty/' text.txt; rm crlf.txt; echo mine > mine.txt",
  )
  checkout.commit()
  const refused = await home.run(['apply', run_id], checkout)
  assert.deepEqual([refused.code, checkout.git('status', '--porcelain')], [1, ''])
  assert.match(refused.stderr, /^error: The changes do not apply here: crlf\.txt: does not exist in index\./)
  checkout.git('checkout', 'HEAD~', '--', 'crlf.txt')
  checkout.commit()
  const { code, stderr } = await home.run(['apply', run_id], checkout)
  assert.equal(code, 0, stderr)
  const text = readFileSync(join(checkout.directory, 'text.txt'), 'utf8')
  assert.match(text, /^zero\n1\n[\s\S]*\n14\nfifteen\n16\n[\s\S]*\nthirty\n$/)
})

test('what the patch does not hold is named, so that nobody believes to have it all', LIMIT, async () => {
  const run = await runOn(['app'], 'truncate -s 11M large.bin; echo small > small.txt')
  const note = /^note: [^\n]*\blarge\.bin\b/
  const shown = await home.run(['diff', run.run_id, '--stat'])
  assert.match(
    shown.stdout,
    /^ large\.bin \(new\) \| not in the patch\n small\.txt \(new\) \| 1 \+\n 2 files changed/,
  )
  assert.match(shown.stderr, note)
  const applied = await home.run(['apply', run.run_id], cloneApp())
  assert.match(applied.stdout, /^ small\.txt \(new\) \| 1 \+\n 1 file changed, 1 insertion\(\+\)\n✓ /)
  assert.match(applied.stderr, note)
})

test('a dry run leaves everything as it was, and says what would be', LIMIT, async () => {
  const checkout = cloneApp()
  checkout.sh('touch -d 2001-01-01 text.txt')
  const before = checkout.snapshot()
  const { code, stdout, stderr } = await home.run(['apply', run_id, '--dry-run'], checkout)
  assert.equal(code, 0, stderr)
  assert.match(stdout, /\n 15 files changed, [^\n]*\nThe changes would apply cleanly\. Nothing was done\.\n$/)
  assert.equal(checkout.snapshot(), before)
})

test('elsewhere nothing is done', LIMIT, async () => {
  const outside = await home.run(['apply', run_id])
  assert.equal(outside.code, 2)
  assert.match(outside.stderr, /^error: This folder is in no git checkout\.\nhint: /)
  const unrelated = Repository.create(place('unrelated'), 'echo something > else.txt')
  const before = unrelated.snapshot()
  const { code, stderr } = await home.run(['apply', run_id], unrelated)
  assert.equal(code, 1)
  assert.match(stderr, /^error: The changes do not apply here: [^\n]*\nhint: .* does not have the commit /)
  assert.equal(unrelated.snapshot(), before)
  const in_the_way = cloneApp()
  in_the_way.sh('echo mine > escapes.txt')
  const kept = in_the_way.snapshot()
  assert.match(
    (await home.run(['apply', run_id], in_the_way)).stderr,
    /: escapes\.txt is there already, and not in git\. Nothing was done\.\nhint: .* put them away first/,
  )
  assert.equal(in_the_way.snapshot(), kept)
})

test('of several repositories the one that the checkout is of is taken over', LIMIT, async () => {
  const one = Repository.create(place('one'), 'echo 1 > file.txt')
  const two = Repository.create(place('two'), `echo 2 > file.txt; echo q > 'a "q".txt'`)
  const change =
    'echo new >> one/file.txt; echo new >> two/file.txt; echo new >> \'two/a "q".txt\'; rm two/.gitx -f'
  const run = await runOn(['one', 'two'], change)
  const into_two = two.clone(place('several/two'))
  const applied = await home.run(['apply', run.run_id], into_two)
  assert.equal(applied.code, 0, applied.stderr)
  assert.equal(into_two.git('diff', '--cached', '--name-only', '-z'), 'a "q".txt\0file.txt\0')

  const other = one.clone(place('several/other'))
  const refused = await home.run(['apply', run.run_id], other)
  assert.equal(refused.code, 2)
  assert.match(
    refused.stderr,
    /^error: [^\n]*none is called other[^\n]*\nhint: --repository NAME, one of one, two\n$/,
  )
  if (LONG) assert.equal((await home.run(['apply', run.run_id, '--repository', 'three'], other)).code, 2)
  const named = await home.run(['apply', run.run_id, '--repository', 'one'], other)
  assert.equal(named.code, 0, named.stderr)
  assert.equal(other.git('diff', '--cached', '--name-only'), 'file.txt\n')
  const stat = await home.run(['diff', run.run_id, '--stat', '--repository', 'one'])
  assert.equal(stat.stdout, ' one/file.txt | 1 +\n 1 file changed, 1 insertion(+)\n')
  assert.match(
    (await home.run(['diff', run.run_id, '--repository', 'one'])).stdout,
    /^diff --git a\/one\/file\.txt [\s\S]*\+new\n$/,
  )
})

test('a run that changed nothing, one that works, and an earlier turn', LIMIT, async () => {
  const nothing = await runOn(['app'], 'echo hello')
  const shown = await home.run(['diff', nothing.run_id])
  assert.deepEqual(
    [shown.code, shown.stdout, shown.stderr],
    [0, '', 'The run has changed nothing in its repositories.\n'],
  )
  const applied = await home.run(['apply', nothing.run_id, '-o', 'json'], cloneApp())
  assert.deepEqual([applied.code, JSON.parse(applied.stdout).outcome], [0, 'nothing'])
  const bare = JSON.parse((await home.run(['run', block('true'), '-o', 'json'])).stdout) as RunItem
  assert.match((await home.run(['diff', bare.run_id])).stderr, /^The run has no repositories/)

  const sent = await home.run(['message', nothing.run_id, block('echo later > later.txt'), '--wait'])
  assert.match(sent.stdout, /\n± 1 file changed, \+1 -0\n/)
  assert.match((await home.run(['diff', nothing.run_id, '--stat'])).stdout, /^ later\.txt \(new\) \| 1 \+\n/)
  assert.match(
    (await home.run(['diff', nothing.run_id, '--turn', '1'])).stderr,
    /^Nothing was kept up to turn 1\.\n$/,
  )

  const working = home.start(['run', block('echo begun; sleep 60')])
  const [, id = ''] = /Run ([0-9a-f-]{36})/.exec(await printedBy(working, /│ begun\n/)) ?? []
  assert.match((await home.run(['diff', id])).stderr, /^Nothing is kept yet: the run is INPROGRESS/)
  await home.run(['cancel', id])
  await working.ended
  assert.match((await home.run(['diff', id])).stderr, /^Nothing is kept: .* not when it is cancelled\.\n$/)
})
