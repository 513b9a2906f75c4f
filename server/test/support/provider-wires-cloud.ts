/** Clouds, which ask for more than a key. */
import { crc32 } from 'node:zlib'
import type { ModelSettings } from '../../src/harness/models.ts'
import { event } from './provider-server.ts'
import {
  type Body,
  calling,
  named,
  recordsOf,
  unknownIn,
  type Wire,
  type WireError,
} from './provider-wires.ts'

/** A resource with dated versions: addresses have the deployment, and the first chunk the filter of the prompt alone. */
const AZURE_CHAT: Wire = {
  model_id: 'azure/our-gpt-4.1',
  settings: (url) => ({
    azure: {
      api_key: 'key-of-wire',
      endpoint: url,
      api_version: '2025-04-01-preview',
      deployments: { 'our-gpt-4.1': 'responses' },
    },
  }),
  path: '/openai/deployments/our-gpt-4.1/chat/completions',
  refuse(body, headers) {
    if (headers['api-key'] !== 'key-of-wire')
      return { status: 401, body: { error: { code: '401', message: 'Access denied' } } }
    const known = [
      'model',
      'messages',
      'tools',
      'tool_choice',
      'stream',
      'stream_options',
      'store',
      'max_tokens',
      'max_completion_tokens',
      'parallel_tool_calls',
    ]
    const field =
      unknownIn(body, known) ??
      recordsOf(body.messages)
        .map((message) => unknownIn(message, ['role', 'content', 'tool_calls', 'tool_call_id', 'name']))
        .find(Boolean)
    return field
      ? {
          status: 400,
          body: {
            error: {
              message: `Unrecognized request argument supplied: ${field}`,
              type: 'invalid_request_error',
            },
          },
        }
      : null
  },
  results: ({ messages }) => recordsOf(messages).filter(({ role }) => role === 'tool').length,
  answer(step) {
    const head = {
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      created: 1_790_000_000,
      model: 'gpt-4.1',
    }
    const chunk = (delta: Body, finish_reason: string | null = null) =>
      event({ ...head, choices: [{ index: 0, delta, finish_reason, content_filter_results: {} }] })
    const said =
      'call' in step
        ? {
            tool_calls: [
              { index: 0, id: step.call.id, ...calling(step.call.name, JSON.stringify(step.call.input)) },
            ],
          }
        : { content: step.text }
    return [
      event({
        ...head,
        id: '',
        object: '',
        created: 0,
        model: '',
        choices: [],
        prompt_filter_results: [{ prompt_index: 0 }],
      }),
      chunk({ role: 'assistant', content: null, refusal: null }),
      chunk(said),
      chunk({}, 'call' in step ? 'tool_calls' : 'stop'),
      event({ ...head, choices: [], usage: { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 } }),
      event('[DONE]'),
    ]
  },
}

/** https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html, with the role of a container. */
const BEDROCK: Wire = {
  model_id: 'bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0',
  settings: (url) => ({ bedrock: { region: 'eu-central-1', runtime_url: url } }),
  env: (url) => ({
    ...{ AWS_CONTAINER_CREDENTIALS_FULL_URI: `${url}/role`, AWS_EC2_METADATA_DISABLED: 'true' },
    ...{ AWS_SHARED_CREDENTIALS_FILE: '/nowhere', AWS_CONFIG_FILE: '/nowhere' },
  }),
  path: '/model/us.anthropic.claude-sonnet-4-5-20250929-v1:0/converse-stream',
  content_type: 'application/vnd.amazon.eventstream',
  refuse(body, headers) {
    const signed = /^AWS4-HMAC-SHA256 Credential=AKIDROLE\/\d{8}\/eu-central-1\/bedrock\/aws4_request/.test(
      headers.authorization ?? '',
    )
    if (!signed || headers['x-amz-security-token'] !== 'role-session')
      return { status: 403, body: { message: 'The security token included in the request is invalid.' } }
    const field = unknownIn(body, [
      'messages',
      'system',
      'toolConfig',
      'inferenceConfig',
      'additionalModelRequestFields',
      'additionalModelResponseFieldPaths',
    ])
    if (field) return validation(`extraneous key [${field}] is not permitted`)
    for (const [at, { role, content }] of recordsOf(body.messages).entries()) {
      const blocks = recordsOf(content)
      const name = blocks
        .map((block) => unknownIn(block, ['text', 'toolUse', 'toolResult', 'reasoningContent', 'cachePoint']))
        .find(Boolean)
      if (name) return validation(`messages.${at}: extraneous key [${name}] is not permitted`)
      const uses = blocks.some((block) => 'toolUse' in block)
      const [first] = blocks
      if (
        role === 'assistant' &&
        uses &&
        !JSON.stringify(first?.reasoningContent ?? '').includes('"signature":"signed"')
      )
        return validation(`messages.${at}.content.0.type: Expected \`thinking\`, but found \`tool_use\`.`)
    }
    return null
  },
  results: ({ messages }) =>
    recordsOf(messages)
      .flatMap(({ content }) => recordsOf(content))
      .filter((block) => 'toolResult' in block).length,
  answer(step) {
    const said =
      'call' in step
        ? [
            frame('contentBlockStart', {
              contentBlockIndex: 1,
              start: { toolUse: { toolUseId: step.call.id, name: step.call.name } },
            }),
            frame('contentBlockDelta', {
              contentBlockIndex: 1,
              delta: { toolUse: { input: JSON.stringify(step.call.input) } },
            }),
          ]
        : [frame('contentBlockDelta', { contentBlockIndex: 1, delta: { text: step.text } })]
    return [
      frame('messageStart', { role: 'assistant' }),
      frame('contentBlockDelta', {
        contentBlockIndex: 0,
        delta: { reasoningContent: { text: step.reasoning } },
      }),
      frame('contentBlockDelta', {
        contentBlockIndex: 0,
        delta: { reasoningContent: { signature: 'signed' } },
      }),
      frame('contentBlockStop', { contentBlockIndex: 0 }),
      ...said,
      frame('contentBlockStop', { contentBlockIndex: 1 }),
      frame('messageStop', { stopReason: 'call' in step ? 'tool_use' : 'end_turn' }),
      frame('metadata', {
        ...{ metrics: { latencyMs: 7 }, p: 'abcdefghij' },
        usage: {
          inputTokens: 9,
          outputTokens: 5,
          totalTokens: 14,
          cacheReadInputTokens: 0,
          cacheWriteInputTokens: 0,
        },
      }),
    ]
  },
}
const validation = (message: string): WireError => ({ status: 400, body: { message } })

/** https://smithy.io/2.0/aws/amazon-eventstream.html */
function frame(type: string, data: Body): Buffer {
  const header = (name: string, value: string) => {
    const length = Buffer.alloc(2)
    length.writeUInt16BE(Buffer.byteLength(value))
    return Buffer.concat([
      Buffer.from([name.length]),
      Buffer.from(name),
      Buffer.from([7]),
      length,
      Buffer.from(value),
    ])
  }
  const headers = Buffer.concat([
    header(':event-type', type),
    header(':content-type', 'application/json'),
    header(':message-type', 'event'),
  ])
  const payload = Buffer.from(JSON.stringify(data))
  const prelude = Buffer.alloc(8)
  prelude.writeUInt32BE(16 + headers.length + payload.length, 0)
  prelude.writeUInt32BE(headers.length, 4)
  const checked = (bytes: Buffer) => {
    const sum = Buffer.alloc(4)
    sum.writeUInt32BE(crc32(bytes))
    return Buffer.concat([bytes, sum])
  }
  return checked(Buffer.concat([checked(prelude), headers, payload]))
}

const ROLE = (url: string) => ({
  ...{ GCE_METADATA_HOST: new URL(url).host, METADATA_SERVER_DETECTION: 'assume-present' },
  GOOGLE_APPLICATION_CREDENTIALS: '',
})
const vertex = (url: string): ModelSettings => ({
  vertex: { project: 'acme-1', location: 'europe-west4', base_url: url },
})
const forbidden = ({ authorization }: { authorization?: string | undefined }): WireError | null =>
  authorization === 'Bearer ya29.of-the-machine'
    ? null
    : {
        status: 401,
        body: {
          error: {
            code: 401,
            message: 'Request had invalid authentication credentials.',
            status: 'UNAUTHENTICATED',
          },
        },
      }
const invalid = (message: string): WireError => ({
  status: 400,
  body: { error: { code: 400, message, status: 'INVALID_ARGUMENT' } },
})

/** https://cloud.google.com/vertex-ai/docs/reference/rest/v1beta1/projects.locations.publishers.models/streamGenerateContent */
const VERTEX: Wire = {
  ...{ model_id: 'vertex/gemini-3-pro-preview', settings: vertex, env: ROLE },
  path: '/v1beta1/projects/acme-1/locations/europe-west4/publishers/google/models/gemini-3-pro-preview:streamGenerateContent',
  refuse(body, headers) {
    const name = unknownIn(body, [
      'contents',
      'systemInstruction',
      'tools',
      'toolConfig',
      'generationConfig',
      'safetySettings',
      'labels',
    ])
    if (name) return invalid(`Invalid JSON payload received. Unknown name "${name}": Cannot find field.`)
    for (const part of recordsOf(body.contents).flatMap(({ parts }) => recordsOf(parts))) {
      const odd = unknownIn(part, ['text', 'thought', 'thoughtSignature', 'functionCall', 'functionResponse'])
      if (odd) return invalid(`Unknown name "${odd}" at 'contents.parts': Cannot find field.`)
      if ('functionCall' in part && part.thoughtSignature !== 'c2lnbmVk')
        return invalid('Function call is missing a thought_signature in functionCall parts.')
    }
    return forbidden(headers)
  },
  results: ({ contents }) =>
    recordsOf(contents)
      .flatMap(({ parts }) => recordsOf(parts))
      .filter((part) => 'functionResponse' in part).length,
  answer(step) {
    const chunk = (part: Body, more: Body = {}) =>
      event({
        candidates: [{ content: { role: 'model', parts: [part] }, ...more }],
        modelVersion: 'gemini-3',
        responseId: 'r',
        trafficType: 'ON_DEMAND',
      })
    const end = { finishReason: 'STOP', avgLogprobs: -0.1 }
    const said =
      'call' in step
        ? chunk(
            { functionCall: { name: step.call.name, args: step.call.input }, thoughtSignature: 'c2lnbmVk' },
            end,
          )
        : chunk({ text: step.text }, end)
    const usageMetadata = {
      promptTokenCount: 9,
      candidatesTokenCount: 3,
      thoughtsTokenCount: 2,
      totalTokenCount: 14,
      trafficType: 'ON_DEMAND',
    }
    return [
      chunk({ text: step.reasoning, thought: true }),
      said,
      event({ usageMetadata, modelVersion: 'gemini-3' }),
    ]
  },
}

/** https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/use-claude: no model in the body, a version. */
const VERTEX_CLAUDE: Wire = {
  ...{ model_id: 'vertex/claude-sonnet-4-5@20250929', settings: vertex, env: ROLE },
  path: '/v1/projects/acme-1/locations/europe-west4/publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict',
  refuse(body, headers) {
    const error = (message: string): WireError => ({
      status: 400,
      body: { type: 'error', error: { type: 'invalid_request_error', message } },
    })
    const known = [
      'anthropic_version',
      'messages',
      'system',
      'tools',
      'tool_choice',
      'stream',
      'max_tokens',
      'thinking',
      'cache_control',
      'output_config',
    ]
    const name = unknownIn(body, known)
    if (name) return error(`${name}: Extra inputs are not permitted`)
    if (body.anthropic_version !== 'vertex-2023-10-16') return error('anthropic_version: Field required')
    for (const [at, { role, content }] of recordsOf(body.messages).entries()) {
      const [first] = recordsOf(content)
      if (role === 'assistant' && !(first?.type === 'thinking' && first.signature === 'signed'))
        return error(`messages.${at}.content.0.type: Expected \`thinking\`, but found \`${first?.type}\`.`)
    }
    return forbidden(headers)
  },
  results: ({ messages }) =>
    recordsOf(messages)
      .flatMap(({ content }) => recordsOf(content))
      .filter(({ type }) => type === 'tool_result').length,
  answer(step) {
    const block = (index: number, content_block: Body, ...deltas: Body[]) => [
      named('content_block_start', { index, content_block }),
      ...deltas.map((delta) => named('content_block_delta', { index, delta })),
      named('content_block_stop', { index }),
    ]
    const said =
      'call' in step
        ? block(
            1,
            { type: 'tool_use', id: `toolu_vrtx_${step.turn}`, name: step.call.name, input: {} },
            { type: 'input_json_delta', partial_json: '' },
            { type: 'input_json_delta', partial_json: JSON.stringify(step.call.input) },
          )
        : block(1, { type: 'text', text: '' }, { type: 'text_delta', text: step.text })
    const message = {
      id: 'msg_vrtx_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      content: [],
      stop_reason: null,
      stop_sequence: null,
    }
    return [
      named('message_start', { message: { ...message, usage: { input_tokens: 9, output_tokens: 1 } } }),
      named('ping', {}),
      ...block(
        0,
        { type: 'thinking', thinking: '', signature: '' },
        { type: 'thinking_delta', thinking: step.reasoning },
        { type: 'signature_delta', signature: 'signed' },
      ),
      ...said,
      named('message_delta', {
        delta: { stop_reason: 'call' in step ? 'tool_use' : 'end_turn', stop_sequence: null },
        usage: { output_tokens: 5 },
      }),
      named('message_stop', {}),
    ]
  },
}

/** Models of others in the model garden: OpenAI's chat, at an address of the project. */
const VERTEX_GARDEN: Wire = {
  ...{ model_id: 'vertex/meta/llama-4-maverick-17b-128e-instruct-maas', settings: vertex, env: ROLE },
  path: '/v1/projects/acme-1/locations/europe-west4/endpoints/openapi/chat/completions',
  refuse(body, headers) {
    const name = unknownIn(body, [
      'model',
      'messages',
      'tools',
      'tool_choice',
      'stream',
      'stream_options',
      'max_tokens',
    ])
    if (name || body.model !== 'meta/llama-4-maverick-17b-128e-instruct-maas')
      return invalid(`Unknown: ${name}`)
    return forbidden(headers)
  },
  results: AZURE_CHAT.results,
  answer: AZURE_CHAT.answer,
}

export const CLOUD: readonly Wire[] = [AZURE_CHAT, BEDROCK, VERTEX, VERTEX_CLAUDE, VERTEX_GARDEN]
