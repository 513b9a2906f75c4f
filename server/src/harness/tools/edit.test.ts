import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openTestSandbox } from '../../../test/support/sandbox.ts'
import { TestTurn } from '../../../test/support/turn.ts'
import type { Sandbox } from '../../sandbox/sandbox.ts'
import { BackgroundCommands } from '../background-commands.ts'
import { TOOLS } from './toolset.ts'

let sandbox: Sandbox
let turn: TestTurn
const background = new BackgroundCommands()
before(async () => {
  sandbox = await openTestSandbox()
  turn = new TestTurn({ sandbox })
})
after(() => sandbox.destroy())
after(() => background.close())

async function use(name: string, input: Record<string, unknown>) {
  const tool = TOOLS.get(name)
  assert.ok(tool)
  return tool.run({ path: 'file', ...input }, { turn, tool_call_id: 'call-1', background })
}
/** What the file holds after an edit of what it held before. */
async function edited(before: string | Uint8Array, input: Record<string, unknown>): Promise<string> {
  await sandbox.writeFile('file', before)
  const { output, is_error } = await use('edit', input)
  assert.equal(is_error, false, output)
  return (await sandbox.readFile('file')).toString()
}
async function refusal(before: string, input: Record<string, unknown>): Promise<string> {
  await sandbox.writeFile('file', before)
  const { output, is_error } = await use('edit', input)
  assert.equal(is_error, true, output)
  assert.equal((await sandbox.readFile('file')).toString(), before)
  return output
}

test('lines keep their ends, and new ones end as those beside them', async () => {
  for (const [before, old_text, new_text, after] of [
    ['a\r\nb\r\nc\r\n', 'b', 'b1\nb2\nb3', 'a\r\nb1\r\nb2\r\nb3\r\nc\r\n'],
    ['a\r\nb\r\nc\r\n', 'a\nb\n', 'a\nx\nb\n', 'a\r\nx\r\nb\r\nc\r\n'],
    ['a\r\nb\r\nc\r\n', 'a\r\nb', 'a\r\nx\r\nb', 'a\r\nx\r\nb\r\nc\r\n'],
    ['a\r\nb\r\nc\r\n', 'a\r\nb', 'a\nx\nb', 'a\r\nx\r\nb\r\nc\r\n'],
    ['a\r\nb', 'b', 'b\nc', 'a\r\nb\r\nc'],
    ['a\r\nb\r\n', 'a\nb\n', '', ''],
    ['a\nb\n', 'a\r\nb', 'a\r\nx\r\nb', 'a\nx\nb\n'],
    ['a\nb', 'b', 'b\nc', 'a\nb\nc'],
    // Mixed: untouched lines of the piece stay as they were.
    ['a\r\nb\nc\r\nd\n', 'a\nb\nc\nd', 'a\nb\nx\nc\nd', 'a\r\nb\nx\nc\r\nd\n'],
    ['a\r\nb\nc\r\nd\n', 'b', 'b\nx', 'a\r\nb\nx\nc\r\nd\n'],
    ['a\r\nb\nc\r\nd\n', 'd', 'd\nx', 'a\r\nb\nc\r\nd\nx\n'],
    ['\ufeffa\r\nb\r\n', 'a\nb', 'a\nx\nb', '\ufeffa\r\nx\r\nb\r\n'],
    // Line ends that are all that differs are meant.
    ['a\r\nb\r\n', 'a\r\nb\r\n', 'a\nb\n', 'a\nb\n'],
    ['a\nb\n', 'a\n', 'a\r\n', 'a\r\nb\n'],
    ['HTTP/1.1\n', 'HTTP/1.1', 'HTTP/1.1\r\nHost: x\r\n', 'HTTP/1.1\r\nHost: x\r\n\n'],
    ["x = 'old'", 'old', "$& $' $1", "x = '$& $' $1'"],
  ] as const)
    assert.equal(
      await edited(before, { old_text, new_text }),
      after,
      JSON.stringify([before, old_text, new_text]),
    )
  const everywhere = { old_text: 'x\n', new_text: 'x\ny\n', replace_all: true }
  assert.equal(await edited('x\r\nx\nx\r\n', everywhere), 'x\r\ny\r\nx\ny\nx\r\ny\r\n')
  const several = [
    { old_text: 'a', new_text: 'a\nb' },
    { old_text: 'b\nc', new_text: 'B\nC\nD' },
  ]
  assert.equal(await edited('a\r\nc\r\n', { edits: several }), 'a\r\nB\r\nC\r\nD\r\n')
})

test('a file keeps its encoding, its mode and its symbolic links', async () => {
  const wide = Buffer.from('\ufeffgrün\r\nrot\r\n', 'utf16le')
  await edited(wide, { old_text: 'rot', new_text: 'rot\nblau' })
  assert.deepEqual(await sandbox.readFile('file'), Buffer.from('\ufeffgrün\r\nrot\r\nblau\r\n', 'utf16le'))
  assert.equal(
    (await use('read', {})).output,
    '1\tgrün\n2\trot\n3\tblau\n[lines end with CRLF, which edit and write keep]',
  )
  await edited(Buffer.from('\ufeffa', 'utf16le').swap16(), { old_text: 'a', new_text: 'b' })
  assert.deepEqual(await sandbox.readFile('file'), Buffer.from('\ufeffb', 'utf16le').swap16())
  await sandbox.writeFile('real', 'one\n', { mode: 0o750 })
  await sandbox.exec({ command: 'ln -s real link' }).exit
  await use('edit', { path: 'link', old_text: 'one', new_text: 'two' })
  await use('write', { path: 'link', content: 'three\n' })
  const { output } = await use('bash', { command: 'stat -c "%A %N" real link; cat real' })
  assert.match(output, /^-rwxr-x--- 'real'\nl\S+ 'link' -> 'real'\nthree$/)
})

test('write keeps what a file had that models leave out, and says so', async () => {
  const written = async (before: string | Uint8Array, content: string) => {
    await sandbox.writeFile('file', before)
    const { output } = await use('write', { content })
    return [(await sandbox.readFile('file')).toString(), output]
  }
  assert.deepEqual(await written('a\r\nb\r\n', 'x\ny\n'), [
    'x\r\ny\r\n',
    'Replaced file (6 bytes, with CRLF line ends as before).',
  ])
  assert.deepEqual(await written('\ufeffa\n', 'x\n'), [
    '\ufeffx\n',
    'Replaced file (5 bytes, with a byte order mark as before).',
  ])
  for (const [before, content] of [
    ['a\r\nb\n', 'x\ny\n'],
    ['a\nb\n', 'x\r\ny\r\n'],
    ['a\r\n', 'x\r\ny\r\n'],
    ['', 'x\n'],
  ] as const)
    assert.equal((await written(before, content))[0], content)
  await written(Buffer.from('\ufeffa\r\n', 'utf16le'), 'x\n')
  assert.deepEqual(await sandbox.readFile('file'), Buffer.from('\ufeffx\r\n', 'utf16le'))
})

test('what is not there is refused with the nearest that is', async () => {
  const code = 'def a():\n\treturn first(1)\n\ndef b():\n\treturn second(2)\n\ndef c():\n\treturn third(3)\n'
  assert.match(
    await refusal(code, { old_text: 'def b():\n    return second(2)', new_text: '' }),
    /^old_text is not in file\. Only white space differs\. The file has:\n4\tdef b\(\):\n5\t\treturn second\(2\)$/,
  )
  assert.match(
    await refusal(code, { old_text: 'def b():\n\treturn second(20)', new_text: '' }),
    /The nearest there is:\n4\tdef b\(\):\n5\t\treturn second\(2\)$/,
  )
  assert.match(
    await refusal(code, { old_text: '4\tdef b():\n5\t\treturn second(2)', new_text: '' }),
    /line numbers that read shows/,
  )
  // What looks alike to a model, or is not seen at all.
  assert.match(
    await refusal('say \u201chello\u201d\n', { old_text: 'say "hello"', new_text: '' }),
    /Only characters that look alike differ\. The file has:\n1\tsay \u201chello\u201d\n\(in these lines \u201c is U\+201C, \u201d is U\+201D\)$/,
  )
  assert.match(
    await refusal('one\na\u00a0b \u2013 c\n', { old_text: 'a b - c', new_text: '' }),
    /look alike differ\. The file has:\n2\t.*U\+00A0, .*U\+2013/s,
  )
  assert.match(
    await refusal('a\u00a0b\n', { old_text: 'a b', new_text: '' }),
    /white space differs.*U\+00A0/s,
  )
  assert.match(await refusal('cafe\u0301\n', { old_text: 'caf\u00e9', new_text: '' }), /look alike/)
  assert.match(await refusal(code, { old_text: 'class Z', new_text: '' }), /Nothing resembles it/)
  assert.match(await refusal(code, { old_text: 'return ', new_text: '' }), /\(lines 2, 5 and 8\)/)
  assert.match(
    await refusal('a\n'.repeat(9), { old_text: 'a', new_text: '' }),
    /\(lines 1, 2, 3, 4, 5 and more\)/,
  )
  assert.match(await refusal('aaa', { old_text: 'aa', new_text: '' }), /more than once/)
  assert.match(await refusal(code, { old_text: '', new_text: 'x' }), /old_text is empty.*use write/)
  assert.match(await refusal(code, { old_text: 'a', new_text: 'a' }), /are the same/)
  assert.match(await refusal(code, { edits: [] }), /give old_text and new_text, or edits/)
  assert.match(
    (await use('edit', { file_path: 'file', old_string: 'a', new_string: 'b' })).output,
    /not valid:.*\nThere is no file_path, old_string, new_string; the fields are path, old_text, new_text, replace_all, edits\.$/s,
  )
  // Fields that are filled in with nothing.
  const edits = [{ old_text: 'third', new_text: '3rd' }]
  assert.match(await edited(code, { old_text: '', new_text: '', replace_all: null, edits }), /3rd\(3\)/)
  assert.match(await edited(code, { edits: [], ...edits[0] }), /3rd\(3\)/)
})
