import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from './config.ts'
import { listEndpoints } from './config-providers.ts'

test('a key sets up a provider with its own package, and an address is a proxy in front of it', () => {
  const { models } = readConfig({
    ...{
      GROQ_API_KEY: 'g',
      GROQ_BASE_URL: 'https://proxy.acme.example/groq/v1',
      MISTRAL_BASE_URL: 'https://x.example',
    },
    ...{ CO_API_KEY: 'c', ALIBABA_API_KEY: 'second', DASHSCOPE_API_KEY: 'first' },
  })
  assert.deepEqual(models.named, {
    groq: { api_key: 'g', base_url: 'https://proxy.acme.example/groq/v1' },
    alibaba: { api_key: 'first' },
    cohere: { api_key: 'c' },
  })
})

test('a server of that name stands in the place of a provider', () => {
  const groq = { base_url: 'http://litellm.example:4000/v1' }
  const { models } = readConfig({ GROQ_API_KEY: 'g', RUNYARD_MODEL_ENDPOINTS: JSON.stringify({ groq }) })
  assert.equal(models.named, undefined)
  assert.deepEqual(models.endpoints, { groq })
})

test('clouds have variables of their own, and names that no server takes', () => {
  const { models } = readConfig({
    ...{ AZURE_OPENAI_API_KEY: 'a', AZURE_OPENAI_ENDPOINT: 'https://acme.openai.azure.com/openai/v1/' },
    ...{
      AZURE_OPENAI_DEPLOYMENTS: 'our-gpt, our-deepseek=chat',
      AZURE_OPENAI_API_VERSION: '2025-04-01-preview',
    },
    ...{ RUNYARD_BEDROCK_REGION: 'eu-central-1', AWS_ENDPOINT_URL_BEDROCK: 'https://bedrock.internal/' },
    GOOGLE_VERTEX_PROJECT: 'acme-1',
  })
  assert.deepEqual(models, {
    azure: {
      ...{ api_key: 'a', endpoint: 'https://acme.openai.azure.com', api_version: '2025-04-01-preview' },
      deployments: { 'our-gpt': 'responses', 'our-deepseek': 'chat' },
    },
    bedrock: { region: 'eu-central-1', control_url: 'https://bedrock.internal' },
    vertex: { project: 'acme-1', location: 'global' },
  })
  const endpoints = JSON.stringify({ bedrock: { base_url: 'http://localhost/v1' } })
  assert.throws(() => readConfig({ RUNYARD_MODEL_ENDPOINTS: endpoints }), /has a variable of its own/)
})

test('half of what a cloud needs is refused, or means something else', () => {
  assert.throws(() => readConfig({ AZURE_OPENAI_API_KEY: 'a' }), /AZURE_OPENAI_ENDPOINT/)
  const shared = {
    AZURE_API_KEY: 'a',
    AWS_REGION: 'eu-central-1',
    AWS_ACCESS_KEY_ID: 'id',
    AWS_SECRET_ACCESS_KEY: 's',
  }
  assert.deepEqual(readConfig(shared).models, {})
  const by_key = readConfig({ AWS_BEARER_TOKEN_BEDROCK: 'b', AWS_REGION: 'eu-west-1' }).models
  assert.deepEqual(by_key.bedrock, { region: 'eu-west-1', api_key: 'b' })
})

test('agents and commands in sandboxes are led to what speaks OpenAI’s chat API', () => {
  const { models } = readConfig({
    ...{
      GROQ_API_KEY: 'g',
      DEEPINFRA_TOKEN: 'd',
      COHERE_API_KEY: 'c',
      RUNYARD_BEDROCK_REGION: 'eu-central-1',
    },
    ...{ AZURE_API_KEY: 'a', AZURE_RESOURCE_NAME: 'acme', GOOGLE_VERTEX_PROJECT: 'acme-1' },
    RUNYARD_MODEL_ENDPOINTS: JSON.stringify({ vllm: { base_url: 'http://vllm/v1' } }),
  })
  assert.deepEqual(listEndpoints(models), {
    groq: { api_key: 'g', base_url: 'https://api.groq.com/openai/v1' },
    deepinfra: { api_key: 'd', base_url: 'https://api.deepinfra.com/v1/openai' },
    cohere: { api_key: 'c', base_url: 'https://api.cohere.com/compatibility/v1' },
    azure: { api_key: 'a', base_url: 'https://acme.openai.azure.com/openai/v1' },
    vllm: { base_url: 'http://vllm/v1' },
  })
})
