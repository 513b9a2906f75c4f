import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openTestSandbox } from '../../../test/support/sandbox.ts'
import { TestTurn } from '../../../test/support/turn.ts'
import type { Sandbox } from '../../sandbox/sandbox.ts'
import { BackgroundCommands } from '../background-commands.ts'
import { grep } from './grep.ts'

let sandbox: Sandbox
let turn: TestTurn
const background = new BackgroundCommands()
before(async () => {
  sandbox = await openTestSandbox()
  turn = new TestTurn({ sandbox })
  const { code } = await sandbox.exec({
    command: `mkdir -p repo/built repo/crlf plain/node_modules/x plain/inner && cd repo && git init -q . && echo built > .gitignore
      echo 'FOO in built' > built/out.txt
      printf 'FOO\\r\\nx = 12; // FOO\\r\\nbar baz\\r\\n' > crlf/dos.txt
      printf 'FOO\\nfoo7 foobar\\ncafé()\\ntab\\there\\nint *p = a[0];\\n' > unix.txt
      printf 'odd FOO\\n' > "$(printf 'two words\\nand lines.txt')"
      printf -- '-v FOO --help\\n' > dashes.txt
      printf 'caf\\351 FOO latin\\n' > latin.txt
      printf '\\377\\376W\\000I\\000D\\000E\\000\\n\\000' > wide.txt
      printf 'bin FOO\\000\\001' > image.bin
      { head -c 200000 /dev/zero | tr '\\0' y; echo ' LONG'; } > long.txt
      { head -c 5000 /dev/zero | tr '\\0' a; echo b; } > evil.txt; ln -s crlf link; ln -s unix.txt near.txt; ln -s nowhere broken
      cd ../plain && echo 'FOO plain' > a.txt && echo FOO > node_modules/x/b.txt && cd inner && git init -q . && echo 'FOO nested' > c.txt`,
  }).exit
  assert.equal(code, 0)
})
after(() => sandbox.destroy())
after(() => background.close())

const search = (pattern: string, options: Record<string, unknown> = {}) =>
  grep.run({ pattern, path: 'repo', ...options }, { turn, tool_call_id: 'call-1', background })
async function found(pattern: string, options: Record<string, unknown> = {}): Promise<string> {
  const { output, is_error } = await search(pattern, options)
  assert.equal(is_error, false, output)
  return output
}
async function refused(pattern: string, why: RegExp, options: Record<string, unknown> = {}): Promise<void> {
  const { output, is_error } = await search(pattern, options)
  assert.equal(is_error, true, output)
  assert.match(output, why)
}

test('grep takes the syntax that models write', async () => {
  for (const [pattern, expected] of [
    ['foo\\d+', 'unix.txt:2:foo7 foobar'],
    ['\\bfoo\\w+\\b', 'unix.txt:2:foo7 foobar'],
    ['foo(?!bar)\\S', 'unix.txt:2:foo7 foobar'],
    ['(?<=foo7\\s)foo', 'unix.txt:2:foo7 foobar'],
    ['f.*?7', 'unix.txt:2:foo7 foobar'],
    ['(?i)CAFÉ\\(\\)', 'unix.txt:3:café()'],
    ['caf.\\(', 'unix.txt:3:café()'],
    ['tab\\there', 'unix.txt:4:tab\there'],
    ['a\\[0\\];$', 'unix.txt:5:int *p = a[0];'],
    ['[[:digit:]]+; //', 'crlf/dos.txt:2:x = 12; // FOO'],
    ['-v FOO', 'dashes.txt:1:-v FOO --help'],
    ['--help$', 'dashes.txt:1:-v FOO --help'],
    ['^\\s*bar baz$\n', 'crlf/dos.txt:3:bar baz'],
  ] as const)
    assert.equal(await found(pattern), expected, pattern)
})

test('grep knows the end of a line in files with CRLF, and shows none of it', async () => {
  assert.equal(
    await found('FOO$'),
    'crlf/dos.txt:1:FOO\ncrlf/dos.txt:2:x = 12; // FOO\n"two words\\nand lines.txt":1:odd FOO\nunix.txt:1:FOO',
  )
  assert.equal(await found('FOO$', { path: 'repo/crlf/dos.txt' }), '1:FOO\n2:x = 12; // FOO')
  assert.equal(await found('FOO$', { path: 'repo/link' }), 'dos.txt:1:FOO\ndos.txt:2:x = 12; // FOO')
  assert.equal(
    await found('^bar', { path: 'repo/crlf', context: 1 }),
    'dos.txt-2-x = 12; // FOO\ndos.txt:3:bar baz',
  )
})

test('grep finds what git ignores where the path names it, and what is in no repository', async () => {
  assert.equal(await found('FOO', { path: 'repo/built' }), 'out.txt:1:FOO in built')
  assert.equal(await found('FOO', { path: 'repo/built/out.txt' }), '1:FOO in built')
  assert.equal(await found('FOO', { path: 'plain' }), 'a.txt:1:FOO plain\ninner/c.txt:1:FOO nested')
  assert.equal(await found('FOO', { path: 'plain/node_modules' }), 'x/b.txt:1:FOO')
  assert.equal(await found('FOO$', { path: 'repo/crlf', files_only: true }), 'dos.txt')
  assert.equal(await found('FOO$', { path: 'repo/crlf/dos.txt', files_only: true }), 'dos.txt')
  assert.equal(await found('foo7', { path: 'repo/near.txt' }), '2:foo7 foobar')
})

test('grep reads UTF-16 and other files that are no UTF-8, or says that it did not', async () => {
  assert.match(await found('FOO latin'), /^latin\.txt:1:caf. FOO latin$/)
  assert.equal(await found('WI.E', { path: 'repo/wide.txt' }), '1:WIDE')
  assert.match(await found('WI.E'), /^No line of repo matches WI\.E\.\n\[in UTF-16, and .*: wide\.txt\]$/)
  assert.match(await found('bin FOO', { path: 'repo/image.bin' }), /^No line .*\n\[It is a binary file\.\]$/)
  assert.match(await found('LONG$'), /^long\.txt:1:y{300,400}\[… \d+ more characters\]$/)
})

test('no match is never said where the pattern was not understood', async () => {
  await refused('(', /^The pattern was not understood: missing closing parenthesis\. .*backslash/)
  await refused('[a', /not understood: missing terminating \]/)
  await refused('caf\\u00e9', /not understood: PCRE2 does not support .*\\u/)
  await refused('a\nb', /one line/)
  await refused('', /not valid/)
  await refused('^(a+)+$', /given up: trying the pattern .* takes too long/)
  await refused('x', /does not exist/, { path: 'gone' })
  await refused('x', /does not exist|nowhere/, { path: 'repo/broken' })
  assert.match(await found('nothing\\|nowhere'), /^No line of .*\n\[\\\| is the character \|/)
  assert.match(await found('nothing\\nnowhere'), /\[grep looks at one line at a time/)
  assert.equal(
    await found('nothing[^\\n]*', { path: 'repo/unix.txt' }),
    'No line of repo/unix.txt matches nothing[^\\n]*.',
  )
})

test('what a repository configures changes nothing of what is found', async () => {
  await sandbox.exec({
    command:
      'cd repo && git config grep.column true && git config grep.fullName true && git config submodule.recurse true && git config grep.patternType fixed',
  }).exit
  assert.equal(await found('^ba\\w', { path: 'repo/crlf' }), 'dos.txt:3:bar baz')
})

test('without git, and without a grep that knows more than POSIX, patterns are put into its words', async () => {
  // Programs of the sandbox, without git, and a grep that refuses -P as busybox does.
  await sandbox.exec({
    command: `mkdir -p bin && cd bin && for p in find readlink head od mktemp rm iconv tr wc; do ln -s "$(command -v $p)" $p; done
      printf '#!/bin/sh\\nfor a; do case $a in -P|-*I*|--*-*) echo "grep: bad option" >&2; exit 2;; esac; done\\nexec %s "$@"\\n' "$(command -v grep)" > grep && chmod +x grep`,
  }).exit
  const exec = sandbox.exec.bind(sandbox)
  const poor = new TestTurn({
    sandbox: {
      ...sandbox,
      exec: (options) => exec({ ...options, env: { ...options.env, PATH: '/workspace/bin' } }),
    },
  })
  const ask = async (pattern: string, path = 'repo') =>
    grep.run({ pattern, path }, { turn: poor, tool_call_id: 'call-1', background })
  for (const [pattern, expected] of [
    ['foo\\d+', '2:foo7 foobar'],
    ['(?i)(?:FOO)[\\d\\]]\\s\\w+', '2:foo7 foobar'],
    ['f.*?7', '2:foo7 foobar'],
    ['a\\[0\\]\\;$', '5:int *p = a[0];'],
  ] as const)
    assert.equal((await ask(pattern, 'repo/unix.txt')).output, expected, pattern)
  assert.equal((await ask('// FOO$', 'repo/crlf')).output, './dos.txt:2:x = 12; // FOO')
  const lines = (await ask('FOO', 'plain')).output.split('\n').sort()
  assert.deepEqual(lines, ['./a.txt:1:FOO plain', './inner/c.txt:1:FOO nested'])
  assert.equal((await ask('nowhere')).output.split('\n')[0], 'No line of repo matches nowhere.')
  assert.match((await ask('FOO(')).output, /^The pattern was not understood: /)
  for (const pattern of ['foo(?=7)', '(?<n>foo)', 'fo++', '\\Kfoo'])
    assert.match(
      (await ask(pattern)).output,
      /^The pattern was not understood: this sandbox has neither/,
      pattern,
    )
})
