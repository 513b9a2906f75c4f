import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type RunStreamEvent, Runyard } from '@runyard/client'
import type { RunItem } from '../src/contract/run.ts'
import { isResting } from '../src/contract/state.ts'
import { type ChatRequest, type ModelServer, openModelServer, type Reply } from './support/model-server.ts'
import { onlyLong } from './support/once.ts'
import { apiOf, startService, type TestService, temporaryDirectory } from './support/service.ts'
import { ofType } from './support/traces.ts'

const KEY = 'sk-canary-5f3a9c71e2'

let hiccups = 0

/** What the scripted model does is decided by the newest message, so that runs can share one server. */
function answer({ messages }: ChatRequest): Reply {
  const last = messages.at(-1)
  const text = typeof last?.content === 'string' ? last.content : JSON.stringify(last?.content)
  if (text.includes('Who goes there?')) {
    // As of a key that was revoked meanwhile.
    const message = `Incorrect API key provided: ${KEY}.`
    return { error: { status: 401, body: { error: { message, code: 'invalid_api_key' } } } }
  }
  if (text.includes('does not fit')) return { calls: [{ name: 'submit_result', arguments: { count: 3 } }] }
  if (text.includes('count them'))
    return { calls: [{ name: 'submit_result', arguments: { count: 'three' } }] }
  if (text.includes('Which colour')) {
    return {
      calls: [{ name: 'ask_user', arguments: { question: 'Red or blue?', options: ['red', 'blue'] } }],
    }
  }
  if (last?.role === 'tool')
    return { text: ['The file says ', 'forty', '-two.'], usage: { prompt_tokens: 90, completion_tokens: 10 } }
  if (text.includes('the large file'))
    return {
      calls: [{ name: 'bash', arguments: { command: 'true' } }],
      usage: { prompt_tokens: 20_000, completion_tokens: 20 },
    }
  if (text.includes('write the file')) {
    return {
      text: 'I will write it.',
      calls: [
        { name: 'write', arguments: { path: 'answer.txt', content: '42\n' } },
        { name: 'bash', arguments: { command: 'cat answer.txt; env' } },
      ],
      usage: { prompt_tokens: 50, completion_tokens: 20 },
    }
  }
  if (text.includes('talk slowly'))
    return { text: Array.from({ length: 200 }, (_, i) => `word${i} `), delay_ms: 50 }
  if (text.includes('talk for ever')) return { text: 'word '.repeat(100), fault: 'endless' }
  if (text.includes('hiccup') && hiccups++ < 2) return { error: { status: 503 } }
  if (text.includes('short') || text.includes('hiccup')) return { text: 'Short.' }
  return { error: { status: 400, body: { error: { message: 'unexpected prompt' } } } }
}

describe('a run with a model', () => {
  let model: ModelServer
  let service: TestService
  let api: ReturnType<typeof apiOf>
  let client: Runyard

  before(async () => {
    model = await openModelServer(answer, {
      api_key: KEY,
      models: [{ id: 'embed-1' }, { id: 'scripted' }, { id: 'other' }],
    })
    const prices = join(temporaryDirectory('prices'), 'prices.json')
    writeFileSync(prices, JSON.stringify({ 'openai/scripted': { input: 1, output: 10 } }))
    // Nothing says which model: a key and an address are enough. An empty variable is none.
    service = await startService({
      env: {
        ...{ OPENAI_BASE_URL: model.url, OPENAI_API_KEY: KEY },
        ...{ ANTHROPIC_API_KEY: '', RUNYARD_DEFAULT_MODEL: '', RUNYARD_MODEL_PRICES: prices },
      },
    })
    api = apiOf(service)
    client = new Runyard({ baseURL: service.base_url, apiKey: service.api_key })
  })
  after(async () => {
    await service.stop()
    await model.close()
  })

  test('models that can be used now are listed', async () => {
    const { models, default_model_id } = await client.models.list()
    assert.deepEqual(models.map(({ id }) => id).sort(), ['openai/other', 'openai/scripted'])
    assert.equal(default_model_id, 'openai/scripted')
  })

  test('uses its tools in the sandbox, answers, and counts what it used', async () => {
    const run_id = await api.create({
      prompt: 'Please write the file.',
      config: { base_prompt: 'Be brief.' },
    })
    const run = await api.ended(run_id)
    assert.equal(run.state, 'SUCCEEDED', JSON.stringify(run.status_message))
    assert.equal(run.agent_config.harness, undefined)
    assert.deepEqual(run.resolved, { harness: 'oz', model_id: 'openai/scripted' })
    const { runs } = await api.json<{ runs: RunItem[] }>('GET', '/agent/runs?model_id=openai%2Fscripted')
    assert(runs.some((item) => item.run_id === run.run_id))
    const { input_tokens, output_tokens, total_tokens, inference_cost_usd, usage_by_category } =
      run.request_usage ?? {}
    assert.deepEqual([input_tokens, output_tokens, total_tokens], [140, 30, 170])
    const micro = (usd = 0) => Math.round(usd * 1e6)
    assert.equal(micro(inference_cost_usd), 140 + 300)
    const { cost_in_cents } =
      usage_by_category?.primary_agent?.direct_api_inference_usage['openai/scripted'] ?? {}
    const { input_cost_in_cents, output_cost_in_cents } = cost_in_cents ?? {}
    assert.deepEqual([micro(input_cost_in_cents), micro(output_cost_in_cents)], [14_000, 30_000])
    const events = await api.events(run_id)
    const output = events.flatMap((event) => (event.type === 'tool.output' ? [event.data.text] : [])).join('')
    assert.match(output, /^42$/m)
    // The provider's key stays with the worker: neither the sandbox nor the log has it.
    assert(!JSON.stringify(events).includes(KEY))
    assert.equal(
      events.findLast((event) => event.type === 'message.assistant')?.data.text,
      'The file says forty-two.',
    )
    const asked = model.requests.find(({ body }) => JSON.stringify(body.messages).includes('write the file'))
    assert.match(JSON.stringify(asked?.body.messages[0]), /Be brief\./)
  })

  test('its text streams before it is done; an interrupt stops it and a follow-up goes on', async () => {
    const run_id = await api.create({ prompt: 'Now talk slowly.' })
    const readUntil = async (events: AsyncIterable<RunStreamEvent>): Promise<string> => {
      let text = ''
      for await (const event of events) {
        if (event.type !== 'message.assistant.delta') continue
        assert.deepEqual([event.run_id, event.data.offset], [run_id, text.length])
        text += event.data.text
        if (text.includes('word5')) break
      }
      return text
    }
    const [text] = await Promise.all([
      readUntil(client.runs.stream(run_id)),
      readUntil(client.runs.streamMany({ run_ids: [run_id] })),
    ])
    assert.equal((await api.call('POST', `/agent/runs/${run_id}/interrupt`)).status, 202)
    const blocked = await api.until(run_id, (run) => run.state === 'BLOCKED')
    assert.match(blocked.status_message?.message ?? '', /Interrupted/)
    // What it had said is kept.
    const said = (await api.events(run_id)).findLast((event) => event.type === 'message.assistant')
    assert(said?.data.text.startsWith(text))
    await api.json('POST', `/agent/runs/${run_id}/followups`, { message: 'Be short.' })
    const run = await api.ended(run_id)
    assert.equal(run.state, 'SUCCEEDED')
    assert.equal(
      (await api.events(run_id)).findLast((event) => event.type === 'message.assistant')?.data.text,
      'Short.',
    )
  })

  test('a provider that is away for a moment is asked again, and the run says so', async () => {
    const run_id = await api.create({ prompt: 'A hiccup, please.' })
    assert.equal((await api.ended(run_id)).state, 'SUCCEEDED')
    const told = (await api.events(run_id)).flatMap((event) =>
      event.type === 'retrying' ? [event.data] : [],
    )
    assert.deepEqual(
      told.map(({ message, retry }) => [message, retry]),
      [1, 2].map((retry) => ['The model provider is not available now (HTTP 503): scripted 503.', retry]),
    )
  })

  test('a result of a given form is asked for until it fits', async () => {
    const output_schema = {
      type: 'object',
      properties: { count: { type: 'integer' } },
      required: ['count'],
    }
    const run = await client.runs.createAndWait({ prompt: 'Please count them.', output_schema })
    assert.deepEqual(run.result, { count: 3 })
    const calls = (await api.events(run.run_id)).filter(({ type }) => type === 'tool.call')
    assert.equal(calls.length, 2)
    const refused = await api.call('POST', '/agent/runs', { prompt: 'x', output_schema: { type: 'strnig' } })
    const { detail } = (await refused.json()) as { detail: string }
    assert.deepEqual([refused.status, /^output_schema: is no JSON Schema/.test(detail)], [400, true])
    const harness = { type: 'runbook' }
    const other = await api.call('POST', '/agent/runs', { prompt: 'x', output_schema, config: { harness } })
    assert.equal(other.status, 400)
  })

  test('a question waits for its answer, and the run goes on with it', async () => {
    const run_id = await api.create({ prompt: 'Which colour?' })
    const blocked = await api.until(run_id, ({ state }) => isResting(state))
    assert.deepEqual(
      [blocked.state, blocked.status_message?.message],
      ['BLOCKED', 'Red or blue?\n1. red\n2. blue'],
    )
    await api.json('POST', `/agent/runs/${run_id}/followups`, { message: 'blue, in short' })
    assert.equal((await api.ended(run_id)).state, 'SUCCEEDED')
  })

  test('a model of no configured provider ends the run with what there is', async () => {
    const run_id = await api.create({ prompt: 'short', config: { model_id: 'anthropic/unheard-of' } })
    const run = await api.ended(run_id)
    assert.equal(run.state, 'FAILED')
    assert.match(run.status_message?.message ?? '', /anthropic\/unheard-of[\s\S]*openai\/scripted/)
  })

  // Both are counted in one place: of each way to spend a budget one is tried, and with `--long` both.
  for (const [what, budget, raised] of [
    ['tokens', { max_tokens: 60 }, { max_tokens: 30_000 }],
    ['money', { max_cost_usd: 0.0001 }, { max_cost_usd: 1 }],
  ] as const) {
    const register = what === 'tokens' ? test : onlyLong
    register(`a prompt that a budget of ${what} does not bear is not sent`, async () => {
      const sent = model.requests.length
      const run_id = await api.create({ prompt: 'Be short.', budget })
      const blocked = await api.until(run_id, ({ state }) => isResting(state))
      assert.deepEqual([blocked.state, blocked.status_message?.error_code], ['BLOCKED', 'budget_exceeded'])
      assert.match(
        blocked.status_message?.message ?? '',
        /^The next request to the model, of about \d{4} tokens, is more/,
      )
      assert.equal(model.requests.length, sent)
      assert.deepEqual(ofType(await api.events(run_id), 'usage'), [])
      await client.runs.followup(run_id, { message: 'Be short, I said.', budget: raised })
      assert.equal((await api.ended(run_id)).state, 'SUCCEEDED')
    })
  }

  for (const [what, budget, raised] of [
    ['tokens', { max_tokens: 10_000 }, { max_tokens: 100_000 }],
    ['money', { max_cost_usd: 0.01 }, { max_cost_usd: 1 }],
  ] as const) {
    const register = what === 'money' ? test : onlyLong
    register(`a budget of ${what} stops it, and a follow-up with a larger one goes on`, async () => {
      const run_id = await api.create({ prompt: 'Please write the large file.', budget })
      const blocked = await api.until(run_id, ({ state }) => isResting(state))
      assert.equal(blocked.state, 'BLOCKED')
      assert.equal(blocked.status_message?.error_code, 'budget_exceeded')
      assert.match(blocked.status_message?.message ?? '', /reached its budget of .* larger budget goes on/)
      // Without one it is delivered, and nothing is done.
      await api.json('POST', `/agent/runs/${run_id}/followups`, { message: 'Be short.' })
      const again = await api.until(
        run_id,
        (run) => run.state === 'BLOCKED' && run.updated_at > blocked.updated_at,
      )
      assert.equal(again.status_message?.error_code, 'budget_exceeded')
      await client.runs.followup(run_id, { message: 'Be short, I said.', budget: raised })
      assert.equal((await api.ended(run_id)).state, 'SUCCEEDED')
    })
  }

  for (const [what, budget, raised] of [
    ['tokens', { max_tokens: 5_000 }, { max_tokens: 100_000 }],
    ['money', { max_cost_usd: 0.03 }, { max_cost_usd: 1 }],
  ] as const) {
    const register = what === 'tokens' ? test : onlyLong
    register(
      `a budget of ${what} stops it in the middle of an answer, which counts as far as it came`,
      async () => {
        const run_id = await api.create({ prompt: 'Now talk for ever.', budget })
        const blocked = await api.until(run_id, ({ state }) => isResting(state))
        const { state, status_message, request_usage } = blocked
        assert.deepEqual([state, status_message?.error_code], ['BLOCKED', 'budget_exceeded'])
        const events = await api.events(run_id)
        const [used, ...others] = ofType(events, 'usage').map(({ data }) => data)
        assert(used?.estimated && others.length === 0)
        assert(used.output_tokens > 2_500 && used.output_tokens < 10_000, `${used.output_tokens}`)
        assert.equal(request_usage?.total_tokens, used.total_tokens)
        const said = ofType(events, 'message.assistant').at(-1)?.data.text ?? ''
        assert(said.startsWith('word word') && Math.ceil(said.length / 4) === used.output_tokens)
        await client.runs.followup(run_id, { message: 'Be short.', budget: raised })
        assert.equal((await api.ended(run_id)).state, 'SUCCEEDED')
      },
    )
  }

  test('a budget that is raised while the agent works holds from then on', async () => {
    const run_id = await api.create({ prompt: 'Now talk slowly.', budget: { max_duration_minutes: 4 / 60 } })
    await api.until(run_id, (run) => run.state === 'INPROGRESS')
    await client.runs.followup(run_id, { message: 'Be short.', budget: { max_duration_minutes: 10 } })
    assert.equal((await api.ended(run_id)).state, 'SUCCEEDED')
  })

  test('money that cannot be counted is not left to chance', async () => {
    const run_id = await api.create({
      prompt: 'short',
      budget: { max_cost_usd: 1 },
      config: { model_id: 'openai/other' },
    })
    const { state, status_message } = await api.ended(run_id)
    assert.deepEqual([state, status_message?.error_code], ['FAILED', 'invalid_request'])
    assert.match(status_message?.message ?? '', /max_cost_usd.*"openai\/other".*max_tokens/)
  })

  test('a provider that refuses the key ends the run FAILED, without the key', async () => {
    const run = await api.ended(await api.create({ prompt: 'Who goes there?' }))
    assert.equal(run.state, 'FAILED')
    assert.equal(run.status_message?.error_code, 'external_authentication_required')
    assert(!JSON.stringify(run).includes(KEY) && !service.log().includes(KEY))
  })
})
