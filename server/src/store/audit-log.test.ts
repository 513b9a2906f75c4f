import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { onEitherDatabase } from '../../test/support/databases.ts'
import { appendAudit, listAudit, removeOldAudit } from './audit-log.ts'
import type { Store } from './db.ts'

const DAY_MS = 24 * 3600 * 1000

onEitherDatabase('the audit log', (open) => {
  let store: Store
  before(async () => {
    store = await open()
  })
  const note = (action: string, days = 0) =>
    appendAudit(store.db, [
      { action, via: 'command_line', occurred_at: new Date(Date.now() - days * DAY_MS) },
    ])
  const actions = async () => (await listAudit(store.db, {})).entries.map(({ action }) => action)

  test('an entry is never changed, nor removed by a statement that does not say it cleans up', async () => {
    await note('kept')
    for (const statement of [
      sql`update audit_log set action = 'forged'`,
      sql`delete from audit_log`,
      sql`truncate audit_log`,
      sql`insert into audit_log (entry_id, action, via) overriding system value
        select entry_id, 'forged', via from audit_log on conflict (entry_id) do update set action = 'forged'`,
    ])
      await assert.rejects(statement.execute(store.db), /append-only/)
    await assert.rejects(
      store.db.transaction().execute(async (trx) => {
        await sql`set local runyard.audit_clean_up = 'on'`.execute(trx)
        await sql`update audit_log set action = 'forged'`.execute(trx)
      }),
      /append-only/,
    )
    assert.deepEqual(await actions(), ['kept'])
  })

  test('clean-up removes what is older than it is kept, and nothing else', async () => {
    await note('old', 11)
    await note('recent', 9)
    await removeOldAudit(store.db, 10)
    assert.deepEqual(await actions(), ['recent', 'kept'])
    // That it was allowed ended with it.
    await assert.rejects(sql`delete from audit_log`.execute(store.db), /append-only/)
  })

  test('entries keep their order, and texts their limits', async () => {
    await appendAudit(
      store.db,
      Array.from({ length: 50 }, (_, at) => ({
        action: `a${at}`,
        target: 'x'.repeat(5_000),
        detail: 'y'.repeat(5_000),
        via: 'http' as const,
        address: '192.0.2.1\u0000',
        role: 'viewer' as const,
        status: 403,
      })),
    )
    const { entries } = await listAudit(store.db, { limit: 50 })
    assert.deepEqual(
      entries.map(({ action }) => action).reverse(),
      Array.from({ length: 50 }, (_, at) => `a${at}`),
    )
    assert.equal(entries[0]?.target?.length, 1_024)
    assert.equal(entries[0]?.detail, `${'y'.repeat(1_023)}…`)
    assert.equal((await listAudit(store.db, { target: 'x'.repeat(1_024) })).entries.length, 50)
  })
})
