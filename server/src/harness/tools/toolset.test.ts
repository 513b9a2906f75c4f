import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openTestSandbox } from '../../../test/support/sandbox.ts'
import { TestTurn } from '../../../test/support/turn.ts'
import type { Sandbox } from '../../sandbox/sandbox.ts'
import { BackgroundCommands } from '../background-commands.ts'
import { keepOutput } from '../keep-output.ts'
import { TOOLS } from './toolset.ts'

let sandbox: Sandbox
let turn: TestTurn
before(async () => {
  sandbox = await openTestSandbox()
  turn = new TestTurn({ sandbox })
})
after(() => sandbox.destroy())
const background = new BackgroundCommands()
after(() => background.close())

async function use(name: string, input: Record<string, unknown>) {
  const tool = TOOLS.get(name)
  assert.ok(tool)
  return tool.run(input, { turn, tool_call_id: 'call-1', background })
}
const put = (path: string, text: string | Uint8Array) => sandbox.writeFile(`/workspace/${path}`, text)
const get = async (path: string) => (await sandbox.readFile(`/workspace/${path}`)).toString()
async function assertRefused(name: string, input: Record<string, unknown>, why: RegExp) {
  const { is_error, output } = await use(name, input)
  assert.equal(is_error, true)
  assert.match(output, why)
}

test('bash returns both streams, and the exit code when it is not zero', async () => {
  assert.deepEqual(
    await use('bash', { command: 'echo out; echo err >&2' }).then(({ is_error, exit_code }) => [
      is_error,
      exit_code,
    ]),
    [false, 0],
  )
  const { output, is_error, exit_code } = await use('bash', { command: 'echo no; exit 4' })
  assert.deepEqual([output, is_error, exit_code], ['no\n[exit code 4]', true, 4])
})

test('bash stops a command at its timeout and says how to get more', async () => {
  await assertRefused(
    'bash',
    { command: 'echo begun; sleep 60', timeout_seconds: 1 },
    /^begun\n\[killed after 1 seconds; give timeout_seconds/,
  )
})

test('bash leaves out the middle of long output', async () => {
  const { output } = await use('bash', { command: 'seq 1 20000' })
  assert.ok(output.length < 31_000)
  assert.match(output, /^1\n2\n.*characters left out.*20000$/s)
})

test('all of a long output is in a file that the agent can read, without the values of secrets', async () => {
  const secret = 'canary-of-an-output-51'
  turn.mask = (text) => text.replaceAll(secret, '***')
  const { output } = await use('bash', { command: `seq 1 10000; echo ${secret}; seq 10001 20000` })
  turn.mask = (text) => text
  const path = /all of it is in (\S+) …\]/.exec(output)?.[1] ?? ''
  assert.equal(path, '/workspace/artifacts/tool-output/call-1.txt')
  const whole = (await sandbox.readFile(path)).toString()
  assert.match(whole, /^1\n2\n.*\n10000\n\*\*\*\n10001\n.*\n20000$/s)
  assert.equal((await use('read', { path, offset: 10_001, limit: 1 })).output.split('\n')[0], '10001\t***')
})

test('a file for a long output has a name of its own, whatever the id of the call is', async () => {
  const text = 'x'.repeat(40_000)
  const keep = async (tool_call_id: string) =>
    /all of it is in (\S+) …/.exec(await keepOutput({ turn, tool_call_id }, text))?.[1] ?? ''
  for (const id of ['../../../etc/passwd', '..', '', '\x1b[31m\n', 'é'.repeat(500), '/'])
    assert.match(await keep(id), /^\/workspace\/artifacts\/tool-output\/[A-Za-z0-9_-]{1,100}\.txt$/)
  assert.notEqual(await keep('a/b'), await keep('a_b'))
})

test('of progress and colours the agent gets the last state, and the log and the file what came', async () => {
  const before = turn.log.length
  const progress = `for n in $(seq 1 2000); do printf '\\r\\033[32m%s of 2000\\033[0m' "$n"; done; printf '\\nbuilt\\b\\bxx\\n\\377\\000|\\n'`
  assert.equal((await use('bash', { command: progress })).output, '2000 of 2000\nbuixx\n\ufffd\ufffd|')
  const came = (n: number) => `\r\u001b[32m${n} of 2000\u001b[0m`
  const raw = turn.log.slice(before).flatMap(({ type, data }) => (type === 'tool.output' ? [data.text] : []))
  assert.ok(raw.join('').includes(came(7) + came(8)))
  // One line without an end, behind progress.
  const endless = `${progress}; head -c 100000 /dev/zero | tr '\\0' x`
  const { output } = await use('bash', { command: endless })
  assert.match(output, /^2000 of 2000\n/)
  const path = /all of it is in (\S+) …\]/.exec(output)?.[1] ?? ''
  const whole = (await sandbox.readFile(path)).toString()
  assert.ok(whole.startsWith(came(1) + came(2)) && whole.endsWith('x'.repeat(100_000)))
  const started = await use('bash', { command: `printf '1%%\\r2%%\\n'`, background: true })
  const id = /bg\d+/.exec(started.output)?.[0]
  assert.match((await use('bash_output', { id, wait_seconds: 60 })).output, /^2%\n\[bg\d+ ended/)
})

test('where the file cannot be written the agent is told so', async () => {
  await use('bash', {
    command: 'rm -rf artifacts/tool-output; mkdir -p artifacts; touch artifacts/tool-output',
  })
  const { output } = await use('bash', { command: 'seq 1 20000' })
  await use('bash', { command: 'rm artifacts/tool-output' })
  assert.match(output, /characters left out; it could not be kept in a file: E[A-Z]+ …\]/)
})

test('a command in the background is read while it runs, and ended', async () => {
  const run = async (command: string) => {
    const { output } = await use('bash', { command, background: true })
    return /as (bg\d+)\.$/.exec(output)?.[1] ?? output
  }
  const id = await run('echo begun; until [ -e go ]; do sleep 0.05; done; echo gone; sleep 600')
  assert.equal((await use('bash', { command: 'echo beside' })).output, 'beside')
  await use('bash', { command: 'touch go' })
  let printed = ''
  for (const end = Date.now() + 20_000; !printed.includes('gone') && Date.now() < end; )
    printed += (await use('bash_output', { id, wait_seconds: 1 })).output
  assert.match(printed, /begun.*gone\n\[bg\d+ still runs\]$/s)
  assert.match((await use('bash_output', { id })).output, /^\(no new output\)/)
  assert.equal((await use('bash_kill', { id })).output, `${id} was ended.`)
  assert.match((await use('bash_output', { id })).output, /ended by/)
  const short = await run('echo done; exit 3')
  const { output } = await use('bash_output', { id: short, wait_seconds: 60 })
  assert.equal(output, `done\n[${short} ended with exit code 3]`)
  await assertRefused('bash_output', { id: 'bg99' }, /no background command bg99/)
  const flood = await run('yes | head -c 3000000; echo end')
  assert.match(
    (await use('bash_output', { id: flood, wait_seconds: 60 })).output,
    /^\[older output was dropped\]\ny\n.*end\n/s,
  )
  // One that runs on is read up to its newest line, however much it has printed.
  const long = await run('yes | head -c 3000000; echo newest; sleep 600')
  let seen = ''
  for (const end = Date.now() + 20_000; !seen.includes('newest') && Date.now() < end; )
    seen = (await use('bash_output', { id: long, wait_seconds: 1 })).output
  assert.match(seen, /newest\n\[bg\d+ still runs\]$/)
  await use('bash_kill', { id: long })
  const ids = []
  for (let n = 0; n < 8; n += 1) ids.push(await run('sleep 600'))
  await assertRefused('bash', { command: 'true', background: true }, /8 commands run in the background/)
  for (const one of ids) await use('bash_kill', { id: one })
})

test('read numbers the lines and goes on from where it was told', async () => {
  await put('lines', 'a\nb\nc\nd\n')
  assert.equal((await use('read', { path: 'lines' })).output, '1\ta\n2\tb\n3\tc\n4\td')
  assert.equal(
    (await use('read', { path: 'lines', offset: 2, limit: 2 })).output,
    '2\tb\n3\tc\n[lines 2 to 3 of 4; go on with offset 4]',
  )
  await assertRefused('read', { path: 'lines', offset: 9 }, /has only 4 lines/)
})

test('read keeps within its size and cuts endless lines', async () => {
  await put('wide', `${'x'.repeat(10_000)}\n`.repeat(100))
  const { output } = await use('read', { path: 'wide' })
  assert.ok(output.length < 61_000)
  assert.match(output, /8000 more characters\].*go on with offset 30\]$/s)
})

test('read says what is wrong with a path', async () => {
  await put('binary', new Uint8Array([0x7f, 0x45, 0x00, 0xff]))
  await put('empty', '')
  await assertRefused('read', { path: 'gone' }, /does not exist/)
  await assertRefused('read', { path: '.' }, /is a directory/)
  await assertRefused('read', { path: 'binary' }, /not a UTF-8 text file/)
  assert.equal((await use('read', { path: 'empty' })).output, '(empty is empty)')
})

test('write makes directories and says whether it replaced something', async () => {
  assert.match(
    (await use('write', { path: 'new/dir/file', content: 'é' })).output,
    /^Created new\/dir\/file \(2 bytes\)/,
  )
  assert.match((await use('write', { path: '/workspace/new/dir/file', content: '' })).output, /^Replaced/)
  assert.equal(await get('new/dir/file'), '')
  await assertRefused('write', { path: 'new', content: '' }, /is a directory/)
})

test('edit replaces one exact piece and keeps the rest, mode included', async () => {
  await put('script', '#!/bin/sh\necho old\n')
  await use('bash', { command: 'chmod +x script' })
  assert.equal(
    (await use('edit', { path: 'script', old_text: 'old', new_text: "$& $' new" })).output,
    'Changed script at line 2.',
  )
  assert.equal(await get('script'), "#!/bin/sh\necho $& $' new\n")
  assert.equal((await use('bash', { command: './script >/dev/null 2>&1; test -x script' })).exit_code, 0)
})

test('edit refuses what is missing, ambiguous or no change, and says why', async () => {
  await put('code', 'if x:\n    go()\nelse:\n    go()\n')
  await assertRefused(
    'edit',
    { path: 'code', old_text: 'go()', new_text: 'stop()' },
    /more than once \(lines 2 and 4\)/,
  )
  await assertRefused(
    'edit',
    { path: 'code', old_text: '  else:\n  go()', new_text: '' },
    /Only white space differs. The file has:\n3\telse:\n4\t {4}go\(\)$/,
  )
  await assertRefused('edit', { path: 'code', old_text: 'nothing', new_text: '' }, /not in code/)
  await assertRefused('edit', { path: 'code', old_text: 'if', new_text: 'if' }, /the same/)
  await assertRefused('edit', { path: 'gone', old_text: 'a', new_text: 'b' }, /does not exist/)
  assert.equal(await get('code'), 'if x:\n    go()\nelse:\n    go()\n')
})

test('edit makes several replacements, all of them or none, and one everywhere', async () => {
  await put('many', 'one two\nthree one\nfour\n')
  const edits = [
    { old_text: 'four', new_text: 'five' },
    { old_text: 'one', new_text: 'ONE', replace_all: true },
    { old_text: 'five', new_text: 'six' },
  ]
  const { output } = await use('edit', { path: 'many', edits })
  assert.equal(output, 'Changed many at line 3, 2 places, line 3.')
  assert.equal(await get('many'), 'ONE two\nthree ONE\nsix\n')
  await assertRefused(
    'edit',
    { path: 'many', edits: [edits[1], { old_text: 'gone', new_text: '' }] },
    /^Nothing was changed\. Replacement 1 of 2: old_text is not in many/,
  )
  assert.equal(await get('many'), 'ONE two\nthree ONE\nsix\n')
  for (const input of [{}, { old_text: 'a' }, { old_text: 'a', new_text: 'b', edits: edits.slice(0, 1) }])
    await assertRefused('edit', { path: 'many', ...input }, /not valid/)
})

test('glob, grep and list find what is there, and leave out what git ignores', async () => {
  await use('bash', {
    command: `mkdir -p tree/src/deep tree/node_modules/x && cd tree && git init -q . &&
      echo 'say hello' > src/a.ts && echo 'HELLO there' > src/deep/b.ts && echo hello > node_modules/x/c.ts &&
      printf 'node_modules\\n' > .gitignore && printf 'hello\\0binary' > src/image.bin && touch 'src/two words.ts'`,
  })
  const found = async (name: string, input: Record<string, unknown>) => (await use(name, input)).output
  assert.equal(
    await found('glob', { pattern: '**/*.ts', path: 'tree' }),
    'src/a.ts\nsrc/deep/b.ts\nsrc/two words.ts',
  )
  assert.equal(
    await found('glob', { pattern: 'src/*.{ts,bin}', path: 'tree' }),
    'src/a.ts\nsrc/image.bin\nsrc/two words.ts',
  )
  assert.equal(await found('glob', { pattern: '*.py', path: 'tree' }), 'No file matches *.py.')
  assert.equal(await found('grep', { pattern: 'hel+o', path: 'tree' }), 'src/a.ts:1:say hello')
  assert.equal(
    await found('grep', { pattern: 'hello', path: 'tree', ignore_case: true, files_only: true }),
    'src/a.ts\nsrc/deep/b.ts',
  )
  assert.equal(await found('grep', { pattern: 'hello', path: 'tree/src/a.ts' }), '1:say hello')
  assert.equal(await found('grep', { pattern: 'nowhere', path: 'tree' }), 'No line of tree matches nowhere.')
  assert.equal(await found('list', { path: 'tree/src' }), 'a.ts\ndeep/\nimage.bin\ntwo words.ts')
  await assertRefused('grep', { pattern: '(', path: 'tree' }, /\(|parenthes/i)
  await assertRefused('grep', { pattern: 'x', path: 'gone' }, /does not exist/)
  await assertRefused('glob', { pattern: '*', path: 'gone' }, /./)
  await assertRefused('list', { path: 'tree/src/a.ts' }, /is a file/)
  // A pattern is data, whatever it says.
  await use('grep', { pattern: '$(touch pwned); -e x', path: 'tree' })
  await use('grep', { pattern: '--open-files-in-pager=touch pwned', path: 'tree' })
  assert.equal(await sandbox.stat('/workspace/tree/pwned'), null)
})

test('glob and grep work where there is no repository, and cut what is too much', async () => {
  await use('bash', {
    command:
      'mkdir -p /tmp/plain/node_modules && cd /tmp/plain && for i in $(seq 1000 1600); do echo line $i > f$i; done; echo line > node_modules/n',
  })
  const files = (await use('glob', { pattern: '**', path: '/tmp/plain' })).output.split('\n')
  assert.deepEqual([files.length, files[0], files.at(-1)], [501, 'f1000', '[101 more: narrow the pattern]'])
  const lines = (await use('grep', { pattern: 'line', path: '/tmp/plain' })).output.split('\n')
  assert.deepEqual([lines.length, lines.at(-1)], [251, '[351 more lines: narrow the pattern or the path]'])
})

test('glob gives what is there: no file that was removed, names of several lines as one', async () => {
  await use('bash', {
    command: `mkdir gone && cd gone && git init -q . && touch a b && git add . && rm a && printf x > "$(printf 'c\nd')"`,
  })
  assert.equal((await use('glob', { pattern: '*', path: 'gone' })).output, 'b\n"c\\nd"')
})

test('a folder that may not be read hides nothing of the others', async () => {
  await use('bash', {
    command: 'mkdir -p /tmp/closed/inner && cd /tmp/closed && echo hello > a && chmod 0 inner',
  })
  if ((await use('bash', { command: 'ls /tmp/closed/inner' })).is_error) {
    const listed = await use('glob', { pattern: '*', path: '/tmp/closed' })
    assert.match(listed.output, /^a\n\[find: .*Permission denied\]$/)
    assert.match((await use('grep', { pattern: 'hello', path: '/tmp/closed' })).output, /^\.\/a:1:hello$/m)
    const none = await use('grep', { pattern: 'nowhere', path: '/tmp/closed' })
    assert.match(none.output, /^No line of \/tmp\/closed matches nowhere\.\n\[grep: .*Permission denied\]$/)
  }
  await use('bash', { command: 'chmod 700 /tmp/closed/inner' })
})

test('what is neither a file nor a directory is refused at once, in words', async () => {
  await use('bash', { command: 'mkfifo pipe' })
  const wrong = /^pipe is neither a file nor a directory\.$/
  for (const name of ['read', 'grep', 'list', 'write', 'edit'])
    await assertRefused(
      name,
      { path: 'pipe', pattern: 'x', content: '', old_text: 'x', new_text: 'y' },
      wrong,
    )
})

test('a file operation the sandbox refuses is told to the model', async () => {
  await assertRefused('write', { path: '/proc/no/such', content: '' }, /^E[A-Z]+: (?!E[A-Z]+:)/)
  await use('bash', { command: 'mkdir shut && chmod 0 shut' })
  if ((await use('bash', { command: 'ls shut' })).is_error)
    await assertRefused('list', { path: 'shut' }, /^EACCES: \/workspace\/shut$/)
})

test('the schemas tell the model which fields there are and which it may leave out', () => {
  assert.deepEqual(TOOLS.get('bash')?.input_schema.required, ['command'])
})
