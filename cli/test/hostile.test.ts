import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { LONG, onlyLong } from '../../server/test/support/once.ts'
import { safeFileName } from '../src/download.ts'
import { FORGED, OPERATIONS } from './hostile-answers.ts'
import { serveHostile } from './hostile-server.ts'
import { Home, printedBy } from './runyard.ts'

const LIMIT = { timeout: 600_000 }
const FORMATS = ['text', 'json', 'ndjson']
const RUN = '01980000-0000-7000-8000-000000000009'
const SCHEDULE = '01980000-0000-7000-8000-000000000001'
const COMMANDS = [
  ['get', RUN],
  ['get', '@last'],
  ['get', '0198'],
  ['logs', RUN],
  ['conversation', RUN],
  ['list'],
  ['follow', RUN],
  ['follow', RUN, '--full'],
  ['follow', RUN, '--after', '3'],
  ['run', 'prompt'],
  ['run', 'prompt', '--detach'],
  ['message', RUN, 'text'],
  ['message', RUN, 'text', '--wait'],
  ['interrupt', RUN],
  ['cancel', RUN],
  ['rename', RUN, 'a title'],
  ['archive', RUN],
  ['unarchive', RUN],
  ['delete', RUN, '--yes'],
  ['delete', '--before', '30d', '--dry-run'],
  ['diff', RUN],
  ['diff', RUN, '--stat'],
  ['apply', RUN],
  ['files', RUN],
  ['files', RUN, 'path', '--file', 'other'],
  ['env', 'list'],
  ['env', 'get', 'e1'],
  ['env', 'create', 'name'],
  ['schedule', 'list'],
  ['schedule', 'show', SCHEDULE],
  ['schedule', 'history', SCHEDULE],
  ['schedule', 'create', 'name', 'prompt', '--cron', '0 9 * * *'],
  ['schedule', 'update', SCHEDULE, '--cron', '0 9 * * *'],
  ['schedule', 'pause', SCHEDULE],
  ['schedule', 'times', '0 9 * * *'],
  ['schedule', 'run', SCHEDULE],
  ['schedule', 'run', SCHEDULE, '--wait'],
  ['schedule', 'delete', SCHEDULE],
  ['schedule', 'delete', 'name'],
  ['webhook', 'create', 'https://example.com'],
  ['webhook', 'list'],
  ['webhook', 'show', SCHEDULE],
  ['webhook', 'update', SCHEDULE, '--disable'],
  ['webhook', 'delete', SCHEDULE],
  ['webhook', 'rotate', SCHEDULE],
  ['webhook', 'test', SCHEDULE],
  ['webhook', 'deliveries', SCHEDULE],
  ['webhook', 'redeliver', SCHEDULE, SCHEDULE],
  ['model', 'list'],
  ['artifacts', 'get', 'u1'],
  ['artifacts', 'get', 'u1', '--force', '--file', 'other'],
  ['artifacts', 'get', 'u1', '--file', 'no/folder'],
  ['artifacts', 'list', RUN],
  ['artifacts', 'save', RUN],
  ['artifacts', 'open', 'u1', '--print'],
]
/** Every other command that asks the server. They print in the ways of those above. */
const OTHERS = [
  ['run', '--replay', RUN, '--detach'],
  ['fork', RUN, 'prompt', '--detach'],
  ['follow', RUN, '--tree'],
  ['wait', RUN],
  ['message', RUN, '--attach', 'value'],
  ['transcript', RUN, '--file', 'log.jsonl'],
  ['workspace', RUN],
  ['approve', RUN],
  ['open', RUN, '--print'],
  ['pr', RUN],
  ['timeline', RUN],
  ['merge', RUN],
  ['share', RUN],
  ['share', RUN, '--list'],
  ['share', RUN, '--revoke', SCHEDULE],
  ['usage'],
  ['workers', 'list'],
  ['queue'],
  ['settings'],
  ['repo', 'list'],
  ['repo', 'branches', 'acme/site'],
  ['skill', 'list'],
  ['env', 'update', 'e1', '--image', 'debian:13'],
  ['env', 'delete', 'e1'],
  ['secret', 'set', 'NAME', '--value-from', 'value'],
  ['secret', 'list'],
  ['secret', 'show', 'NAME'],
  ['secret', 'delete', 'NAME'],
  ['schedule', 'resume', SCHEDULE],
  ['trigger', 'create', 'name', 'prompt', '--verification', 'github'],
  ['trigger', 'list'],
  ['trigger', 'get', SCHEDULE],
  ['trigger', 'update', SCHEDULE, 'prompt'],
  ['trigger', 'pause', SCHEDULE],
  ['trigger', 'try', SCHEDULE],
  ['trigger', 'resume', SCHEDULE],
  ['trigger', 'deliveries', SCHEDULE],
  ['trigger', 'replay', SCHEDULE, SCHEDULE],
  ['trigger', 'delete', SCHEDULE],
  ['identity', 'create', 'name'],
  ['identity', 'list'],
  ['identity', 'show', SCHEDULE],
  ['identity', 'update', SCHEDULE, '--name', 'other'],
  ['identity', 'key', SCHEDULE],
  ['identity', 'delete', SCHEDULE],
  ['pool', 'list'],
  ['principal', 'list'],
  ['principal', 'disable', SCHEDULE],
  ['principal', 'enable', SCHEDULE],
  ['grant', 'show', 'pool', 'gpu'],
  ['grant', 'set', 'pool', 'gpu', SCHEDULE],
  ['audit'],
  ['keys', 'create', '--name', 'name'],
  ['keys', 'list'],
  ['keys', 'rotate', SCHEDULE],
  ['keys', 'revoke', SCHEDULE],
]
/** Operations that no command asks for, and why. */
const WITHOUT_COMMAND: Record<string, string> = {
  runAgent: 'the same as createRun, under the name of the wire format',
  checkConversationRedirect: 'for pages of published clients: commands follow a run by its id',
  checkSessionRedirect: 'the same',
  downloadArtifact: '`artifacts get` asks for the artifact and follows its link',
  getHarnessUsage: 'counts as one agent does; `get` and `usage` have the same for all',
  findRunByReference: '`list --reference-url` finds all such runs',
  submitConversationFollowup: '`message` says it to a run, and the newest one of a conversation is in `list`',
  prepareConversationAttachments: '`message --attach` prepares them for a run',
  interruptConversation: 'the same with `interrupt`',
  getConversationTranscript: '`logs` has the log of each run',
  downloadConversationScreenshot: '`artifacts get` takes it by its id',
  getEgressRanges: 'a setting of the operator, for allowlists of other services',
}
/** Text that a person's terminal acts on. Line feeds and tabs are text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u
/** Our colours, none of which the attack has, and the erasing of the status line. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what is looked for.
const OWN = /\u001b\[(?:0|1|2|3|22|23|31|32|33|36|39)m|\r\u001b\[2K/g

let server: Awaited<ReturnType<typeof serveHostile>>
const home = new Home()
before(async () => {
  server = await serveHostile()
}, LIMIT)
after(async () => {
  server.close()
  await home.remove()
})

interface Printed {
  stdout: string
  stderr: string
}

/** Where commands find the server in one of its modes. */
const environmentOf = (mode: string): NodeJS.ProcessEnv => ({
  RUNYARD_BASE_URL: `${server.origin}/${mode}`,
  RUNYARD_API_KEY: 'ry_x',
})

/** What commands print one after the other, in a pipe or on a terminal of 60 columns, where both outputs are one. */
async function print(commands: string[][], mode: string, terminal = false): Promise<Printed> {
  const environment = environmentOf(mode)
  const printed = { stdout: '', stderr: '' }
  for (const args of commands) {
    const title = `\n=== ${args.join(' ')}\n`
    const ended = await (terminal ? home.runOnTerminal(args, environment) : home.run(args, { environment }))
    printed.stdout += `${title}${ended.stdout}\n=== ended with ${ended.code}\n`
    printed.stderr += title + ended.stderr
  }
  return printed
}

function assertPlain(printed: string, what: string): void {
  for (const part of printed.split('\n=== ')) {
    const left = part.replaceAll(OWN, '\n')
    const at = left.search(CONTROL)
    assert.equal(
      at,
      -1,
      `${what}: ${JSON.stringify(left.slice(Math.max(0, at - 60), at + 30))} in ${part.split('\n', 1)}`,
    )
  }
}

for (const mode of ['tame', 'wild', 'refuse-400', 'refuse-401', 'refuse-503']) {
  // What is refused is told alike, whatever the status.
  const registered = ['tame', 'wild', 'refuse-400'].includes(mode) ? test : onlyLong
  registered(`nothing of a hostile server reaches the terminal but text: ${mode}`, LIMIT, async () => {
    // Both kinds of JSON print a value in one way.
    const formats = LONG || mode === 'tame' ? FORMATS : FORMATS.slice(0, 2)
    const commands = formats.flatMap((format) => COMMANDS.map((command) => [...command, '-o', format]))
    const { stdout, stderr } = await print(commands, mode)
    assert.equal(stdout.split('=== ended with ').length - 1, commands.length, stderr)
    assertPlain(stdout, 'stdout')
    assertPlain(stderr, 'stderr')
    assert.ok(!stdout.includes('\u001b') && !stderr.includes('\u001b'), 'there are no colours in a pipe')
    for (const part of stderr.split('\n=== ')) assert.ok(!part.includes(`\n${FORGED}`), part)
    // What an agent says is free text; elsewhere each line is the command's own.
    for (const part of stdout.split('\n=== ')) {
      if (!/^follow|^logs|^conversation|^run prompt -o|--wait/.test(part))
        assert.ok(!part.includes(`\n${FORGED}`), part)
    }
    assertPlain((await print(COMMANDS, mode, true)).stdout, 'terminal')
    // Where nothing is known of the state there is nothing to wait for.
    if (mode !== 'wild') assertPlain((await print([['wait', RUN]], mode, true)).stdout, 'terminal')
  })
}

test('JSON says what the server said, however it is written', LIMIT, async () => {
  const { stdout } = await print([['get', RUN, '-o', 'ndjson']], 'tame')
  const run = JSON.parse(stdout.split('\n').find((line) => line.startsWith('{')) ?? '')
  assert.match(run.title, /RunItem\.title/)
  assert.ok(['\u001b]52;c;', '\u009b31m', '\u202e', '\u007f'].every((each) => run.title.includes(each)))
})

test('every text of a run is shown', LIMIT, async () => {
  const { stdout } = await print([['get', RUN]], 'tame')
  for (const field of [
    'title',
    'prompt',
    'agent_config.model_id',
    'agent_skill.full_path',
    'creator.display_name',
  ])
    assert.ok(stdout.includes(`RunItem.${field}`), `${field} in ${stdout}`)
})

test('a question of a hostile run is text, too', LIMIT, async () => {
  const { stdout, stderr } = await print(
    [
      ['follow', RUN],
      ['follow', RUN, '-o', 'json'],
    ],
    'blocked',
  )
  assertPlain(stdout + stderr, 'pipe')
  assert.equal(stdout.split('=== ended with 5').length - 1, 2)
  const asking = home.spawnOnTerminal(['follow', RUN], environmentOf('blocked'))
  await printedBy(asking, /Your answer/)
  // A person who is asked presses Ctrl-C.
  asking.stdin?.write('\u0003')
  const asked = await asking.ended
  assert.match(asked.stdout, /RunStatusMessage|status_message/)
  assert.equal(asked.code, 5)
  const shown = asked.stdout.replaceAll('\r\n', '\n')
  // The library for prompts moves the cursor and paints in its own colours, none of which the attack has.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what is taken out.
  assertPlain(shown.replace(/\u001b\[(\?25[hl]|999D|\d+[AB]|J|7m|27m|9[0-7]m)/g, ''), 'terminal')
})

test('the name of a download stays in its directory and shows as what it is', () => {
  const names: Array<[string, string]> = [
    ['../../etc/passwd', 'passwd'],
    ['C:\\Windows\\evil.exe', 'evil.exe'],
    ['/', 'artifact'],
    ['..', 'artifact'],
    ['', 'artifact'],
    ['.bashrc', 'bashrc'],
    ['-rf', 'rf'],
    ['~root', '_root'],
    ['two\nlines.txt', 'two_lines.txt'],
    ['invoice\u202etxt.exe', 'invoicetxt.exe'],
    ['a\u001b]52;c;ZXZpbA==\u0007b', 'ab'],
  ]
  for (const [name, safe] of names) assert.equal(safeFileName(name), safe)
  for (const name of ['x'.repeat(500), '漢'.repeat(300), '😀'.repeat(300)]) {
    const safe = safeFileName(`${name}.txt`)
    assert.ok(Buffer.byteLength(safe) <= 255 && safe.endsWith('.txt') && safe.isWellFormed(), safe)
  }
})

test('a download that is not what it should be leaves nothing, and what it would replace as it was', async () => {
  const file = join(home.directory, 'kept')
  writeFileSync(file, 'mine')
  const get = ['artifacts', 'get', 'u1', '--file', file]
  const { stdout, stderr } = await print([get, [...get, '--force'], [...get.slice(0, 4), 'new']], 'tame')
  assert.deepEqual(stdout.match(/ended with \d/g), ['ended with 2', 'ended with 1', 'ended with 1'], stderr)
  assert.equal(readFileSync(file, 'utf8'), 'mine')
  assert.deepEqual(
    readdirSync(home.directory).filter((name) => name.includes('part') || name === 'new'),
    [],
  )
})

test('an artifact printed on a terminal is text', LIMIT, async () => {
  const { stdout } = await print([['artifacts', 'get', 'u1', '--file', '-']], 'tame', true)
  assert.match(stdout, /·bytes·/)
  assertPlain(stdout, 'terminal')
})

test('a hostile patch is text on a terminal, and git’s words about it are', LIMIT, async () => {
  execFileSync('git', ['init', '--quiet', home.directory])
  const commands = [
    ['diff', RUN],
    ['diff', RUN, '--stat'],
    ['apply', RUN],
    ['apply', RUN, '--dry-run', '-o', 'json'],
  ]
  const { stdout } = await print(commands, 'patch', true)
  assertPlain(stdout, 'terminal')
  assert.match(stdout, /·bytes·[\s\S]*\+.*·added·/)
  assert.match(stdout, /The changes do not apply here: git diff header /)
  assert.deepEqual(stdout.match(/ended with \d/g), [
    'ended with 0',
    'ended with 0',
    'ended with 1',
    'ended with 1',
  ])
  const { stderr } = await print(commands.slice(1), 'patch')
  assertPlain(stderr, 'pipe')
  for (const line of stderr.split('\n')) assert.ok(!line.startsWith(FORGED), line)
})

test('every operation has a command', LIMIT, async () => {
  writeFileSync(join(home.directory, 'value'), 'a value')
  const { stdout, stderr } = await print([...COMMANDS, ...OTHERS], 'tame')
  assertPlain(stdout, 'stdout')
  assertPlain(stderr, 'stderr')
  // A conversation is asked for by its own id where there is no run of that id.
  await print([['conversation', RUN]], 'refuse-404')
  const { asked } = server
  assert.deepEqual(
    OPERATIONS.filter((id) => !asked.has(id) && !(id in WITHOUT_COMMAND)),
    [],
  )
  const unneeded = Object.keys(WITHOUT_COMMAND).filter((id) => asked.has(id))
  assert.deepEqual(unneeded, [], 'What has a command is no exception.')
})
