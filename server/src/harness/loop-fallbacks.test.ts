/** What goes on when a model fails for good. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bash, OPTIONS, sandbox, useSandbox } from '../../test/support/loop-scene.ts'
import { openModelServer, type Reply, type Script } from '../../test/support/model-server.ts'
import { TestTurn } from '../../test/support/turn.ts'
import type { AmbientAgentConfig } from '../contract/agent-config.ts'
import type { NewEvent, RunEvent } from '../contract/event.ts'
import { createLoop } from './loop.ts'
import { openModels } from './models.ts'

useSandbox()

interface Scene {
  /** By the names of their servers, whose models are all called `m`. */
  scripts: Record<string, Script>
  config?: AmbientAgentConfig
  installed?: string[]
  history?: readonly NewEvent[]
  prompt?: string
}

async function play({
  scripts,
  config = { model_id: 'first/m' },
  installed = [],
  history = [],
  prompt = 'Do it.',
}: Scene) {
  const servers = await Promise.all(
    Object.entries(scripts).map(async ([name, script]) => [name, await openModelServer(script)] as const),
  )
  const models = openModels({
    endpoints: Object.fromEntries(servers.map(([name, { url }]) => [name, { base_url: url }])),
    fallback_models: installed,
  })
  const envelope = (event: NewEvent, at: number) =>
    ({ ...event, sequence: at + 1, run_id: 'run-1', occurred_at: '2026-11-26T00:00:00Z' }) as RunEvent
  const turn = new TestTurn({ sandbox, config, history: history.map(envelope), ...(prompt && { prompt }) })
  const outcome = await turn.runHarness(createLoop(models, { ...OPTIONS, retry_for_ms: 20 }))
  const asked = Object.fromEntries(servers.map(([name, { requests }]) => [name, requests]))
  for (const [, server] of servers) await server.close()
  return { turn, outcome, asked, switched: turn.data('model.switched') }
}

const failing =
  (status: number, body?: unknown): Script =>
  () => ({ error: { status, ...(body ? { body } : {}) } })
const DONE: Reply = { text: 'Done.' }

for (const { what, script, reason, message } of [
  { what: 'is away', script: failing(503), reason: 'unavailable', message: /not available now \(HTTP 503\)/ },
  {
    what: 'limits requests for longer than is waited',
    script: () => ({ error: { status: 429, headers: { 'retry-after': '900' } } }),
    reason: 'unavailable',
    message: /It asks to wait 15 minutes/,
  },
  {
    what: 'has no credit left',
    script: failing(402, { error: { message: 'Insufficient credits' } }),
    reason: 'quota',
    message: /Insufficient credits/,
  },
  {
    what: 'says so with 429',
    script: failing(429, { error: { message: 'You exceeded your quota.', code: 'insufficient_quota' } }),
    reason: 'quota',
    message: /no credit left/,
  },
  {
    what: 'refuses the key',
    script: failing(401),
    reason: 'key_refused',
    message: /refused the service's API key/,
  },
  {
    what: 'does not have the model',
    script: failing(404, { error: { message: 'No such model' } }),
    reason: 'unknown_model',
    message: /does not know the model "first\/m"/,
  },
  {
    what: 'refuses the request',
    script: failing(400, { error: { message: 'Bad tools.' } }),
    reason: 'refused',
    message: /Bad tools/,
  },
  {
    what: 'answers with nothing',
    script: () => ({}),
    reason: 'unavailable',
    message: /answered with nothing/,
  },
] as const)
  test(`a provider that ${what}: the next model goes on, and stays`, async () => {
    const { turn, outcome, asked, switched } = await play({
      scripts: { first: script, second: [{ calls: [bash('echo there')] }, DONE] },
      config: { model_id: 'first/m', fallback_model_ids: ['second/m'] },
    })
    assert.equal(outcome.state, 'SUCCEEDED', JSON.stringify(outcome))
    assert.equal(switched.length, 1)
    const [first] = switched
    assert.deepEqual([first?.from, first?.to, first?.reason], ['first/m', 'second/m', reason])
    assert.match(first?.message ?? '', message)
    assert.equal(asked.second?.length, 2)
    assert.equal(turn.data('usage').at(-1)?.model_id, 'second/m')
  })

test('a model in the middle of its work: what it did stands, what it began is taken back', async () => {
  const { turn, asked, switched } = await play({
    scripts: {
      first: [{ calls: [bash('echo of the first')] }, ...Array(50).fill({ text: 'torn', fault: 'eof' })],
      second: [DONE],
    },
    installed: ['second/m'],
  })
  assert.equal(switched.length, 1)
  assert.match(JSON.stringify(asked.second?.[0]?.body.messages), /of the first/)
  const texts = turn.data('message.assistant').map(({ text }) => text)
  assert.equal(texts.at(-1), 'Done.')
  assert.deepEqual(texts.slice(0, -1).filter(Boolean), [])
})

test('each fallback is tried once, and the run ends with what the last one failed with', async () => {
  const { outcome, switched } = await play({
    scripts: { first: failing(401), second: failing(402), third: failing(503) },
    installed: ['first/m', 'second/m', 'nobody/m', 'third/m', 'second/m'],
  })
  assert.deepEqual(
    switched.map(({ from, to, reason }) => [from, to, reason]),
    [
      ['first/m', 'second/m', 'key_refused'],
      ['second/m', 'nobody/m', 'quota'],
      ['nobody/m', 'third/m', 'unknown_model'],
    ],
  )
  assert.equal(outcome.state, 'ERROR')
  assert.equal(outcome.status_message?.error_code, 'resource_unavailable')
})

test('a model that is not set up, and the list of the run in place of the installation’s', async () => {
  const scripts = { first: [DONE], second: [DONE] }
  const config = { model_id: 'anthropic/claude-x', fallback_model_ids: ['second/m'] }
  const { outcome, switched, asked } = await play({ scripts, config, installed: ['first/m'] })
  assert.equal(outcome.state, 'SUCCEEDED')
  assert.deepEqual([switched[0]?.from, switched[0]?.to], ['anthropic/claude-x', 'second/m'])
  assert.deepEqual([asked.first?.length, asked.second?.length], [0, 1])
  const none = await play({ scripts, config: { ...config, fallback_model_ids: [] }, installed: ['first/m'] })
  assert.equal(none.outcome.state, 'FAILED')
  assert.deepEqual(none.switched, [])
})

test('what another model would do no better ends the run', async () => {
  for (const script of [
    failing(400, { error: { message: 'No.', code: 'content_policy_violation' } }),
    () => ({ text: 'Half of i', finish_reason: 'content_filter' }) as const,
  ] satisfies Script[]) {
    const { outcome, switched, asked } = await play({
      scripts: { first: script, second: [DONE] },
      installed: ['second/m'],
    })
    assert.equal(outcome.status_message?.error_code, 'content_policy_violation')
    assert.deepEqual([switched, asked.second], [[], []])
  }
})

test('another worker goes on with the model that was switched to, and a follow-up may try all again', async () => {
  const history: NewEvent[] = [
    { type: 'message.user', data: { message_id: 'm1', text: 'Do it.' } },
    {
      type: 'model.switched',
      data: { from: 'first/m', to: 'second/m', reason: 'quota', message: 'No credit.' },
    },
  ]
  const scripts = { first: [DONE], second: [DONE] }
  const resumed = await play({ scripts, history, prompt: '' })
  assert.deepEqual(
    [resumed.outcome.state, resumed.asked.first?.length, resumed.asked.second?.length],
    ['SUCCEEDED', 0, 1],
  )
  const stuck = { ...scripts, second: failing(402) }
  const ended = await play({ scripts: stuck, history, installed: ['first/m'], prompt: '' })
  assert.equal(ended.outcome.state, 'FAILED')
  const again = await play({ scripts: stuck, history, installed: ['first/m'], prompt: 'Try again.' })
  assert.equal(again.outcome.state, 'SUCCEEDED')
})

test('a message names another model, in the middle of the work and before it', async () => {
  const asks = (message_id: string, model_id: string): NewEvent => ({
    type: 'message.user',
    data: { message_id, text: 'Go on with the other one.', model_id },
  })
  const used: NewEvent = {
    type: 'usage',
    data: { model_id: 'first/m', input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  }
  const scripts = { first: [DONE], second: [DONE] }
  const history = [asks('m1', 'first/m'), used, asks('m2', 'second/m')]
  const { asked, switched } = await play({ scripts, history, prompt: '' })
  assert.deepEqual([asked.first?.length, asked.second?.length], [0, 1])
  assert.deepEqual(switched, [{ from: 'first/m', to: 'second/m', reason: 'followup' }])
  // Nothing was at work before.
  const early = await play({ scripts, history: [asks('m1', 'second/m')], prompt: '' })
  assert.deepEqual([early.switched, early.asked.second?.length], [[], 1])
})

test('fallbacks that are named without their provider are each tried once', async () => {
  await using server = await openModelServer(failing(400))
  const models = openModels({ openai: { base_url: server.url }, fallback_models: ['b', 'c'] })
  const turn = new TestTurn({ sandbox, config: { model_id: 'a' }, prompt: 'Do it.' })
  const { state } = await turn.runHarness(createLoop(models, { ...OPTIONS, retry_for_ms: 20 }))
  assert.equal(state, 'FAILED')
  assert.deepEqual(
    server.requests.map(({ body }) => body.model),
    ['a', 'b', 'c'],
  )
})
