import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { onEitherDatabase } from '../../test/support/databases.ts'
import {
  addKey,
  createPrincipalWithKey,
  findActor,
  findPrincipalNamed,
  isWellFormedKey,
  listKeys,
  readActor,
  revokeKey,
  revokeUnlessLast,
  rotateKey,
} from './api-keys.ts'
import type { Db } from './db.ts'
import { deleteIdentity, insertIdentity } from './identities.ts'

const isKeyActive = async (db: Db, key_id: string): Promise<boolean> => (await readActor(db, key_id)) !== null

onEitherDatabase('api keys', (open) => {
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

  test('a principal has as many keys as it is given, each with a role of its own', async () => {
    const { principal_id, key_id, api_key } = await createPrincipalWithKey(db, { name: 'Bo', role: 'admin' })
    const second = await addKey(db, principal_id, { name: 'laptop', role: 'viewer' })
    assert(second)
    assert.deepEqual(await findActor(db, second.api_key), {
      principal_id,
      key_id: second.key_id,
      role: 'viewer',
    })
    const listed = (await listKeys(db)).filter((key) => key.principal_id === principal_id)
    assert.deepEqual(
      listed.map(({ name, role, principal_name }) => [name, role, principal_name]),
      [
        ['Bo', 'admin', 'Bo'],
        ['laptop', 'viewer', 'Bo'],
      ],
    )
    assert.equal(await revokeKey(db, second.key_id), true)
    assert.equal(await readActor(db, second.key_id), null)
    assert.deepEqual(await readActor(db, key_id), await findActor(db, api_key))

    assert.equal(await addKey(db, '01980000-0000-7000-8000-000000000001', { name: 'x', role: 'admin' }), null)
    assert.equal(await addKey(db, 'Bo', { name: 'x', role: 'admin' }), null)
    await sql`update principals set disabled = true where principal_id = ${principal_id}`.execute(db)
    assert.equal(await addKey(db, principal_id, { name: 'x', role: 'admin' }), null)
  })

  test('of one name, the first principal is found, unless it is disabled', async () => {
    assert.equal(await findPrincipalNamed(db, 'twin'), null)
    const [first, second] = [
      await createPrincipalWithKey(db, { name: 'twin', role: 'member' }),
      await createPrincipalWithKey(db, { name: 'twin', role: 'member' }),
    ]
    assert.equal(await findPrincipalNamed(db, 'twin'), first.principal_id)
    await sql`update principals set disabled = true where principal_id = ${first.principal_id}`.execute(db)
    assert.equal(await findPrincipalNamed(db, 'twin'), second.principal_id)
  })

  test('a rotated key is revoked at once, and what follows it is the same but for its text', async () => {
    const expires_at = new Date(Date.now() + 3_600_000)
    const old = await createPrincipalWithKey(db, { name: 'Cy', role: 'viewer', expires_at })
    const made = await rotateKey(db, old.key_id)
    assert(made)
    assert.equal(await findActor(db, old.api_key), null)
    assert.deepEqual(await findActor(db, made.api_key), {
      principal_id: old.principal_id,
      key_id: made.key_id,
      role: 'viewer',
    })
    const listed = (await listKeys(db)).find((key) => key.key_id === made.key_id)
    assert.deepEqual([listed?.name, listed?.expires_at], ['Cy', expires_at])
    assert.equal(await rotateKey(db, old.key_id), null, 'it is not active')
    assert.equal(await rotateKey(db, 'k1'), null)
    // Of several at once, one makes the key.
    const together = await Promise.all(Array.from({ length: 5 }, () => rotateKey(db, made.key_id)))
    assert.equal(together.filter(Boolean).length, 1)
  })

  test('with a grace the old key works on until then, and no longer than it would have', async () => {
    const hour = 3_600_000
    const short = await createPrincipalWithKey(db, { name: 'x', role: 'member' })
    const successor = await rotateKey(db, short.key_id, { grace_ms: 1000 })
    assert(successor)
    const ends = Date.now() + 30_000
    while (await isKeyActive(db, short.key_id)) assert(Date.now() < ends, 'its grace does not end')
    assert.equal(await isKeyActive(db, successor.key_id), true)

    const expires_at = new Date(Date.now() + 24 * hour)
    const long = await createPrincipalWithKey(db, { name: 'x', role: 'member', expires_at })
    const entry = async (key_id: string) => (await listKeys(db)).find((key) => key.key_id === key_id)
    const graces: number[] = []
    for (const grace_ms of [2 * hour, 8 * hour, hour]) {
      const next = await rotateKey(db, long.key_id, { grace_ms })
      // Not the end of the grace: the key that follows has the expiry that the old one had.
      assert.deepEqual((await entry(next?.key_id ?? ''))?.expires_at, expires_at)
      const until = (await entry(long.key_id))?.grace_until?.getTime() ?? 0
      graces.push(Math.round((until - Date.now()) / hour))
    }
    assert.deepEqual(graces, [2, 2, 1])
    assert.equal(await isKeyActive(db, long.key_id), true)
    assert(await rotateKey(db, long.key_id))
    assert.equal(await isKeyActive(db, long.key_id), false)
  })

  test('of all admin keys, revoked at once, one works on', async () => {
    const admins = async () =>
      (await listKeys(db))
        .filter(({ role, active }) => role === 'admin' && active)
        .map(({ key_id }) => key_id)
    for (let round = 0; round < 10; round += 1) {
      for (let made = 0; made < 5; made += 1) await createPrincipalWithKey(db, { name: 'x', role: 'admin' })
      const results = await Promise.all((await admins()).map((key_id) => revokeUnlessLast(db, key_id)))
      assert.equal(results.filter((result) => result === 'last').length, 1)
      assert.equal((await admins()).length, 1)
    }
    const member = await createPrincipalWithKey(db, { name: 'x', role: 'member' })
    assert.equal(await revokeUnlessLast(db, member.key_id), 'revoked')
    assert.equal(await revokeUnlessLast(db, member.key_id), 'gone')
  })

  test('a key that was replaced, and ends soon, is not the one that works on', async () => {
    for (const { key_id } of await listKeys(db)) await revokeKey(db, key_id)
    const old = await createPrincipalWithKey(db, { name: 'x', role: 'admin' })
    const made = await rotateKey(db, old.key_id, { grace_ms: 60_000, once: true })
    assert(made)
    assert.equal(await rotateKey(db, old.key_id, { grace_ms: 60_000, once: true }), null)
    assert.equal(await revokeUnlessLast(db, made.key_id), 'last')
    assert.equal(await revokeUnlessLast(db, old.key_id), 'revoked')
    // Nor does it let an identity go that has the other one.
    const old_too = await createPrincipalWithKey(db, { name: 'x', role: 'admin' })
    await rotateKey(db, old_too.key_id, { grace_ms: 60_000 })
    const identity = await insertIdentity(db, { name: 'i', config: {}, creator_id: old.principal_id })
    assert(identity)
    await addKey(db, identity.uid, { name: 'k', role: 'admin' })
    for (const { key_id, active, grace_until, principal_id } of await listKeys(db))
      if (active && !grace_until && principal_id !== identity.uid) await revokeKey(db, key_id)
    assert.equal(await deleteIdentity(db, identity.uid), 'last')
  })

  test('an identity that is called like a person is not taken for one', async () => {
    const { principal_id } = await createPrincipalWithKey(db, { name: 'x', role: 'member' })
    await insertIdentity(db, { name: 'dev two', config: {}, creator_id: principal_id })
    assert.equal(await findPrincipalNamed(db, 'dev two'), null)
    const person = await createPrincipalWithKey(db, { name: 'dev two', role: 'member' })
    assert.equal(await findPrincipalNamed(db, 'dev two'), person.principal_id)
  })

  test('nor is an identity deleted that has the last admin key', async () => {
    const { principal_id } = await createPrincipalWithKey(db, { name: 'x', role: 'member' })
    const identity = await insertIdentity(db, { name: 'i', config: {}, creator_id: principal_id })
    assert(identity)
    await addKey(db, identity.uid, { name: 'k', role: 'admin' })
    const others = (await listKeys(db)).filter(
      (key) => key.role === 'admin' && key.principal_id !== identity.uid,
    )
    for (const { key_id } of others) await revokeKey(db, key_id)
    assert.equal(await deleteIdentity(db, identity.uid), 'last')
    await createPrincipalWithKey(db, { name: 'x', role: 'admin' })
    const deleted = await deleteIdentity(db, identity.uid)
    assert(deleted && deleted !== 'last' && deleted.uid === identity.uid)
    assert.equal(await deleteIdentity(db, identity.uid), null)
  })
})
