import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { onEitherDatabase } from '../../test/support/databases.ts'
import { actorOf, addPrincipal, addRun } from '../../test/support/stored.ts'
import type { ListEnvironmentsQuery } from '../contract/environment.ts'
import { AppError } from '../contract/error.ts'
import type { Db } from './db.ts'
import {
  deleteEnvironment,
  findEnvironmentId,
  insertEnvironment,
  listEnvironments,
  readEnvironment,
  replaceEnvironment,
} from './environments.ts'
import { lastRunIn } from './last-run.ts'
import { randomText } from './random-text.ts'

const NAMES = ['beta', 'alpha', 'Alpha', 'same', 'same-', 'same -', 'Ölwechsel']

onEitherDatabase('environments', (open) => {
  let db: Db
  let creator_id = ''
  const add = async (name: string, more: { description?: string; setup_commands?: string[] } = {}) => {
    const uid = randomText(22)
    await insertEnvironment(db, { uid, creator_id, config: { name, ...more }, sealed: null })
    return uid
  }
  before(async () => {
    db = (await open()).db
    creator_id = await addPrincipal(db)
    for (let i = 0; i < 30; i += 1) await add(`${NAMES[i % NAMES.length]} ${i}`)
    // Some of one moment, as an import makes them.
    await sql`update environments set last_updated = date_trunc('second', last_updated)`.execute(db)
  })

  /** Every page after the other. */
  const readPages = async (query: ListEnvironmentsQuery, between?: () => Promise<unknown>) => {
    const pages: Array<Array<{ uid: string; name: string }>> = []
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await listEnvironments(
        db,
        { ...query, ...(cursor ? { cursor } : {}) },
        actorOf(creator_id),
      )
      pages.push(page.environments.map(({ uid, name }) => ({ uid, name })))
      cursor = page.next_cursor
      await between?.()
    }
    return pages
  }

  for (const sort_by of ['name', 'last_updated'] as const) {
    test(`pages by ${sort_by} neither repeat nor skip while others are made`, async () => {
      const [whole = [], ...rest] = await readPages({ sort_by })
      assert.deepEqual([whole.length >= 30, rest], [true, []])
      const known = new Set(whole.map(({ uid }) => uid))
      let made = 0
      const pages = await readPages({ sort_by, limit: 7 }, async () => {
        if (made++ < 4) await add(`${NAMES[made]} ${randomText(4)}`)
      })
      assert(pages.slice(0, -1).every((page) => page.length === 7))
      assert.deepEqual(
        pages.flat().filter(({ uid }) => known.has(uid)),
        whole,
      )
    })
  }

  test('names sort by code point', async () => {
    const names = (await readPages({ sort_by: 'name' })).flat().map(({ name }) => name.split(' ')[0])
    assert.deepEqual([...new Set(names)], ['Alpha', 'alpha', 'beta', 'same', 'same-', 'Ölwechsel'])
  })

  test('a full last page has no next one', async () => {
    const [whole = []] = await readPages({})
    assert.equal((await readPages({ limit: whole.length })).length, 1)
    assert.equal((await readPages({ limit: whole.length - 1 })).length, 2)
  })

  test('a cursor that is broken, or of the other order, is refused', async () => {
    const { next_cursor } = await listEnvironments(db, { sort_by: 'name', limit: 1 }, actorOf(creator_id))
    assert(next_cursor)
    const made = (...parts: unknown[]) => Buffer.from(JSON.stringify(parts)).toString('base64url')
    const uid = 'a'.repeat(22)
    for (const [cursor, why] of [
      [next_cursor, /another sort_by/],
      ['x', /not one/],
      ['', /not one/],
      [made('toString', '', uid), /not one/],
      [made('last_updated', 'yesterday', uid), /not one/],
      [made('last_updated', '2026-01-01T00:00:00.000Z', 'short'), /not one/],
      [made('last_updated', '2026-01-01T00:00:00.000Z'), /not one/],
    ] as const)
      await assert.rejects(
        listEnvironments(db, { cursor }, actorOf(creator_id)),
        (error) => error instanceof AppError && error.code === 'invalid_request' && why.test(error.detail),
      )
  })

  test('a page ends with its bytes, and the next one goes on', async () => {
    const setup_commands = Array.from({ length: 16 }, () => randomBytes(32 * 1024).toString('hex'))
    for (let i = 0; i < 7; i += 1) await add(`zz large ${i}`, { setup_commands })
    const pages = await readPages({ sort_by: 'last_updated' })
    // The fourth begins within 4 MiB and ends beyond.
    assert.deepEqual(
      pages.map((page) => page.filter(({ name }) => name.startsWith('zz large')).length),
      [4, 3],
    )
  })

  const isConflict = (error: unknown) =>
    error instanceof AppError && error.code === 'conflict' && /already/.test(error.detail) && !error.retryable
  const rename = (reference: string, name: string) =>
    replaceEnvironment(db, reference, actorOf(creator_id), () => ({ config: { name }, sealed: null }))

  test('a name belongs to one of those who want it at once, made or renamed', async () => {
    const others = await Promise.all([1, 2, 3].map((i) => add(`wants ${i}`)))
    const wishes = await Promise.allSettled([
      ...[1, 2, 3].map(() => add('wanted')),
      ...others.map((uid) => rename(uid, 'wanted')),
    ])
    const refused = wishes.filter((wish) => wish.status === 'rejected').map(({ reason }) => reason)
    assert.deepEqual([refused.length, refused.every(isConflict)], [5, true], String(refused))
    // It is free again once nobody has it, and a name of its own may be kept.
    assert.equal((await rename('wanted', 'not wanted'))?.name, 'not wanted')
    assert.equal((await rename('not wanted', 'not wanted'))?.name, 'not wanted')
    await deleteEnvironment(db, await add('wanted'), actorOf(creator_id))
    await add('wanted')
  })

  test('every change is later than the one before', async () => {
    const uid = await add('hurried')
    // Whatever the clock says, which may have been set back.
    await sql`update environments set last_updated = last_updated + interval '1 hour' where uid = ${uid}`.execute(
      db,
    )
    const before = await readEnvironment(db, uid, actorOf(creator_id))
    const changed = await rename(uid, 'hurried')
    assert(before && changed && changed.last_updated > before.last_updated)
  })

  test('changes at once come one after the other, each on what the other left', async () => {
    const uid = await add('counted')
    const count = () =>
      replaceEnvironment(db, uid, actorOf(creator_id), ({ config }) => ({
        config: { ...config, description: `${config.description ?? ''}.` },
        sealed: null,
      }))
    await Promise.all(Array.from({ length: 8 }, count))
    assert.equal((await readEnvironment(db, uid, actorOf(creator_id)))?.config.description, '........')
  })

  test('a name is looked for as it is, an id as an id', async () => {
    const uid = await add('Looked for/%2F é')
    for (const [reference, expected] of [
      [uid, uid],
      ['Looked for/%2F é', uid],
      ['looked for/%2F é', null],
      ['Looked for/%2F é ', null],
      [uid.toLowerCase() === uid ? uid.toUpperCase() : uid.toLowerCase(), null],
      ['a\u0000', null],
      ['', null],
      ['%', null],
    ] as const)
      assert.equal(await findEnvironmentId(db, reference), expected, JSON.stringify(reference))
  })

  test('its last run is the newest that one may see, found without reading those of others', async () => {
    const [uid, other] = [await add('busy'), await addPrincipal(db)]
    const seen = async (principal_id: string) => {
      const one = await readEnvironment(db, uid, actorOf(principal_id))
      const { environments } = await listEnvironments(db, {}, actorOf(principal_id))
      assert.deepEqual(environments.find((listed) => listed.uid === uid)?.last_run, one?.last_run)
      return one?.last_run?.id
    }
    assert.equal(await seen(creator_id), undefined)
    const run = (principal_id: string, scope: 'User' | 'Team') =>
      addRun(db, principal_id, { environment_id: uid, scope })
    const own = await run(creator_id, 'User')
    assert.deepEqual([await seen(creator_id), await seen(other)], [own, undefined])
    const shared = await run(other, 'Team')
    const hidden = await run(other, 'User')
    assert.deepEqual([await seen(creator_id), await seen(other)], [shared, hidden])
    const deleted = await deleteEnvironment(db, 'busy', actorOf(creator_id))
    assert.equal(deleted?.last_run?.id, shared)

    // As the planner has it when there are many: no part may filter what it has read.
    const { rows } = await sql<{ 'QUERY PLAN': string }>`
      explain select ${lastRunIn(sql`e.uid`, actorOf(creator_id))} from environments e`.execute(db)
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    for (const index of ['team', 'executor', 'creator'])
      assert.match(plan, new RegExp(`runs_environment_${index}`))
    assert.doesNotMatch(plan, /Filter|Seq Scan on runs/)
  })
})
