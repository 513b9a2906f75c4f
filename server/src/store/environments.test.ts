import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { onEachDatabase } from '../../test/support/databases.ts'
import { addPrincipal } from '../../test/support/stored.ts'
import type { ListEnvironmentsQuery } from '../contract/environment.ts'
import { AppError } from '../contract/error.ts'
import type { Db } from './db.ts'
import { insertEnvironment, listEnvironments } from './environments.ts'
import { randomText } from './random-text.ts'

const NAMES = ['beta', 'alpha', 'Alpha', 'same', 'same', 'same', 'Ölwechsel']

onEachDatabase('environments', (open) => {
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
    for (let i = 0; i < 30; i += 1) await add(NAMES[i % NAMES.length] ?? '')
    // Some of one moment, as an import makes them.
    await sql`update environments set last_updated = date_trunc('second', last_updated)`.execute(db)
  })

  /** Every page after the other. */
  const readPages = async (query: ListEnvironmentsQuery, between?: () => Promise<unknown>) => {
    const pages: Array<Array<{ uid: string; name: string }>> = []
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await listEnvironments(db, { ...query, ...(cursor ? { cursor } : {}) })
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
        if (made++ < 4) await add(NAMES[made] ?? '')
      })
      assert(pages.slice(0, -1).every((page) => page.length === 7))
      assert.deepEqual(
        pages.flat().filter(({ uid }) => known.has(uid)),
        whole,
      )
    })
  }

  test('names sort by code point', async () => {
    const names = (await readPages({ sort_by: 'name' })).flat().map(({ name }) => name)
    assert.deepEqual([...new Set(names)], ['Alpha', 'alpha', 'beta', 'same', 'Ölwechsel'])
  })

  test('a full last page has no next one', async () => {
    const [whole = []] = await readPages({})
    assert.equal((await readPages({ limit: whole.length })).length, 1)
    assert.equal((await readPages({ limit: whole.length - 1 })).length, 2)
  })

  test('a cursor that is broken, or of the other order, is refused', async () => {
    const { next_cursor } = await listEnvironments(db, { sort_by: 'name', limit: 1 })
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
        listEnvironments(db, { cursor }),
        (error) => error instanceof AppError && error.code === 'invalid_request' && why.test(error.detail),
      )
  })

  test('a page ends with its bytes, and the next one goes on', async () => {
    const setup_commands = Array.from({ length: 16 }, () => randomBytes(32 * 1024).toString('hex'))
    for (let i = 0; i < 7; i += 1) await add('zz large', { setup_commands })
    const pages = await readPages({ sort_by: 'last_updated' })
    // The fourth begins within 4 MiB and ends beyond.
    assert.deepEqual(
      pages.map((page) => page.filter(({ name }) => name === 'zz large').length),
      [4, 3],
    )
  })
})
