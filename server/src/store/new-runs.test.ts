import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { onEitherDatabase } from '../../test/support/databases.ts'
import { actorOf, addPrincipal, addRun, addWorker, newRun } from '../../test/support/stored.ts'
import type { Db } from './db.ts'
import { hashBody, type IdempotencyKey } from './idempotency.ts'
import { insertRuns } from './new-runs.ts'
import { findRun } from './runs.ts'

onEitherDatabase('runs stored together', (open) => {
  let db: Db
  let principal_id: string
  before(async () => {
    db = (await open()).db
    principal_id = await addPrincipal(db)
  })
  const newKey = (): IdempotencyKey => ({
    ...{ principal_id, route: 'POST /agent/runs', key: randomUUID() },
    body_hash: hashBody(Buffer.from('a body')),
  })
  const count = async (pool: string) =>
    (await sql`select 1 from runs where pool = ${pool}`.execute(db)).rows.length

  test('each has its own fields, events, files and entry in the audit log', async () => {
    const attachment = {
      ...{ attachment_id: randomUUID(), file_name: 'a.txt', mime_type: 'text/plain', size_bytes: 3 },
      blob_key: 'a-key',
    }
    const runs = [
      newRun(principal_id, { prompt: 'Say \u0000 "é" \ud800.', priority: 7, metadata: { a: '1' } }),
      newRun(principal_id, { sealed: Buffer.from([0, 255, 7]), config: { name: 'b' }, name: 'b' }),
      newRun(principal_id, {
        attachments: [attachment],
        rules_above: [[{ tool: 'run_command', action: 'deny' }]],
      }),
    ]
    const audit = { action: 'createRun', via: 'http', principal_id, status: 200 } as const
    const responses = await insertRuns(
      db,
      runs.map((run, place) => ({
        ...{ run, key: null, audit },
        ...(place === 1 ? { warnings: ['Nobody is there.'] } : {}),
      })),
    )
    assert.deepEqual(
      responses.map((response) => [response?.run_id, response?.warnings]),
      runs.map(({ run_id }, place) => [run_id, place === 1 ? ['Nobody is there.'] : undefined]),
    )
    const rows = await Promise.all(runs.map(({ run_id }) => findRun(db, run_id, actorOf(principal_id))))
    const [first, second, third] = rows
    assert.deepEqual([first?.prompt, first?.priority, first?.metadata], ['Say � "é" �.', 7, { a: '1' }])
    assert.deepEqual(
      [Buffer.from(second?.sealed ?? []).toString('hex'), second?.config, second?.name],
      ['00ff07', { name: 'b' }, 'b'],
    )
    assert.deepEqual(
      [first?.sealed, first?.rules_above, first?.schedule, first?.fork_of],
      [null, null, null, null],
    )
    assert.equal(third?.rules_above?.length, 1)
    for (const [place, { run_id }] of runs.entries()) {
      const events = await sql<{ type: string; data: { attachments?: unknown[] } }>`
        select type, data from events where run_id = ${run_id}::uuid order by sequence`.execute(db)
      assert.deepEqual(
        events.rows.map(({ type, data }) => [type, data.attachments?.length]),
        [
          ['run.state', undefined],
          ['message.user', place === 2 ? 1 : undefined],
        ],
      )
      const noted = await sql`select 1 from audit_log where target = ${run_id}`.execute(db)
      assert.equal(noted.rows.length, 1)
    }
    const files = await sql`select 1 from attachments where run_id = ${runs[2]?.run_id}::uuid`.execute(db)
    assert.equal(files.rows.length, 1)
  })

  test('a key that was used stores nothing and keeps none of the others from being stored', async () => {
    const pool = randomUUID()
    const used = newKey()
    const wish = (key: IdempotencyKey | null) => ({ run: newRun(principal_id, { pool }), key })
    assert.notEqual((await insertRuns(db, [wish(used)]))[0], null)
    const responses = await insertRuns(db, [wish(newKey()), wish(used), wish(null)])
    assert.deepEqual(
      responses.map((response) => response === null),
      [false, true, false],
    )
    assert.equal(await count(pool), 3)
  })

  test('one that cannot be stored, or a key that two have, leaves nothing of the others', async () => {
    const pool = randomUUID()
    const key = newKey()
    const wish = (more: object = {}) => ({ run: newRun(principal_id, { pool, ...more }), key: null })
    await assert.rejects(insertRuns(db, [wish(), wish({ creator_id: randomUUID() })]), { code: '23503' })
    await assert.rejects(
      insertRuns(db, [
        { ...wish(), key },
        { ...wish(), key },
      ]),
      { code: '21000' },
    )
    assert.equal(await count(pool), 0)
  })

  test('each is told whether there was room for it after those before it', async () => {
    const pools = [randomUUID(), randomUUID()]
    await addWorker(db, { pool: pools[0] ?? '', slots: 3 })
    const wishes = [0, 1, 0, 0, 0].map((place) => ({
      ...{ run: newRun(principal_id, { pool: pools[place] ?? '' }), key: null },
    }))
    const responses = await insertRuns(db, wishes)
    assert.deepEqual(
      responses.map((response) => response?.at_capacity),
      [false, true, false, false, true],
    )
  })

  test('a conversation is what each may see of it', async () => {
    const other = await addPrincipal(db)
    const personal = await addRun(db, principal_id, { scope: 'User' })
    const runs = [
      newRun(principal_id, { conversation_id: personal }),
      newRun(other, { conversation_id: personal }),
      newRun(principal_id),
    ]
    await insertRuns(
      db,
      runs.map((run) => ({ run, key: null })),
    )
    const rows = await Promise.all(
      runs.map(({ run_id, principal_id: owner }) => findRun(db, run_id, actorOf(owner))),
    )
    assert.deepEqual(
      rows.map((row) => [row?.scope, row?.context.length]),
      [
        ['User', 1],
        ['Team', 0],
        ['Team', 0],
      ],
    )
  })
})
