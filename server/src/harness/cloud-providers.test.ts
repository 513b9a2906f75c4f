import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openProviderServer } from '../../test/support/provider-server.ts'
import { type ModelSettings, openModels } from './models.ts'

/** A server that answers a path with what is given for it, and 404 besides. */
async function serve(answers: Record<string, unknown>) {
  const server = await openProviderServer(({ url }, response) => {
    const body = answers[url]
    response
      .writeHead(body === undefined ? 404 : 200, {
        ...{ 'content-type': 'application/json', 'metadata-flavor': 'Google' },
      })
      .end(JSON.stringify(body ?? { message: 'not here' }))
  })
  after(() => server.close())
  return server
}

const idsOf = async (settings: ModelSettings) =>
  (await openModels(settings).list()).map(({ model_id, context_window }) =>
    context_window === undefined ? model_id : `${model_id} ${context_window}`,
  )

test('each named provider is listed in its own way', async () => {
  const { url, requests } = await serve({
    '/together/models': [
      {
        id: 'meta-llama/Llama-3.3-70B-Instruct-Turbo',
        type: 'chat',
        display_name: 'Llama',
        context_length: 7,
      },
      { id: 'BAAI/bge-large-en-v1.5', type: 'embedding' },
    ],
    '/mistral/models': { object: 'list', data: [{ id: 'devstral-latest', max_context_length: 8 }] },
    '/deepinfra/openai/models': {
      data: [
        { id: 'a/b', metadata: { context_length: 9 } },
        { id: 'c/d', metadata: null },
      ],
    },
    '/cohere/v1/models?endpoint=chat&page_size=1000': {
      models: [{ name: 'command-a-03-2025', context_length: 10 }],
    },
  })
  const at = (path: string) => ({ api_key: 'key', base_url: `${url}${path}` })
  assert.deepEqual(
    await idsOf({
      named: {
        together: at('/together'),
        mistral: at('/mistral'),
        deepinfra: at('/deepinfra'),
        cohere: at('/cohere/v2'),
      },
    }),
    [
      'together/meta-llama/Llama-3.3-70B-Instruct-Turbo 7',
      'mistral/devstral-latest 8',
      ...['deepinfra/a/b 9', 'deepinfra/c/d', 'cohere/command-a-03-2025 10'],
    ],
  )
  for (const { headers } of requests) assert.equal(headers.authorization, 'Bearer key')
})

test('Bedrock lists profiles, and the models that need none, by a signed request or with a key', async () => {
  const { url, requests } = await serve({
    '/inference-profiles?maxResults=1000': {
      inferenceProfileSummaries: [
        { inferenceProfileId: 'eu.anthropic.claude-sonnet-5-v1:0', status: 'ACTIVE' },
      ],
    },
    '/foundation-models?byOutputModality=TEXT': {
      modelSummaries: [
        { modelId: 'anthropic.claude-sonnet-5-v1:0', inferenceTypesSupported: ['INFERENCE_PROFILE'] },
        {
          modelId: 'amazon.nova-pro-v1:0',
          inferenceTypesSupported: ['ON_DEMAND'],
          responseStreamingSupported: true,
        },
        {
          modelId: 'amazon.titan-text-v1',
          inferenceTypesSupported: ['ON_DEMAND'],
          responseStreamingSupported: false,
        },
      ],
    },
  })
  const bedrock = { region: 'eu-central-1', control_url: url }
  const expected = [
    'bedrock/eu.anthropic.claude-sonnet-5-v1:0 1000000',
    'bedrock/amazon.nova-pro-v1:0 300000',
  ]
  await withVariables({ AWS_ACCESS_KEY_ID: 'AKIDTEST', AWS_SECRET_ACCESS_KEY: 'secret' }, async () => {
    assert.deepEqual(await idsOf({ bedrock }), expected)
  })
  for (const { headers } of requests)
    assert.match(
      headers.authorization ?? '',
      /^AWS4-HMAC-SHA256 Credential=AKIDTEST\/\d{8}\/eu-central-1\/bedrock\//,
    )
  assert.deepEqual(await idsOf({ bedrock: { ...bedrock, api_key: 'bedrock-key' } }), expected)
  assert.equal(requests.at(-1)?.headers.authorization, 'Bearer bedrock-key')
})

test('a list that a key may not read costs only itself', async () => {
  const { url } = await serve({
    '/foundation-models?byOutputModality=TEXT': { modelSummaries: [{ modelId: 'amazon.nova-pro-v1:0' }] },
  })
  const bedrock = { region: 'eu-central-1', control_url: url, api_key: 'key' }
  assert.deepEqual(await idsOf({ bedrock }), ['bedrock/amazon.nova-pro-v1:0 300000'])
})

test('Azure has the deployments it was told of, once it answers', async () => {
  const { url, requests } = await serve({ '/openai/v1/models': { data: [{ id: 'gpt-4o-2024-08-06' }] } })
  const deployments = { 'our-gpt': 'responses', 'our-deepseek': 'chat' } as const
  const models = openModels({ azure: { api_key: 'key', endpoint: url, deployments } })
  assert.deepEqual(
    (await models.list()).map(({ model_id }) => model_id),
    ['azure/our-gpt', 'azure/our-deepseek'],
  )
  assert.equal(requests[0]?.headers['api-key'], 'key')
  const chosen = await models.resolve()
  assert.equal('model_id' in chosen && chosen.model_id, 'azure/our-gpt')
})

test('Azure without any is told as such', async () => {
  const { url } = await serve({ '/openai/v1/models': { data: [{ id: 'gpt-4o-2024-08-06' }] } })
  const [check] = await openModels({ azure: { api_key: 'key', endpoint: url } }).check()
  assert.equal(check?.failure, 'has no deployments that the service was told of')
})

test('the default of Bedrock is the one of its part of the world', async () => {
  const names = [
    'eu.amazon.nova-micro-v1:0',
    'eu.anthropic.claude-sonnet-4-5-20250929-v1:0',
    'eu.anthropic.claude-sonnet-4-6',
  ]
  const { url } = await serve({
    '/inference-profiles?maxResults=1000': {
      inferenceProfileSummaries: names.map((inferenceProfileId) => ({ inferenceProfileId })),
    },
  })
  const bedrock = { region: 'eu-central-1', control_url: url, api_key: 'key' }
  const chosen = await openModels({ bedrock }).resolve()
  assert.equal('model_id' in chosen && chosen.model_id, 'bedrock/eu.anthropic.claude-sonnet-4-6')
})

test('Vertex lists what the role of the machine may see', async () => {
  const { url, requests } = await serve({
    '/computeMetadata/v1/instance/service-accounts/default/token?scopes=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcloud-platform':
      { access_token: 'ya29.of-the-machine', expires_in: 3_600, token_type: 'Bearer' },
    '/v1beta1/publishers/google/models?pageSize=1000': {
      publisherModels: [
        { name: 'publishers/google/models/gemini-3-pro-preview' },
        { name: 'publishers/google/models/imagen-4.0-generate' },
      ],
    },
    '/v1beta1/publishers/anthropic/models?pageSize=1000': {
      publisherModels: [{ name: 'publishers/anthropic/models/claude-sonnet-x' }],
    },
  })
  const role = { GCE_METADATA_HOST: new URL(url).host, METADATA_SERVER_DETECTION: 'assume-present' }
  const names = await withVariables({ ...role, GOOGLE_APPLICATION_CREDENTIALS: '' }, async () =>
    (await openModels({ vertex: { project: 'acme-1', location: 'global', base_url: url } }).list()).map(
      ({ model_id }) => model_id,
    ),
  )
  assert.deepEqual(names, ['vertex/gemini-3-pro-preview', 'vertex/claude-sonnet-x'])
  assert.equal(requests.at(-1)?.headers.authorization, 'Bearer ya29.of-the-machine')
})

test('a machine without credentials is told as such', async () => {
  const nowhere = {
    ...{ AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '', AWS_EC2_METADATA_DISABLED: 'true' },
    ...{ AWS_SHARED_CREDENTIALS_FILE: '/nowhere', AWS_CONFIG_FILE: '/nowhere' },
    GOOGLE_APPLICATION_CREDENTIALS: '/nowhere/key.json',
  }
  const checks = await withVariables(nowhere, () =>
    openModels({
      bedrock: { region: 'eu-central-1' },
      vertex: { project: 'acme-1', location: 'global' },
    }).check(),
  )
  assert.deepEqual(
    checks.map(({ provider, base_url }) => [provider, base_url]),
    [
      ['bedrock', 'https://bedrock-runtime.eu-central-1.amazonaws.com'],
      ['vertex', 'https://aiplatform.googleapis.com'],
    ],
  )
  const [bedrock, vertex] = checks.map(({ failure }) => failure ?? '')
  assert.match(
    bedrock ?? '',
    /^cannot be asked: The service has no credentials for Amazon Bedrock: Could not load/,
  )
  assert.match(
    vertex ?? '',
    /^cannot be asked: The service has no credentials for Google Vertex: .*\/nowhere\/key\.json/,
  )
})

test('prices are those of the cloud that is asked', async () => {
  const models = openModels({
    bedrock: { region: 'us-east-1', api_key: 'key' },
    vertex: { project: 'acme-1', location: 'global' },
    named: { together: { api_key: 'key' }, moonshot: { api_key: 'key' }, cerebras: { api_key: 'key' } },
  })
  for (const id of [
    'bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0',
    'vertex/gemini-2.5-pro',
    'together/meta-llama/Llama-3.3-70B-Instruct-Turbo',
    ...['moonshot/kimi-k2.5', 'cerebras/gpt-oss-120b'],
  ]) {
    const found = await models.resolve(id)
    assert('model_id' in found)
    assert(found.prices && (found.cost({ input_tokens: 1_000, output_tokens: 10 }) ?? 0) > 0, id)
  }
})

/** Puts back what it was; a text that is empty takes the variable away. */
async function withVariables<T>(variables: Record<string, string>, work: () => Promise<T>): Promise<T> {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const)
  const set = (name: string, value: string | undefined) => {
    if (value) process.env[name] = value
    else delete process.env[name]
  }
  for (const [name, value] of Object.entries(variables)) set(name, value)
  try {
    return await work()
  } finally {
    for (const [name, value] of before) set(name, value)
  }
}
