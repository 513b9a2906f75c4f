import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify, stripVTControlCharacters } from 'node:util'
import type { RunEvent, RunItem } from '@runyard/client'
import type { Command } from 'commander'
import { apiOf, type TestService } from '../../server/test/support/service.ts'
import { createProgram } from '../src/main.ts'
import { RUN_ID, shortId } from '../src/short-id.ts'
import { BINARY, Home, printedBy } from './runyard.ts'

const LIMIT = { timeout: 600_000 }
const home = new Home()

const block = (...commands: string[]): string => `\`\`\`sh\n${commands.join('\n')}\n\`\`\``
async function startRun(...commands: string[]): Promise<string> {
  return (await home.run(['run', '--detach', block(...commands)])).stdout.trim()
}
const json = async <T>(...args: string[]): Promise<T> =>
  JSON.parse((await home.run([...args, '-o', 'json'])).stdout) as T

let service: TestService
let first = ''
let second = ''
before(async () => {
  service = await home.serve()
  const nothing = await home.run(['get', '@last'])
  assert.deepEqual([nothing.code, nothing.stderr.split('\n')[0]], [1, 'error: You have no runs yet.'])
  first = await startRun('echo first')
  second = await startRun('exit 3')
}, LIMIT)
after(() => home.remove(), LIMIT)

/** The shortest beginning of one id that the other does not have. */
const shorten = (run_id: string, other: string): string =>
  run_id.slice(0, [...run_id].findIndex((letter, at) => letter !== other[at]) + 1)

test('a run is named by the beginning of its id, or as the last one', LIMIT, async () => {
  assert.equal((await json<RunItem>('get', shorten(first, second))).run_id, first)
  assert.equal((await json<RunItem>('get', '@last')).run_id, second)
  const below = await json<{ runs: RunItem[] }>('list', '--ancestor', shorten(first, second))
  assert.deepEqual(below.runs, [])
  const again = await home.run(['run', '--replay', shorten(first, second)])
  assert.match(again.stdout, /│ first\n/)
  assert.equal((await json<RunItem>('get', '@last')).replay_of_run_id, first)
})

test('a run is named by the end of its id, which a terminal shows', LIMIT, async () => {
  assert.equal((await json<RunItem>('get', shortId(first))).run_id, first)
  assert.equal((await json<RunItem>('get', first.slice(-6))).run_id, first)
  await home.run(['wait', second])
  const { stdout } = await home.runOnTerminal(['list'])
  assert.match(stdout, new RegExp(`\\n${shortId(second)}  .*FAILED`), stdout)
  assert(!stdout.includes(second))
  for (const line of stdout.split('\n')) assert(line.length <= 80, line)
})

test('what is no name of anything is answered with what there is', LIMIT, async () => {
  const none = await home.run(['schedule', 'show', 'nightly'])
  assert.match(
    none.stderr,
    /^error: There is no schedule called "nightly"\.\nhint: there are no schedules; make one: /,
  )
  await home.run(['schedule', 'create', 'Nightly', 'x', '--cron', '0 4 * * *', '--paused'])
  const near = await home.run(['schedule', 'pause', 'nightyl'])
  assert.deepEqual(
    [near.code, near.stderr],
    [1, 'error: There is no schedule called "nightyl".\nhint: did you mean Nightly?\n'],
  )
  const { id } = await json<{ id: string }>('schedule', 'show', 'Nightly')
  assert.equal((await json<{ id: string }>('schedule', 'show', shortId(id))).id, id)
  await home.run(['env', 'create', 'shop', '--image', 'debian:13'])
  const run = await home.run(['run', 'x', '--env', 'shp'])
  assert.deepEqual(
    [run.code, run.stderr],
    [1, 'error: There is no environment "shp".\nhint: did you mean shop?\n'],
  )
  const other = await home.run(['env', 'get', 'zzzz'])
  assert.match(other.stderr, /There is no environment "zzzz"\.\nhint: there are: .*shop/)
  await home.run(['env', 'delete', 'shop'])
})

test('what the service refuses is said in words of flags', LIMIT, async () => {
  const refused = await home.run(['run', 'x', '--harness', 'nobody'])
  assert.match(refused.stderr, /^error: --harness: /)
  const cron = await home.run(['schedule', 'create', 'x', 'y', '--cron', 'never'])
  assert.match(cron.stderr, /^error: --cron: /)
})

test('a run that an agent started is not the last one', LIMIT, async () => {
  const asked = await startRun('echo asked')
  await apiOf(service).create({ prompt: block('echo below'), parent_run_id: asked })
  assert.equal((await json<RunItem>('get', '@last')).run_id, asked)
})

test('one that is not there, that is several, or that is no id, is one line', LIMIT, async () => {
  const common = first.slice(0, shorten(first, second).length - 1)
  const several = await home.run(['cancel', common])
  assert.equal(several.code, 2)
  assert.match(
    several.stderr,
    new RegExp(
      `^error: Several runs have ids that begin or end with ${common}: [^\\n]*${second}[^\\n]*, ${first}[^\\n]*\\.\nhint: `,
    ),
  )
  const unknown = await home.run(['follow', 'ffff'])
  assert.deepEqual(
    [unknown.code, unknown.stderr.split('\n')[0]],
    [1, 'error: There is no run whose id begins or ends with ffff.'],
  )
  const none = await home.run(['get', 'latest'])
  assert.deepEqual([none.code, none.stderr.split('\n')[0]], [2, 'error: "latest" is not the id of a run.'])
  const empty = await home.run(['wait', ''])
  assert.deepEqual(
    [empty.code, empty.stderr.split('\n')[0]],
    [2, 'error: An empty text is not the id of a run.'],
  )
})

test('every command says which of its arguments is a run', async () => {
  const names = (command: Command): string[] => [
    ...command.registeredArguments.map((argument) => argument.name()),
    ...command.options.flatMap(({ flags }) => /<([^>]+)>/.exec(flags)?.[1] ?? []),
    ...command.commands.flatMap(names),
  ]
  const runs = names(await createProgram()).filter((name) => /\brun\b/.test(name))
  assert.ok(runs.length > 12)
  assert.deepEqual(new Set(runs), new Set([RUN_ID]))
})

test('wait ends as run does, for the first of several that did not succeed', LIMIT, async () => {
  const one = await home.run(['wait', first])
  assert.deepEqual([one.code, one.stderr], [0, ''])
  assert.match(one.stdout, new RegExp(`^${first}  SUCCEEDED  \`\`\`sh\n$|^${first}  SUCCEEDED  .*\n$`))
  const slow = await startRun('echo started', 'sleep 600')
  const waiting = home.start(['wait', first, slow, second])
  // The ended ones are printed while the other is at work.
  await printedBy(waiting, new RegExp(`${second}  FAILED  .*exit code 3`))
  await home.run(['cancel', slow])
  const { code, stdout } = await waiting.ended
  assert.equal(code, 3)
  assert.match(stdout, new RegExp(`\n${slow}  CANCELLED  [^\n]*\n$`))
  const { runs } = await json<{ runs: RunItem[] }>('wait', second, first)
  assert.deepEqual(
    runs.map(({ run_id, state }) => [run_id, state]),
    [
      [second, 'FAILED'],
      [first, 'SUCCEEDED'],
    ],
  )
  assert.equal((await home.run(['wait', '@last', '-o', 'ndjson'])).code, 3)
})

test('wait is left with Ctrl-C, and the run goes on', LIMIT, async () => {
  const run_id = await startRun('echo started', 'sleep 600')
  const waiting = home.spawn(['wait', first, run_id])
  await printedBy(waiting, new RegExp(first))
  waiting.kill('SIGINT')
  const { code, stderr } = await waiting.ended
  assert.deepEqual([code, stderr], [130, 'The runs go on.\n'])
  await home.run(['interrupt', run_id])
  assert.equal((await home.run(['wait', run_id])).code, 5)
  await home.run(['cancel', run_id])
})

test('logs print all of a log and wait for nothing', LIMIT, async () => {
  const text = await home.run(['logs', first])
  assert.equal(text.code, 0)
  assert.match(text.stdout, /^· QUEUED[\s\S]*│ first\n[\s\S]*· SUCCEEDED\n$/)
  const lines = (await home.run(['logs', first, '-o', 'ndjson'])).stdout.trim().split('\n')
  const events = lines.map((line) => JSON.parse(line) as RunEvent)
  assert.deepEqual(
    events.map(({ sequence }) => sequence),
    events.map((_, at) => at + 1),
  )
  const whole = await json<{ run_id: string; events: RunEvent[] }>('logs', first)
  assert.deepEqual(whole, { run_id: first, events })
  const rest = (await home.run(['logs', first, '-o', 'ndjson', '--after', '2'])).stdout
  assert.equal(rest, `${lines.slice(2).join('\n')}\n`)
  const watching = home.start(['run', block('echo started', 'sleep 600')])
  const [, at_work = ''] = /^Run (\S+)/.exec(await printedBy(watching, /│ started\n/)) ?? []
  assert.equal((await home.run(['logs', at_work])).code, 0)
  // Nothing happens there: a terminal is left with whole lines.
  const shown = await home.spawnOnTerminal(['logs', at_work]).ended
  assert.equal(shown.code, 0)
  assert.match(shown.stdout, /│ started[^\n]*\r\n$/)
  assert(!shown.stdout.includes('\u001b[2K'))
  await home.run(['cancel', at_work])
  await watching.ended
  // A failed run was logged as well as any other.
  assert.equal((await home.run(['logs', second])).code, 0)
})

const run = promisify(execFile)

/** What shells call. */
function addProgram(): string {
  const program = join(home.directory, 'runyard')
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${BINARY}' "$@"\n`)
  chmodSync(program, 0o755)
  return program
}

test('bash completes commands, values, runs and environments, and evaluates nothing', LIMIT, async () => {
  await home.run(['env', 'create', 'tests', '--image', 'debian:13'])
  const program = addProgram()
  const functions = join(home.directory, 'completion.bash')
  writeFileSync(functions, (await home.run(['completion', 'bash'])).stdout)
  /** The same without a shell. */
  const list = async (...words: string[]): Promise<string[]> => {
    const { stdout } = await home.run(['complete', '--', ...words])
    return stdout
      .split('\n')
      .flatMap((line) => line.split('\t', 1))
      .filter(Boolean)
  }
  const complete = async (...words: string[]): Promise<string[]> => {
    const script = `source '${functions}'
      COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
      _runyard
      printf '%s\\n' "\${COMPREPLY[@]}"`
    const env = { HOME: home.directory, PATH: `${dirname(program)}:${process.env.PATH}` }
    const { stdout } = await run('bash', ['-c', script, 'bash', 'runyard', ...words], {
      env,
      cwd: home.directory,
    })
    return stdout.split('\n').filter(Boolean)
  }
  assert.deepEqual(await complete('mess'), ['message'])
  assert.deepEqual(await list('schedule', 'pa'), ['pause'])
  assert.deepEqual(await list('list', '--created-a'), ['--created-after'])
  assert.deepEqual(await list('list', '-o', ''), ['text', 'json', 'ndjson'])
  assert.deepEqual(await complete('list', '--order', '=', 'd'), ['desc'])
  assert.deepEqual(await list('follow', second), [second])
  assert.deepEqual(await list('wait', first, '@'), ['@last'])
  assert.deepEqual(await list('run', '--env', 'te'), ['tests'])
  assert.deepEqual(await list('env', 'get', ''), ['tests'])
  assert.deepEqual(await list('completion', ''), ['bash', 'zsh', 'fish'])
  // Bash puts a candidate into the line as it is, and anybody of the team may name an environment.
  await home.run(['env', 'create', '$(touch evaluated)', '--image', 'debian:13'])
  assert.deepEqual(await complete('run', '--env', '$'), ['\\$\\(touch\\ evaluated\\)'])
  await home.run(['env', 'create', '--image', 'debian:13', '--', '--base-url=https://evil.example'])
  assert.deepEqual(await complete('env', 'get', ''), ['\\$\\(touch\\ evaluated\\)', 'tests'])
  // A file, which the shell knows.
  assert.deepEqual(await complete('run', '--file', ''), [])
  assert.deepEqual(await complete('run', '$(touch evaluated)'), [])
  assert.ok(!existsSync(join(home.directory, 'evaluated')))
})

test(
  'on a terminal a command without a run lets a person choose one; a script gets an error',
  LIMIT,
  async () => {
    const choosing = home.spawnOnTerminal(['get'])
    await printedBy(choosing, /Which run\?/)
    // What is typed leaves those that have it.
    choosing.stdin?.write(`${shortId(first)}\r`)
    const { code, stdout } = await choosing.ended
    assert.equal(code, 0, stdout)
    assert.match(stripVTControlCharacters(stdout), new RegExp(`^run +${shortId(first)}`, 'm'))
    const leaving = home.spawnOnTerminal(['logs'])
    await printedBy(leaving, /Which run\?/)
    leaving.stdin?.write('\u0003')
    assert.equal((await leaving.ended).code, 130)
    const none = await home.spawnOnTerminal(['webhook', 'show']).ended
    assert.deepEqual([none.code, /There is no webhook to choose/.test(none.stdout)], [1, true])
    const help = await home.spawnOnTerminal(['get', '--help']).ended
    assert.match(help.stdout, /get \[options\] <run-id>/)
    const script = await home.run(['get'])
    assert.deepEqual(
      [script.code, script.stderr.split('\n')[0]],
      [2, "error: missing required argument 'run-id'"],
    )
  },
)

const no_zsh = spawnSync('zsh', ['--version']).error ? 'there is no zsh on this machine' : false
test('zsh is told what each candidate is, and evaluates nothing', { ...LIMIT, skip: no_zsh }, async () => {
  const program = addProgram()
  const complete = async (...words: string[]): Promise<string[]> => {
    // In place of what compinit defines.
    const script = `compdef() { :; }
      _describe() { print -rl -- "\${(@P)3}" }
      _files() { print files }
      source <(runyard completion zsh)
      words=("$@") CURRENT=$#
      _runyard`
    const { stdout } = await run('zsh', ['-f', '-c', script, 'zsh', 'runyard', ...words], {
      env: { HOME: home.directory, PATH: `${dirname(program)}:${process.env.PATH}` },
      cwd: home.directory,
    })
    return stdout.split('\n').filter(Boolean)
  }
  assert.deepEqual(await complete('mess'), ['message:send a message to a run'])
  // One without a description has none, not an empty one, which zsh shows as a line of its own.
  assert.deepEqual(await complete('list', '-o', ''), ['text', 'json', 'ndjson'])
  assert.match((await complete('follow', second)).join(), new RegExp(`^${second}:[A-Z]+ `))
  assert.deepEqual(await complete('run', '--file', ''), ['files'])
  assert.deepEqual(await complete('run', '$(touch evaluated)'), ['files'])
  assert.ok(!existsSync(join(home.directory, 'evaluated')))
})
