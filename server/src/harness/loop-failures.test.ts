/** What becomes of a turn whose model fails. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bash, OPTIONS, play, sandbox, useSandbox } from '../../test/support/loop-scene.ts'
import { openModelServer, type Script } from '../../test/support/model-server.ts'
import { openProviderServer } from '../../test/support/provider-server.ts'
import { TestTurn } from '../../test/support/turn.ts'
import { createLoop } from './loop.ts'
import { openModels } from './models.ts'

useSandbox()

for (const fault of ['drop', 'error', 'eof'] as const) {
  test(`a stream that breaks (${fault}) is asked for again, and its text is taken back`, async () => {
    const { turn, outcome, requests } = await play({
      script: [{ text: 'torn', fault }, { calls: [bash('true')], fault }, { text: 'whole' }],
    })
    assert.equal(outcome.state, 'SUCCEEDED')
    assert.equal(requests.length, 3)
    const [taken, whole] = turn.data('message.assistant')
    assert.deepEqual([taken?.message_id, taken?.text, whole?.text], [turn.deltas[0]?.message_id, '', 'whole'])
    assert.deepEqual(turn.data('tool.call'), [])
    // What was paid for counts, about; of the two broken ones, and of the whole one what the provider says.
    const used = turn.data('usage')
    assert.deepEqual(
      used.map(({ output_tokens, estimated }) => [output_tokens, estimated]),
      [
        [1, true],
        [5, true],
        [5, undefined],
      ],
    )
    assert(used[0] && used[0].input_tokens > 1_000 && used[0].total_tokens === used[0].input_tokens + 1)
  })
}

test('a refused request has used nothing', async () => {
  const { turn } = await play({ script: [{ error: { status: 503 } }, { text: 'ok' }] })
  assert.deepEqual(
    turn.data('usage').map(({ estimated }) => estimated),
    [undefined],
  )
})

test('a stream that keeps breaking ends in an error that may be retried', async () => {
  const { turn, outcome, requests } = await play({
    script: () => ({ text: 'torn', fault: 'eof' }),
    retry_for_ms: 300,
  })
  assert.equal(outcome.state, 'ERROR')
  assert.equal(outcome.status_message?.error_code, 'resource_unavailable')
  assert.equal(outcome.status_message?.retryable, true)
  assert.equal(requests.length, turn.data('retrying').length + 1)
  assert(requests.length > 1)
  assert.equal(turn.data('message.assistant').at(-1)?.text, 'torn')
})

const refusals = [
  { status: 401, state: 'FAILED', code: 'external_authentication_required', retryable: false },
  { status: 429, state: 'ERROR', code: 'resource_unavailable', retryable: true },
  { status: 503, state: 'ERROR', code: 'resource_unavailable', retryable: true },
  {
    status: 429,
    body: { error: { message: 'no', code: 'insufficient_quota' } },
    state: 'FAILED',
    code: 'insufficient_credits',
    retryable: false,
  },
  {
    status: 400,
    body: { error: { message: 'no', code: 'context_length_exceeded' } },
    state: 'FAILED',
    code: 'invalid_request',
    retryable: false,
  },
  {
    status: 400,
    body: { error: { message: 'prompt is too long: 9 tokens' } },
    state: 'FAILED',
    code: 'invalid_request',
    retryable: false,
  },
  {
    status: 400,
    body: { error: { message: 'blocked', code: 'content_policy_violation' } },
    state: 'FAILED',
    code: 'content_policy_violation',
    retryable: false,
  },
  {
    status: 400,
    body: { error: { message: 'No connected db.', type: 'no_db_connection', code: '400' } },
    state: 'FAILED',
    code: 'external_authentication_required',
    retryable: false,
  },
  { status: 422, state: 'FAILED', code: 'invalid_request', retryable: false },
  { status: 403, body: {}, state: 'FAILED', code: 'external_authentication_required', retryable: false },
  {
    status: 403,
    body: { error: { message: 'Country, region, or territory not supported', type: 'request_forbidden' } },
    state: 'FAILED',
    code: 'not_authorized',
    retryable: false,
  },
  {
    status: 403,
    body: { error: { message: 'Your input was flagged', metadata: { reasons: ['violence'] } } },
    state: 'FAILED',
    code: 'content_policy_violation',
    retryable: false,
  },
  {
    status: 403,
    body: { error: { message: 'Incorrect API key provided' } },
    state: 'FAILED',
    code: 'external_authentication_required',
    retryable: false,
  },
]
for (const { status, body, state, code, retryable } of refusals) {
  test(`HTTP ${status} ${JSON.stringify(body ?? '')} ends as ${state} ${code}`, async () => {
    const { outcome } = await play({
      script: () => ({ error: { status, body, headers: { 'retry-after-ms': '1' } } }),
      retry_for_ms: 20,
    })
    assert.equal(outcome.state, state)
    assert.equal(outcome.status_message?.error_code, code)
    assert.equal(outcome.status_message?.retryable, retryable)
  })
}

test('of a refusal that is not about the key nothing is said of the key', async () => {
  const page = '<!DOCTYPE html><html><head><title>Attention Required! | Cloudflare</title></head></html>'
  for (const [body, said] of [
    [{ error: { message: 'Country, region, or territory not supported' } }, /Country, region, or territory/],
    [page, /Attention Required! \| Cloudflare/],
    [{ error: { message: 'Your account must be verified' } }, /must be verified/],
    [{ error: 'Your plan does not include this model' }, /Your plan does not include/],
  ] as const) {
    const { outcome } = await play({ script: () => ({ error: { status: 403, body } }) })
    assert.match(outcome.status_message?.message ?? '', said)
    assert.doesNotMatch(outcome.status_message?.message ?? '', /key/)
  }
})

test('what a refusal quotes of the request is no part of its reason', async () => {
  for (const input of ['User not found', 'payment required', 'moderation', 'prompt is too long']) {
    const detail = [{ type: 'missing', loc: ['body', 'x'], msg: 'Field required', input }]
    const { outcome } = await play({ script: () => ({ error: { status: 422, body: { detail } } }) })
    assert.match(outcome.status_message?.message ?? '', /\(HTTP 422\): body\.x: Field required\.$/)
  }
})

test('a quota by the minute is waited for', async () => {
  const message = 'Quota exceeded for aiplatform.googleapis.com/generate_content_requests_per_minute'
  const error = { status: 429, body: { error: { message, code: 429, status: 'RESOURCE_EXHAUSTED' } } }
  const { outcome } = await play({ script: [{ error }, { text: 'ok' }] })
  assert.equal(outcome.state, 'SUCCEEDED')
})

test('a call that Groq could not read is asked for again', async () => {
  const body = {
    error: { message: 'Failed to call a function.', code: 'tool_use_failed', failed_generation: 'x' },
  }
  const { outcome } = await play({ script: [{ error: { status: 400, body } }, { text: 'ok' }] })
  assert.equal(outcome.state, 'SUCCEEDED')
})

test('a 404 that is not about the model is told as it was said', async () => {
  const message = 'No endpoints found that support tool use'
  const { outcome } = await play({
    script: () => ({ error: { status: 404, body: { error: { message, code: 404 } } } }),
  })
  assert.match(
    outcome.status_message?.message ?? '',
    /\(HTTP 404\): No endpoints found that support tool use\./,
  )
})

test('a refused request that may pass is tried again, and each time is told', async () => {
  const busy = (retry_after: string) => ({
    error: { status: 429, headers: { 'retry-after-ms': retry_after } },
  })
  const { turn, outcome } = await play({ script: [busy('1'), busy('3'), { text: 'ok' }] })
  assert.equal(outcome.state, 'SUCCEEDED')
  const message = 'The model provider limits how often it is asked (HTTP 429): scripted 429.'
  const error_code = 'resource_unavailable'
  assert.deepEqual(turn.data('retrying'), [
    { error_code, message, retry: 1, delay_ms: 1 },
    { error_code, message, retry: 2, delay_ms: 3 },
  ])
})

test('a provider that asks for more time than there is ends the turn at once', async () => {
  for (const headers of [
    { 'retry-after': '3600' },
    { 'retry-after': new Date(Date.now() + 3.6e6).toUTCString() },
  ]) {
    const { turn, outcome, requests } = await play({ script: () => ({ error: { status: 503, headers } }) })
    assert.deepEqual([outcome.state, outcome.status_message?.retryable], ['ERROR', true])
    assert.match(
      outcome.status_message?.message ?? '',
      /not available now \(HTTP 503\): scripted 503\. It asks to wait 60 minutes\./,
    )
    assert.equal(requests.length, 1)
    assert.deepEqual(turn.data('retrying'), [])
  }
})

test('a provider that falls silent is asked again, before its answer and in the middle of it', async () => {
  const { promise: never } = Promise.withResolvers<void>()
  const script: Script = [{ pace: () => never }, { text: ['torn'], fault: 'stall' }, { text: 'whole' }]
  const { turn, outcome } = await play({ script, silence_ms: 300 })
  assert.equal(outcome.state, 'SUCCEEDED')
  assert.deepEqual(
    turn.data('retrying').map(({ message }) => message),
    Array(2).fill('The model provider sent nothing for 0 s.'),
  )
  assert.deepEqual(
    turn.data('message.assistant').map(({ text }) => text),
    ['', 'whole'],
  )
})

test('a provider that sends nothing but signs of life is asked again', async () => {
  const { turn, outcome } = await play({
    script: [{ text: ['torn'], fault: 'keep-alive' }, { text: 'whole' }],
    idle_ms: 400,
  })
  assert.equal(outcome.state, 'SUCCEEDED')
  assert.deepEqual(
    turn.data('retrying').map(({ message }) => message),
    ['The model provider sent nothing of its answer for 0 s.'],
  )
  assert.deepEqual(
    turn.data('message.assistant').map(({ text }) => text),
    ['', 'whole'],
  )
})

test('an answer without end is given up, asked for once more, and laid to the provider', async () => {
  const word = 'bla '.repeat(10_000)
  for (const [fault, said] of [
    ['endless', 'an answer that does not end: more than 64 MiB'],
    ['endless-line', 'a line that does not end: more than 4 MiB'],
  ] as const) {
    const { turn, outcome, requests } = await play({ script: () => ({ text: word, fault }) })
    assert.deepEqual([outcome.state, outcome.status_message?.error_code], ['ERROR', 'resource_unavailable'])
    const message = outcome.status_message?.message ?? ''
    assert(message.startsWith(`The model provider sent ${said}. 2 tries in `), message)
    assert.deepEqual([requests.length, turn.data('retrying').length], [2, 1])
    const [taken, kept] = turn.data('message.assistant')
    assert.equal(taken?.text, '')
    assert(kept?.text.startsWith('bla bla') && kept.text.length <= 2 ** 20)
  }
})

test('an answer of nothing is no answer', async () => {
  const used = await play({ script: [{}, { reasoning: ['hm'] }, { text: 'ok' }] })
  assert.equal(used.outcome.state, 'SUCCEEDED')
  assert.equal(used.turn.data('usage').length, 3)
  const { outcome, requests } = await play({ script: () => ({}) })
  assert.deepEqual([outcome.state, outcome.status_message?.error_code], ['ERROR', 'resource_unavailable'])
  assert.match(outcome.status_message?.message ?? '', /^The model answered with nothing\. 3 tries in/)
  assert.equal(requests.length, 3)
})

test('white space is no answer, and no part of one: some providers refuse it in a conversation', async () => {
  const { turn, outcome, requests } = await play({
    script: [
      { text: [' ', '\n'] },
      { text: ['\n', '\n'], calls: [bash('true')] },
      { text: ['\n\n', 'Done.', '\n'] },
    ],
  })
  assert.equal(outcome.state, 'SUCCEEDED')
  assert.equal(turn.data('retrying')[0]?.message, 'The model answered with nothing.')
  assert.deepEqual(
    turn.data('message.assistant').map(({ text }) => text),
    ['\n\nDone.\n'],
  )
  assert.deepEqual(
    turn.deltas.map(({ text }) => text),
    ['\n\nDone.'],
  )
  assert.equal(requests[2]?.messages.find(({ role }) => role === 'assistant')?.content ?? null, null)
})

test('an answer of nothing after failures of another kind is asked for again as often as ever', async () => {
  const failing = (count: number) =>
    Array.from({ length: count }, () => ({ fault: 'drop' as const, text: 'torn' }))
  const { outcome, requests } = await play({ script: [...failing(3), {}, {}, { text: 'ok' }] })
  assert.deepEqual([outcome.state, requests.length], ['SUCCEEDED', 6])
})

test('a worker that was lost while it waited leaves the step to the next', async () => {
  const first = await play({ script: [{}, { text: 'ok' }] })
  const cut = first.turn.log.findIndex(({ type }) => type === 'retrying') + 1
  const next = new TestTurn({ sandbox, history: first.turn.log.slice(0, cut) })
  await using server = await openModelServer([{ text: 'ok' }])
  const outcome = await next.runHarness(createLoop(openModels({ openai: { base_url: server.url } }), OPTIONS))
  assert.deepEqual([outcome.state, server.requests.length], ['SUCCEEDED', 1])
})

test('without a choice the first model of the server that can chat is asked', async () => {
  await using server = await openModelServer([{ text: 'ok' }], {
    models: [{ id: 'bge-m3' }, { id: 'b' }, { id: 'c' }],
  })
  const turn = new TestTurn({ sandbox, prompt: 'Do it.' })
  await turn.runHarness(createLoop(openModels({ openai: { base_url: server.url } }), OPTIONS))
  assert.equal(server.requests[0]?.body.model, 'b')
})

test('a refused key is not quoted, although the provider quotes it', async () => {
  const { outcome } = await play({ script: [], api_key: 'another' })
  assert.equal(outcome.status_message?.error_code, 'external_authentication_required')
  assert.doesNotMatch(JSON.stringify(outcome), /sk-secret/)
  assert.match(
    outcome.status_message?.message ?? '',
    /provider openai refused the service's API key\. Set a valid one \(OPENAI_API_KEY\)/,
  )
})

test('a refused key is told at once where no model was chosen, and the list of them is refused', async () => {
  await using server = await openModelServer([], { api_key: 'another' })
  const turn = new TestTurn({ sandbox, prompt: 'Do it.' })
  const models = openModels({ endpoints: { mine: { base_url: server.url, api_key: 'sk-secret' } } })
  const { state, status_message } = await turn.runHarness(createLoop(models, OPTIONS))
  assert.deepEqual([state, status_message?.error_code], ['FAILED', 'external_authentication_required'])
  assert.match(status_message?.message ?? '', /the api_key of "mine" of RUNYARD_MODEL_ENDPOINTS/)
  assert.deepEqual(turn.data('retrying'), [])
})

test('what is spent, or not allowed, names the provider and the way out', async () => {
  for (const [status, error, code, words] of [
    [402, { message: 'No funds' }, 'insufficient_credits', /openai .*No funds\. Add credit .*OPENAI_API_KEY/],
    [
      403,
      { message: 'No access to this plan' },
      'not_authorized',
      /openai .*No access to this plan\. Allow it/,
    ],
  ] as const) {
    const { outcome } = await play({
      script: () => ({ error: { status, body: { error } } }),
      retry_for_ms: 0,
    })
    assert.deepEqual([outcome.state, outcome.status_message?.error_code], ['FAILED', code])
    assert.match(outcome.status_message?.message ?? '', words)
  }
})

test('an address that leads nowhere says why, and which setting has it', async () => {
  const open = (base_url: string) => openModels({ openai: { base_url }, default_model: 'openai/scripted' })
  const ask = async (base_url: string) => {
    const turn = new TestTurn({ sandbox, prompt: 'Do it.' })
    return await turn.runHarness(createLoop(open(base_url), { retry_for_ms: 0 }))
  }
  const unknown = await ask('http://no-such-host.invalid/v1')
  assert.deepEqual([unknown.state, unknown.status_message?.error_code], ['ERROR', 'resource_unavailable'])
  assert.match(
    unknown.status_message?.message ?? '',
    /openai could not be reached \(.*(ENOTFOUND|EAI_AGAIN)\)\. Check OPENAI_BASE_URL/,
  )
  await using server = await openModelServer([])
  const plain = await ask(server.url.replace('http:', 'https:'))
  assert.deepEqual([plain.state, plain.status_message?.error_code], ['FAILED', 'integration_not_configured'])
  assert.match(
    plain.status_message?.message ?? '',
    /openai does not speak TLS at its address .*OPENAI_BASE_URL/,
  )
})

test('a provider that cannot be reached ends in an error that may be retried', async () => {
  const server = await openModelServer([])
  await server.close()
  const turn = new TestTurn({ sandbox, prompt: 'Do it.' })
  const models = openModels({ openai: { base_url: server.url }, default_model: 'openai/scripted' })
  const outcome = await turn.runHarness(createLoop(models, { retry_for_ms: 0 }))
  assert.deepEqual([outcome.state, outcome.status_message?.error_code], ['ERROR', 'resource_unavailable'])
})

test('a model the provider does not know is named with what there is', async () => {
  for (const [status, message] of [
    [404, 'no such model'],
    [400, 'Invalid model name passed in model=gone.'],
    [400, 'The model `gone` does not exist or you do not have access to it.'],
  ] as const) {
    const script: Script = () => ({ error: { status, body: { error: { message } } } })
    const { outcome } = await play({ script, config: { model_id: 'openai/gone' } })
    assert.equal(outcome.status_message?.error_code, 'integration_not_configured')
    assert.match(outcome.status_message?.message ?? '', /"openai\/gone".*Available: openai\/scripted\./)
  }
})

test('a wrong address is not laid to the model, and ends the turn at once', async () => {
  const answers = [
    { type: 'text/plain', body: '404 page not found', said: '' },
    { type: 'application/json', body: '{"error":{"message":"Invalid URL"}}', said: ': Invalid URL' },
  ]
  for (const status of [404, 405]) {
    for (const { type, body, said } of answers) {
      const server = await openProviderServer((_request, response) => {
        response.writeHead(status, { 'content-type': type })
        response.end(body)
      })
      const playAt = async (default_model?: string) => {
        const settings = { openai: { base_url: server.url }, ...(default_model && { default_model }) }
        const turn = new TestTurn({ sandbox, prompt: 'Do it.' })
        const { state, status_message } = await turn.runHarness(createLoop(openModels(settings), OPTIONS))
        assert.deepEqual(turn.data('retrying'), [])
        assert.deepEqual([state, status_message?.error_code], ['FAILED', 'integration_not_configured'])
        return status_message?.message
      }
      const hint = 'Is the address right? Mostly it ends in /v1.'
      assert.equal(
        await playAt('openai/m'),
        `The model provider openai answers ${status} at ${server.url}/chat/completions (check OPENAI_BASE_URL)${said}. ${hint}`,
      )
      assert.equal(
        await playAt(),
        `No model was chosen, and no list of them is at ${server.url}. ${hint} A server that lists no models needs RUNYARD_DEFAULT_MODEL.`,
      )
      server.close()
    }
  }
})

test('without a provider the variables that would help are named', async () => {
  const turn = new TestTurn({ sandbox, prompt: 'Do it.' })
  const outcome = await turn.runHarness(createLoop(openModels({})))
  assert.equal(outcome.state, 'FAILED')
  assert.equal(outcome.status_message?.error_code, 'integration_not_configured')
  assert.match(outcome.status_message?.message ?? '', /ANTHROPIC_API_KEY, OPENAI_API_KEY/)
})
