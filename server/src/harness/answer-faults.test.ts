/** Answers that cannot be used as they are: nothing of them is executed, the model is told, and goes on. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bash, OPTIONS, play, sandbox, useSandbox } from '../../test/support/loop-scene.ts'
import { ANTHROPIC_EVENTS, openProviderServer } from '../../test/support/provider-server.ts'
import { TestTurn } from '../../test/support/turn.ts'
import { createLoop } from './loop.ts'
import { openModels } from './models.ts'

useSandbox()

const lastMessage = (requests: ReadonlyArray<{ messages: ReadonlyArray<{ content: unknown }> }>) =>
  String(requests.at(-1)?.messages.at(-1)?.content)

test('of a cut answer no call is made, neither the one that was cut nor those before it', async () => {
  const { turn, outcome, requests } = await play({
    script: [
      {
        ...{ calls: [bash('touch made'), { name: 'write', arguments: '{"path":"big.txt","content":"aaaa' }] },
        ...{ finish_reason: 'length', usage: { prompt_tokens: 9, completion_tokens: 4_096 } },
      },
      { calls: [bash('ls')] },
      { text: 'Understood.' },
    ],
  })
  assert.equal(outcome.state, 'SUCCEEDED')
  assert.deepEqual(
    turn
      .data('tool.result')
      .map(({ output = '', exit_code }) => [
        /was not made: your last answer was cut/.test(output),
        exit_code,
      ]),
    [
      [true, null],
      [true, null],
      [false, 0],
    ],
  )
  assert.equal(
    turn.data('tool.output').some(({ text }) => text.includes('made')),
    false,
  )
  assert.deepEqual(
    turn.data('model.told').map(({ reason }) => reason),
    ['cut'],
  )
  const told = String(requests[1]?.messages.at(-1)?.content)
  assert.match(
    told,
    /^\[From the service, not the user: your last answer was cut at 4096 tokens.* smaller pieces/,
  )
})

test('a cut text is gone on from', async () => {
  const { turn, outcome, requests } = await play({
    script: [{ text: 'half of', finish_reason: 'length' }, { text: ' it.' }],
  })
  assert.equal(outcome.state, 'SUCCEEDED')
  assert.deepEqual(
    turn.data('message.assistant').map(({ text }) => text),
    ['half of', ' it.'],
  )
  assert.match(lastMessage(requests), /was cut/)
})

test('an answer that is cut before it says anything is told, too', async () => {
  const { outcome, requests } = await play({
    script: [{ reasoning: ['hm'], finish_reason: 'length' }, { text: 'Done.' }],
  })
  assert.equal(outcome.state, 'SUCCEEDED')
  assert.match(lastMessage(requests), /was cut/)
})

test('a model whose answers are cut again and again ends the run, with what helps', async () => {
  const { outcome, requests } = await play({ script: () => ({ text: 'half of', finish_reason: 'length' }) })
  assert.equal(outcome.state, 'FAILED')
  assert.match(
    outcome.status_message?.message ?? '',
    /cut at the limit of output tokens.*RUNYARD_MAX_OUTPUT_TOKENS.* 3 times/,
  )
  assert.equal(requests.length, 4)
})

test('a call that was made in between begins the count anew', async () => {
  const cut = { text: 'half of', finish_reason: 'length' } as const
  const { outcome } = await play({
    script: [cut, cut, cut, { calls: [bash('true')] }, cut, cut, cut, { text: 'Done.' }],
  })
  assert.equal(outcome.state, 'SUCCEEDED')
})

test('a call that is printed as text is told, and is no success', async () => {
  const printed = '<tool_call>\n{"name": "bash", "arguments": {"command": "echo x"}}\n</tool_call>'
  const passed = await play({ script: [{ text: printed }, { calls: [bash('echo x')] }, { text: 'Done.' }] })
  assert.equal(passed.outcome.state, 'SUCCEEDED')
  assert.match(String(passed.requests[1]?.messages.at(-1)?.content), /a call of a tool as text/)
  const { outcome, turn } = await play({ script: () => ({ text: printed }) })
  assert.equal(outcome.state, 'FAILED')
  assert.match(outcome.status_message?.message ?? '', /--enable-auto-tool-choice/)
  assert.equal(turn.data('model.told').length, 3)
})

test('a later worker goes on where the model was told', async () => {
  const first = await play({
    script: [
      { text: 'half of', finish_reason: 'length' },
      { text: 'whole', fault: 'eof' },
    ],
    retry_for_ms: 0,
  })
  const upto = first.turn.log.findIndex(({ type }) => type === 'model.told')
  const next = await play({ script: [{ text: 'Done.' }], history: first.turn.log.slice(0, upto + 1) })
  assert.equal(next.outcome.state, 'SUCCEEDED')
  assert.match(lastMessage(next.requests), /was cut/)
})

test("a limit that Anthropic's API names is held to: it is refused once", async () => {
  const asked: number[] = []
  const server = await openProviderServer(({ body }, response) => {
    const { max_tokens } = JSON.parse(body.toString())
    asked.push(max_tokens)
    const message = `max_tokens: ${max_tokens} > 8192, which is the maximum allowed number of output tokens for m`
    const told = { type: 'error', error: { type: 'invalid_request_error', message } }
    if (max_tokens > 8_192)
      response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(told))
    else response.writeHead(200, { 'content-type': 'text/event-stream' }).end(ANTHROPIC_EVENTS.join(''))
  })
  try {
    const anthropic = { api_key: 'k', base_url: `${server.url}/v1` }
    const models = openModels({ anthropic, default_model: 'anthropic/m' })
    for (const prompt of ['One.', 'Two.'])
      assert.equal(
        (await new TestTurn({ sandbox, prompt }).runHarness(createLoop(models, OPTIONS))).state,
        'SUCCEEDED',
      )
    assert.deepEqual(asked, [32_000, 8_192, 8_192])
  } finally {
    server.close()
  }
})
