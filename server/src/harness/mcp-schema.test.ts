import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readInputSchema, underOwnNames } from './mcp-schema.ts'

const read = (given: unknown) => {
  const schema = readInputSchema(given)
  assert(!('refusal' in schema), JSON.stringify(schema))
  return schema.schema
}
const EMPTY = { type: 'object', properties: {} }
const S = { type: 'string' }

test('a schema that says little takes anything', () => {
  for (const given of [
    undefined,
    null,
    true,
    {},
    { type: 'object' },
    { type: ['object', 'null'] },
    { type: 'OBJECT' },
  ])
    assert.deepEqual(read(given), EMPTY)
  assert.deepEqual(
    read({ type: 'object', properties: null, required: null, title: null, $schema: null }),
    EMPTY,
  )
  assert.deepEqual(read('{"type":"object"}'), EMPTY)
  for (const given of [
    [],
    7,
    false,
    'string',
    { type: 'string' },
    { type: 'array' },
    { properties: { a: { type: 'strng' } } },
  ])
    assert.match(JSON.stringify(readInputSchema(given)), /not valid/)
})

test('references are written out, and end where they would not', () => {
  const $defs = { 'a/b': { type: 'string', description: 'of b' }, 'c d': { $ref: '#/$defs/a~1b' } }
  const given = {
    type: 'object',
    $defs,
    properties: { x: { $ref: '#/$defs/c%20d', description: 'own' }, y: { $ref: '#/$defs/a~1b' } },
  }
  assert.deepEqual(read(given).properties, {
    x: { type: 'string', description: 'own' },
    y: { type: 'string', description: 'of b' },
  })
  // The whole of it elsewhere, as generators of code write it.
  const whole = {
    $ref: '#/definitions/In',
    definitions: { In: { type: 'object', properties: { a: S }, required: ['a'] } },
  }
  assert.deepEqual(read(whole), { type: 'object', properties: { a: S }, required: ['a'] })
  const node = {
    type: 'object',
    properties: { next: { $ref: '#/$defs/Node' }, all: { type: 'array', items: { $ref: '#' } } },
  }
  const text = JSON.stringify(read({ ...node, $defs: { Node: node } }))
  assert(!text.includes('$ref') && text.length < 20_000, text)
  assert.deepEqual(
    read({ properties: { a: { $ref: '#/nowhere' }, b: { $ref: 'https://example.com/x.json' } } }).properties,
    {
      ...{ a: {}, b: {} },
    },
  )
  // Each twice the one before: a few lines that would be gigabytes.
  const bomb = Object.fromEntries(
    Array.from({ length: 25 }, (_, n) => [
      `d${n}`,
      { properties: { a: { $ref: `#/$defs/d${n + 1}` }, b: { $ref: `#/$defs/d${n + 1}` } } },
    ]),
  )
  assert(JSON.stringify(read({ $ref: '#/$defs/d0', $defs: bomb })).length < 32 * 1024)
})

test('other drafts, OpenAPI and other languages are understood', () => {
  assert.deepEqual(
    read({
      $schema: 'http://json-schema.org/draft-04/schema#',
      id: 'http://example.com/in',
      type: 'object',
      properties: {
        id: { type: 'integer', minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false },
        name: { type: 'str', required: true, nullable: true, minLength: '2', pattern: null },
        any: { type: 'any' },
        pair: { type: 'array', items: [S, { type: 'int' }], additionalItems: false },
        list: { type: 'list' },
        kind: { enum: [], type: ['string', null, 'string'] },
        tree: { type: 'dict', properties: { x: true } },
      },
      required: ['id', 'gone', 7, 'id'],
    }),
    {
      type: 'object',
      properties: {
        id: { type: 'integer', exclusiveMinimum: 0, maximum: 9 },
        name: { type: 'string', minLength: 2 },
        any: {},
        pair: { type: 'array', items: { anyOf: [S, { type: 'integer' }] } },
        list: { type: 'array', items: {} },
        kind: { type: ['string', 'null'] },
        tree: { type: 'object', properties: { x: {} } },
      },
      required: ['id'],
    },
  )
})

test('alternatives at the top become one object', () => {
  const by = (name: string, ...more: string[]) => ({
    type: 'object',
    properties: { [name]: S, both: S },
    required: [name, ...more],
    additionalProperties: false,
  })
  const one = { type: 'object', properties: { a: S, both: S, b: S }, required: ['both'] }
  assert.deepEqual(read({ anyOf: [by('a', 'both'), by('b', 'both')] }), one)
  assert.deepEqual(
    read({ oneOf: [{ $ref: '#/$defs/A' }, by('b', 'both')], $defs: { A: by('a', 'both') } }),
    one,
  )
  assert.deepEqual(read({ allOf: [by('a'), by('b')], if: {}, else: {}, not: {} }).required, ['a', 'b'])
  assert.deepEqual(read({ ...by('a'), enum: [{}], anyOf: [{ required: ['a'] }, { required: ['both'] }] }), {
    ...{ type: 'object', properties: { a: S, both: S }, required: ['a'] },
  })
})

test('names of properties that no provider takes are others for the model', () => {
  const given = { type: 'object', properties: { $filter: S, 'a b': S, a_b: S, ok: S }, required: ['$filter'] }
  const schema = readInputSchema(given)
  assert(!('refusal' in schema))
  assert.deepEqual(Object.keys(Object(schema.schema.properties)), ['_filter', 'a_b_2', 'a_b', 'ok'])
  assert.deepEqual(schema.schema.required, ['_filter'])
  assert.deepEqual(underOwnNames({ _filter: 1, a_b_2: 2, a_b: 3, ok: 4 }, schema.renamed), {
    ...{ $filter: 1, 'a b': 2, a_b: 3, ok: 4 },
  })
})
