import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openTestSandbox } from '../../../test/support/sandbox.ts'
import { TestTurn } from '../../../test/support/turn.ts'
import { TOOLS } from './toolset.ts'

const sandbox = await openTestSandbox()
after(() => sandbox.destroy())
const turn = new TestTurn({ sandbox })

async function use(name: string, input: Record<string, unknown>) {
  const tool = TOOLS.get(name)
  assert.ok(tool)
  return tool.run(input, { turn, tool_call_id: 'call-1' })
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
  await put('dos', 'a\r\nb\r\n')
  await assertRefused(
    'edit',
    { path: 'code', old_text: 'go()', new_text: 'stop()' },
    /more than once \(lines 2 and 4\)/,
  )
  await assertRefused('edit', { path: 'code', old_text: '  else:\n  go()', new_text: '' }, /resembles line 3/)
  await assertRefused('edit', { path: 'code', old_text: 'nothing', new_text: '' }, /not in code/)
  await assertRefused('edit', { path: 'dos', old_text: 'a\nb', new_text: '' }, /CRLF/)
  await assertRefused('edit', { path: 'code', old_text: 'if', new_text: 'if' }, /the same/)
  await assertRefused('edit', { path: 'gone', old_text: 'a', new_text: 'b' }, /does not exist/)
  assert.equal(await get('code'), 'if x:\n    go()\nelse:\n    go()\n')
})

test('a file operation the sandbox refuses is told to the model', async () => {
  await assertRefused('write', { path: '/proc/no/such', content: '' }, /^E[A-Z]+: /)
})

test('the schemas tell the model which fields there are and which it may leave out', () => {
  assert.deepEqual(TOOLS.get('bash')?.input_schema.required, ['command'])
})
