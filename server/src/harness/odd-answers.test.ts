/** Answers that are whole and odd: what servers really send. The run goes on as if they were as their API says. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OPTIONS, sandbox, useSandbox } from '../../test/support/loop-scene.ts'
import { event, openProviderServer } from '../../test/support/provider-server.ts'
import { TestTurn } from '../../test/support/turn.ts'
import { createLoop } from './loop.ts'
import { openModels } from './models.ts'

useSandbox()

const DONE = event('[DONE]')
const chunk = (delta: object, finish_reason: string | null = null, more: object = {}) =>
  event({
    ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', ...more },
    choices: [{ index: 0, delta, finish_reason }],
  })
const say = (text: string) => chunk({ role: 'assistant', content: text })
const stop = (reason = 'stop') => chunk({}, reason) + DONE
const called = (...calls: object[]) => chunk({ tool_calls: calls })
const ECHO = JSON.stringify({ command: 'echo it ran' })

const anthropic = (type: string, data: object = {}) => event({ type, ...data }, type)
const begin = (usage: unknown = { input_tokens: 3, output_tokens: 1 }) =>
  anthropic('message_start', {
    message: {
      id: 'msg',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [],
      stop_reason: null,
      usage,
    },
  })
const textBlock = (text: string, index: unknown = 0) =>
  anthropic('content_block_start', { index, content_block: { type: 'text', text: '' } }) +
  anthropic('content_block_delta', { index, delta: { type: 'text_delta', text } }) +
  anthropic('content_block_stop', { index })
const finish = (stop_reason = 'end_turn') =>
  anthropic('message_delta', { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 2 } }) +
  anthropic('message_stop')

const google = (...parts: object[]) => ({
  candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }],
})

interface Odd {
  what: string
  provider?: 'anthropic' | 'google'
  type?: string
  body: string
}

/** Each says "Hello." */
const WHOLE: readonly Odd[] = [
  { what: 'no choices: null', body: event({ id: 'x', choices: null, usage: null }) + say('Hello.') + stop() },
  {
    what: 'a word beside it that all is well, as from MiniMax',
    body:
      chunk({ content: 'Hello.' }, null, { base_resp: { status_code: 0, status_msg: 'success' } }) + stop(),
  },
  { what: 'an event of nothing', body: event({}) + say('Hello.') + event({}) + stop() },
  { what: 'signs of life as events', body: event({ type: 'ping' }) + say('Hello.') + event('ping') + stop() },
  {
    what: 'usage as text',
    body: say('Hello.') + chunk({}, 'stop', { usage: { prompt_tokens: '10' } }) + DONE,
  },
  {
    what: 'usage without choices',
    body:
      say('Hello.') + chunk({}, 'stop') + event({ usage: { prompt_tokens: 5, completion_tokens: 5 } }) + DONE,
  },
  { what: 'usage that is none', body: say('Hello.') + chunk({}, 'stop', { usage: 'none' }) + DONE },
  {
    what: 'ids as numbers',
    body: say('Hello.').replace('"c"', '7') + chunk({}, 'stop', { created: '12', model: 3 }) + DONE,
  },
  { what: 'an error that is null', body: say('Hello.').replace('{', '{"error":null,') + stop() },
  { what: 'another role', body: chunk({ role: 'model', content: 'Hello.' }) + stop() },
  { what: 'text in parts', body: chunk({ content: [{ type: 'text', text: 'Hello.' }] }) + stop() },
  {
    what: 'a message in place of a delta',
    body: event({ choices: [{ message: { content: 'Hello.' }, finish_reason: 'stop' }] }) + DONE,
  },
  {
    what: 'an index as text',
    body: event({ choices: [{ index: '0', delta: { content: 'Hello.' } }] }) + stop(),
  },
  { what: 'a reason of another API', body: say('Hello.') + stop('end_turn') },
  { what: 'a reason in capitals', body: say('Hello.') + stop('STOP') },
  { what: 'no reason, and [DONE]', body: say('Hello.') + DONE },
  { what: 'no empty line behind the last event', body: (say('Hello.') + chunk({}, 'stop')).trimEnd() },
  { what: 'carriage returns', body: (say('Hello.') + stop()).replaceAll('\n', '\r\n') },
  { what: 'a byte order mark', body: `\ufeff${say('Hello.')}${stop()}` },
  {
    what: 'one piece of JSON',
    type: 'application/json',
    body: JSON.stringify({
      choices: [{ message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
    }),
  },
  {
    what: 'one piece of JSON that says it is a stream',
    body: JSON.stringify({ choices: [{ message: { role: 'assistant', content: 'Hello.' } }] }),
  },
  { what: 'thoughts among the text', body: say('<think>\nhm') + say('m</think>\n\nHello.') + stop() },
  { what: 'thoughts without their beginning', body: say('hmm\n</think>\n\nHello.') + stop() },
  {
    what: 'thoughts that are no text',
    body: chunk({ content: 'Hello.', reasoning: { effort: 1 } }) + stop(),
  },
  {
    what: 'unknown events',
    provider: 'anthropic',
    body: begin() + anthropic('future', { x: 1 }) + textBlock('Hello.') + finish(),
  },
  {
    what: 'usage of nothing',
    provider: 'anthropic',
    body: begin({ input_tokens: null }) + textBlock('Hello.') + finish(),
  },
  { what: 'no usage', provider: 'anthropic', body: begin(null) + textBlock('Hello.') + finish() },
  { what: 'an index as text', provider: 'anthropic', body: begin() + textBlock('Hello.', '0') + finish() },
  {
    what: 'an unknown block',
    provider: 'anthropic',
    body:
      begin() +
      anthropic('content_block_start', { index: 0, content_block: { type: 'future', x: 1 } }) +
      anthropic('content_block_delta', { index: 0, delta: { type: 'future_delta', x: 1 } }) +
      anthropic('content_block_stop', { index: 0 }) +
      textBlock('Hello.', 1) +
      finish(),
  },
  {
    what: 'no beginning of a block, and no reason',
    provider: 'anthropic',
    body:
      begin() +
      anthropic('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Hello.' } }) +
      anthropic('message_stop'),
  },
  { what: '[DONE]', provider: 'anthropic', body: begin() + textBlock('Hello.') + finish() + DONE },
  {
    what: 'one piece of JSON',
    provider: 'anthropic',
    type: 'application/json',
    body: JSON.stringify({
      ...{ id: 'm', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn' },
      content: [{ type: 'text', text: 'Hello.' }],
      usage: { input_tokens: 1, output_tokens: 1 },
    }),
  },
  {
    what: 'no candidates',
    provider: 'google',
    body: event({ candidates: null }) + event(google({ text: 'Hello.' })),
  },
  { what: 'unknown parts', provider: 'google', body: event(google({ future: 1 }, { text: 'Hello.' })) },
  {
    what: 'counts as text',
    provider: 'google',
    body: event({
      ...google({ text: 'Hello.' }),
      usageMetadata: { promptTokenCount: '3', totalTokenCount: '4' },
    }),
  },
  {
    what: 'an array',
    provider: 'google',
    type: 'application/json',
    body: JSON.stringify([google({ text: 'Hello.' })]),
  },
]

/** Each calls bash to echo. */
const CALLS: readonly Odd[] = [
  {
    what: 'arguments as an object',
    body:
      called({ index: 0, id: 'a', function: { name: 'bash', arguments: { command: 'echo it ran' } } }) +
      stop('tool_calls'),
  },
  {
    what: 'an index as text',
    body: called({ index: '0', id: 'a', function: { name: 'bash', arguments: ECHO } }) + stop(),
  },
  {
    what: 'no index',
    body: called({ id: 'a', function: { name: 'bash', arguments: ECHO } }) + stop('tool_calls'),
  },
  {
    what: 'an id as a number',
    body: called({ index: 0, id: 7, function: { name: 'bash', arguments: ECHO } }) + stop('tool_calls'),
  },
  {
    what: 'no id',
    body: called({ index: 0, function: { name: 'bash', arguments: ECHO } }) + stop('tool_calls'),
  },
  {
    what: 'the name behind the arguments',
    body:
      called({ index: 0, id: 'a', function: { arguments: ECHO.slice(0, 5) } }) +
      called({ index: 0, function: { name: 'bash', arguments: ECHO.slice(5) } }) +
      stop('tool_calls'),
  },
  {
    what: 'the name again and again',
    body:
      called({ index: 0, id: 'a', function: { name: 'bash', arguments: ECHO.slice(0, 5) } }) +
      called({ index: 0, id: 'a', function: { name: 'bash', arguments: ECHO.slice(5) } }) +
      stop('tool_calls'),
  },
  {
    what: 'a call of before there were several',
    body: chunk({ function_call: { name: 'bash', arguments: ECHO } }) + stop('function_call'),
  },
  {
    what: 'a reason of another kind',
    body: called({ index: 0, id: 'a', function: { name: 'bash', arguments: ECHO } }) + stop('tool_use'),
  },
  {
    what: 'no reason, and [DONE]',
    body: called({ index: 0, id: 'a', function: { name: 'bash', arguments: ECHO } }) + DONE,
  },
  {
    what: 'the input at once',
    provider: 'anthropic',
    body:
      begin() +
      anthropic('content_block_start', {
        index: 0,
        content_block: { type: 'tool_use', id: 'toolu_1', name: 'bash', input: JSON.parse(ECHO) },
      }) +
      anthropic('content_block_stop', { index: 0 }) +
      finish('tool_use'),
  },
  {
    what: 'arguments as text',
    provider: 'google',
    body: event(google({ functionCall: { name: 'bash', args: ECHO } })),
  },
]

/** Plays a turn against a provider that answers so, one after the other. */
async function play(provider: string, answers: ReadonlyArray<Pick<Odd, 'type' | 'body'>>) {
  let asked = 0
  const server = await openProviderServer((_request, response) => {
    const { type = 'text/event-stream', body } = answers[asked] ?? { body: '' }
    asked += 1
    response.writeHead(200, { 'content-type': type }).end(body)
  })
  try {
    const turn = new TestTurn({ sandbox, prompt: 'Do it.' })
    const settings = { [provider]: { api_key: 'k', base_url: `${server.url}/v1` } }
    const models = openModels({ ...settings, default_model: `${provider}/m` })
    const outcome = await turn.runHarness(createLoop(models, { ...OPTIONS, retry_for_ms: 0 }))
    const sent = server.requests.map(({ body }) => JSON.parse(body.toString()))
    return { turn, outcome, sent, texts: turn.data('message.assistant').map(({ text }) => text) }
  } finally {
    server.close()
  }
}

const HELLO = {
  openai: say('Hello.') + stop(),
  anthropic: begin() + textBlock('Hello.') + finish(),
  google: event(google({ text: 'Hello.' })),
}

for (const { what, provider = 'openai', ...odd } of WHOLE)
  test(`${provider}: an answer with ${what} is whole`, async () => {
    const { outcome, texts } = await play(provider, [odd])
    assert.deepEqual(
      [outcome.state, outcome.status_message?.message, texts],
      ['SUCCEEDED', undefined, ['Hello.']],
    )
  })

for (const { what, provider = 'openai', ...odd } of CALLS)
  test(`${provider}: a call with ${what} is made`, async () => {
    const { turn, outcome, texts } = await play(provider, [odd, { body: HELLO[provider] }])
    assert.deepEqual(
      [outcome.state, outcome.status_message?.message, texts],
      ['SUCCEEDED', undefined, ['Hello.']],
    )
    assert.match(turn.data('tool.output')[0]?.text ?? '', /^it ran/)
  })

test('several calls under one index are several', async () => {
  const calls = [1, 2].map((n) =>
    called({
      index: 0,
      id: `c${n}`,
      function: { name: 'bash', arguments: JSON.stringify({ command: `echo ${n}` }) },
    }),
  )
  const { turn } = await play('openai', [
    { body: calls.join('') + stop('tool_calls') },
    { body: HELLO.openai },
  ])
  assert.deepEqual(
    turn.data('tool.output').map(({ text }) => text.trim()),
    ['1', '2'],
  )
})

test('calls with the same id or with none, and calls in another choice, are calls of their own', async () => {
  const echo = (n: number, more: object) => ({
    ...more,
    function: { name: 'bash', arguments: JSON.stringify({ command: `echo ${n}` }) },
  })
  for (const [one, two] of [
    [
      { index: 0, id: '' },
      { index: 0, id: '' },
    ],
    [
      { index: 0, id: 'a' },
      { index: 1, id: 'a' },
    ],
    [{ index: 0 }, { index: 0 }],
  ] as const) {
    const { turn } = await play('openai', [
      { body: called(echo(1, one)) + called(echo(2, two)) + stop('tool_calls') },
      { body: HELLO.openai },
    ])
    assert.deepEqual(
      turn.data('tool.output').map(({ text }) => text.trim()),
      ['1', '2'],
    )
  }
  const message = { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', ...echo(1, {}) }] }
  const choices = [
    { index: 0, message: { role: 'assistant', content: 'I look.' }, finish_reason: 'tool_calls' },
    { index: 1, message, finish_reason: 'tool_calls' },
  ]
  const { turn } = await play('openai', [
    { type: 'application/json', body: JSON.stringify({ choices }) },
    { body: HELLO.openai },
  ])
  assert.equal(turn.data('tool.output')[0]?.text.trim(), '1')
})

test('an error that only the name of its event tells is one', async () => {
  for (const data of [{ message: 'Upstream is gone', type: 'upstream_error' }, 'Upstream is gone']) {
    const { outcome } = await play('openai', [{ body: say('Hel') + event(data, 'error') + DONE }])
    assert.equal(outcome.state, 'ERROR')
    assert.match(outcome.status_message?.message ?? '', /Upstream is gone/)
  }
})

test('a call that the provider could not read is told, whichever API says so', async () => {
  for (const reason of ['MALFORMED_FUNCTION_CALL', 'function_call_filter: MALFORMED_FUNCTION_CALL']) {
    const { turn } = await play('openai', [
      { body: say('I edit it now.') + stop(reason) },
      { body: HELLO.openai },
    ])
    assert.equal(turn.data('model.told').length, 1)
  }
})

test('an answer may be about thoughts', async () => {
  for (const text of [
    'I fixed the parser: a chunk may end in a stray </think>',
    '<think> tags are now stripped, tests pass.',
  ]) {
    const { texts } = await play('openai', [{ body: say(text) + stop() }])
    assert.deepEqual(texts, [text])
  }
})

test('an open call without a reason is cut, whatever is said behind it', async () => {
  const open = called({ index: 0, id: 'a', function: { name: 'bash', arguments: '{"command":' } }) + DONE
  const { turn, outcome } = await play('openai', [{ body: open }])
  assert.equal(outcome.state, 'ERROR')
  assert.deepEqual(turn.data('tool.call'), [])
})

test('a stream that ends without saying so is cut, whichever package reads it', async () => {
  for (const name of ['openrouter', 'deepseek', 'moonshot', 'alibaba']) {
    const server = await openProviderServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(say('Half of'))
    })
    const models = openModels({
      named: { [name]: { api_key: 'k', base_url: `${server.url}/v1` } },
      default_model: `${name}/m`,
    })
    const turn = new TestTurn({ sandbox, prompt: 'Do it.' })
    const outcome = await turn.runHarness(createLoop(models, { ...OPTIONS, retry_for_ms: 0 }))
    server.close()
    assert.deepEqual([name, outcome.state], [name, 'ERROR'])
  }
})

test('what a model thought is stored as such, and is no part of its answer', async () => {
  for (const body of [
    say('<think>hmm</think>Hello.') + stop(),
    say('hmm\n</think>\nHello.') + stop(),
    chunk({ thinking: 'hmm' }) + say('Hello.') + stop(),
    chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'hmm' }] }] }) +
      say('Hello.') +
      stop(),
  ]) {
    const { turn, texts } = await play('openai', [{ body }])
    assert.deepEqual([turn.data('reasoning')[0]?.text, texts], ['hmm', ['Hello.']])
  }
})

test('an answer that ends in calls and has none is asked for them once, and then is what it says', async () => {
  const { turn, outcome } = await play('openai', [
    { body: say('I look.') + stop('tool_calls') },
    { body: say('Done.') + stop('tool_calls') },
  ])
  assert.equal(outcome.state, 'SUCCEEDED')
  assert.deepEqual(
    turn.data('model.told').map(({ reason }) => reason),
    ['call_unreadable'],
  )
})

test('an answer that broke off at its server is asked for again', async () => {
  for (const reason of ['error', 'insufficient_system_resource', 'abort']) {
    const { outcome } = await play('openai', [{ body: say('Hel') + stop(reason) }])
    assert.equal(outcome.status_message?.error_code, 'resource_unavailable')
  }
})

const ERRORS: ReadonlyArray<readonly [body: unknown, code: string, said: RegExp]> = [
  [
    { error: { message: 'Insufficient credits. Add more.', code: 402 } },
    'insufficient_credits',
    /Insufficient credits\. Add more\./,
  ],
  [
    { error: { message: 'tools[3] is no schema', code: 400 } },
    'invalid_request',
    /\(HTTP 400\): tools\[3\] is no schema\./,
  ],
  [{ object: 'error', message: 'Overloaded', code: 503 }, 'resource_unavailable', /Overloaded/],
  [{ detail: 'Something broke' }, 'resource_unavailable', /Something broke/],
  [
    { choices: null, base_resp: { status_code: 1008, status_msg: 'insufficient balance' } },
    'insufficient_credits',
    /insufficient balance/,
  ],
  [
    { id: 'x', base_resp: { status_code: 1004, status_msg: 'login fail: carry the key' } },
    'external_authentication_required',
    /refused the service's API key/,
  ],
  [{ error_code: 336003, error_msg: 'no such tool' }, 'resource_unavailable', /no such tool/],
]
for (const [told, code, said] of ERRORS)
  test(`an error that begins with 200 is one: ${JSON.stringify(told)}`, async () => {
    for (const answer of [
      { type: 'application/json', body: JSON.stringify(told) },
      { body: event(told) },
      { body: say('Hel') + event(told) },
      { body: JSON.stringify(told) },
    ]) {
      const { outcome } = await play('openai', [answer])
      assert.equal(outcome.status_message?.error_code, code)
      assert.match(outcome.status_message?.message ?? '', said)
    }
  })
