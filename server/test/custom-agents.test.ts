/** An agent of the operator's own, named by a variable, from the request to the log. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type ModelServer, openModelServer } from './support/model-server.ts'
import { scriptedAgent } from './support/scripted-agent.ts'
import { apiOf, startService, type TestService } from './support/service.ts'
import { ofType, printed } from './support/traces.ts'

const is_root = process.getuid?.() === 0
const SECRET = 'canary-of-a-tool-server'

describe('an agent of the operator’s own', {
  skip: !is_root && 'only root has the gateway everywhere',
}, () => {
  let model: ModelServer
  let service: TestService
  let api: ReturnType<typeof apiOf>
  before(async () => {
    model = await openModelServer(() => ({ text: 'Hello.' }))
    const mine = {
      command: scriptedAgent('resume'),
      env: { MY_KEY: '{token}', MY_PLACE: '{base_url}', MY_MODEL: '{model}' },
      provider: 'openai',
    }
    service = await startService({
      env: {
        RUNYARD_ACP_AGENTS: JSON.stringify({ mine }),
        OPENAI_BASE_URL: model.url,
        OPENAI_API_KEY: 'sk-canary-20c7aa91',
        RUNYARD_MODEL_ENDPOINTS: JSON.stringify({
          house: { base_url: model.url, api_key: 'sk-canary-91aa20c7' },
        }),
      },
    })
    api = apiOf(service)
  })
  after(async () => {
    await service?.stop()
    await model?.close()
  })

  test('has its model by the gateway, its tool servers, and its session in later turns', async () => {
    const config = {
      harness: { type: 'mine' },
      mcp_servers: { files: { command: 'files', env: { KEY: SECRET } } },
    }
    const run_id = await api.create({
      prompt: '$ echo "$MY_PLACE $MY_MODEL $MY_KEY"; env | grep -c sk-canary; cat .scripted-*',
      config,
    })
    const run = await api.ended(run_id)
    assert.equal(run.state, 'SUCCEEDED', JSON.stringify(run.status_message))
    assert.equal(run.resolved?.model_id, 'openai/scripted')
    const first = printed(await api.events(run_id))
    assert.match(first, /http:\/\/127\.0\.0\.1:3128\/model\/openai\/v1 scripted \*\*\*\n0\n/)
    assert.match(first, /"name":"KEY","value":"\*\*\*"/, 'handed on, and hidden in the log')

    await api.json('POST', `/agent/runs/${run_id}/followups`, { message: '$ ls -d .scripted-* | wc -l' })
    const again = await api.until(run_id, ({ state, attempt }) => attempt === 2 && state === 'SUCCEEDED')
    const events = await api.events(run_id)
    assert.match(printed(events).slice(first.length), /^1\n/, 'one session')
    assert.equal(ofType(events, 'error').length, 0)
    assert.equal(again.state, 'SUCCEEDED')
  })

  test('what it looks for in vain at each start is told once a run', async () => {
    const prompt = '$ curl -sS http://updates.example/ | head -1'
    const run_id = await api.create({ prompt, config: { harness: { type: 'mine' } } })
    assert.equal((await api.ended(run_id)).state, 'SUCCEEDED')
    const message = `${prompt}\n$ curl -sS http://other.example/`
    await api.json('POST', `/agent/runs/${run_id}/followups`, { message })
    await api.until(run_id, ({ state, attempt }) => attempt === 2 && state === 'SUCCEEDED')
    const told = ofType(await api.events(run_id), 'egress.refused').map(({ data }) => data.host)
    assert.deepEqual(told, ['updates.example', 'other.example'])
  })

  test('calls models of servers that the operator has named, too', async () => {
    const body = '{"model":"scripted","messages":[]}'
    const ask = `curl -sS -H "authorization: Bearer $MY_KEY" -d '${body}' "$MY_PLACE/chat/completions"`
    const run_id = await api.create({
      prompt: `$ echo "$MY_PLACE $MY_MODEL"; env | grep -c sk-canary; ${ask}`,
      config: { harness: { type: 'mine', model_id: 'house/scripted' } },
    })
    const run = await api.ended(run_id)
    assert.equal(run.state, 'SUCCEEDED', JSON.stringify(run.status_message))
    assert.equal(run.resolved?.model_id, 'house/scripted')
    const events = await api.events(run_id)
    assert.match(printed(events), /http:\/\/127\.0\.0\.1:3128\/model\/house\/v1 scripted\n0\n\{.*"choices"/)
    assert.equal(ofType(events, 'usage')[0]?.data.model_id, 'house/scripted')
    assert.equal(model.requests.at(-1)?.headers.authorization, 'Bearer sk-canary-91aa20c7')
  })
})
