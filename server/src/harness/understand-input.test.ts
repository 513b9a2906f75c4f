import assert from 'node:assert/strict'
import { test } from 'node:test'
import { offerTools } from './mcp-tools.ts'
import { TOO_DEEP } from './tool-call.ts'
import { TOOLS } from './tools/toolset.ts'
import { explainMalformed, understandInput } from './understand-input.ts'

const schemaOf = (name: string) => TOOLS.get(name)?.input_schema ?? {}

test('an input is understood as the schema of a tool of ours says', () => {
  for (const [name, given, meant] of [
    ['bash', { command: 'x', timeout_seconds: null, background: null }, { command: 'x' }],
    ['bash', { command: 'x', background: 'false' }, { command: 'x', background: false }],
    ['bash', { command: 'x', background: 'True' }, { command: 'x', background: true }],
    ['bash', { command: 'x', timeout_seconds: '30' }, { command: 'x', timeout_seconds: 30 }],
    ['bash', { command: 'x', timeout_seconds: '30.0' }, { command: 'x', timeout_seconds: 30 }],
    ['bash', { command: 'x', timeout_seconds: '' }, { command: 'x' }],
    ['bash', { command: 'x', background: 'None' }, { command: 'x' }],
    // Text that is to be text stays as it is, whatever it looks like.
    ['bash', { command: 'null' }, { command: 'null' }],
    ['write', { path: '30', content: '{"a": 1}' }, { path: '30', content: '{"a": 1}' }],
    [
      'edit',
      { path: 'a', edits: '[{"old_text": "x", "new_text": "y", "replace_all": "true",}]' },
      { path: 'a', edits: [{ old_text: 'x', new_text: 'y', replace_all: true }] },
    ],
    [
      'edit',
      { path: 'a', edits: { old_text: 'x', new_text: 'y' } },
      { path: 'a', edits: [{ old_text: 'x', new_text: 'y' }] },
    ],
    [
      'edit',
      { path: 'a', old_text: null, edits: [{ old_text: 'x', new_text: 'y', replace_all: null }] },
      { path: 'a', edits: [{ old_text: 'x', new_text: 'y' }] },
    ],
    [
      'bash',
      { malformed: '{"command":"echo tc","background":"false",}' },
      { command: 'echo tc', background: false },
    ],
    ['bash', { malformed: JSON.stringify(JSON.stringify({ command: 'x' })) }, { command: 'x' }],
    ['bash', { malformed: [{ command: 'x' }] }, { command: 'x' }],
    ['bash', { malformed: "{'command': 'x\\u0000'}" }, { command: 'x\ufffd' }],
    ['read_run', { malformed: null }, {}],
    ['read_run', { malformed: '' }, {}],
    // What it cannot mean stays, and is refused by the tool.
    ['bash', { command: null }, { command: null }],
    ['bash', { command: 'x', timeout_seconds: '30s' }, { command: 'x', timeout_seconds: '30s' }],
    ['bash', { command: 'x', background: 'yes' }, { command: 'x', background: 'yes' }],
    ['bash', { malformed: '{"command":"rm -rf ' }, { malformed: '{"command":"rm -rf ' }],
  ] as const)
    assert.deepEqual(understandInput(given, schemaOf(name)), meant, JSON.stringify(given))
})

test('an input is understood as the schema of a tool server says', () => {
  const schema = {
    type: 'object',
    properties: {
      limit: { anyOf: [{ type: 'integer' }, { type: 'boolean' }] },
      filter: { $ref: '#/$defs/Filter' },
      cursor: { type: ['string', 'null'] },
      note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      old: { type: 'string', nullable: true },
      owner: { type: 'string' },
      level: { enum: [1, 2, 3] },
      anything: {},
      ids: { type: 'array', items: { type: 'number' } },
      either: { oneOf: [{ type: 'object', properties: { n: { type: 'integer' } } }, { type: 'array' }] },
    },
    required: ['owner'],
    $defs: {
      Filter: {
        type: 'object',
        properties: { open: { type: 'boolean' } },
        additionalProperties: { type: 'number' },
      },
    },
  }
  for (const [given, meant] of [
    [{ limit: '5' }, { limit: 5 }],
    [{ filter: '{"open":"true","n":"1.5"}' }, { filter: { open: true, n: 1.5 } }],
    [{ filter: null }, {}],
    // Null that the schema takes is said on purpose.
    [
      { cursor: null, note: null, anything: null },
      { cursor: null, note: null, anything: null },
    ],
    [
      { cursor: 'null', note: '5' },
      { cursor: 'null', note: '5' },
    ],
    [{ old: null }, { old: null }],
    [{ owner: null }, { owner: null }],
    [{ level: '2' }, { level: 2 }],
    [{ ids: '[1, "2"]' }, { ids: [1, 2] }],
    [{ ids: ['1', 2, '9007199254740993'] }, { ids: [1, 2, '9007199254740993'] }],
    [{ either: '{"n": "1"}' }, { either: { n: 1 } }],
    [{ unknown: 'true' }, { unknown: 'true' }],
  ] as const)
    assert.deepEqual(understandInput(given, schema), meant, JSON.stringify(given))
  // A schema that goes round in circles, in many ways at once.
  const any = Array.from({ length: 50 }, () => ({ $ref: '#/$defs/A' }))
  const endless = {
    type: 'object',
    properties: { a: { $ref: '#/$defs/A' } },
    $defs: { A: { anyOf: any }, B: { $ref: '#/$defs/B' } },
  }
  assert.deepEqual(understandInput({ a: '1' }, endless), { a: '1' })
})

test('arguments of a tool server that are no JSON are told, not sent', async () => {
  const sent: unknown[] = []
  const input_schema = { type: 'object', properties: { n: { type: 'integer' } } }
  const { tools } = offerTools(
    'db',
    [{ name: 'go', description: '', input_schema }],
    new Set(),
    async (_name, input) => {
      sent.push(input)
      return { output: 'ok', is_error: false }
    },
  )
  const run = tools[0]?.run
  assert(run)
  const call = (input: unknown) => run(input, {} as Parameters<typeof run>[1])
  assert.equal((await call({ n: '3' })).output, 'ok')
  assert.match(
    (await call({ malformed: '{"n": 3' })).output,
    /^The call was not made: the arguments of db__go .*column 8/,
  )
  assert.deepEqual(sent, [{ n: 3 }])
})

test('arguments that are too deep are told as that', () => {
  const problem = explainMalformed({ malformed: TOO_DEEP }, schemaOf('bash'))
  assert.equal(problem, 'Nested more than 64 levels deep')
})

test('a tool that takes something of the name of broken arguments gets it', () => {
  const schema = { type: 'object', properties: { malformed: { type: 'string' } } }
  assert.equal(explainMalformed({ malformed: '{' }, schema), null)
  assert.deepEqual(understandInput({ malformed: '{"a":1}' }, schema), { malformed: '{"a":1}' })
})

test('a number that JSON cannot hold stays the text that it is', () => {
  const schema = { type: 'object', properties: { n: { type: 'number' } } }
  assert.deepEqual(understandInput({ n: '1e999' }, schema), { n: '1e999' })
  assert.deepEqual(understandInput({ n: '1e9' }, schema), { n: 1e9 })
})
