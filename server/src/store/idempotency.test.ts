import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { sql } from 'kysely'
import { until } from '../../test/support/cluster.ts'
import { onEitherDatabase } from '../../test/support/databases.ts'
import { addPrincipal, newRun } from '../../test/support/stored.ts'
import { AppError } from '../contract/error.ts'
import type { Store } from './db.ts'
import { toAppError } from './faults.ts'
import { hashBody, type IdempotencyKey, once, onceOutside, readAnswer, removeOldKeys } from './idempotency.ts'
import { insertRun } from './new-runs.ts'

const newKey = (more: Partial<IdempotencyKey> = {}): IdempotencyKey => ({
  principal_id: randomUUID(),
  route: 'POST /x',
  key: 'k',
  body_hash: hashBody(Buffer.from('body')),
  ...more,
})
const isCode = (code: string, status: number) => (error: unknown) =>
  error instanceof AppError && error.code === code && error.status === status

onEitherDatabase('idempotency', (open) => {
  let store: Store
  before(async () => {
    store = await open()
  })
  const age = (key: IdempotencyKey, hours: number) =>
    sql`update idempotency_keys set created_at = created_at - ${hours} * interval '1 hour'
      where principal_id = ${key.principal_id}`.execute(store.db)

  test('work is done once, also for callers at the same time', async () => {
    const key = newKey()
    let calls = 0
    const answers = await Promise.all(
      Array.from({ length: 8 }, () =>
        once(store.db, key, async (trx) => {
          calls += 1
          await sql`select 1`.execute(trx)
          return { status: 201, body: { made: calls } }
        }),
      ),
    )
    assert.equal(calls, 1)
    assert.equal(answers.filter((answer) => !answer.replayed).length, 1)
    for (const { status, body } of answers) assert.deepEqual([status, body], [201, { made: 1 }])
  })

  test('a key belongs to its principal and route; another body is refused', async () => {
    const key = newKey()
    const make = (used: IdempotencyKey) =>
      once(store.db, used, async () => ({ status: 200, body: used.route }))
    assert.equal((await make(key)).replayed, false)
    assert.equal((await make({ ...key, route: 'POST /y' })).replayed, false)
    assert.equal((await make({ ...key, principal_id: randomUUID() })).replayed, false)
    const changed = { ...key, body_hash: hashBody(Buffer.from('another')) }
    await assert.rejects(make(changed), isCode('invalid_request', 422))
    assert.equal((await make(key)).replayed, true)
  })

  test('refused work stores nothing', async () => {
    const key = newKey()
    const refusal = new AppError('invalid_request', 'No.')
    await assert.rejects(
      once(store.db, key, async () => {
        throw refusal
      }),
      refusal,
    )
    assert.equal(await readAnswer(store.db, key), null)
    assert.equal((await once(store.db, key, async () => ({ status: 200, body: 1 }))).replayed, false)
  })

  test('work outside of a transaction is begun once, whether or not it has ended', async () => {
    const key = newKey()
    let calls = 0
    const make = (used: IdempotencyKey, until_ended: Promise<unknown>) =>
      onceOutside(store.db, used, async () => {
        calls += 1
        await until_ended
        return { status: 200, body: calls }
      })
    const soon = wait(100)
    const answers = await Promise.all(Array.from({ length: 4 }, () => make(key, soon)))
    assert.deepEqual(
      answers.map(({ status, body }) => [status, body]),
      Array(4).fill([200, 1]),
    )
    assert.equal(answers.filter(({ replayed }) => !replayed).length, 1)

    const slow = newKey()
    const end = Promise.withResolvers<void>()
    const callers = Array.from({ length: 4 }, () => make(slow, end.promise))
    const refusals = callers.map((caller) =>
      caller.then(
        () => assert.fail(),
        (error) => error,
      ),
    )
    assert(isCode('conflict', 409)(await Promise.any(refusals)))
    end.resolve()
    await Promise.allSettled(callers)
    assert.equal(calls, 2)
    assert.deepEqual(await make(slow, soon), { status: 200, body: 2, replayed: true })
  })

  test('work outside of a transaction can be begun again after it has failed, and once its process has gone', async () => {
    const key = newKey()
    const make = (used: IdempotencyKey) => onceOutside(store.db, used, async () => ({ status: 200, body: 2 }))
    const failed = onceOutside(store.db, key, async () => {
      throw new Error('no')
    })
    await assert.rejects(failed, /no/)
    const done = newKey()
    await assert.rejects(
      onceOutside(store.db, done, async () => ({ status: 200, body: 1n })),
      TypeError,
    )
    await assert.rejects(make(done), isCode('conflict', 409), 'what was done is not done again')
    const never = newKey()
    assert.deepEqual(await make(key), { status: 200, body: 2, replayed: false })
    void onceOutside(store.db, never, () => new Promise(() => {}))
    await until('it to begin', () =>
      readAnswer(store.db, never).then(
        () => false,
        () => true,
      ),
    )
    await assert.rejects(make(never), isCode('conflict', 409))
    await age(never, 0.04)
    assert.deepEqual(await make(never), { status: 200, body: 2, replayed: false })
  })

  test('after a day a key is new', async () => {
    const key = newKey()
    const make = (body: number) => once(store.db, key, async () => ({ status: 200, body }))
    await make(1)
    await age(key, 23)
    assert.deepEqual(await make(2), { status: 200, body: 1, replayed: true })
    await age(key, 2)
    assert.deepEqual(await make(3), { status: 200, body: 3, replayed: false })
    assert.deepEqual(await make(4), { status: 200, body: 3, replayed: true })
    await age(key, 23)
    await removeOldKeys(store.db)
    assert.deepEqual(await make(5), { status: 200, body: 3, replayed: true })
    await age(key, 2)
    await removeOldKeys(store.db)
    const left = await sql`select 1 from idempotency_keys where principal_id = ${key.principal_id}`.execute(
      store.db,
    )
    assert.equal(left.rows.length, 0)
  })

  test('a run is created once for ten callers of one key', async () => {
    const principal_id = await addPrincipal(store.db)
    const key = newKey({ principal_id })
    const made = await Promise.all(
      Array.from({ length: 10 }, () => insertRun(store.db, newRun(principal_id), key)),
    )
    assert.equal(new Set(made.map(({ response }) => response.run_id)).size, 1)
    assert.equal(made.filter(({ replayed }) => !replayed).length, 1)
    const changed = { ...key, body_hash: hashBody(Buffer.from('another')) }
    await assert.rejects(insertRun(store.db, newRun(principal_id), changed), isCode('invalid_request', 422))
    const runs = await sql`select 1 from runs where principal_id = ${principal_id}`.execute(store.db)
    assert.equal(runs.rows.length, 1)
  })

  test('who meets a request under way waits for its answer, and not for ever', async () => {
    const key = newKey()
    const { promise: told, resolve: tell } = Promise.withResolvers<void>()
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const first = once(store.db, key, async () => {
      begin()
      await told
      return { status: 200, body: 'first' }
    })
    await begun
    const second = once(store.db, key, async () => ({ status: 200, body: 'second' }))
    if (store.kind === 'postgres') {
      const error = await second.then(
        () => assert.fail('It did not wait.'),
        (cause: unknown) => toAppError(cause),
      )
      assert.deepEqual([error.code, error.status, error.retryable], ['conflict', 409, true])
      tell()
    } else {
      // One connection: the second cannot even ask before the first is through.
      tell()
      assert.deepEqual(await second, { status: 200, body: 'first', replayed: true })
    }
    assert.equal((await first).body, 'first')
  })
})
