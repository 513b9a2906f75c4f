import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { RunEvent, RunItem } from '@runyard/client'
import { LONG } from '../../server/test/support/once.ts'
import { type Child, Home, printedBy } from './runyard.ts'

const LIMIT = { timeout: 600_000 }
const home = new Home()
let dev: Child
let port = 0
let connection = { base_url: '', api_key: '' }

const block = (...commands: string[]): string => `\`\`\`sh\n${commands.join('\n')}\n\`\`\``
/** Starts the service, or starts it again at the same place. */
async function startDev(): Promise<void> {
  dev = home.spawn(['dev', '--port', String(port), '--json'])
  connection = JSON.parse(await printedBy(dev, /\n/)) as typeof connection
  port = Number(new URL(connection.base_url).port)
}
async function startRun(...commands: string[]): Promise<string> {
  return (await home.run(['run', '--detach', block(...commands)])).stdout.trim()
}

before(startDev, LIMIT)
after(() => home.remove(), LIMIT)

test('a BLOCKED run ends the watching quietly, with its question and 5', LIMIT, async () => {
  const run_id = await startRun('echo started; sleep 600')
  const watching = home.start(['follow', run_id])
  await printedBy(watching, /│ started\n/)
  await home.run(['interrupt', run_id])
  const { code, stdout, stderr } = await watching.ended
  assert.match(stdout, /■ Interrupted · worked .*\n {2}Interrupted\. Send a follow-up/)
  assert.equal(stderr, `Go on: runyard message ${run_id} "…" --wait\n`)
  assert.equal(code, 5)

  const json = await home.run(['follow', run_id, '-o', 'json'])
  assert.deepEqual([json.code, (JSON.parse(json.stdout) as RunItem).state], [5, 'BLOCKED'])
  const lines = await home.run(['follow', run_id, '-o', 'ndjson'])
  const events = lines.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as RunEvent)
  assert.deepEqual([lines.code, events.at(-1)?.type], [5, 'run.state'])
  // The event that says BLOCKED is not among those after this one.
  const rest = await home.run(['follow', run_id, '-o', 'ndjson', '--after', String(events.at(-1)?.sequence)])
  assert.deepEqual([rest.code, rest.stdout], [5, ''])

  const answered = home.start(['message', run_id, block('echo again; sleep 600'), '--wait'])
  await printedBy(answered, /│ again\n/)
  await home.run(['interrupt', run_id])
  const again = await answered.ended
  assert.deepEqual([again.code, again.stderr], [5, `Go on: runyard message ${run_id} "…" --wait\n`])
  const last = await home.run(['message', run_id, block('echo done'), '--wait'])
  assert.deepEqual([last.code, last.stderr], [0, ''])
})

test('on a terminal the person is asked, answers, and sees the run to its end', LIMIT, async () => {
  const run_id = await startRun('echo started; sleep 600')
  const watching = home.spawnOnTerminal(['follow', run_id])
  await printedBy(watching, /echo started/)
  // The person may be asked before the command that interrupts has ended.
  const asked = printedBy(watching, /Your answer/)
  await home.run(['interrupt', run_id])
  await asked
  watching.stdin?.write('```sh\recho answered\r```\r\r')
  const { code, stdout } = await watching.ended
  assert.match(stdout, /│ answered[\s\S]*✓ Succeeded/)
  assert.equal(code, 0)
})

test('the list goes on as long as somebody watches it', LIMIT, async () => {
  const watching = home.spawnOnTerminal(['list', '--watch', '--mine'])
  await printedBy(watching, /RUN +STATE +TITLE|No runs/)
  const waits = printedBy(watching, /\?\S* [0-9a-f]{8} /)
  const run_id = await startRun('echo watched; sleep 600')
  await home.run(['interrupt', run_id])
  await waits
  const asked = await home.run(['list', '--waiting'])
  assert.match(asked.stdout, new RegExp(`\n${run_id}  BLOCKED `))
  assert.match(asked.stderr, new RegExp(`\\? ${run_id} `))
  // It was stopped, and nothing was asked.
  assert.doesNotMatch((await home.run(['list', '--needs-attention'])).stdout, new RegExp(run_id))
  watching.stdin?.write('\u0003')
  assert.equal((await watching.ended).code, 0)
  await home.run(['cancel', run_id])
  assert.equal((await home.run(['list', '--waiting'])).stderr, 'No run waits for a person.\n')
  assert.match((await home.run(['list', '--watch'])).stderr, /^error: --watch needs a terminal\./)
})

test('a tree is shown in lines that say whose they are', LIMIT, async () => {
  const root = await startRun('echo root; sleep 600')
  const watching = home.start(['follow', '--tree', root])
  await printedBy(watching, /│ root\n/)
  const created = await fetch(`${connection.base_url}/agent/runs`, {
    method: 'POST',
    headers: { authorization: `Bearer ${connection.api_key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ prompt: block('echo child'), parent_run_id: root }),
  })
  const { run_id: child } = (await created.json()) as { run_id: string }
  await printedBy(
    watching,
    new RegExp(`^${child.slice(-8)}   │ child\n[^]*${child.slice(-8)} · SUCCEEDED`, 'm'),
  )
  await home.run(['cancel', root])
  const { code, stdout } = await watching.ended
  assert.equal(code, 3)
  for (const line of stdout.trimEnd().split('\n'))
    assert.match(line, new RegExp(`^(${root.slice(-8)}|${child.slice(-8)}) `))
  const lines = await home.run(['follow', '--tree', root, '-o', 'ndjson'])
  const runs = lines.stdout
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as RunEvent).run_id)
  assert.deepEqual([lines.code, new Set(runs)], [3, new Set([root, child])])
  assert.equal((await home.run(['follow', '--tree', '--after', '3', root])).code, 2)
})

test('a run is done again, and gone on from in another one', LIMIT, async () => {
  const first = await startRun('echo made > a; cat a')
  await home.run(['follow', first])
  const replayed = await home.run(['run', '--replay', first])
  assert.equal(replayed.code, 0, replayed.stderr)
  assert.match(replayed.stdout, /│ made\n/)
  // Its workspace is there.
  const forked = await home.run(['fork', first, '```sh\necho "$(cat a) before"\n```'])
  assert.equal(forked.code, 0, forked.stderr)
  assert.match(forked.stdout, /│ made before\n/)
  const shown = await home.run(['list', '-o', 'json', '--limit', '2'])
  const { runs } = JSON.parse(shown.stdout) as { runs: RunItem[] }
  const [fork, replay] = runs.toSorted((a, b) => (a.run_id < b.run_id ? 1 : -1))
  assert.deepEqual([fork?.fork_of?.run_id, replay?.replay_of_run_id], [first, first])
  assert.equal((await home.run(['fork', first, '--turn', '7', 'x'])).code, 1)
})

const SIGNALS = LONG ? (['SIGKILL', 'SIGTERM'] as const) : (['SIGKILL'] as const)
for (const signal of SIGNALS) {
  test(`a server that is gone by ${signal} and comes back costs nothing`, LIMIT, async () => {
    const run_id = await startRun('echo one; sleep 20; echo two')
    const formats = ['text', 'ndjson'].map((format) => home.start(['follow', run_id, '-o', format]))
    await Promise.all(formats.map((child) => printedBy(child, /one\\?n?/)))
    const reconnecting = formats.map((child) => printedBy(child, /^Reconnecting: .*\n/, 'stderr'))
    dev.kill(signal)
    await dev.ended
    await Promise.all(reconnecting)
    await startDev()
    const [text, lines] = await Promise.all(formats.map((child) => child.ended))
    assert.equal(text?.code, 0, text?.stderr)
    assert.match(text?.stderr ?? '', /^Reconnecting: [^\n]*\nConnected again after [^\n]*\n$/)
    assert.equal(lines?.code, 0)
    const log = (await home.run(['follow', run_id, '-o', 'ndjson'])).stdout
    assert.equal(lines?.stdout, log)
  })
}
