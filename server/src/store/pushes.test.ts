import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { onEitherDatabase } from '../../test/support/databases.ts'
import { holdRun, readWholeLog } from '../../test/support/stored.ts'
import type { Db } from './db.ts'
import { endPullTurn, takePullTurn } from './pull-turns.ts'
import { readPushes, recordPush } from './pushes.ts'
import { finishRun, startRun } from './transitions.ts'

onEitherDatabase('pushes', (open) => {
  let db: Db
  before(async () => {
    db = (await open()).db
  })

  test('are stored with their event by the lease alone, once however often that is said', async () => {
    const held = await holdRun(db)
    const push = {
      artifact_uid: randomUUID(),
      ...{
        directory: 'site',
        repository: 'git.example/acme/site',
        branch: 'runyard/x',
        commit: 'a'.repeat(40),
      },
      url: 'https://git.example/acme/site/tree/runyard/x',
    }
    const record = async (more: object = {}, lease = held) => recordPush(db, lease, { ...push, ...more })
    assert.equal(await record({}, { ...held, attempt: held.attempt + 1 }), false)
    assert.equal(await record({}, { ...held, worker_id: randomUUID() }), false)
    assert.equal((await readPushes(db, held.run_id)).size, 0)
    assert.equal(await record(), true)
    assert.equal(await record(), true, 'Said again, since the answer was not heard.')
    const pull_request = { number: 7, url: 'https://git.example/acme/site/pull/7' }
    assert.equal(await record({ artifact_uid: randomUUID(), url: pull_request.url, pull_request }), true)
    const told = (await readWholeLog(db, held.run_id)).filter(({ type }) => type === 'changes.pushed')
    const { artifact_uid: _, ...said } = push
    assert.deepEqual(
      told.map(({ data }) => data),
      [said, { ...said, url: pull_request.url, pull_request }],
    )
    assert.deepEqual([...(await readPushes(db, held.run_id)).values()], [told[1]?.data])
  })
  test('of the same files take turns, which end with their runs', async () => {
    const [first, second] = [await holdRun(db), await holdRun(db)]
    const files = { repository: 'git.example/acme/site', tree: 'b'.repeat(40) }
    assert.equal(await takePullTurn(db, first, files), true)
    assert.equal(await takePullTurn(db, first, files), true, 'Said again, since the answer was not heard.')
    assert.equal(await takePullTurn(db, second, files), false)
    assert.equal(await takePullTurn(db, second, { ...files, tree: 'c'.repeat(40) }), true)
    await endPullTurn(db, second, files)
    assert.equal(await takePullTurn(db, second, files), false, 'Nobody ends the turn of another run.')
    await startRun(db, first, { harness: 'runbook' })
    await finishRun(db, first, { state: 'SUCCEEDED' })
    assert.equal(await takePullTurn(db, second, files), true)
    assert.equal(await takePullTurn(db, { ...second, attempt: second.attempt + 1 }, files), false)
    await endPullTurn(db, second, files)
    const { rows } = await sql`select tree from pull_turns`.execute(db)
    assert.deepEqual(rows, [{ tree: 'c'.repeat(40) }])
  })
})
