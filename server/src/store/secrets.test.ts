import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { onEitherDatabase } from '../../test/support/databases.ts'
import { actorOf, addPrincipal, addRun, follow } from '../../test/support/stored.ts'
import type { GitAccess } from '../contract/secret.ts'
import { addKey, revokeKey } from './api-keys.ts'
import type { Db } from './db.ts'
import { replaceGrants } from './grants.ts'
import { readSealedOtherwise, replaceSealed } from './sealed-values.ts'
import { deleteSecret, putSecret, readSecrets, type SecretUse, secretKeyOf } from './secrets.ts'

const GIT: GitAccess = { host: 'git.example', repositories: ['acme/*'] }

onEitherDatabase('secrets', (open) => {
  let db: Db
  let owner: string
  let other: string
  before(async () => {
    db = (await open()).db
    owner = await addPrincipal(db)
    other = await addPrincipal(db)
  })
  const put = (name: string, of: string | null, git: GitAccess | null = null) =>
    putSecret(
      db,
      {
        ...secretKeyOf(actorOf(of ?? owner), name, of === null ? 'Team' : 'User'),
        creator_id: of ?? owner,
        ...{ git, registry: null },
        description: null,
      },
      (version) => Buffer.from(`${name} of ${of ?? 'team'} ${version}`),
    )
  const read = async (names: string[], principal_id: string, personal: boolean) =>
    (await readSecrets(db, names, { principal_id, personal })).map(
      ({ sealed, ...row }) => `${Buffer.from(sealed)} ${row.scope} ${row.owner_id} ${row.version}`,
    )

  test('a personal run has its owner’s own secret, else that of the team; others have the team’s alone', async () => {
    await put('A', null)
    await put('A', null)
    await put('A', owner)
    await put('B', null, GIT)
    await put('C', other)
    const team = ['A of team 2 Team null 2', 'B of team 1 Team null 1']
    assert.deepEqual(await read(['B', 'A', 'C', 'D', 'A'], owner, false), team)
    assert.deepEqual(await read(['A', 'B', 'C', 'D'], owner, true), [
      `A of ${owner} 1 User ${owner} 1`,
      team[1],
    ])
    assert.deepEqual(await read(['A', 'B', 'C'], other, true), [...team, `C of ${other} 1 User ${other} 1`])
    assert.deepEqual(await read([], owner, true), [])
    const [git] = await readSecrets(db, ['B'], { principal_id: owner, personal: false })
    assert.deepEqual(git?.git, GIT)
  })

  test('one with grants is for who is named, and for executions that nobody else speaks to', async () => {
    await put('MINE', null)
    await put('MINE', other)
    const run_id = await addRun(db, owner)
    const sees = async (principal_id: string, use: Partial<SecretUse> = {}) =>
      (await readSecrets(db, ['MINE'], { principal_id, personal: false, ...use })).map(({ scope }) => scope)
    assert.deepEqual(await sees(other), ['Team'])
    const grant = (...ids: string[]) =>
      replaceGrants(db, { resource_type: 'secret', resource_id: 'MINE' }, ids, owner)
    await grant(owner)
    assert.deepEqual([await sees(owner, { run_id }), await sees(other)], [['Team'], []])
    assert.deepEqual(await sees(other, { personal: true }), ['User'])
    // Whoever has a working key of an admin may use it.
    const admin = await addPrincipal(db)
    const key = await addKey(db, admin, { name: 'k', role: 'admin' })
    assert(key)
    assert.deepEqual(await sees(admin), ['Team'])
    await revokeKey(db, key.key_id)
    assert.deepEqual(await sees(admin), [])

    await grant()
    await follow(db, run_id, other)
    await grant(owner)
    assert.deepEqual([await sees(owner, { run_id }), await sees(owner)], [[], ['Team']])
    await grant(owner, other)
    assert.deepEqual(await sees(owner, { run_id }), ['Team'])
  })

  test('of a deleted one nothing is left but its version', async () => {
    await put('GONE', owner, GIT)
    const key = secretKeyOf(actorOf(owner), 'GONE', 'User')
    assert.equal((await deleteSecret(db, key))?.version, 1)
    assert.equal(await deleteSecret(db, key), null)
    assert.deepEqual(await read(['GONE'], owner, true), [])
    const row = await sql`select version, sealed, git, description from secrets where name = 'GONE'`.execute(
      db,
    )
    assert.deepEqual(row.rows, [{ version: 1, sealed: null, git: null, description: null }])
    assert.equal((await put('GONE', owner)).version, 2)
  })

  test('what was changed since it was read is not replaced', async () => {
    await put('RACED', null)
    const head = Buffer.from([1, 2, 3])
    const values = await readSealedOtherwise(db, 'secrets', { head, after: null, limit: 100 })
    const raced = values.find(({ secret }) => secret?.name === 'RACED')
    assert(raced)
    const by = Buffer.concat([head, Buffer.from('again')])
    await put('RACED', null)
    assert.equal(await replaceSealed(db, 'secrets', raced, by), false)
    assert.deepEqual(await read(['RACED'], owner, false), ['RACED of team 2 Team null 2'])
    const now = { ...raced, sealed: Buffer.from('RACED of team 2') }
    assert.equal(await replaceSealed(db, 'secrets', now, by), true)
    const after = await readSealedOtherwise(db, 'secrets', { head, after: null, limit: 100 })
    assert(!after.some(({ id }) => id === raced.id))
  })
})
