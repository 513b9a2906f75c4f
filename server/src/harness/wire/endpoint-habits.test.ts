/** What servers with OpenAI's chat API refuse or miss by name, as they say it, and what is sent then. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EndpointHabits } from './endpoint-habits.ts'

const REQUEST = {
  ...{
    model: 'm',
    stream: true,
    stream_options: { include_usage: true },
    max_tokens: 32_000,
    tool_choice: 'auto',
  },
  messages: [
    { role: 'system', content: 'Be good.' },
    { role: 'user', content: 'Do it.' },
    {
      ...{
        role: 'assistant',
        content: null,
        reasoning: 'hm',
        reasoning_content: 'hm',
        runyard_thoughts: 'hm',
      },
      tool_calls: [
        { id: 'a', type: 'function', extra_content: { x: 1 }, function: { name: 'bash', arguments: '{}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'a', content: 'ok' },
  ],
  tools: [
    {
      type: 'function',
      function: {
        ...{ name: 'bash', description: 'Runs.', strict: true },
        parameters: {
          ...{ $schema: 'x', type: 'object', additionalProperties: false },
          properties: { default: { type: 'string', default: 'a', format: 'uri' } },
        },
      },
    },
  ],
}
type Sent = Record<string, unknown> & {
  messages: Array<Record<string, unknown>>
  tools: Array<{ function: Record<string, unknown> }>
}
const read = (request: Record<string, unknown>): Sent => JSON.parse(JSON.stringify(request))

/** What is sent after it said this of the request. */
function learned(said: string): Sent {
  const habits = new EndpointHabits()
  const first = habits.apply(REQUEST)
  assert(habits.learn(first, said), 'nothing was learned')
  assert(!habits.learn(habits.apply(REQUEST), said), 'the same was learned twice')
  return read(habits.apply(REQUEST))
}

test('what the model thought is never sent under its private name', () => {
  assert.equal(JSON.stringify(new EndpointHabits().apply(REQUEST)).includes('runyard'), false)
})

const isGone = (sent: Sent, field: string) => {
  const [, , assistant] = sent.messages
  const [call] = Array.isArray(assistant?.tool_calls) ? assistant.tool_calls : []
  const [tool] = sent.tools
  const { parameters = {} } = tool?.function ?? {}
  const places = [sent, assistant, call, tool?.function, parameters as Record<string, unknown>]
  return places.every((place) => place && !(field in place))
}
for (const [field, said] of [
  [
    'reasoning_content',
    "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning_content' is unsupported)]",
  ],
  ['reasoning', 'body.messages.2.assistant.reasoning: Extra inputs are not permitted'],
  ['stream_options', 'Unrecognized request argument supplied: stream_options'],
  ['stream_options', "Unknown parameter: 'stream_options'."],
  [
    'stream_options',
    'body.stream_options: Extra inputs are not permitted; body.stream_options: Extra inputs are not permitted',
  ],
  ['tool_choice', "Additional properties are not allowed ('tool_choice' was unexpected)"],
  ['extra_content', 'messages[2].tool_calls[0].extra_content: unknown field'],
  ['strict', 'tools.0.function.strict: Extra inputs are not permitted'],
  [
    '$schema',
    'Invalid JSON payload received. Unknown name "$schema" at \'tools[0].function.parameters\': Cannot find field.',
  ],
  [
    'additionalProperties',
    'Unknown name "additionalProperties" at \'tools[0].function.parameters\': Cannot find field.',
  ],
] as const)
  test(`${field} is left out where it is refused: ${said}`, () => {
    const sent = learned(said)
    assert(isGone(sent, field))
    assert.deepEqual([sent.model, sent.messages.length, sent.tools[0]?.function.name], ['m', 4, 'bash'])
  })

test('words of a schema go everywhere in it, names of fields stay', () => {
  const sent = learned('The keyword `default` is not supported in tools[0].function.parameters')
  assert.deepEqual(sent.tools[0]?.function.parameters, {
    ...{ $schema: 'x', type: 'object', additionalProperties: false },
    properties: { default: { type: 'string', format: 'uri' } },
  })
})

test('what is missing is added, with what the model thought', () => {
  const bare = read(REQUEST)
  for (const name of ['reasoning', 'reasoning_content']) delete bare.messages[2]?.[name]
  for (const said of [
    'thinking is enabled but reasoning_content is missing in assistant tool call message at index 2: `reasoning_content`',
    'The `reasoning_content` in the thinking mode must be passed back to the API.',
  ]) {
    const habits = new EndpointHabits()
    assert(habits.learn(habits.apply(bare), said))
    assert.equal(read(habits.apply(bare)).messages[2]?.reasoning_content, 'hm')
  }
})

test('content that must be a text is an empty one', () => {
  for (const said of [
    'messages[2].content: expected string, got null',
    'Input should be a valid string: body.messages.2.content',
  ])
    assert.equal(learned(`${said} is required`).messages[2]?.content, '')
})

test('a result has the name of its tool where that is missed', () => {
  assert.equal(learned("messages.3: 'name' is required for role tool").messages[3]?.name, 'bash')
})

test('instructions stand before the first message where there is no role for them', () => {
  const { messages } = learned('System role not supported')
  assert.deepEqual(messages.slice(0, 1), [{ role: 'user', content: 'Be good.\n\nDo it.' }])
})

test('the limit of an answer is the one that it names', () => {
  for (const said of [
    'max_tokens is too large: 32000. This model supports at most 8192 completion tokens, whereas you provided 32000.',
    'max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens',
    '`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the context window',
  ])
    assert.equal(learned(said).max_tokens, 8_192)
  const renamed = learned(
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
  )
  assert.deepEqual([renamed.max_tokens, renamed.max_completion_tokens], [undefined, 32_000])
})

test('of what means something else nothing is learned', () => {
  const habits = new EndpointHabits()
  for (const said of [
    "The model 'm' does not exist",
    'tools[0].function.parameters is not a valid schema',
    '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    "Invalid value for 'content': the messages must not be empty",
    'Provider returned error',
    'unknown field `x`, expected one of `model`, `tool_choice`, `max_tokens`',
    "Image content is not supported with this model, or set 'max_tokens'",
    '',
  ])
    assert(!habits.learn(habits.apply(REQUEST), said), said)
})
