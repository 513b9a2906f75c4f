import assert from 'node:assert/strict'
import { test } from 'node:test'
import { modelMessageSchema } from 'ai'
import type { EventData, NewEvent } from '../contract/event.ts'
import { WORKER_LOST } from '../log/interruption.ts'
import { buildMessages } from './messages.ts'
import { CallIds } from './provider-names.ts'

const user = (text: string, more: Partial<EventData<'message.user'>> = {}): NewEvent => ({
  type: 'message.user',
  data: { message_id: `u-${text}`, text, ...more },
})
const said = (message_id: string, text = message_id): NewEvent => ({
  type: 'message.assistant',
  data: { message_id, text },
})
const thought = (message_id: string, provider_metadata?: Record<string, unknown>): NewEvent => ({
  type: 'reasoning',
  data: { message_id, text: message_id, ...(provider_metadata && { provider_metadata }) },
})
const called = (tool_call_id: string, more: Partial<EventData<'tool.call'>> = {}): NewEvent => ({
  type: 'tool.call',
  data: { tool_call_id, name: 'bash', input: { command: tool_call_id }, ...more },
})
const ended = (tool_call_id: string, output?: string, is_error = false): NewEvent => ({
  type: 'tool.result',
  data: {
    tool_call_id,
    is_error,
    ...(!is_error && { exit_code: 0 }),
    ...(output !== undefined && { output }),
  },
})
const printed = (tool_call_id: string, text: string): NewEvent => ({
  type: 'tool.output',
  data: { tool_call_id, stream: 'stdout', text },
})
const usage: NewEvent = {
  type: 'usage',
  data: { model_id: 'm', input_tokens: 1, output_tokens: 1, total_tokens: 2 },
}
const build = (...log: NewEvent[]) => {
  const messages = buildMessages(log)
  // What the SDK would refuse, it refuses here.
  for (const message of messages) modelMessageSchema.parse(message)
  return messages
}
const idOf = (logged: string) => new CallIds().of(logged)
const call = (id: string) => ({
  ...{ type: 'tool-call', toolCallId: idOf(id), toolName: 'bash' },
  input: { command: id },
})
const result = (id: string, value: string, type = 'text') => ({
  type: 'tool-result',
  toolCallId: idOf(id),
  toolName: 'bash',
  output: { type, value },
})

test('what the network policy refused is told with the call that was at work', () => {
  const refused = (host: string): NewEvent => ({
    type: 'egress.refused',
    data: { host, port: 443, reason: 'not_listed', message: `Refused: ${host}.` },
  })
  const messages = build(
    user('go'),
    called('a'),
    called('b'),
    usage,
    refused('one'),
    refused('two'),
    ended('a', '[exit code 56]'),
    ended('b', 'fine'),
    // It took longer to be told than the call to end.
    refused('three'),
  )
  assert.deepEqual(messages.at(-1)?.content, [
    result('a', '[exit code 56]\nRefused: one.\nRefused: two.'),
    result('b', 'fine\nRefused: three.'),
  ])
  assert.deepEqual(build(user('go'), refused('before anything')), build(user('go')))

  // A call that never ended is not at work for ever.
  const later = build(
    user('go'),
    called('a'),
    usage,
    user('again'),
    called('b'),
    usage,
    refused('four'),
    ended('b', 'x'),
  )
  assert.deepEqual(later.at(-1)?.content, [result('b', 'x\nRefused: four.')])
})

test('the parts of a step are one assistant message, followed by the results of all its calls', () => {
  const messages = build(
    user('go'),
    thought('hm'),
    said('I look'),
    called('a'),
    called('b'),
    usage,
    printed('a', 'ignored: the result says what the model was told'),
    ended('a', 'A'),
    ended('b', 'B', true),
    said('done'),
    usage,
  )
  assert.deepEqual(messages, [
    { role: 'user', content: 'go' },
    {
      role: 'assistant',
      content: [{ type: 'reasoning', text: 'hm' }, { type: 'text', text: 'I look' }, call('a'), call('b')],
    },
    { role: 'tool', content: [result('a', 'A'), result('b', 'B', 'error-text')] },
    { role: 'assistant', content: [{ type: 'text', text: 'done' }] },
  ])
})

test('steps of tool calls alone stay apart', () => {
  const roles = build(user('go'), called('a'), usage, ended('a', ''), called('b'), usage, ended('b', '')).map(
    ({ role }) => role,
  )
  assert.deepEqual(roles, ['user', 'assistant', 'tool', 'assistant', 'tool'])
})

test('an open call is answered as interrupted, right behind its step', () => {
  const messages = build(user('go'), called('a'), called('b'), usage, ended('a', 'A'), user('and then?'))
  assert.deepEqual(messages.slice(2), [
    { role: 'tool', content: [result('a', 'A'), result('b', WORKER_LOST, 'error-text')] },
    { role: 'user', content: 'and then?' },
  ])
})

test('a result that was stored behind a follow-up still stands with its call', () => {
  const messages = build(user('go'), called('a'), usage, user('more'), ended('a', 'late'))
  assert.deepEqual(
    messages.map(({ role }) => role),
    ['user', 'assistant', 'tool', 'user'],
  )
  assert.deepEqual(messages[2]?.content, [result('a', 'late')])
})

test('what a provider wants back is given back; anything else in its place is left out', () => {
  const [, message] = build(
    user('go'),
    thought('hm', { anthropic: { signature: 'sig' } }),
    called('a', { provider_metadata: { google: { thoughtSignature: 's' } } }),
    called('b', { provider_metadata: { broken: 1 } }),
    usage,
  )
  assert.deepEqual(message?.content, [
    { type: 'reasoning', text: 'hm', providerOptions: { anthropic: { signature: 'sig' } } },
    { ...call('a'), providerOptions: { google: { thoughtSignature: 's' } } },
    call('b'),
  ])
})

test('encrypted reasoning without text is kept, reasoning without an answer is not', () => {
  const secret: NewEvent = {
    type: 'reasoning',
    data: { message_id: 'x', text: '', provider_metadata: { openai: { k: 'v' } } },
  }
  const [, message] = build(user('go'), secret, said('hello'), usage)
  assert.equal(message?.content.length, 2)
  assert.deepEqual(build(user('go'), thought('alone')), [{ role: 'user', content: 'go' }])
})

test('a command that failed is a result like any other; the call itself did not fail', () => {
  const grep: NewEvent = {
    type: 'tool.result',
    data: { tool_call_id: 'a', is_error: true, exit_code: 1, output: '[exit code 1]' },
  }
  assert.deepEqual(build(user('go'), called('a'), usage, grep)[2]?.content, [result('a', '[exit code 1]')])
})

test('text that was taken back is gone, and text stored again counts once, in its last form', () => {
  const messages = build(
    user('go'),
    said('torn'),
    said('again', 'half'),
    said('torn', ''),
    said('again', 'whole'),
    usage,
  )
  assert.deepEqual(messages[1], { role: 'assistant', content: [{ type: 'text', text: 'whole' }] })
})

test('user messages with nothing between them are one; an empty one asks to go on', () => {
  assert.deepEqual(build(user('one'), user('two')), [{ role: 'user', content: 'one\n\ntwo' }])
  assert.deepEqual(build(user(' ')), [{ role: 'user', content: 'Continue.' }])
})

test('attachments are named', () => {
  const attachments = [{ file_name: 'a.csv', mime_type: 'text/csv', path: '/workspace/.attachments/a.csv' }]
  const [message] = build(user('see', { attachments }))
  assert.equal(message?.content, 'see\n\nAttached files:\n- a.csv (text/csv): /workspace/.attachments/a.csv')
})

test('calls of a harness that stores no output for the agent are answered with what they printed', () => {
  const messages = build(
    user('go'),
    called('a'),
    printed('a', 'hel'),
    printed('a', 'lo'),
    ended('a'),
    called('b'),
    ended('b'),
  )
  assert.deepEqual(messages[2]?.content, [result('a', 'hello')])
  assert.deepEqual(messages[4]?.content, [result('b', '(no output, exit code 0)')])
})

test('every prefix of a log makes messages in which each call is answered at once', () => {
  const log = [
    user('go'),
    thought('t'),
    said('s'),
    called('a'),
    called('b'),
    usage,
    ended('a', 'A'),
    ended('b', 'B'),
    user('more'),
    said('end'),
    usage,
  ]
  for (let length = 0; length <= log.length; length += 1) {
    const messages = build(...log.slice(0, length))
    messages.forEach((message, at) => {
      const calls =
        typeof message.content === 'string' ? [] : message.content.filter((part) => part.type === 'tool-call')
      const next = messages[at + 1]
      if (calls.length > 0)
        assert.equal(next?.role === 'tool' && next.content.length, calls.length, `prefix of ${length}`)
    })
  }
})

test('what became of the workspace is told where it became so, behind the results of the step before', () => {
  const restored: NewEvent = {
    type: 'setup',
    data: {
      phase: 'restore',
      name: 'the workspace of turn 1',
      status: 'finished',
      workspace: { kept_at: '2026-01-01T00:00:00.000Z', turn: 1, calls_after: 1, note: 'It is older.' },
    },
  }
  const note = '[From the service, not the user: It is older.]'
  const kept: NewEvent = { type: 'setup', data: { phase: 'restore', name: 'as it was', status: 'finished' } }
  assert.deepEqual(build(user('Go.'), kept, called('a'), usage, restored, ended('a', 'done'), said('next')), [
    { role: 'user', content: 'Go.' },
    { role: 'assistant', content: [call('a')] },
    { role: 'tool', content: [result('a', 'done')] },
    { role: 'user', content: note },
    { role: 'assistant', content: [{ type: 'text', text: 'next' }] },
  ])
  assert.deepEqual(build(user('Go.'), said('a'), usage, restored, user('More.')).slice(1), [
    { role: 'assistant', content: [{ type: 'text', text: 'a' }] },
    { role: 'user', content: `${note}\n\nMore.` },
  ])
})

test('names and ids that no provider takes back are told as ones that all do, alike for a call and its result', () => {
  const ids = ['', 'z'.repeat(100_000), '../../x\u001b[2J "\'<>', 'call_1', 'call_1-2', 'aB3aB3aB3']
  const names = ['no_such\u001b[2J_tool', 'x'.repeat(100_000), '', '1st', 'Read /etc/passwd', 'bash']
  const log = [
    user('go'),
    ...ids.map((id, at) => called(id, { name: names[at] ?? '' })),
    usage,
    ...ids.map((id) => ended(id, 'done')),
  ]
  const [, answer, results] = build(...log)
  const calls = [answer?.content].flat().flatMap((part) => (typeof part === 'object' ? [part] : []))
  const told = calls.flatMap((part) => (part.type === 'tool-call' ? [part] : []))
  assert.deepEqual(
    told.map(({ toolName }) => toolName),
    ['no_such__2J_tool', 'x'.repeat(64), '_', '_1st', 'Read__etc_passwd', 'bash'],
  )
  for (const { toolCallId } of told) assert.match(toolCallId, /^[A-Za-z0-9]{9}$/)
  assert.equal(new Set(told.map(({ toolCallId }) => toolCallId)).size, ids.length)
  assert.equal(told.at(-1)?.toolCallId, 'aB3aB3aB3')
  const answered = results?.role === 'tool' ? results.content : []
  assert.deepEqual(
    answered.map((part) => part.type === 'tool-result' && [part.toolCallId, part.toolName]),
    told.map(({ toolCallId, toolName }) => [toolCallId, toolName]),
  )
  // However the conversation goes on, they stay what they were: the provider has cached it so.
  assert.deepEqual(build(...log, said('more'), called('later'), usage).slice(0, 3), build(...log).slice(0, 3))
})

test('an id that looks like the short form of another call stays one of its own', () => {
  const [, answer] = build(user('go'), called('a'), called(idOf('a')), usage)
  const parts = Array.isArray(answer?.content) ? answer.content : []
  const [first, second] = parts.map((part) => part.type === 'tool-call' && part.toolCallId)
  assert.equal(first, idOf('a'))
  assert.notEqual(second, first)
})
