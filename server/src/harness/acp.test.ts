/** What is said to an agent, and made of what it says: with one that needs no model, in a real sandbox. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, beforeEach, test } from 'node:test'
import { openTestSandbox } from '../../test/support/sandbox.ts'
import { scriptedAgent } from '../../test/support/scripted-agent.ts'
import { findProcesses } from '../../test/support/traces.ts'
import { TestTurn, type TestTurnOptions } from '../../test/support/turn.ts'
import type { NewEvent, RunEvent } from '../contract/event.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { createAcp } from './acp.ts'
import { listAgents } from './acp-agents.ts'
import type { Execution, HarnessState } from './harness.ts'
import { openModels } from './models.ts'

let sandbox: Sandbox
let kept: Record<string, unknown> | null
before(async () => {
  sandbox = await openTestSandbox()
})
after(() => sandbox.destroy())
beforeEach(() => {
  kept = null
})

const state: HarnessState = {
  read: () => kept,
  write: async (next) => {
    kept = next
  },
}

const harnessOf = (offers: string, command: readonly string[] = scriptedAgent(offers)) => {
  const agent = listAgents({ scripted: { command } }).find(({ name }) => name === 'scripted')
  assert(agent)
  return createAcp(agent, openModels({}))
}

/** A turn whose session is that of the turns before. */
const turnOf = (options: Omit<TestTurnOptions, 'sandbox'>, more: Partial<Execution> = {}) =>
  Object.assign(new TestTurn({ sandbox, ...options }), { state, ...more })

/** What the agent's session holds: a line for its servers, then one for each prompt. */
async function told(): Promise<unknown[]> {
  const { session_id } = kept ?? {}
  const text = (await sandbox.readFile(`/workspace/.scripted-${session_id}`)).toString()
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)
}

const next = async (turn: TestTurn, offers: string, text: string): Promise<TestTurn> => {
  const log = [...turn.log]
  const sequence = log.length + 1
  const head = { run_id: 'run-1', occurred_at: '2026-01-01T00:00:00.000Z' }
  log.push({ ...head, sequence, type: 'run.state', data: { state: 'SUCCEEDED', execution: 1, attempt: 1 } })
  const again = turnOf({ history: log, prompt: text })
  assert.deepEqual(await again.runHarness(harnessOf(offers)), { state: 'SUCCEEDED' })
  return again
}

const COUNT = { name: 'count', text: 'Count.', directory: '/workspace/skills/count', files: [] }
const SKILL_TEXT = 'You were started with the skill count: carry it out, with what the user says.\n\nCount.'

for (const offers of ['resume', 'load']) {
  test(`a session goes on in a later process by ${offers}, and nothing is told twice`, async () => {
    const first = turnOf({ prompt: 'one', config: { base_prompt: 'Be brief.' } }, { skill: COUNT })
    assert.deepEqual(await first.runHarness(harnessOf(offers)), { state: 'SUCCEEDED' })
    const session_id = kept?.session_id
    const second = await next(first, offers, 'two')
    assert.equal(kept?.session_id, session_id)
    assert.deepEqual((await told()).slice(1), [['Be brief.', SKILL_TEXT, 'one'], ['two']])
    assert.deepEqual(
      second.data('message.assistant').map(({ text }) => text),
      ['All done.', 'All done.'],
    )
  })
}

test('an agent that cannot go on is told what was said and done', async () => {
  const first = turnOf({ prompt: '$ echo first' })
  await first.runHarness(harnessOf(''))
  const session_id = kept?.session_id
  await next(first, '', 'and now?')
  assert.notEqual(kept?.session_id, session_id)
  const [, [known = '', ...rest] = []] = (await told()) as string[][]
  assert.match(known, /^\[From the service, not the user: .*nothing of it is left to do/)
  assert.match(
    known,
    /User: \$ echo first\n\nYou: Next:\nYou called bash \{"command":"echo first"\}, which ended:\nfirst/,
  )
  assert.deepEqual(rest, ['and now?'])
})

test('a call is stored before it is allowed, with its output, title and exit code', async () => {
  const turn = turnOf({ prompt: '$ echo out; echo err >&2; exit 3' })
  await turn.runHarness(harnessOf(''))
  assert.deepEqual(
    turn.emitted.map(({ type }) => type).filter((type) => type !== 'tool.output'),
    ['reasoning', 'message.assistant', 'tool.call', 'tool.result', 'message.assistant'],
  )
  const [call] = turn.data('tool.call')
  assert.equal(call?.name, 'bash')
  assert.equal(call?.title, 'echo out; echo err >&2; exit 3')
  assert.deepEqual(call?.input, { command: 'echo out; echo err >&2; exit 3' })
  const printed = turn.data('tool.output').map(({ text }) => text)
  assert.deepEqual(printed.join('').split('\n').sort(), ['', 'err', 'out'])
  const [result] = turn.data('tool.result')
  assert.deepEqual([result?.is_error, result?.exit_code], [true, 3])
  assert.deepEqual(turn.deltas.map(({ text }) => text).join(''), 'Next:All done.')
})

test('rules see a command that is said in the title of its call alone', async () => {
  const rule = { tool: 'bash', pattern: 'touch *', action: 'deny' } as const
  const turn = turnOf({ prompt: '$ touch titled\n$ ls' }, { permissions: [[rule]] })
  assert.deepEqual(await turn.runHarness(harnessOf('titled')), { state: 'SUCCEEDED' })
  assert.equal(await sandbox.stat('/workspace/titled'), null)
  assert.deepEqual(turn.data('tool.call')[0]?.input, { command: 'touch titled' })
})

test('what a command prints may come in pieces, and its exit code beside them', async () => {
  const turn = turnOf({ prompt: '$ echo out; sleep 0.1; echo more; exit 3' })
  await turn.runHarness(harnessOf('pieces'))
  assert.equal(
    turn
      .data('tool.output')
      .map(({ text }) => text)
      .join(''),
    'out\nmore\n',
  )
  const [result] = turn.data('tool.result')
  assert.deepEqual([result?.is_error, result?.exit_code, result?.output], [true, 3, undefined])
})

test('rules see what a call was announced to be, where the agent asks by its id alone', async () => {
  const rule = { tool: 'bash', pattern: 'touch *', action: 'deny' } as const
  const turn = turnOf({ prompt: '$ touch terse\n$ ls' }, { permissions: [[rule]] })
  assert.deepEqual(await turn.runHarness(harnessOf('terse')), { state: 'SUCCEEDED' })
  assert.equal(await sandbox.stat('/workspace/terse'), null)
})

test('a call whose input is told late is asked about with it, and made once', async () => {
  const permissions = [[{ tool: 'bash', pattern: 'echo *', action: 'ask' } as const]]
  const first = turnOf({ prompt: '$ echo x >> late' }, { permissions })
  const asked = await first.runHarness(harnessOf('late'))
  const [request] = first.data('approval.requested')
  assert(request)
  const { approval_id, tool_call_id } = request
  assert.deepEqual(first.data('tool.call')[0]?.input, {})
  assert.deepEqual(request.input, { command: 'echo x >> late' })
  const title = 'echo x >> late'
  assert.deepEqual(asked.status_message?.approval, { approval_id, tool_call_id, tool: 'bash', title })

  const log = [...first.log]
  const add = (event: NewEvent) =>
    log.push({
      ...{ run_id: 'run-1', occurred_at: '2026-01-01T00:00:00.000Z', sequence: log.length + 1 },
      ...(event as RunEvent),
    })
  add({ type: 'run.state', data: { state: 'BLOCKED', execution: 1, attempt: 1 } })
  add({ type: 'approval.answered', data: { approval_id, decision: 'allow_once', author: 'Ann' } })
  const again = turnOf({ history: log }, { permissions })
  assert.deepEqual(await again.runHarness(harnessOf('late')), { state: 'SUCCEEDED' })
  assert.equal((await sandbox.readFile('/workspace/late')).toString(), 'x\n')
  // A later agent that makes it once more asks.
  const later = turnOf({ history: again.log, prompt: '$ echo x >> late' }, { permissions })
  assert.equal((await later.runHarness(harnessOf('late'))).state, 'BLOCKED')
})

test('an agent that goes on although its turn is stopped is allowed nothing more', async () => {
  const turn = turnOf({ prompt: '$ echo begun; sleep 0.5\n$ touch stubborn' })
  const interrupt = new AbortController()
  turn.onEvent = ({ type }) => {
    if (type === 'tool.output') interrupt.abort()
  }
  const session = await harnessOf('stubborn').open(turn)
  await session.turn({ history: turn.history, inbox: turn.inbox, signal: interrupt.signal })
  await session.close()
  assert.equal(turn.data('tool.output').length > 0, true)
  assert.equal(await sandbox.stat('/workspace/stubborn'), null)
})

test('a message that comes in the middle of a turn is taken into it where the agent can', async () => {
  const turn = turnOf({ prompt: '$ echo begun; until [ -e steered ]; do sleep 0.05; done' })
  const session = await harnessOf('steer').open(turn)
  assert(session.steer)
  const begun = Promise.withResolvers<void>()
  turn.onEvent = ({ type }) => type === 'tool.output' && begun.resolve()
  const over = session.turn(turn)
  await begun.promise
  turn.followUp('$ echo more')
  for (const message of await turn.inbox.take()) await session.steer(message)
  await sandbox.writeFile('/workspace/steered', '')
  assert.deepEqual(await over, { state: 'SUCCEEDED' })
  await session.close()
  assert.equal((await told()).length, 3, 'one prompt, and what was steered')
  assert.deepEqual(
    turn.data('tool.call').map(({ input }) => input.command),
    ['echo begun; until [ -e steered ]; do sleep 0.05; done', 'echo more'],
  )
})

test('what was taken into a turn is not asked again by the next one', async () => {
  const turn = turnOf({ prompt: '$ echo begun; until [ -e taken ]; do sleep 0.05; done' })
  const session = await harnessOf('steer').open(turn)
  const begun = Promise.withResolvers<void>()
  turn.onEvent = ({ type }) => type === 'tool.output' && begun.resolve()
  const over = session.turn(turn)
  await begun.promise
  turn.followUp('$ echo more')
  for (const message of await turn.inbox.take()) await session.steer?.(message)
  await sandbox.writeFile('/workspace/taken', '')
  await over
  turn.followUp('$ echo last')
  await turn.inbox.take()
  const { inbox, signal } = turn
  await session.turn({ history: [...turn.log], inbox, signal })
  await session.close()
  assert.deepEqual((await told()).at(-1), ['$ echo last'])
})

test('a turn that is stopped twice, by a question and by its caller, leaves the next one alone', async () => {
  const permissions = [[{ tool: 'bash', pattern: 'echo *', action: 'ask' } as const]]
  const turn = turnOf({ prompt: '$ echo x' }, { permissions })
  const interrupt = new AbortController()
  turn.onEvent = ({ type }) => {
    if (type === 'approval.requested') interrupt.abort()
  }
  const session = await harnessOf('').open(turn)
  const { inbox, signal } = turn
  await session.turn({ history: turn.history, inbox, signal: interrupt.signal })
  const log = [...turn.log]
  const head = { run_id: 'run-1', occurred_at: '2026-01-01T00:00:00.000Z' }
  const state = { state: 'BLOCKED', execution: 1, attempt: 1 } as const
  log.push({ ...head, sequence: log.length + 1, type: 'run.state', data: state })
  // Longer than an agent that does not stop is left alive.
  const data = { message_id: 'next', text: '$ sleep 2' }
  log.push({ ...head, sequence: log.length + 1, type: 'message.user', data })
  assert.deepEqual(await session.turn({ history: log, inbox, signal }), { state: 'SUCCEEDED' })
  await session.close()
})

test('an agent that does not steer has no way to', async () => {
  const session = await harnessOf('').open(turnOf({ prompt: 'one' }))
  assert.equal(session.steer, undefined)
  await session.close()
})

test('what the agent reports, and its death, end the turn with its words; the next turn goes on', async () => {
  const turn = turnOf({ prompt: 'fail' })
  const failed = await turn.runHarness(harnessOf(''))
  assert.equal(failed.state, 'ERROR')
  assert.match(
    failed.status_message?.message ?? '',
    /^The agent scripted reports: Internal error: the disk is full\.$/,
  )
  const dying = turnOf({ prompt: 'die' })
  const [died, after_it] = await dying.runSession(harnessOf(''), ['$ echo alive'])
  assert.equal(died?.state, 'ERROR')
  assert.match(
    died?.status_message?.message ?? '',
    /^The agent scripted ended \(7\) before it was done\. It said: A greeting, which is no message\.$/,
  )
  assert.equal(after_it?.state, 'ERROR', 'what killed it is asked again with what came')
})

for (const [hostile, words] of [
  ['deaf', /closed its standard input .* and was killed\./],
  ['mute', /closed its standard output .* and was killed\./],
  ['endless', /sent a message of more than 32 MiB and was killed\./],
] as const)
  test(`an agent that is ${hostile} and lives on is killed, with the reason, and the next turn goes on`, async () => {
    const turn = turnOf({ prompt: hostile })
    const marker = `hostile ${randomUUID()}`
    const failed = await turn.runHarness(harnessOf(marker))
    assert.equal(failed.state, 'ERROR')
    assert.match(failed.status_message?.message ?? '', words)
    assert.doesNotMatch(failed.status_message?.message ?? '', /memory_mb|runyard:/)
    assert.deepEqual(findProcesses(marker), [], 'nothing of it is left')
    await next(turn, '', '$ echo after')
  })

test('an answer that is not of the protocol is laid to the agent', async () => {
  const answers = {
    initialize: { protocolVersion: 1 },
    'session/new': { sessionId: 's' },
    'session/prompt': { stopReason: 'end_turn' },
  }
  const odd = [
    ['initialize', null],
    ['session/new', null],
    ['session/new', { sessionId: 5 }],
    ['session/prompt', null],
    ['session/prompt', { stopReason: {} }],
  ] as const
  for (const [method, answer] of odd) {
    const program = `require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method } = JSON.parse(line)
      console.log(JSON.stringify({ jsonrpc: '2.0', id, result: ${JSON.stringify({ ...answers, [method]: answer })}[method] }))
    })`
    kept = null
    const turn = turnOf({ prompt: 'Do it.' })
    const { state, status_message } = await turn.runHarness(harnessOf('', [process.execPath, '-e', program]))
    assert.deepEqual([state, status_message?.error_code], ['ERROR', 'resource_unavailable'])
    const said = `The agent scripted answered ${method} in a way that the protocol does not have. Is it the right program?`
    assert.equal(status_message?.message, said)
  }
})

test('an agent writes nothing into the log of the service', async (t) => {
  const printed = [t.mock.method(console, 'error', () => {}), t.mock.method(console, 'warn', () => {})]
  const program = `const say = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }))
    const update = (update) => say({ method: 'session/update', params: { sessionId: 's', update } })
    require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method } = JSON.parse(line)
      if (method === 'session/prompt') {
        for (const odd of ['x\\n{"level":50}', 999, null, {}]) say({ id: odd, result: {} })
        for (const odd of [null, 5, {}, { sessionUpdate: 'of a later version' }, { sessionUpdate: 'plan', entries: 'x' }]) update(odd)
        for (const odd of ['[1]', '{"a":1}', '{broken', '{"jsonrpc":"2.0","method":"x\\\\ny"}']) console.log(odd)
        update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'Hello.' } })
      }
      say({ id, result: { protocolVersion: 1, sessionId: 's', stopReason: 'end_turn' } })
    })`
  kept = null
  const turn = turnOf({ prompt: 'Do it.' })
  assert.deepEqual(await turn.runHarness(harnessOf('', [process.execPath, '-e', program])), {
    state: 'SUCCEEDED',
  })
  assert.deepEqual(
    turn.data('message.assistant').map(({ text }) => text),
    ['Hello.'],
  )
  assert.deepEqual(
    printed.flatMap(({ mock }) => mock.calls.map((call) => call.arguments)),
    [],
  )
})

test('an agent that has no key says the variable of it', async () => {
  const command = scriptedAgent('')
  const agent = listAgents({ scripted: { command, provider: 'anthropic' } }).find(
    ({ name }) => name === 'scripted',
  )
  assert(agent)
  const { state: end, status_message } = await turnOf({ prompt: 'no key' }).runHarness(
    createAcp(agent, openModels({})),
  )
  assert.equal(end, 'FAILED')
  assert.equal(status_message?.error_code, 'integration_not_configured')
  assert.match(
    status_message?.message ?? '',
    /reports: Authentication required\. It has no key: set ANTHROPIC_API_KEY for the service/,
  )
  const own = turnOf({ prompt: 'no key' }, { values: { ANTHROPIC_API_KEY: 'one that is refused' } })
  const refused = await own.runHarness(createAcp(agent, openModels({})))
  assert.doesNotMatch(refused.status_message?.message ?? '', /no key/)
})

test('a program that is not there is named, with the way to get it', async () => {
  const outcome = await turnOf({ prompt: 'one' }).runHarness(harnessOf('', ['no-such-agent', '--acp']))
  assert.equal(outcome.state, 'FAILED')
  assert.equal(outcome.status_message?.error_code, 'feature_not_available')
  assert.match(outcome.status_message?.message ?? '', /no program "no-such-agent".*docs\/agents\.md/)
})

test('files that may hold a key are gone when a turn has ended', async () => {
  const agent = listAgents({ scripted: { command: scriptedAgent('') } }).find(
    ({ name }) => name === 'scripted',
  )
  assert(agent)
  const home = '/workspace/home'
  await sandbox.writeFile(`${home}/.mine/auth.json`, 'key')
  const turn = new TestTurn({ sandbox: { ...sandbox, home: home as '/home/agent' }, prompt: 'one' })
  await turn.runHarness(createAcp({ ...agent, credentials: ['.mine/auth.json', 'missing'] }, openModels({})))
  assert.equal(await sandbox.stat(`${home}/.mine/auth.json`), null)
})

test('tool servers are handed on in clear; one by HTTP only to who takes them', async () => {
  const kind = { required: false, timeout_ms: 1_000 }
  const launch = { type: 'command' as const, command: 'files', args: ['/workspace'], env: { KEY: 'value' } }
  const turn = turnOf({ prompt: 'one' }, { tool_servers: [{ name: 'files', ...kind, launch }] })
  assert.deepEqual(await turn.runHarness(harnessOf('')), { state: 'SUCCEEDED' })
  assert.deepEqual((await told())[0], {
    mcpServers: [
      { name: 'files', command: 'files', args: ['/workspace'], env: [{ name: 'KEY', value: 'value' }] },
    ],
  })
  kept = null
  const remote = turnOf(
    { prompt: 'one' },
    {
      tool_servers: [
        { name: 'remote', ...kind, launch: { type: 'url', url: 'https://mcp.example/', headers: {}, fetch } },
      ],
    },
  )
  const refused = await remote.runHarness(harnessOf(''))
  assert.match(refused.status_message?.message ?? '', /takes no tool servers by HTTP: remote\./)
})

test('images go with the message, other files as links', async () => {
  await sandbox.writeFile('/workspace/attachments/a.png', Buffer.from([1, 2, 3]))
  const turn = turnOf({})
  const attachments = [
    { file_name: 'a.png', mime_type: 'image/png', path: 'attachments/a.png' },
    { file_name: 'b c.pdf', mime_type: 'application/pdf', path: 'attachments/b c.pdf' },
  ]
  await turn.emit({ type: 'message.user', data: { message_id: 'm1', text: 'Look.', attachments } })
  const session = await harnessOf('').open(turn)
  const { inbox, signal } = turn
  assert.deepEqual(await session.turn({ history: turn.log, inbox, signal }), { state: 'SUCCEEDED' })
  await session.close()
  assert.deepEqual((await told()).at(-1), ['Look.', '[image image/png]', '[resource_link b c.pdf]'])
})

test('pictures, sound and files that an agent shows are kept, and named where they stood', async () => {
  const turn = turnOf({ prompt: 'show' })
  assert.deepEqual(await turn.runHarness(harnessOf('')), { state: 'SUCCEEDED' })
  const said = turn.data('message.assistant').map(({ text }) => text)
  assert.match(
    said[0] ?? '',
    /^Look: \n\n\[image, image\/png, 9 bytes, kept as (\S+\.png)\]\n\n\[file:\/\/\/notes\.md\]\nNotes\..*file:\/\/\/a\.bin: \[file, application\/octet-stream, 9 bytes, kept as .*\[link: a page, https:\/\/example\.com\/\].*\[audio, audio\/wav, 9 bytes.*That is all\.$/s,
  )
  const files = [...(said[0] ?? '').matchAll(/kept as ([^\]\s]+)/g)].map(([, path = '']) => path)
  assert.equal(files.length, 3)
  for (const path of files) assert.equal((await sandbox.readFile(path)).toString(), 'a picture')
  const [output] = turn.data('tool.output')
  const shot = /^Taken\.\n\[image, image\/png, 8 bytes, kept as (\S+)\]\nChanged a\.txt\.$/.exec(
    output?.text ?? '',
  )
  assert(shot?.[1], output?.text)
  assert.equal((await sandbox.readFile(shot[1])).toString(), 'a screen')
  assert.equal(turn.data('tool.output').length, 1)
})

test('an agent that says more than can be stored at once is made to wait', async () => {
  const turn = turnOf({ prompt: 'flood' })
  let pending = 0
  let most = 0
  const slow = Object.assign(turn, {
    async emit(this: TestTurn, ...events: Parameters<TestTurn['emit']>) {
      pending += 1
      most = Math.max(most, pending)
      await TestTurn.prototype.emit.call(turn, ...events)
      pending -= 1
    },
  })
  assert.deepEqual(await slow.runHarness(harnessOf('')), { state: 'SUCCEEDED' })
  assert.equal(turn.data('tool.call').length, 3_000)
  assert(most < 1_000, `${most} events were on their way at once`)
})

const COUNT_SCHEMA = {
  type: 'object',
  properties: { count: { type: 'integer', minimum: 1 } },
  required: ['count'],
}

test('a result is asked for until it fits, and ends the run', async () => {
  const says = [
    'Three.',
    'Here: {"count": 3',
    '```json\\n{"count": 0}\\n```',
    'So:\\n```json\\n{"count": 3}\\n```\\nAs in:\\n```\\ncount\\n```',
  ]
  const turn = turnOf({ prompt: says.map((line) => `= ${line}`).join('\n'), output_schema: COUNT_SCHEMA })
  const outcome = await turn.runHarness(harnessOf('resume'))
  assert.deepEqual(outcome, { state: 'SUCCEEDED', result: { count: 3 } })
  const [first, ...later] = (await told()).slice(1) as string[][]
  assert.match(first?.at(-1) ?? '', /has a given form.*JSON Schema:\s+```json\n\{"type":"object"/s)
  assert.deepEqual(
    later.map((texts) => /no result that can be taken\. (.*)/.exec(texts.join('\n'))?.[1]?.slice(0, 14)),
    ['It is no JSON:', 'It is no JSON:', 'It does not fi'],
  )
  assert.match(later.at(-1)?.join('\n') ?? '', /\/count must be >= 1/)
})

test('an agent that never has a result ends the run, and a follow-up goes on', async () => {
  const first = turnOf({ prompt: 'Count.', output_schema: COUNT_SCHEMA })
  const { state: end, status_message } = await first.runHarness(harnessOf('resume'))
  assert.deepEqual([end, /fits output_schema/.test(status_message?.message ?? '')], ['FAILED', true])
  // It was asked once and corrected three times.
  assert.equal((await told()).length, 5)
  const log = [...first.log]
  const head = { run_id: 'run-1', occurred_at: '2026-01-01T00:00:00.000Z', sequence: log.length + 1 }
  log.push({ ...head, type: 'run.state', data: { state: 'FAILED', execution: 1, attempt: 1 } })
  const again = turnOf({ history: log, prompt: '= {"count": 2}', output_schema: COUNT_SCHEMA })
  assert.deepEqual(await again.runHarness(harnessOf('resume')), { state: 'SUCCEEDED', result: { count: 2 } })
})
