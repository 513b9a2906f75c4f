import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { onEitherDatabase } from '../../test/support/databases.ts'
import { actorOf, addPrincipal } from '../../test/support/stored.ts'
import type { EnvironmentSkills } from '../contract/skill.ts'
import type { Db } from './db.ts'
import { insertEnvironment, replaceEnvironment } from './environments.ts'
import { randomText } from './random-text.ts'
import { readSkills, recordSkills } from './skills.ts'

const found = (name: string, text = 'Do it.'): EnvironmentSkills => ({
  skills: [
    {
      id: `acme/site:${name}`,
      owner: 'acme',
      repo: 'site',
      path: name,
      name,
      description: 'x',
      text,
      commit: 'c',
    },
  ],
  malformed: [],
})

onEitherDatabase('skills of environments', (open) => {
  let db: Db
  let creator_id = ''
  const add = async (name: string) => {
    const uid = randomText(22)
    const { last_updated } = await insertEnvironment(db, { uid, creator_id, config: { name }, sealed: null })
    return { uid, last_updated }
  }
  const listed = async () =>
    (await readSkills(db)).map(({ name, found }) => [name, found.skills.map((skill) => skill.name)])
  before(async () => {
    db = (await open()).db
    creator_id = await addPrincipal(db)
  })

  test('are those of its configuration, as they were found last', async () => {
    const [a, b] = [await add('a'), await add('b')]
    await recordSkills(db, b, found('deploy'))
    await recordSkills(db, a, found('old'))
    await recordSkills(db, a, found('new'))
    assert.deepEqual(await listed(), [
      ['a', ['new']],
      ['b', ['deploy']],
    ])
    const read_at = async () =>
      (
        await sql<{
          at: string
        }>`select read_at::text as at from environment_skills where environment_id = ${a.uid}`.execute(db)
      ).rows[0]?.at
    const at = await read_at()
    await recordSkills(db, a, found('new'))
    assert.equal(await read_at(), at)

    await replaceEnvironment(db, a.uid, actorOf(creator_id), () => ({ config: { name: 'a' }, sealed: null }))
    assert.deepEqual(await listed(), [['b', ['deploy']]])
    // A run that began before looks at what is not asked for any more.
    await recordSkills(db, a, found('late'))
    assert.deepEqual(await listed(), [['b', ['deploy']]])
  })

  test('are listed up to a size', async () => {
    const big = await add('z')
    await recordSkills(db, big, found('big', 'x'.repeat(17 * 1024 ** 2)))
    assert.deepEqual(await listed(), [['b', ['deploy']]])
  })
})
