import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkSchema, checkValue } from './check-schema.ts'

test('schemas of draft 2020-12 and draft 07 are taken, others are refused with their reason', async () => {
  assert.equal(await checkSchema({ type: 'object', $defs: { a: { $ref: '#/$defs/a' } } }), null)
  assert.equal(
    await checkSchema({ $schema: 'http://json-schema.org/draft-07/schema#', type: 'string' }),
    null,
  )
  assert.equal(await checkSchema({ type: 'string', format: 'date-time', 'x-mine': 1 }), null)
  assert.match((await checkSchema({ type: 'strnig' })) ?? '', /type/)
  assert.match((await checkSchema({ type: 'string', pattern: '(' })) ?? '', /regular expression/i)
  // Nothing is fetched.
  assert.match((await checkSchema({ $ref: 'https://example.com/schema.json' })) ?? '', /can't resolve/)
})

test('a value is told what is wrong with it', async () => {
  const schema = { type: 'array', items: { enum: ['a', 'b'] }, maxItems: 2 }
  assert.equal(await checkValue(schema, ['a']), null)
  assert.equal(
    await checkValue(schema, ['c', 'a', 'b']),
    'the result must NOT have more than 2 items\n/0 must be equal to one of the allowed values: "a", "b"',
  )
  const many = await checkValue(schema, Array(100).fill('c'))
  assert.equal(many?.split('\n').length, 21)
})

test('what takes for ever is given up, and takes nothing else with it', async () => {
  const schema = { type: 'string', pattern: '^(a+)+$' }
  assert.match((await checkValue(schema, `${'a'.repeat(40)}!`)) ?? '', /longer than 1 s/)
  let deep: Record<string, unknown> = { type: 'string' }
  for (let level = 0; level < 5_000; level += 1) deep = { type: 'object', properties: { a: deep } }
  assert.equal(typeof (await checkSchema(deep)), 'string')
})

test('many at once on a busy machine refuse nothing that fits', async () => {
  const schema = { type: 'object', properties: { count: { type: 'integer' } }, required: ['count'] }
  const told = await Promise.all(Array.from({ length: 6 }, () => checkValue(schema, { count: 3 })))
  assert.deepEqual(new Set(told), new Set([null]))
})
