/** The built-in agent behind an OpenAI-compatible server that others wrote: LiteLLM's proxy, as it is published. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Runyard } from '@runyard/client'
import { type LitellmProxy, openLitellmProxy, whyNoLitellm } from './support/litellm-proxy.ts'
import { type ModelServer, openModelServer, type Reply } from './support/model-server.ts'
import { apiOf, startService, type TestService } from './support/service.ts'
import { printing, SUMMARY, strict } from './support/strict-model.ts'
import { ofType, printed } from './support/traces.ts'

const KEY = 'sk-canary-77d0e3b1c5'

describe('behind LiteLLM', { skip: whyNoLitellm() }, () => {
  let model: ModelServer
  let proxy: LitellmProxy
  let service: TestService
  let api: ReturnType<typeof apiOf>
  const seen = Promise.withResolvers<void>()
  const long = strict(printing(12, 1_000))

  const serve = (key: string) =>
    startService({
      env: { OPENAI_BASE_URL: proxy.url, OPENAI_API_KEY: key, RUNYARD_MODEL_RETRY_SECONDS: '0' },
    })
  before(async () => {
    model = await openModelServer((request): Reply => {
      if (request.model === 'long') return long(request)
      if (request.model === 'slow')
        return {
          text: ['First. ', 'Second.'],
          pace: (chunk) => (chunk === 2 ? seen.promise : undefined),
        }
      if (request.messages.at(-1)?.role === 'tool') return { text: 'It says so.' }
      const calls = [{ name: 'bash', arguments: { command: 'echo from the "sandbox"; echo ünïcode' } }]
      return { text: 'Let me look.', calls, usage: { prompt_tokens: 40, completion_tokens: 6 } }
    })
    const behind = (name: string) => ({
      model_name: name,
      litellm_params: { model: `openai/${name}`, api_base: model.url, api_key: 'none' },
    })
    proxy = await openLitellmProxy({
      model_list: [
        {
          model_name: 'talker',
          litellm_params: { model: 'openai/talker', api_key: 'none', mock_response: 'Hello from the mock.' },
        },
        behind('caller'),
        behind('long'),
        behind('slow'),
      ],
      general_settings: { master_key: KEY },
      litellm_settings: { telemetry: false, num_retries: 0 },
      router_settings: { disable_cooldowns: true },
    })
    service = await serve(KEY)
    api = apiOf(service)
  })
  after(async () => {
    await service?.stop()
    await proxy?.[Symbol.asyncDispose]()
    await model?.close()
  })

  test('its models are listed', async () => {
    const { models } = await api.json<{ models: Array<{ model_id: string }> }>('GET', '/agent/models')
    assert.deepEqual(models.map(({ model_id }) => model_id).sort(), [
      'openai/caller',
      'openai/long',
      'openai/slow',
      'openai/talker',
    ])
  })

  test('its own answers are taken, and what was used is counted', async () => {
    const run_id = await api.create({ prompt: 'Hello?', config: { model_id: 'openai/talker' } })
    const run = await api.ended(run_id)
    assert.equal(run.state, 'SUCCEEDED', JSON.stringify(run.status_message))
    const said = ofType(await api.events(run_id), 'message.assistant').map(({ data }) => data.text)
    assert.deepEqual(said, ['Hello from the mock.'])
    const { input_tokens = 0, output_tokens = 0 } = run.request_usage ?? {}
    assert(input_tokens > 100 && output_tokens > 0, JSON.stringify(run.request_usage))
  })

  test('text is streamed as it comes', async () => {
    const client = new Runyard({ baseURL: service.base_url, apiKey: service.api_key })
    const run_id = await api.create({ prompt: 'Hello?', config: { model_id: 'openai/slow' } })
    for await (const event of client.runs.stream(run_id)) {
      // Nobody lets the model go on before this has come.
      if (event.type === 'message.assistant.delta') seen.resolve()
      if (event.type === 'message.assistant') assert.equal(event.data.text, 'First. Second.')
    }
    assert.equal((await api.get(run_id)).state, 'SUCCEEDED')
  })

  test('a call of a tool is executed, and its result goes back', async () => {
    const run_id = await api.create({ prompt: 'Look.', config: { model_id: 'openai/caller' } })
    const run = await api.ended(run_id)
    assert.equal(run.state, 'SUCCEEDED', JSON.stringify(run.status_message))
    const events = await api.events(run_id)
    assert.equal(printed(events), 'from the sandbox\nünïcode\n')
    assert.deepEqual(
      ofType(events, 'message.assistant').map(({ data }) => data.text),
      ['Let me look.', 'It says so.'],
    )
    const told = model.requests.at(-1)?.body.messages.at(-1)
    assert.deepEqual([told?.role, told?.content], ['tool', 'from the sandbox\nünïcode'])
    assert.deepEqual(
      ofType(events, 'usage').map(({ data }) => [data.input_tokens, data.output_tokens]),
      [
        [40, 6],
        [10, 5],
      ],
    )
  })

  test('what it says of a conversation that is too long leads to a summary', async () => {
    const run_id = await api.create({ prompt: 'Print the numbers.', config: { model_id: 'openai/long' } })
    const run = await api.ended(run_id, 120)
    assert.equal(run.state, 'SUCCEEDED', JSON.stringify(run.status_message))
    const [compacted] = ofType(await api.events(run_id), 'context.compacted')
    assert.deepEqual([compacted?.data.reason, compacted?.data.summary], ['overflow', SUMMARY])
  })

  test('a model that it does not have is named, with those that it has', async () => {
    const run = await api.ended(await api.create({ prompt: 'Hello?', config: { model_id: 'openai/gone' } }))
    assert.deepEqual([run.state, run.status_message?.error_code], ['FAILED', 'integration_not_configured'])
    assert.match(run.status_message?.message ?? '', /"openai\/gone".*openai\/caller/)
  })

  test('a key that it refuses is said to be refused, and not quoted', async () => {
    const other = await serve('sk-wrong-key-1234')
    try {
      const own = apiOf(other)
      const config = { model_id: 'openai/talker' }
      const run = await own.ended(await own.create({ prompt: 'Hello?', config }))
      assert.deepEqual(
        [run.state, run.status_message?.error_code],
        ['FAILED', 'external_authentication_required'],
      )
      assert.doesNotMatch(JSON.stringify(run), /sk-wrong/)
    } finally {
      await other.stop()
    }
  })
})
