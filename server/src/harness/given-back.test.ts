/** Servers of one's own with OpenAI's chat API: what of an answer they are given back in the next request. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OPTIONS, sandbox, useSandbox } from '../../test/support/loop-scene.ts'
import { event, openProviderServer } from '../../test/support/provider-server.ts'
import { TestTurn } from '../../test/support/turn.ts'
import { createLoop } from './loop.ts'
import { openModels } from './models.ts'

useSandbox()

const STEPS = 5
const chunk = (delta: object, finish_reason: string | null = null) =>
  event({ id: 'c', model: 'm', choices: [{ index: 0, delta, finish_reason }] })
const call = (step: number, more: object = {}) =>
  chunk({
    tool_calls: [
      {
        ...{ index: 0, id: `tool_${step}`, type: 'function', ...more },
        function: { name: 'bash', arguments: JSON.stringify({ command: `echo ${step}` }) },
      },
    ],
  })
const end = (reason = 'tool_calls') => chunk({}, reason) + event('[DONE]')
const DONE = chunk({ content: 'Done.' }) + end('stop')

interface Message {
  role: string
  content: string | null
  tool_calls?: Array<Record<string, unknown> & { id: string }>
  reasoning?: string
  reasoning_content?: string
  reasoning_details?: Array<Record<string, unknown>>
}
interface Request {
  model: string
  messages: Message[]
}
/** How a server refuses a request; `null`: it does not. */
type Refuse = (request: Request) => object | null

/** Five steps with calls, then an answer, from a server that may refuse what it is given back. */
async function play(step: (n: number) => string, refuse: Refuse = () => null, refused = 400) {
  const answered: Request[] = []
  let refusals = 0
  const server = await openProviderServer(({ body }, response) => {
    const request: Request = JSON.parse(body.toString())
    const told = refuse(request)
    if (told) {
      refusals += 1
      response.writeHead(refused, { 'content-type': 'application/json' }).end(JSON.stringify(told))
      return
    }
    answered.push(request)
    const taken = request.messages.filter(({ role }) => role === 'assistant').length
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(taken < STEPS ? step(taken) : DONE)
  })
  try {
    const turn = new TestTurn({ sandbox, prompt: 'Do it.' })
    const models = openModels({ openai: { base_url: `${server.url}/v1` }, default_model: 'openai/m' })
    const outcome = await turn.runHarness(createLoop(models, { ...OPTIONS, retry_for_ms: 0 }))
    assert.deepEqual([outcome.state, outcome.status_message?.message], ['SUCCEEDED', undefined])
    const last = answered.at(-1)?.messages.filter(({ role }) => role === 'assistant') ?? []
    assert.equal(last.length, STEPS)
    return { turn, last, refusals, answered }
  } finally {
    server.close()
  }
}

for (const field of ['reasoning', 'reasoning_content', 'reasoning_text'])
  test(`thoughts go back under the name they came by: ${field}`, async () => {
    const { last } = await play(
      (n) => chunk({ [field]: `thought ` }) + chunk({ [field]: `${n}` }) + call(n) + end(),
    )
    for (const [n, message] of last.entries()) {
      const told = Object.entries(message).filter(([name]) => name.startsWith('reasoning'))
      assert.deepEqual(told, [[field, `thought ${n}`]])
    }
  })

test('thoughts that came in the text do not go back', async () => {
  const { last } = await play((n) => chunk({ content: `<think>thought ${n}</think>` }) + call(n) + end())
  assert(last.every((message) => !JSON.stringify(message).includes('thought')))
})

test('details go back as they came, joined, and name the calls as the request does', async () => {
  const { last } = await play(
    (n) =>
      chunk({
        reasoning: 'a',
        reasoning_details: [{ type: 'reasoning.text', text: 'a', index: 0, format: 'f' }],
      }) +
      chunk({
        reasoning: 'b',
        reasoning_details: [{ type: 'reasoning.text', text: 'b', index: 0, format: 'f' }],
      }) +
      call(n) +
      chunk({
        reasoning_details: [{ type: 'reasoning.encrypted', data: `SIGNED${n}`, id: `tool_${n}`, index: 0 }],
      }) +
      end(),
  )
  for (const [n, { reasoning, reasoning_details, tool_calls }] of last.entries()) {
    assert.equal(reasoning, 'ab')
    assert.deepEqual(reasoning_details, [
      { type: 'reasoning.text', text: 'ab', index: 0, format: 'f' },
      { type: 'reasoning.encrypted', data: `SIGNED${n}`, id: tool_calls?.[0]?.id, index: 0 },
    ])
  }
})

test('further fields of a call go back with it', async () => {
  const { last } = await play(
    (n) => call(n, { extra_content: { google: { thought_signature: `S${n}` }, other: n } }) + end(),
  )
  for (const [n, { tool_calls }] of last.entries())
    assert.deepEqual(tool_calls?.[0]?.extra_content, { google: { thought_signature: `S${n}` } })
})

test('further fields that only this server has go back, too', async () => {
  const { last } = await play(
    (n) =>
      chunk({ thinking_blocks: [{ type: 'thinking', thinking: `t${n}`, signature: 's' }] }) + call(n) + end(),
  )
  assert.deepEqual(
    last.map((message) => 'thinking_blocks' in message && message.thinking_blocks),
    [0, 1, 2, 3, 4].map((n) => [{ type: 'thinking', thinking: `t${n}`, signature: 's' }]),
  )
})

test('blocks that come in pieces go back whole, with their signature', async () => {
  const piece = (thinking: string, signature: string | null) =>
    chunk({ thinking_blocks: [{ type: 'thinking', thinking, signature }] })
  const { last } = await play(
    (n) => piece('I ', null) + piece('see.', null) + piece('', 'SIGNED') + call(n) + end(),
  )
  for (const message of last)
    assert.deepEqual('thinking_blocks' in message && message.thinking_blocks, [
      { type: 'thinking', thinking: 'I see.', signature: 'SIGNED' },
    ])
})

test('a field that is refused by name is left out from then on: it is refused once', async () => {
  const { refusals } = await play(
    (n) => chunk({ reasoning: 'We should run it.', channel: 'analysis' }) + call(n) + end(),
    ({ messages }) => {
      const at = messages.findIndex((message) => 'reasoning' in message || 'reasoning_content' in message)
      if (at < 0) return null
      const field = 'reasoning' in (messages[at] ?? {}) ? 'reasoning' : 'reasoning_content'
      return {
        error: {
          message: `'messages.${at}': property '${field}' is unsupported`,
          type: 'invalid_request_error',
        },
      }
    },
  )
  assert.equal(refusals, 1)
})

test('what a server misses is added, with what the model thought', async () => {
  const { last, refusals } = await play(
    (n) => chunk({ thinking: `thought ${n}` }) + call(n) + end(),
    ({ messages }) =>
      messages.some((message) => message.role === 'assistant' && message.reasoning_content === undefined)
        ? {
            error: {
              message: 'The `reasoning_content` in the thinking mode must be passed back to the API.',
            },
          }
        : null,
  )
  assert.equal(refusals, 1)
  assert.deepEqual(
    last.map(({ reasoning_content }) => reasoning_content),
    [0, 1, 2, 3, 4].map((n) => `thought ${n}`),
  )
})

test('a refusal of a field with another status, or in pieces of a form, is understood', async () => {
  for (const status of [422, 500]) {
    const { refusals } = await play(
      (n) => call(n) + end(),
      (request) =>
        'stream_options' in request
          ? {
              detail: [
                {
                  type: 'extra_forbidden',
                  loc: ['body', 'stream_options'],
                  msg: 'Extra inputs are not permitted',
                },
              ],
            }
          : null,
      status,
    )
    assert.equal(refusals, 1)
  }
})

test('a refusal that stays is told once, as it was said', async () => {
  const server = await openProviderServer((_request, response) => {
    const told = { error: { message: "property 'stream_options' is unsupported" } }
    response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(told))
  })
  try {
    const models = openModels({ openai: { base_url: `${server.url}/v1` }, default_model: 'openai/m' })
    const turn = new TestTurn({ sandbox, prompt: 'Do it.' })
    const { state, status_message } = await turn.runHarness(createLoop(models, OPTIONS))
    assert.equal(state, 'FAILED')
    assert.match(status_message?.message ?? '', /\(HTTP 400\): property 'stream_options' is unsupported\.$/)
    assert.equal(server.requests.length, 2)
  } finally {
    server.close()
  }
})

test('what one model sent is given back to no other', async () => {
  const server = await openProviderServer(({ body }, response) => {
    const { messages, model }: Request = JSON.parse(body.toString())
    const answer =
      messages.some(({ role }) => role === 'tool') || model === 'other'
        ? DONE
        : chunk({ reasoning: 'hm' }) + call(0) + end()
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(answer)
  })
  try {
    const settings = { openai: { base_url: `${server.url}/v1` } }
    const first = new TestTurn({ sandbox, prompt: 'Do it.' })
    await first.runHarness(createLoop(openModels({ ...settings, default_model: 'openai/m' }), OPTIONS))
    const next = new TestTurn({ sandbox, prompt: 'Go on.', context: first.log })
    await next.runHarness(createLoop(openModels({ ...settings, default_model: 'openai/other' }), OPTIONS))
    const sent: Request[] = server.requests.map(({ body }) => JSON.parse(body.toString()))
    const reasoning = sent.map(({ messages }) => messages.find(({ role }) => role === 'assistant')?.reasoning)
    assert.deepEqual(reasoning, [undefined, 'hm', undefined])
  } finally {
    server.close()
  }
})
