import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ModelServer, openModelServer } from '../../test/support/model-server.ts'
import { type AcpAgent, listAgents } from './acp-agents.ts'
import { chooseModel, modelEnv } from './acp-model.ts'
import { type Models, openModels } from './models.ts'

let server: ModelServer
let models: Models
before(async () => {
  server = await openModelServer([])
  models = openModels({
    openai: { base_url: server.url },
    anthropic: { api_key: 'k', base_url: server.url },
    endpoints: { house: { base_url: server.url } },
  })
})
after(() => server.close())

const agentOf = (name: string, custom = {}): AcpAgent => {
  const agent = listAgents(custom).find((one) => one.name === name)
  assert(agent)
  return agent
}
const gate = {
  token: 'rym_1',
  base_urls: { openai: 'http://gate/model/openai/v1', anthropic: 'http://gate/model/anthropic' },
}

test('a model is one of a provider that the agent can call', async () => {
  const choose = (name: string, model_id?: string) =>
    chooseModel(agentOf(name), models, model_id === undefined ? {} : { model_id })
  assert.deepEqual(await choose('claude', 'anthropic/claude-x'), { provider: 'anthropic', id: 'claude-x' })
  // A name of the agent's own, which no provider lists.
  assert.deepEqual(await choose('claude', 'sonnet'), { provider: 'anthropic', id: 'sonnet' })
  // The default of its provider, as runs of the built-in loop get it.
  const chosen = await choose('claude')
  assert.match(chosen && 'provider' in chosen ? `${chosen.provider}/${chosen.id}` : '', /^anthropic\/claude-/)
  assert.deepEqual(await choose('qwen'), { provider: 'openai', id: 'scripted' })
  assert.deepEqual(await choose('claude', 'openai/scripted'), {
    reason: 'The agent claude calls models of anthropic, so it cannot use openai/scripted.',
  })
  assert.deepEqual(await choose('qwen', 'house/own/m'), { provider: 'house', id: 'own/m' })
  assert.deepEqual(await choose('claude', 'house/m'), {
    reason: 'The agent claude calls models of anthropic, so it cannot use house/m.',
  })
  const none = await chooseModel(agentOf('qwen'), openModels({}), {})
  assert.match(none && 'reason' in none ? none.reason : '', /^The agent qwen needs a model of openai/)
})

test('an agent is led to the gateway, with a token in the place of a key', () => {
  const of = (name: string, provider: 'openai' | 'anthropic', id?: string) =>
    modelEnv(agentOf(name), { provider, ...(id ? { id } : {}) }, gate)
  assert.deepEqual(of('claude', 'anthropic'), {
    ANTHROPIC_BASE_URL: 'http://gate/model/anthropic',
    ANTHROPIC_API_KEY: 'rym_1',
  })
  assert.equal(of('qwen', 'openai', 'm').OPENAI_BASE_URL, 'http://gate/model/openai/v1')
  assert.deepEqual(of('goose', 'openai', 'm'), {
    GOOSE_PROVIDER: 'openai',
    OPENAI_HOST: 'http://gate/model/openai',
    OPENAI_API_KEY: 'rym_1',
    GOOSE_MODEL: 'm',
  })
  // Without a way there the environment has to give what is needed.
  assert.deepEqual(modelEnv(agentOf('claude'), { provider: 'anthropic' }, undefined), {})
})

test('an agent of the operator’s own has its places filled, and may replace a known one', () => {
  const env = { PLAIN: 'x', KEY: '{token}', WHERE: '{base_url}/chat', WHICH: 'a/{model}' }
  const custom = { claude: { command: ['my-claude'], env, provider: 'openai' as const } }
  const agent = agentOf('claude', custom)
  assert.equal(listAgents(custom).filter(({ name }) => name === 'claude').length, 1)
  assert.deepEqual(agent.env, { PLAIN: 'x' })
  assert.equal(agent.needs_model, true)
  assert.deepEqual(modelEnv(agent, { provider: 'openai', id: '$&' }, gate), {
    KEY: 'rym_1',
    WHERE: 'http://gate/model/openai/v1/chat',
    WHICH: 'a/$&',
  })
})
