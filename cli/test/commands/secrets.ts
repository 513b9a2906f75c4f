/** Secrets on the command line: a value goes in by a file, a pipe or a question, and comes out nowhere. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Secret } from '@runyard/client'
import { type Ended, printedBy } from '../runyard.ts'
import { data_dir, home } from './service.ts'

const LIMIT = { timeout: 600_000 }
const CANARY = 'canary-7Hq2vXw9'

/** Nothing that is printed ever holds the value. */
async function run(args: string[], input?: string): Promise<Ended> {
  const ended = await home.run(args, input === undefined ? {} : { input })
  assert(!`${ended.stdout}${ended.stderr}`.includes(CANARY), ended.stdout + ended.stderr)
  return ended
}

async function read(name: string): Promise<Secret | undefined> {
  const { stdout } = await run(['secret', 'list', '-o', 'ndjson'])
  const secrets = stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Secret)
  return secrets.find((secret) => secret.name === name)
}

test('a value comes from standard input or a file, and reaches nobody', LIMIT, async () => {
  const piped = await run(['secret', 'set', 'TOKEN', '--description', 'For CI.'], `${CANARY}\n`)
  assert.deepEqual(piped, { code: 0, stdout: 'Set TOKEN (version 1)\n', stderr: '' })
  writeFileSync(join(home.directory, 'value'), `${CANARY}\r\n`)
  const filed = await run(['secret', 'set', 'TOKEN', '--value-from', 'value', '-o', 'json'])
  assert.equal((JSON.parse(filed.stdout) as Secret).version, 2)
  assert.equal((await run(['secret', 'set', 'MINE', '--personal', '--value-from', '-'], CANARY)).code, 0)
  // Without its line end it is a token of git, which has none.
  const git = [
    '--git-host',
    'GIT.example',
    '--repository',
    'acme/app',
    '--repository',
    'acme/lib/*',
    '--read-only',
  ]
  assert.equal((await run(['secret', 'set', 'GIT', ...git, '--username', 'bot'], `${CANARY}\n`)).code, 0)
  const repositories = ['acme/app', 'acme/lib/*']
  assert.deepEqual((await read('GIT'))?.git, {
    host: 'git.example',
    repositories,
    username: 'bot',
    read_only: true,
  })
  const pem = `-----BEGIN PRIVATE KEY-----\n${CANARY}\n-----END PRIVATE KEY-----\n`
  const app = ['--git-host', 'github.com', '--github-app', '12', '--installation', '34']
  assert.equal((await run(['secret', 'set', 'APP', ...app], pem)).code, 0)
  assert.deepEqual((await read('APP'))?.git?.app, { app_id: '12', installation_id: '34' })

  const { stdout } = await run(['secret', 'list'])
  assert.match(stdout, /^NAME +OF +USE +VERSION +SET\n/)
  assert.match(stdout, /\nGIT +team +git at git\.example, read only: acme\/app acme\/lib\/\* +1 /)
  assert.match(stdout, /\nMINE +you +variable +1 /)
  assert.match(stdout, /\nTOKEN +team +variable( \(For CI\.\))? +2 /)
})

test('a secret keeps its kind, and is deleted', LIMIT, async () => {
  await run(['secret', 'set', 'KIND', '--git-host', 'git.example'], CANARY)
  const changed = await run(['secret', 'set', 'KIND'], CANARY)
  assert.equal(changed.code, 1)
  assert.match(changed.stderr, /Delete it first/)
  assert.equal((await run(['secret', 'delete', 'KIND', '--personal'])).code, 1)
  assert.equal((await run(['secret', 'delete', 'KIND'])).stdout, 'Deleted KIND\n')
  assert.equal(await read('KIND'), undefined)
  assert.match((await run(['secret', 'delete', 'KIND'])).stderr, /There is no secret/)
})

test('on a terminal the value is asked for, and not shown', LIMIT, async () => {
  const asking = home.spawnOnTerminal(['secret', 'set', 'ASKED'])
  await printedBy(asking, /Value of ASKED/)
  asking.stdin?.write(`${CANARY}\r`)
  const { code, stdout } = await asking.ended
  assert.equal(code, 0, stdout)
  assert.match(stdout, /Set ASKED \(version 1\)/)
  for (let at = 0; at + 4 <= CANARY.length; at += 1)
    assert(!stdout.includes(CANARY.slice(at, at + 4)), stdout)
  const leaving = home.spawnOnTerminal(['secret', 'set', 'LEFT'])
  await printedBy(leaving, /Value of LEFT/)
  leaving.stdin?.write('\u0003')
  assert.equal((await leaving.ended).code, 130)
  assert.equal(await read('LEFT'), undefined)
})

test('a value on the command line is refused, and not repeated', LIMIT, async () => {
  for (const args of [[`BAD=${CANARY}`], ['BAD', CANARY], [`BAD=${CANARY}`, '--personal']]) {
    const { code, stderr } = await run(['secret', 'set', ...args], CANARY)
    assert.equal(code, 2, stderr)
    assert.match(stderr, /^error: A value does not belong on the command line: /)
  }
  assert.equal(await read('BAD'), undefined)
})

test('wrong use ends with 2, a refused value with 1', LIMIT, async () => {
  for (const [args, input] of [
    [[], CANARY],
    [['BAD'], ''],
    [['BAD'], '\n'],
    [['BAD', '--value-from', 'missing'], CANARY],
    [['BAD', '--repository', 'a/b'], CANARY],
    [['BAD', '--git-host', 'git.example', '--github-app', '1'], CANARY],
  ] as const) {
    const { code, stderr } = await run(['secret', 'set', ...args], input)
    assert.equal(code, 2, `${args}: ${stderr}`)
  }
  writeFileSync(join(home.directory, 'binary'), Buffer.from([0xff, 0xfe, 0x41]))
  const binary = await run(['secret', 'set', 'BAD', '--value-from', 'binary'])
  assert.match(binary.stderr, /^error: The value is not text in UTF-8\./)
  for (const [args, input, why] of [
    [['BAD'], 'canary-', /at least 8 characters/],
    [['NOT-A-NAME'], CANARY, /must be a variable name/],
    [['BAD', '--git-host', 'git.example', '--repository', 'all'], CANARY, /must be a repository/],
  ] as const) {
    const { code, stderr } = await run(['secret', 'set', ...args], input)
    assert.equal(code, 1, stderr)
    assert.match(stderr, why)
  }
})

test('the key of a running dev is not replaced beside it', LIMIT, async () => {
  const { code, stderr } = await run(['secret', 'rotate-key', '--data-dir', data_dir])
  assert.equal(code, 1)
  assert.match(stderr, /Another runyard process uses the data directory/)
})
