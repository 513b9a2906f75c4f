import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { onEachDatabase } from '../../test/support/databases.ts'
import {
  createPrincipalWithKey,
  findActor,
  isKeyActive,
  isWellFormedKey,
  listKeys,
  revokeKey,
} from './api-keys.ts'
import type { Db } from './db.ts'

onEachDatabase('api keys', (open) => {
  let db: Db
  before(async () => {
    db = (await open()).db
  })

  test('a key says who acts; it is stored as a hash and shown masked', async () => {
    const made = await createPrincipalWithKey(db, { name: 'Ada', role: 'viewer' })
    const { api_key, key_id, principal_id } = made
    assert.match(api_key, /^ry_[A-Za-z0-9]{46}$/)
    assert.deepEqual(await findActor(db, api_key), { principal_id, key_id, role: 'viewer' })
    assert.equal(await findActor(db, `${api_key.slice(0, -1)}_`), null)
    const rows = await sql<{ text: string }>`select row_to_json(k)::text as text from api_keys k`.execute(db)
    assert(rows.rows.every(({ text }) => !text.includes(api_key.slice(10, 30))))
    const listed = (await listKeys(db)).find((key) => key.key_id === key_id)
    assert.equal(listed?.masked, `${api_key.slice(0, 7)}…${api_key.slice(-4)}`)
    assert.notEqual(listed.last_used_at, null)
  })

  test('a typo is told without a look-up', async () => {
    const { api_key } = await createPrincipalWithKey(db, { name: 'x', role: 'member' })
    assert(isWellFormedKey(api_key))
    for (let place = 3; place < api_key.length; place += 1) {
      const typo = api_key.slice(0, place) + (api_key[place] === 'x' ? 'y' : 'x') + api_key.slice(place + 1)
      assert(!isWellFormedKey(typo), typo)
      if (api_key[place] === api_key[place + 1] || place + 1 === api_key.length) continue
      const swapped = `${api_key.slice(0, place)}${api_key[place + 1]}${api_key[place]}${api_key.slice(place + 2)}`
      assert(!isWellFormedKey(swapped), swapped)
    }
    for (const key of [
      '',
      'ry_',
      api_key.slice(1),
      api_key.slice(0, -1),
      `${api_key}a`,
      `${api_key}\n`,
      api_key.toUpperCase(),
    ]) {
      assert(!isWellFormedKey(key), key)
    }
  })

  test('an expired, revoked or disabled key is nobody’s', async () => {
    const make = (expires_at?: Date) =>
      createPrincipalWithKey(db, { name: 'x', role: 'member', ...(expires_at ? { expires_at } : {}) })
    const assertGone = async ({ api_key, key_id }: { api_key: string; key_id: string }) => {
      assert.equal(await findActor(db, api_key), null)
      assert.equal(await isKeyActive(db, key_id), false)
    }
    await assertGone(await make(new Date(Date.now() - 1)))
    const lasting = await make(new Date(Date.now() + 60_000))
    assert.equal(await isKeyActive(db, lasting.key_id), true)
    assert.equal(await revokeKey(db, lasting.key_id), true)
    assert.equal(await revokeKey(db, lasting.key_id), false)
    await assertGone(lasting)
    const disabled = await make()
    await sql`update principals set disabled = true where principal_id = ${disabled.principal_id}`.execute(db)
    await assertGone(disabled)
  })
})
