import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { onEitherDatabase } from '../../test/support/databases.ts'
import { addPrincipal } from '../../test/support/stored.ts'
import type { Db } from './db.ts'
import { insertEnvironment } from './environments.ts'
import { randomText } from './random-text.ts'
import {
  claimRefresh,
  endRefresh,
  readRefreshes,
  releaseRefresh,
  requestRefreshes,
} from './skill-refreshes.ts'

onEitherDatabase('refreshes of skills', (open) => {
  let db: Db
  let principal_id = ''
  const pool = 'default'
  before(async () => {
    db = (await open()).db
    principal_id = await addPrincipal(db)
  })
  const addEnvironment = async (): Promise<string> => {
    const uid = randomText(22)
    await insertEnvironment(db, { uid, creator_id: principal_id, config: { name: uid }, sealed: null })
    return uid
  }

  test('one worker takes each, and who asked hears what became of it', async () => {
    const uids = [await addEnvironment(), await addEnvironment()]
    const since = await requestRefreshes(db, uids, { principal_id, pool })
    assert.equal(await claimRefresh(db, 'other'), null)
    const claimed = await Promise.all([1, 2, 3].map(() => claimRefresh(db, pool)))
    const taken = claimed.flatMap((claim) => claim ?? [])
    assert.deepEqual(taken.map(({ environment_id }) => environment_id).sort(), [...uids].sort())
    assert.deepEqual(await readRefreshes(db, uids, since), new Map())
    for (const [at, claim] of taken.entries()) await endRefresh(db, claim, at === 0 ? 'It is gone.' : null)
    const answers = await readRefreshes(db, uids, since)
    assert.deepEqual(
      taken.map(({ environment_id }) => answers.get(environment_id)?.problem),
      ['It is gone.', null],
    )
    assert.equal(await claimRefresh(db, pool), null)
  })

  test('what is asked for in the middle of reading is read once more', async () => {
    const uids = [await addEnvironment()]
    await requestRefreshes(db, uids, { principal_id, pool })
    const early = await claimRefresh(db, pool)
    assert(early)
    const later = await requestRefreshes(db, uids, { principal_id, pool })
    await endRefresh(db, early, null)
    assert.equal((await readRefreshes(db, uids, later)).size, 0)
    const again = await claimRefresh(db, pool)
    assert(again)
    await endRefresh(db, again, null)
    assert.equal((await readRefreshes(db, uids, later)).size, 1)
  })

  test('a claim that was handed back, or whose worker is lost, is taken by another', async () => {
    const uids = [await addEnvironment()]
    const since = await requestRefreshes(db, uids, { principal_id, pool })
    const first = await claimRefresh(db, pool)
    assert(first)
    await releaseRefresh(db, first)
    const second = await claimRefresh(db, pool)
    assert(second)
    // As if it had been claimed so long ago; a claim is known by its time.
    const { rows } = await sql<{ claimed_at: string }>`
      update skill_refreshes set claimed_at = claimed_at - interval '3 minutes'
      where environment_id = ${second.environment_id} returning claimed_at::text`.execute(db)
    const lost = { ...second, ...rows[0] }
    const third = await claimRefresh(db, pool)
    assert(third)
    // Too late: it is another's.
    await endRefresh(db, lost, 'late')
    assert.equal((await readRefreshes(db, uids, since)).size, 0)
    await endRefresh(db, third, null)
    assert.deepEqual([...(await readRefreshes(db, uids, since)).values()], [{ problem: null }])
  })
})
