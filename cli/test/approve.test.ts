import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import type { RunItem } from '@runyard/client'
import { type ModelServer, openModelServer } from '../../server/test/support/model-server.ts'
import { obey } from '../../server/test/support/obedient-model.ts'
import { Home, printedBy } from './runyard.ts'

const LIMIT = { timeout: 600_000 }
const home = new Home()
let model: ModelServer
const QUESTION = { question: 'Which database?', options: ['Postgre\u001b[2JSQL', 'SQLite'] }
/** Asks the question when the prompt is `Ask.`, and otherwise obeys. */
const askOrObey: typeof obey = (request) =>
  request.messages.at(-1)?.content === 'Ask.'
    ? { calls: [{ name: 'ask_user', arguments: QUESTION }] }
    : obey(request)
const ASK = ['--permission', 'allow:bash:touch free*', '--permission', 'ask:bash:touch *']

before(async () => {
  model = await openModelServer(askOrObey)
  await home.serve({ env: { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'a-key' } })
}, LIMIT)
after(async () => {
  await home.remove()
  await model?.close()
}, LIMIT)

test('a script is told what waits, and allows or denies it', LIMIT, async () => {
  const { code, stdout, stderr } = await home.run([
    'run',
    ...ASK,
    '$ touch free\n$ touch one\n$ touch two\n$ ls',
  ])
  const run_id = /Run (\S+)/.exec(stdout)?.[1] ?? ''
  assert.equal(code, 5)
  assert.match(
    stdout,
    /\? Waiting for your answer[^\n]*\n {2}The agent asks whether it may use bash: touch one/,
  )
  assert.equal(stderr, `Allow it: runyard approve ${run_id} --wait (or --deny "why")\n`)
  const second = await home.run(['approve', run_id, '--wait'])
  assert.equal(second.code, 5, second.stderr)
  assert.match(second.stdout, /! Allowed by .*[\s\S]*May it\? .*touch two/)
  const denied = await home.run(['approve', run_id, '--deny', 'Enough.'])
  assert.match(denied.stdout, /^Denied .*touch two\n$/)
  const end = await home.run(['follow', run_id])
  assert.equal(end.code, 0)
  assert.match(end.stdout, /! Denied by .*: Enough\.\n[\s\S]*│ one\n(?! {2}│ two)/)
  const late = await home.run(['approve', run_id])
  assert.deepEqual([late.code, late.stderr], [1, 'error: The run does not wait for an approval.\n'])
})

test('bad rules and options are refused', LIMIT, async () => {
  for (const rule of ['bash', 'maybe:bash', 'ask:', 'ask', ''])
    assert.equal((await home.run(['run', '--permission', rule, 'x'])).code, 2, rule)
  assert.equal((await home.run(['approve', 'x', '--always', '--deny', 'no'])).code, 2)
  assert.equal((await home.run(['approve', '01900000-0000-7000-8000-000000000000'])).code, 1)
})

test('on a terminal the person is asked, and the run goes on', LIMIT, async () => {
  writeFileSync(join(home.directory, 'prompt.md'), '$ touch one\n$ touch two\n$ ls')
  const watching = home.spawnOnTerminal(['run', '--permission', 'ask:bash:touch*', '-f', 'prompt.md'])
  await printedBy(watching, /May it\?\s[\s\S]*Yes, this time/)
  watching.stdin?.write('\u001b[B\r')
  const { code, stdout } = await watching.ended
  assert.match(stdout, /Allowed from now on by [\s\S]*✓ Succeeded/)
  assert.equal(code, 0)
})

test('a question with answers is a menu, and the agent gets the one that was chosen', LIMIT, async () => {
  const watching = home.spawnOnTerminal(['run', 'Ask.'])
  await printedBy(watching, /Your answer[\s\S]*PostgreSQL/)
  watching.stdin?.write('\u001b[B\r')
  const { code, stdout } = await watching.ended
  assert.match(stripVTControlCharacters(stdout), /› SQLite/)
  // An agent cannot clear the screen by an answer that it offers.
  assert(!stdout.includes('\u001b[2J'))
  assert.equal(code, 0)
})

test('an environment keeps its rules', LIMIT, async () => {
  await home.run(['env', 'create', 'careful', '--permission', 'ask:open_*'])
  const { stdout } = await home.run(['env', 'get', 'careful'])
  const { config } = JSON.parse(stdout) as { config: { permissions: unknown } }
  assert.deepEqual(config.permissions, [{ tool: 'open_*', action: 'ask' }])
  const { stdout: listed } = await home.run(['list', '--limit', '1', '-o', 'ndjson'])
  assert.equal((JSON.parse(listed) as RunItem).state, 'SUCCEEDED')
})
