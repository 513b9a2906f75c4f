import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Runyard } from '@runyard/client'
import type { RunItem } from '../src/contract/run.ts'
import { type ChatRequest, type ModelServer, openModelServer, type Reply } from './support/model-server.ts'
import { apiOf, startService, type TestService } from './support/service.ts'

const KEY = 'sk-canary-5f3a9c71e2'

/** What the scripted model does is decided by the newest message, so that runs can share one server. */
function answer({ messages }: ChatRequest): Reply {
  const last = messages.at(-1)
  const text = typeof last?.content === 'string' ? last.content : JSON.stringify(last?.content)
  if (last?.role === 'tool')
    return { text: ['The file says ', 'forty', '-two.'], usage: { prompt_tokens: 90, completion_tokens: 10 } }
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
  if (text.includes('short')) return { text: 'Short.' }
  return { error: { status: 400, body: { error: { message: 'unexpected prompt' } } } }
}

describe('a run with a model', () => {
  let model: ModelServer
  let service: TestService
  let api: ReturnType<typeof apiOf>
  let client: Runyard

  before(async () => {
    model = await openModelServer(answer, { api_key: KEY, models: [{ id: 'scripted' }, { id: 'other' }] })
    service = await startService({
      env: { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: KEY, RUNYARD_DEFAULT_MODEL: 'openai/scripted' },
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
    assert.deepEqual(models.map(({ model_id }) => model_id).sort(), ['openai/other', 'openai/scripted'])
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
    assert.deepEqual(run.request_usage, { input_tokens: 140, output_tokens: 30, total_tokens: 170 })
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
    let text = ''
    for await (const event of client.runs.stream(run_id)) {
      if (event.type !== 'message.assistant.delta') continue
      assert.equal(event.data.offset, text.length)
      text += event.data.text
      if (text.includes('word5')) break
    }
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

  test('a model of no configured provider ends the run with what there is', async () => {
    const run_id = await api.create({ prompt: 'short', config: { model_id: 'anthropic/unheard-of' } })
    const run = await api.ended(run_id)
    assert.equal(run.state, 'FAILED')
    assert.match(run.status_message?.message ?? '', /anthropic\/unheard-of[\s\S]*openai\/scripted/)
  })

  test('a budget of tokens ends it with its reason', async () => {
    const run_id = await api.create({ prompt: 'Please write the file.', budget: { max_tokens: 60 } })
    const run = await api.ended(run_id)
    assert.equal(run.state, 'FAILED')
    assert.equal(run.status_message?.error_code, 'budget_exceeded')
  })

  test('what this version cannot do is refused, not left out', async () => {
    const mcp_servers = { files: { command: 'mcp-files', env: { TOKEN: 'secret' } } }
    const run = await api.ended(await api.create({ prompt: 'short', config: { mcp_servers } }))
    assert.equal(run.state, 'FAILED')
    assert.equal(run.status_message?.error_code, 'feature_not_available')
    assert.equal(run.agent_config.mcp_servers?.files?.env?.TOKEN, '***')
  })
})

test('a provider that refuses the key ends the run ERROR, without the key', async () => {
  const model = await openModelServer(answer, { api_key: 'another' })
  const service = await startService({
    env: { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: KEY, RUNYARD_DEFAULT_MODEL: 'openai/scripted' },
  })
  const api = apiOf(service)
  const run = await api.ended(await api.create({ prompt: 'short' }))
  assert.equal(run.state, 'ERROR')
  assert.equal(run.status_message?.error_code, 'authentication_required')
  assert(!JSON.stringify(run).includes(KEY) && !service.log().includes(KEY))
  await service.stop()
  await model.close()
})
