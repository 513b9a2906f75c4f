import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { onEitherDatabase } from '../../test/support/databases.ts'
import { addPrincipal, cancel, newRun } from '../../test/support/stored.ts'
import { AppError } from '../contract/error.ts'
import type { Db } from './db.ts'
import { hashBody } from './idempotency.ts'
import { insertRun } from './new-runs.ts'
import type { OpenRunMaxima } from './quotas.ts'

onEitherDatabase('quotas', (open) => {
  let db: Db
  before(async () => {
    db = (await open()).db
  })
  const create = (principal_id: string, quota: OpenRunMaxima) =>
    insertRun(db, newRun(principal_id), null, { open: quota }).then(
      ({ response }) => response.run_id,
      (error: unknown) => {
        assert(error instanceof AppError)
        assert.deepEqual(
          [error.code, error.status, error.headers['retry-after']],
          ['resource_unavailable', 429, '30'],
        )
        return error
      },
    )
  const many = (count: number, make: () => Promise<string | AppError>) =>
    Promise.all(Array.from({ length: count }, make))
  const made = (found: Array<string | AppError>) => found.filter((each) => typeof each === 'string')

  test('of creates at once as many pass as there is room for, for each principal', async () => {
    const [one, other] = [await addPrincipal(db), await addPrincipal(db)]
    const quota = { principal: 5, total: 0 }
    const found = await Promise.all([
      many(20, () => create(one, quota)),
      many(20, () => create(other, quota)),
    ])
    assert.deepEqual(
      found.map((each) => made(each).length),
      [5, 5],
    )
    const [first = ''] = made(found[0] ?? [])
    assert.match(String(await create(one, quota)), /RUNYARD_MAX_OPEN_RUNS\)/)
    await cancel(db, first, one)
    assert.equal(typeof (await create(one, quota)), 'string', 'One that is over makes room.')
    assert.equal(typeof (await create(one, { principal: 0, total: 0 })), 'string')
  })

  test('runs that others execute count for whoever creates them, and those of their agents too', async () => {
    const person = await addPrincipal(db)
    const createAs = async (charged: { creator_id: string; charged_to?: string }) => {
      const run = newRun(await addPrincipal(db), charged)
      await insertRun(db, run, null, { open: { principal: 2, total: 0 } })
    }
    await createAs({ creator_id: person })
    await createAs({ creator_id: await addPrincipal(db), charged_to: person })
    await assert.rejects(createAs({ creator_id: person }), /RUNYARD_MAX_OPEN_RUNS\)/)
    await assert.rejects(createAs({ creator_id: await addPrincipal(db), charged_to: person }), {
      status: 429,
    })
  })

  test('the limit of all counts all', async () => {
    await sql`delete from runs`.execute(db)
    const people = await Promise.all([1, 2, 3].map(() => addPrincipal(db)))
    const quota = { principal: 100, total: 7 }
    const found = await Promise.all(people.map((person) => many(10, () => create(person, quota))))
    assert.equal(made(found.flat()).length, 7)
    assert.match(String(await create(people[0] ?? '', quota)), /RUNYARD_MAX_OPEN_RUNS_TOTAL/)
  })

  test('a create that is repeated gets its first answer, also where it took the last room', async () => {
    const principal_id = await addPrincipal(db)
    const key = { principal_id, route: 'POST /runs', key: 'k', body_hash: hashBody(Buffer.from('b')) }
    const quota = { open: { principal: 1, total: 0 } }
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => insertRun(db, newRun(principal_id), key, quota)),
    )
    assert.equal(new Set(answers.map(({ response }) => response.run_id)).size, 1)
    assert.equal(answers.filter(({ replayed }) => !replayed).length, 1)
    await assert.rejects(insertRun(db, newRun(principal_id), null, quota))
  })
})
