import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Worker } from 'node:worker_threads'
import { BUDGETS } from '../budgets/budgets.ts'
import { AppError } from '../contract/error.ts'
import { passesFilter } from './check-filter.ts'
import { checkSchema, checkValue } from './check-schema.ts'

test('schemas of draft 2020-12 and draft 07 are taken, others are refused with their reason', async () => {
  assert.equal(await checkSchema({ type: 'object', $defs: { a: { $ref: '#/$defs/a' } } }, 'owner'), null)
  assert.equal(
    await checkSchema({ $schema: 'http://json-schema.org/draft-07/schema#', type: 'string' }, 'owner'),
    null,
  )
  assert.equal(await checkSchema({ type: 'string', format: 'date-time', 'x-mine': 1 }, 'owner'), null)
  assert.match((await checkSchema({ type: 'strnig' }, 'owner')) ?? '', /type/)
  assert.match((await checkSchema({ type: 'string', pattern: '(' }, 'owner')) ?? '', /regular expression/i)
  // Nothing is fetched.
  assert.match(
    (await checkSchema({ $ref: 'https://example.com/schema.json' }, 'owner')) ?? '',
    /can't resolve/,
  )
})

test('a value is told what is wrong with it', async () => {
  const schema = { type: 'array', items: { enum: ['a', 'b'] }, maxItems: 2 }
  assert.equal(await checkValue(schema, ['a'], 'run'), null)
  assert.equal(
    await checkValue(schema, ['c', 'a', 'b'], 'run'),
    'the result must NOT have more than 2 items\n/0 must be equal to one of the allowed values: "a", "b"',
  )
  const many = await checkValue(schema, Array(100).fill('c'), 'run')
  assert.equal(many?.split('\n').length, 21)
})

test('what takes for ever is given up, and takes nothing else with it', async () => {
  const schema = { type: 'string', pattern: '^(a+)+$' }
  assert.match((await checkValue(schema, `${'a'.repeat(40)}!`, 'run')) ?? '', /longer than 1 s/)
  let deep: Record<string, unknown> = { type: 'string' }
  for (let level = 0; level < 5_000; level += 1) deep = { type: 'object', properties: { a: deep } }
  assert.equal(typeof (await checkSchema(deep, 'owner')), 'string')
})

test('many at once on a busy machine refuse nothing that fits', async () => {
  const schema = { type: 'object', properties: { count: { type: 'integer' } }, required: ['count'] }
  const told = await Promise.all(Array.from({ length: 6 }, () => checkValue(schema, { count: 3 }, 'run')))
  assert.deepEqual(new Set(told), new Set([null]))
})

test('a schema that is too large, deep or manifold is refused before a thread is started', async () => {
  const threads: number[] = []
  const note = ({ threadId }: { threadId: number }) => threads.push(threadId)
  process.on('worker', note)
  const many = Object.fromEntries(Array.from({ length: 2_100 }, (_, index) => [`p${index}`, {}]))
  let deep: Record<string, unknown> = {}
  for (let level = 0; level < 60; level += 1) deep = { not: deep }
  try {
    assert.match((await checkSchema({ enum: ['x'.repeat(200_000)] }, 'owner')) ?? '', /larger than 128 KiB/)
    assert.match((await checkSchema({ properties: many }, 'owner')) ?? '', /more than 2000 objects/)
    assert.match((await checkSchema(deep, 'owner')) ?? '', /more than 50 levels/)
  } finally {
    process.off('worker', note)
  }
  assert.deepEqual(threads, [])
})

test('of many checks asked at once only a few have a thread', async () => {
  let now = 0
  let most = 0
  const note = (thread: Worker) => {
    now += 1
    most = Math.max(most, now)
    thread.once('exit', () => {
      now -= 1
    })
  }
  process.on('worker', note)
  try {
    await Promise.all(Array.from({ length: 5 }, () => checkSchema({ type: 'string' }, 'owner')))
    assert(most <= BUDGETS.checks_running.most, `${most} threads`)
  } finally {
    process.off('worker', note)
  }
})

test('filters and schemas share one budget of bytes, whichever trigger asks', async () => {
  const text = 'x'.repeat(BUDGETS.checks_bytes.most - 1_000)
  const first = passesFilter('payload != ""', { payload: text, headers: {} }, 'owner')
  const refusal = (error: unknown) => error instanceof AppError && error.status === 429
  await assert.rejects(checkSchema({ enum: ['y'.repeat(2_000)] }, 'owner'), refusal)
  assert.equal((await first).passes, true)
})
