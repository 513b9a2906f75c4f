import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openTestSandbox } from '../../test/support/sandbox.ts'
import { TestTurn } from '../../test/support/turn.ts'
import type { RunEvent } from '../contract/event.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { runbook } from './runbook.ts'

let sandbox: Sandbox
before(async () => {
  sandbox = await openTestSandbox()
})
after(() => sandbox.destroy())

const fence = (command: string, info = 'sh') => `\`\`\`${info}\n${command}\n\`\`\``
async function play(prompt: string, history: readonly RunEvent[] = []) {
  const turn = new TestTurn({ sandbox, prompt, history })
  return { turn, outcome: await turn.runHarness(runbook) }
}
/** Continues a log as another worker would. */
async function resume(history: readonly RunEvent[]) {
  const turn = new TestTurn({ sandbox, history })
  return { turn, outcome: await turn.runHarness(runbook) }
}
const outputOf = (turn: TestTurn, tool_call_id: string, stream?: 'stdout' | 'stderr') =>
  turn
    .data('tool.output')
    .filter((data) => data.tool_call_id === tool_call_id && (!stream || data.stream === stream))
    .map((data) => data.text)
    .join('')

test('a step is called, streamed and ended with its exit code; text around it is commentary', async () => {
  const { turn, outcome } = await play(
    `Look:\n${fence('echo out; echo err >&2', 'sh title="Say it"')}\nDone.`,
  )
  assert.deepEqual(outcome, { state: 'SUCCEEDED' })
  assert.deepEqual(
    turn.emitted.map((event) => event.type).filter((type, at, all) => type !== all[at - 1]),
    ['message.assistant', 'tool.call', 'tool.output', 'tool.result', 'message.assistant'],
  )
  assert.deepEqual(turn.data('tool.call'), [
    { tool_call_id: 'm1:1', name: 'bash', input: { command: 'echo out; echo err >&2' }, title: 'Say it' },
  ])
  assert.equal(outputOf(turn, 'm1:1', 'stdout'), 'out\n')
  assert.equal(outputOf(turn, 'm1:1', 'stderr'), 'err\n')
  const [result] = turn.data('tool.result')
  assert.deepEqual(
    { ...result, duration_ms: 0 },
    { tool_call_id: 'm1:1', is_error: false, exit_code: 0, duration_ms: 0, truncated_bytes: 0 },
  )
})

test('the first failing step ends the message and names itself', async () => {
  const { turn, outcome } = await play(
    [fence('true'), fence('exit 3', 'sh title="npm test"'), fence('true')].join('\n'),
  )
  assert.deepEqual(outcome, {
    state: 'FAILED',
    status_message: { message: 'Step 2 "npm test" ended with exit code 3.', retryable: false },
  })
  assert.equal(turn.data('tool.call').length, 2)
})

test('continue-on-error goes on', async () => {
  const { turn, outcome } = await play([fence('exit 3', 'sh continue-on-error'), fence('true')].join('\n'))
  assert.equal(outcome.state, 'SUCCEEDED')
  assert.deepEqual(
    turn.data('tool.result').map((result) => result.exit_code),
    [3, 0],
  )
})

test('a step is stopped at its timeout', async () => {
  const { turn, outcome } = await play(fence('echo before; sleep 60', 'sh timeout=1s'))
  assert.equal(
    outcome.status_message?.message,
    'Step 1 "echo before; sleep 60" was stopped at its timeout of 1s.',
  )
  assert.equal(outputOf(turn, 'm1:1'), 'before\n')
  assert.equal(turn.data('tool.result')[0]?.is_error, true)
})

test('a step ended by a signal says so', async () => {
  const { outcome } = await play(fence('kill -9 $$'))
  assert.match(outcome.status_message?.message ?? '', /was ended by SIGKILL\.$|ended with exit code 137\.$/)
})

test('a bash block is run by bash with its quotes intact', async () => {
  const { turn } = await play(fence(`a=(x "it's"); echo "\${a[1]} $BASH_VERSION"`, 'bash'))
  assert.match(outputOf(turn, 'm1:1'), /^it's \d/)
})

test('characters cut by chunks come out whole, and what jsonb refuses is replaced', async () => {
  const { turn } = await play(fence(`printf '\\342'; sleep 0.2; printf '\\202\\254 \\000 \\377'`))
  assert.equal(outputOf(turn, 'm1:1'), '€ \ufffd \ufffd')
})

test('much output becomes few events of bounded size', async () => {
  const { turn } = await play(fence('seq 1 60000'))
  const texts = turn.data('tool.output').map((data) => data.text)
  assert.equal(texts.join(''), Array.from({ length: 60_000 }, (_, at) => `${at + 1}\n`).join(''))
  assert.ok(texts.every((text) => Buffer.byteLength(text) <= 65_536))
  assert.ok(texts.length < 50, `${texts.length} events`)
})

test('output is sent while the command runs', async () => {
  const turn = new TestTurn({
    sandbox,
    prompt: fence('echo started; until [ -e go ]; do sleep 0.05; done', 'sh timeout=9s'),
  })
  turn.onEvent = (event) => {
    // The command goes on only once its own output is in the log.
    if (event.type === 'tool.output') void sandbox.writeFile('/workspace/go', '')
  }
  assert.equal((await turn.runHarness(runbook)).state, 'SUCCEEDED')
})

test('a bad option fails before anything of the message is run', async () => {
  const { turn, outcome } = await play([fence('true'), fence('ls', 'sh timeout=soon')].join('\n'))
  assert.equal(outcome.status_message?.error_code, 'invalid_request')
  assert.match(outcome.status_message?.message ?? '', /^Step 2 "ls" cannot be run: "timeout=soon"/)
  assert.deepEqual(turn.emitted, [])
})

test('a prompt without blocks names what would help; a follow-up without blocks says that nothing was to do', async () => {
  const { turn, outcome } = await play('Fix the bug, please.')
  assert.equal(outcome.state, 'FAILED')
  assert.equal(outcome.status_message?.error_code, 'integration_not_configured')
  for (const name of ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'OPENAI_BASE_URL', 'GEMINI_API_KEY']) {
    assert.ok(outcome.status_message?.message.includes(name), name)
  }
  assert.deepEqual(turn.emitted, [])

  const ended: RunEvent = {
    sequence: 2,
    run_id: 'run-1',
    occurred_at: '2026-01-01T00:00:00.000Z',
    type: 'run.state',
    data: { state: 'FAILED', execution: 1, attempt: 1 },
  }
  const later = new TestTurn({ sandbox, history: [...turn.log, ended] })
  later.followUp('Thanks.')
  const second = await later.runHarness(runbook)
  assert.equal(second.status_message?.error_code, 'invalid_request')
})

test('a message without blocks is named where others were run, once', async () => {
  const turn = new TestTurn({ sandbox, prompt: 'Fix the bug, please.' })
  turn.followUp(fence('true'))
  assert.deepEqual(await turn.runHarness(runbook), { state: 'SUCCEEDED' })
  const said = /^The prompt holds no fenced sh or bash block, .* “Fix the bug, please\.”$/
  assert.match(turn.data('message.assistant').at(-1)?.text ?? '', said)
  const again = await resume(turn.log)
  assert.deepEqual(again.turn.emitted, [])
})

test('follow-ups join behind the current message and decide the outcome too', async () => {
  const turn = new TestTurn({ sandbox, prompt: [fence('echo 1'), fence('echo 2')].join('\n') })
  turn.onEvent = (event) => {
    if (event.type === 'tool.call' && event.data.tool_call_id === 'm1:1') {
      turn.followUp(fence('echo 3; exit 1', 'sh title=three'))
      turn.followUp(fence('echo 4'))
    }
  }
  const outcome = await turn.runHarness(runbook)
  assert.equal(outcome.status_message?.message, 'Step 1 "three" ended with exit code 1.')
  assert.deepEqual(
    turn.data('tool.call').map((call) => call.input.command),
    ['echo 1', 'echo 2', 'echo 3; exit 1', 'echo 4'],
  )
})

test('a step whose worker was lost is closed and run again under a new id, with a word about it', async () => {
  const { turn } = await play([fence('echo 1'), fence('echo 2')].join('\n'))
  const cut = turn.log.findIndex((event) => event.type === 'tool.call' && event.data.tool_call_id === 'm1:2')
  const { turn: next, outcome } = await resume(turn.log.slice(0, cut + 1))
  assert.equal(outcome.state, 'SUCCEEDED')
  const [closing, note, call] = next.emitted
  assert.ok(closing?.type === 'tool.result' && closing.data.tool_call_id === 'm1:2' && closing.data.is_error)
  assert.match(closing.data.output ?? '', /^interrupted: the worker was lost/)
  assert.ok(note?.type === 'message.assistant' && /Step 2 "echo 2" was interrupted/.test(note.data.text))
  assert.ok(call?.type === 'tool.call' && call.data.tool_call_id === 'm1:2:r1')
})

test('on-lost=fail refuses to run a lost step again, however often it is resumed', async () => {
  const { turn } = await play(fence('echo 1', 'sh on-lost=fail'))
  const cut = turn.log.findIndex((event) => event.type === 'tool.call')
  const first = await resume(turn.log.slice(0, cut + 1))
  const second = await resume(first.turn.log)
  for (const { outcome } of [first, second]) {
    assert.equal(outcome.state, 'FAILED')
    assert.match(outcome.status_message?.message ?? '', /interrupted, and on-lost=fail/)
  }
  assert.deepEqual(second.turn.emitted, [])
})

test('a step stopped with its worker is run again by the next one', async () => {
  const turn = new TestTurn({
    sandbox,
    prompt: fence('if [ -e stopped ]; then echo again; else touch stopped; echo ready; sleep 60; fi'),
  })
  turn.onEvent = (event) => event.type === 'tool.output' && turn.stop()
  await turn.runHarness(runbook)
  assert.match(turn.data('tool.result')[0]?.output ?? '', /^interrupted: the turn was stopped/)
  const { turn: next, outcome } = await resume(turn.log)
  assert.equal(outcome.state, 'SUCCEEDED')
  assert.equal(outputOf(next, 'm1:1:r1'), 'again\n')
})

test('the outcome after a crash behind the failed step is the same failure', async () => {
  const { turn, outcome } = await play([fence('exit 7'), fence('echo never')].join('\n'))
  const again = await resume(turn.log)
  assert.deepEqual(again.outcome, outcome)
  assert.deepEqual(again.turn.emitted, [])
})
