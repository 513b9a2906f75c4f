import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bash, OPTIONS, play, sandbox, useSandbox } from '../../test/support/loop-scene.ts'
import { openModelServer, type Script } from '../../test/support/model-server.ts'
import { LeaseLost, TestTurn } from '../../test/support/turn.ts'
import type { NewEvent, RunEvent } from '../contract/event.ts'
import type { PermissionRule } from '../contract/permission.ts'
import { closeContext, OTHER_RUN } from '../log/context.ts'
import { createLoop } from './loop.ts'
import { openModels } from './models.ts'
import type { Keeper } from './tool-services.ts'

useSandbox()

const typesOf = (events: RunEvent[]) =>
  events.map((event) => event.type).filter((type) => type !== 'tool.output')

test('text is streamed, stored once complete, and ends the turn', async () => {
  const { turn, outcome, requests } = await play({
    script: [
      {
        reasoning: ['hm'],
        text: ['Hel', 'lo'],
        usage: { prompt_tokens: 7, completion_tokens: 3, cached_tokens: 2 },
      },
    ],
  })
  assert.deepEqual(outcome, { state: 'SUCCEEDED' })
  assert.deepEqual(typesOf(turn.emitted), ['reasoning', 'message.assistant', 'usage'])
  const [message] = turn.data('message.assistant')
  assert.equal(message?.text, 'Hello')
  assert.deepEqual(
    turn.deltas,
    ['Hel', 'lo'].map((text) => ({ message_id: message?.message_id, text })),
  )
  assert.deepEqual(turn.data('usage'), [
    {
      model_id: 'openai/scripted',
      input_tokens: 7,
      output_tokens: 3,
      total_tokens: 10,
      cached_input_tokens: 2,
    },
  ])
  assert.deepEqual(
    requests[0]?.tools?.map((tool) => tool.function.name),
    [
      'bash',
      'bash_output',
      'bash_kill',
      'read',
      'write',
      'edit',
      'glob',
      'grep',
      'list',
      'fetch_url',
      'plan',
      'attach_artifact',
      'report_reference',
      'spawn_run',
      'read_run',
      'ask_user',
      'open_pull_request',
    ],
  )
})

test('what a provider counts is kept as whole numbers that can be added up', async () => {
  const most = Number.MAX_SAFE_INTEGER
  for (const [told, kept] of [
    [3e9, 3e9],
    [1.5, 2],
    [-5, 0],
    [1e21, most],
  ] as const) {
    const usage = { prompt_tokens: told, completion_tokens: told, cached_tokens: told }
    const { turn, outcome } = await play({ script: [{ text: 'Hello', usage }] })
    assert.deepEqual(outcome, { state: 'SUCCEEDED' })
    const [data] = turn.data('usage')
    assert.deepEqual([data?.input_tokens, data?.output_tokens, data?.cached_input_tokens], [kept, kept, kept])
    assert(Number.isSafeInteger(data?.total_tokens) && (data?.total_tokens ?? -1) >= 0)
  }
})

test('arguments that are nested without end are no arguments', async () => {
  const nest = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
  const call = (levels: number) => ({
    name: 'bash',
    arguments: `{"command":"echo ran","x":${nest(levels)}}`,
  })
  const { turn, outcome, requests } = await play({
    script: [{ calls: [call(63), call(64), call(20_000)] }, { text: 'Sorry.' }],
  })
  assert.deepEqual(outcome, { state: 'SUCCEEDED' })
  const malformed = 'Nested more than 64 levels deep.'
  assert.deepEqual(
    turn.data('tool.call').map(({ input }) => input.malformed),
    [undefined, malformed, malformed],
  )
  assert.deepEqual(
    turn.data('tool.result').map(({ is_error }) => is_error),
    [false, true, true],
  )
  assert.equal(requests[1]?.messages.at(-3)?.content, 'ran')
})

test('a call is stored before it runs, streams its output, and its result goes back to the model', async () => {
  const { turn, requests } = await play({
    script: [{ text: 'Looking.', calls: [bash('echo out; exit 3')] }, { text: 'Done.' }],
  })
  assert.deepEqual(typesOf(turn.emitted), [
    'message.assistant',
    'tool.call',
    'usage',
    'tool.result',
    'message.assistant',
    'usage',
  ])
  const [call] = turn.data('tool.call')
  const [result] = turn.data('tool.result')
  assert.equal(call?.title, 'echo out; exit 3')
  assert.equal(turn.data('tool.output')[0]?.text, 'out\n')
  assert.equal(result?.exit_code, 3)
  assert.equal(result?.is_error, true)
  const told = requests[1]?.messages.at(-1)
  assert.equal(told?.role, 'tool')
  assert.equal(told?.content, result?.output)
  assert.match(result?.output ?? '', /^out\n\[exit code 3\]$/)
})

test('base_prompt and the working directory are part of the instructions', async () => {
  const { requests } = await play({ script: [{ text: 'ok' }], config: { base_prompt: 'Answer in French.' } })
  const [system] = requests[0]?.messages ?? []
  assert.equal(system?.role, 'system')
  assert.match(String(system?.content), /\/workspace.*Answer in French\.$/s)
})

test('what *** stands for is said where values are hidden, and titles are masked before they are cut', async () => {
  const token = 'ghp_16C7e42F292c6912E7710c838347Ae178B4a'
  const command = `true; true; true; true; true; true; true; true; curl https://x:${token}@example.org`
  const script: Script = [{ calls: [bash(`: ${command}`)] }, { text: 'ok' }]
  const plain = await play({ script })
  assert.doesNotMatch(String(plain.requests[0]?.messages[0]?.content), /\*\*\*/)
  const { turn, requests } = await play({
    script,
    prepare: (turn) => {
      turn.values.TOKEN = token
      turn.mask = (text) => text.replaceAll(token, '***')
    },
  })
  assert.match(String(requests[0]?.messages[0]?.content), /\*\*\*.*\$NAME/)
  assert.match(turn.data('tool.call')[0]?.title ?? '', /x:\*\*\*@/)
})

test('an id that a hidden value stands in is replaced, for the call and its result', async () => {
  const { turn, requests } = await play({
    script: [{ calls: [{ ...bash('true'), id: 'call_hunter2-hunter2' }] }, { text: 'ok' }],
    prepare: (turn) => {
      turn.mask = (text) => text.replaceAll('hunter2-hunter2', '***')
    },
  })
  assert(!JSON.stringify([turn.log, requests[1]]).includes('hunter2'))
  assert.equal(turn.data('tool.result')[0]?.tool_call_id, turn.data('tool.call')[0]?.tool_call_id)
})

test('several calls of one step are executed in order and answered together', async () => {
  const { turn, requests } = await play({
    script: [{ calls: [bash('echo 1 > n'), bash('cat n')] }, { text: 'ok' }],
  })
  assert.deepEqual(
    turn.data('tool.result').map((result) => result.output),
    ['(no output)', '1'],
  )
  assert.deepEqual(
    requests[1]?.messages.map((message) => message.role),
    ['system', 'user', 'assistant', 'tool', 'tool'],
  )
})

test('calls the model got wrong come back as errors it can learn from', async () => {
  const { turn, outcome } = await play({
    script: [
      {
        calls: [
          { name: 'bash', arguments: '{"command": ' },
          { name: 'fly', arguments: {} },
          { name: 'bash', arguments: { cmd: 'ls' } },
        ],
      },
      { text: 'ok' },
    ],
  })
  assert.equal(outcome.state, 'SUCCEEDED')
  const told = turn.data('tool.result').map((result) => (result.is_error ? result.output : ''))
  assert.match(told[0] ?? '', /not made: the arguments of bash are not valid JSON.*column 13/)
  assert.match(told[1] ?? '', /no tool "fly".*bash, .*read, write, edit/)
  assert.match(told[2] ?? '', /command/)
})

test('names and ids of a model that went wrong do not spoil what follows', async () => {
  const wrong = [
    { name: 'no_such\u001b[2J_tool', arguments: { a: 1 }, id: '../../x\u001b[2J "\'<>' },
    { ...bash('echo ran'), id: 'z'.repeat(100_000) },
    { name: 'n'.repeat(100_000), arguments: {}, id: 'ok' },
  ]
  const { turn, outcome, requests } = await play({ script: [{ calls: wrong }, { text: 'ok' }] })
  assert.equal(outcome.state, 'SUCCEEDED', outcome.status_message?.message)
  assert.deepEqual(
    turn.data('tool.call').map(({ name, tool_call_id }) => [name, tool_call_id]),
    wrong.map(({ name, id }) => [name, id]),
  )
  const told = turn.data('tool.result').map(({ output }) => output ?? '')
  assert.deepEqual(
    requests[1]?.messages.slice(-3).map(({ content }) => content),
    told,
  )
  assert.equal(told[1], 'ran')
  assert(told[2] && told[2].length < 1_000, 'a name without end is not repeated')
})

test('call ids that a provider uses twice are made unique', async () => {
  const again = { calls: [{ ...bash('true'), id: 'call_0' }] }
  const { turn, outcome } = await play({ script: [again, again, { text: 'ok' }] })
  assert.equal(outcome.state, 'SUCCEEDED')
  assert.deepEqual(
    turn.data('tool.call').map((call) => call.tool_call_id),
    ['call_0', 'call_0-2'],
  )
})

test('a character cut between two chunks is shown whole, and what jsonb refuses is replaced', async () => {
  const { turn } = await play({ script: [{ text: ['a\ud83d', '\ude00', '\0\ud83d'] }] })
  assert.deepEqual(turn.deltas.map((delta) => delta.text).slice(0, 3), ['a', '😀', '\ufffd'])
  assert.equal(turn.data('message.assistant')[0]?.text, 'a😀\ufffd\ufffd')
})

test('follow-ups reach the model between steps, behind the results', async () => {
  const { turn, requests } = await play({
    script: [{ calls: [bash('echo 1')] }, { text: 'one' }, { text: 'two' }],
    prepare: (turn) => {
      turn.onEvent = (event) => {
        if (event.type === 'tool.call') turn.followUp('Faster!')
        if (event.type === 'message.assistant' && event.data.text === 'one') turn.followUp('And now?')
      }
    },
  })
  assert.deepEqual(
    requests.map((request) => request.messages.at(-1)?.content),
    ['Do it.', 'Faster!', 'And now?'],
  )
  assert.equal(requests[1]?.messages.at(-2)?.role, 'tool')
  assert.equal(turn.data('message.user').length, 3)
})

test('the limit of steps ends the turn, counted across workers', async () => {
  const script: Script = (_request, index) => (index < 30 ? { calls: [bash(`: ${index}`)] } : { text: 'ok' })
  const first = await play({ script })
  assert.equal(first.outcome.state, 'FAILED')
  assert.match(first.outcome.status_message?.message ?? '', /limit of 10 steps/)
  const cut = first.turn.log.slice(0, -3)
  const second = new TestTurn({ sandbox, history: cut })
  await using server = await openModelServer(script)
  await second.runHarness(createLoop(openModels({ openai: { base_url: server.url } }), OPTIONS))
  assert.ok(server.requests.length <= 1, `${server.requests.length} requests`)
})

test('an agent that goes round in circles is told, and then stopped', async () => {
  const script: Script = (_request, index) => ({ calls: [bash(index === 0 ? 'echo other' : 'echo same')] })
  await using server = await openModelServer(script)
  const turn = new TestTurn({ sandbox, prompt: 'Do it.' })
  const models = openModels({ openai: { base_url: server.url } })
  const outcome = await turn.runHarness(createLoop(models, { ...OPTIONS, max_steps: 50 }))
  assert.match(outcome.status_message?.message ?? '', /same call with the same result 10 times/)
  assert.deepEqual(
    turn.data('tool.result').map(({ output }) => /very call/.test(output ?? '')),
    [false, false, false, ...Array(8).fill(true)],
  )
  // Where each result is kept in a file of its own as well.
  const long: Script = (_request, index) => (index < 15 ? { calls: [bash('seq 1 20000')] } : { text: 'ok' })
  await using printing = await openModelServer(long)
  const stopped = await new TestTurn({ sandbox, prompt: 'Count.' }).runHarness(
    createLoop(openModels({ openai: { base_url: printing.url } }), { ...OPTIONS, max_steps: 50 }),
  )
  assert.match(stopped.status_message?.message ?? '', /same call with the same result 10 times/)
  // One that changes its result, as polling does, is left alone.
  const polls: Script = (_request, index) =>
    index < 15 ? { calls: [bash('echo x >> polled; wc -l < polled')] } : { text: 'ok' }
  await using other = await openModelServer(polls)
  const polling = new TestTurn({ sandbox, prompt: 'Wait.' })
  const end = await polling.runHarness(
    createLoop(openModels({ openai: { base_url: other.url } }), { ...OPTIONS, max_steps: 50 }),
  )
  assert.equal(end.state, 'SUCCEEDED')
})

test('of the calls of one answer so many are made as make sense, by a later worker, too', async () => {
  const calls = Array.from({ length: 3_000 }, (_, at) => ({
    name: 'list',
    arguments: { path: `none-${at}` },
  }))
  const script: Script = [{ calls }, { text: 'ok' }]
  const { turn, outcome, requests } = await play({ script })
  assert.equal(outcome.state, 'SUCCEEDED', outcome.status_message?.message)
  const told = turn.data('tool.result').map(({ output }) => output ?? '')
  assert.equal(told.length, 3_000)
  assert.equal(
    told.filter((output) => /too many calls in one answer: the first 64/.test(output)).length,
    2_936,
  )
  const messages = requests[1]?.messages.filter(({ role }) => role === 'tool') ?? []
  assert.match(String(messages[63]?.content), /none-63/)
  assert.match(String(messages[64]?.content), /too many calls/)
  const made = turn.log.findIndex(
    ({ type, data }) => type === 'tool.result' && !/too many/.test(String(data.output)),
  )
  const next = await play({ script: [{ text: 'ok' }], history: turn.log.slice(0, made) })
  assert.equal(
    next.turn.data('tool.result').filter(({ output }) => /too many calls/.test(output ?? '')).length,
    2_936,
  )
})

test('an agent that goes round in circles within one answer is stopped there', async () => {
  const calls = Array.from({ length: 40 }, () => bash('echo same'))
  const { turn, outcome, requests } = await play({ script: [{ calls }] })
  assert.match(outcome.status_message?.message ?? '', /same call with the same result 10 times/)
  assert.equal(requests.length, 1)
  const told = turn.data('tool.result').map(({ output }) => output ?? '')
  assert.deepEqual([told.length, told.filter((output) => /^interrupted: /.test(output)).length], [40, 30])
})

test('the level of reasoning is passed on', async () => {
  const { requests } = await play({
    script: [{ text: 'ok' }],
    config: { harness: { reasoning_level: 'high' } },
  })
  assert.match(JSON.stringify(requests[0]), /"reasoning_effort":"high"/)
})

test('stopped in mid-answer, what was shown is stored', async () => {
  const { turn } = await play({
    script: [{ text: ['partial ', 'answer'], fault: 'stall' }],
    prepare: (turn) => {
      const shown = turn.delta.bind(turn)
      turn.delta = (id, text) => {
        shown(id, text)
        if (text === 'answer') turn.stop()
      }
    },
  })
  assert.deepEqual(
    turn.data('message.assistant').map((message) => message.text),
    ['partial answer'],
  )
  const [used] = turn.data('usage')
  assert.deepEqual([used?.output_tokens, used?.estimated], [4, true])
})

test('stopped in mid-command, its call and those behind it are closed', async () => {
  const { turn, requests } = await play({
    script: [{ calls: [bash('echo begun; sleep 60'), bash('touch never')] }],
    prepare: (turn) => {
      turn.onEvent = (event) => event.type === 'tool.output' && turn.stop()
    },
  })
  assert.deepEqual(
    turn.data('tool.result').map((result) => result.output),
    [
      'interrupted: the turn was stopped and the command was killed\nbegun',
      'interrupted: the turn was stopped before this call was started',
    ],
  )
  assert.equal(requests.length, 1)
  assert.equal(await sandbox.stat('/workspace/never'), null)
})

test('after a lost worker the call that may have run is reported, those behind it are run', async () => {
  const first = await play({
    script: [{ text: 'two', calls: [bash('echo first'), bash('echo second')] }, { text: 'ok' }],
  })
  const cut = first.turn.log.findIndex((event) => event.type === 'tool.output')
  const { turn, requests, outcome } = await play({
    script: [{ text: 'ok' }],
    history: first.turn.log.slice(0, cut),
    prompt: 'And?',
  })
  assert.equal(outcome.state, 'SUCCEEDED')
  assert.deepEqual(
    turn.data('tool.result').map((result) => result.output),
    ['interrupted: the worker was lost; check what happened before repeating it', 'second'],
  )
  assert.deepEqual(
    requests[0]?.messages.map((message) => message.role),
    ['system', 'user', 'assistant', 'tool', 'tool', 'user'],
  )
})

test('after a lost worker a call that does nothing twice is made again, unless it is not stored as it was made', async () => {
  const call = (tool_call_id: string, step: string, masked?: true): NewEvent => ({
    type: 'tool.call',
    data: {
      ...{ tool_call_id, name: 'plan', input: { steps: [{ step, status: 'done' }] } },
      ...(masked && { masked }),
    },
  })
  const kept: string[] = []
  const keeper: Partial<Keeper> = {
    keepPlan: async ({ text }) => {
      kept.push(text)
      return null
    },
  }
  const playAgain = (open: NewEvent) =>
    play({
      script: [{ text: 'ok' }],
      history: [{ type: 'message.user', data: { message_id: 'u', text: 'Begin.' } } as const, open].map(
        (event, at) => ({ sequence: at + 1, run_id: 'run-1', occurred_at: '', ...event }) as RunEvent,
      ),
      prompt: 'And?',
      prepare: (turn) => Object.assign(turn, { keeper }),
    })
  const again = await playAgain(call('a', 'Once more'))
  assert.deepEqual(
    again.turn.data('tool.result').map(({ output }) => output),
    ['The plan is kept.'],
  )
  assert.deepEqual(kept, ['# Plan\n\n- [x] Once more\n'])
  const hidden = await playAgain(call('b', '***', true))
  assert.match(hidden.turn.data('tool.result')[0]?.output ?? '', /^interrupted: the worker was lost/)
  assert.equal(kept.length, 1)
})

test('a call that rules deny is not made by a later worker: not after a lost one, nor after an answer', async () => {
  const event = (data: NewEvent, at: number) =>
    ({ sequence: at + 1, run_id: 'run-1', occurred_at: '', ...data }) as RunEvent
  const call = (name: string, input: object): NewEvent[] => [
    { type: 'message.user', data: { message_id: 'u', text: 'Begin.' } },
    { type: 'tool.call', data: { tool_call_id: 'a', name, input: { ...input } } },
  ]
  const ask: PermissionRule = { tool: '*', action: 'ask' }
  const playAgain = (history: NewEvent[], action: PermissionRule['action']) =>
    play({
      script: [{ text: 'ok' }],
      history: history.map(event),
      prompt: 'And?',
      prepare: (turn) => Object.assign(turn, { permissions: [[{ tool: '*', action }]] }),
    })
  const lost = call('plan', { steps: [{ step: 'One', status: 'done' }] })
  const denied = await playAgain(lost, 'deny')
  assert.match(denied.turn.data('tool.result')[0]?.output ?? '', /permissions of this run deny/)
  const asked = await playAgain(lost, 'ask')
  assert.equal(asked.turn.data('approval.requested').length, 1)
  const request = { approval_id: 'b', tool_call_id: 'a', tool: 'bash', rule: ask }
  const answered: NewEvent[] = [
    ...call('bash', { command: 'touch allowed-once' }),
    { type: 'approval.requested', data: request },
    { type: 'run.state', data: { state: 'BLOCKED', execution: 1, attempt: 1 } },
    { type: 'approval.answered', data: { approval_id: 'b', decision: 'allow_once', author: 'Ada' } },
  ]
  const changed = await playAgain(answered, 'deny')
  assert.match(changed.turn.data('tool.result')[0]?.output ?? '', /permissions of this run deny/)
  assert.equal(await sandbox.stat('/workspace/allowed-once'), null)
  await playAgain(answered, 'ask')
  assert.notEqual(await sandbox.stat('/workspace/allowed-once'), null)
})

test('after a lost worker a call that is not stored as it was made is never executed', async () => {
  const history: RunEvent[] = []
  const add = (event: NewEvent) =>
    history.push({ sequence: history.length + 1, run_id: 'run-1', occurred_at: '', ...event } as RunEvent)
  const call = (tool_call_id: string, command: string, masked?: true) =>
    add({
      type: 'tool.call',
      data: { tool_call_id, name: 'bash', input: { command }, ...(masked && { masked }) },
    })
  add({ type: 'message.user', data: { message_id: 'u', text: 'Begin.' } })
  call('a', 'sleep 60')
  call('b', 'touch masked-ran; rm -rf ***/cache', true)
  call('c', 'echo exact')
  const { turn, requests } = await play({ script: [{ text: 'ok' }], history, prompt: 'And?' })
  const told = turn.data('tool.result').map((result) => result.output)
  assert.match(told[1] ?? '', /^interrupted: .*before this call was started.*hidden/)
  assert.equal(told[2], 'exact')
  assert.equal(await sandbox.stat('/workspace/masked-ran'), null)
  assert.equal(requests[0]?.messages.at(-3)?.content, told[1])
})

test('what other runs of the conversation left open is told and not acted on', async () => {
  const { turn, requests } = await play({
    script: [{ text: 'Fine.' }],
    context: closeContext([
      { type: 'message.user', data: { message_id: 'u', text: 'Begin.' } },
      { type: 'tool.call', data: { tool_call_id: 'call-1', name: 'bash', input: { command: 'echo never' } } },
    ]),
  })
  assert.deepEqual(typesOf(turn.emitted), ['message.assistant', 'usage'])
  assert.deepEqual(
    requests[0]?.messages.slice(1).map(({ role, content }) => [role, content ?? null]),
    [
      ['user', 'Begin.'],
      ['assistant', null],
      ['tool', OTHER_RUN],
      ['user', 'Do it.'],
    ],
  )
})

test('a question stops the run until it is answered, also for a later worker', async () => {
  const question = { name: 'ask_user', arguments: { question: 'Which one?', options: ['red', 'blue'] } }
  const script: Script = [{ calls: [bash('true'), question] }, { text: 'Blue it is.' }]
  const { turn, outcome } = await play({ script })
  assert.deepEqual(outcome, {
    state: 'BLOCKED',
    status_message: { message: 'Which one?\n1. red\n2. blue', retryable: false, waits_for: 'answer' },
  })
  // Lost before the end was stored: it is not asked for another step.
  const again = new TestTurn({ sandbox, history: turn.log })
  assert.deepEqual(
    await again.runHarness(createLoop(openModels({ openai: { base_url: 'http://127.0.0.1:1' } }))),
    outcome,
  )
  await using server = await openModelServer([{ text: 'Blue it is.' }])
  const answered = new TestTurn({ sandbox, history: turn.log, prompt: 'blue' })
  const models = openModels({ openai: { base_url: server.url } })
  assert.equal((await answered.runHarness(createLoop(models, OPTIONS))).state, 'SUCCEEDED')
  const { messages } = server.requests[0]?.body ?? { messages: [] }
  assert.deepEqual(
    messages.slice(-2).map(({ role, content }) => [role, content]),
    [
      ['tool', 'Asked. What the user says next is the answer.'],
      ['user', 'blue'],
    ],
  )
})

test('a rule that denies questions by name holds, one about everything does not', async () => {
  const question = { name: 'ask_user', arguments: { question: 'Which one?' } }
  const script: Script = [{ calls: [question] }, { text: 'I decide.' }]
  const under = (tool: string) =>
    play({ script, prepare: (turn) => Object.assign(turn, { permissions: [[{ tool, action: 'deny' }]] }) })
  const { turn, outcome } = await under('ask_user')
  assert.equal(outcome.state, 'SUCCEEDED')
  assert.match(
    turn.data('tool.result')[0]?.output ?? '',
    /^The permissions of this run deny this call \(ask_user\)/,
  )
  assert.equal((await under('*')).outcome.state, 'BLOCKED')
})

const COUNT = {
  type: 'object',
  properties: { count: { type: 'integer', minimum: 1 } },
  required: ['count'],
  additionalProperties: false,
}
const submit = (input: Record<string, unknown>) => ({ name: 'submit_result', arguments: input })

test('a result is asked for until it fits, and ends the run', async () => {
  const script: Script = [
    { text: 'Three, I think.' },
    { calls: [submit({ count: 0, why: 'no idea' })] },
    { calls: [submit({ count: 3 })] },
  ]
  const { turn, outcome, requests } = await play({ script, output_schema: COUNT })
  assert.deepEqual(outcome, { state: 'SUCCEEDED', result: { count: 3 } })
  assert.equal(requests.length, 3)
  assert.match(JSON.stringify(requests[0]?.messages[0]), /submit_result/)
  assert.match(JSON.stringify(requests[1]?.messages.at(-1)), /not over before submit_result/)
  const refused = turn.data('tool.result')[0]?.output ?? ''
  assert.match(refused, /does not fit/)
  assert.match(refused, /\/count must be >= 1/)
  assert.match(refused, /additional properties: why/)
  // A worker that goes on knows that it was handed in.
  const again = new TestTurn({ sandbox, history: turn.log, output_schema: COUNT })
  assert.deepEqual(
    await again.runHarness(createLoop(openModels({ openai: { base_url: 'http://127.0.0.1:1' } }))),
    outcome,
  )
})

test('without a result that fits the run did not succeed', async () => {
  const { outcome, requests } = await play({ script: () => ({ text: 'Done.' }), output_schema: COUNT })
  assert.equal(outcome.state, 'FAILED')
  assert.match(outcome.status_message?.message ?? '', /without a result that fits output_schema/)
  assert.equal(requests.length, 3)
  const roles = requests[2]?.messages.map(({ role }) => role)
  assert.deepEqual(roles?.slice(-4), ['assistant', 'user', 'assistant', 'user'])
})

test('a result that is no object is handed in by name', async () => {
  const output_schema = {
    $ref: '#/$defs/list',
    $defs: { list: { type: 'array', items: { type: 'string' } } },
  }
  const { outcome } = await play({
    script: [{ calls: [submit({ result: [1] })] }, { calls: [submit({ result: ['a'] })] }],
    output_schema,
  })
  assert.deepEqual(outcome, { state: 'SUCCEEDED', result: ['a'] })
})

test('a lost lease stops the agent before the tool runs', async () => {
  const scene = play({
    script: [{ calls: [bash('touch ran')] }],
    prepare: (turn) => {
      turn.refuses = (event) => event.type === 'tool.call'
    },
  })
  await assert.rejects(scene, LeaseLost)
  assert.equal(await sandbox.stat('/workspace/ran'), null)
})

test('a background command has an id that no earlier one of the log has had', async () => {
  const begin = { calls: [{ name: 'bash', arguments: { command: 'sleep 60', background: true } }] }
  const first = await play({ script: [begin, begin, { text: 'Both run.' }] })
  const read = { calls: [{ name: 'bash_output', arguments: { id: 'bg1' } }] }
  const { turn } = await play({ history: first.turn.log, script: [read, begin, { text: 'Done.' }] })
  const outputs = turn.data('tool.result').map(({ output = '' }) => output)
  assert.deepEqual(
    outputs.map((output) => /bg\d+/.exec(output)?.[0]),
    ['bg1', 'bg2', 'bg1', 'bg3'],
  )
  assert.match(outputs[2] ?? '', /^There is no background command bg1/)
})
