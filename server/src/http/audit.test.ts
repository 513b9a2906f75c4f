import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { sql } from 'kysely'
import { onEachDatabase } from '../../test/support/databases.ts'
import { listAudit } from '../store/audit-log.ts'
import type { Store } from '../store/db.ts'
import { AuditWriter } from './audit.ts'

onEachDatabase('writing the audit log', (open) => {
  let store: Store
  const warnings: unknown[] = []
  const log = { warn: (...said: unknown[]) => warnings.push(said), error: () => {} }
  before(async () => {
    store = await open()
  })
  const actions = async () => (await listAudit(store.db, {})).entries.map(({ action }) => action)
  const until = async (wanted: string[]) => {
    for (const deadline = Date.now() + 15_000; ; await wait(20)) {
      const found = await actions()
      if (found.length >= wanted.length) return assert.deepEqual(found, wanted)
      assert(Date.now() < deadline, `There is ${found}.`)
    }
  }

  test('what is noted is written soon, without being asked for', async () => {
    const audit = new AuditWriter(store.db, log)
    audit.note({ action: 'one', via: 'http' })
    audit.note({ action: 'two', via: 'http' })
    await until(['two', 'one'])
  })

  test('what cannot be written waits, in its order, and is written when it can be', async () => {
    const audit = new AuditWriter(store.db, log)
    await sql`alter table audit_log rename to away`.execute(store.db)
    audit.note({ action: 'three', via: 'http' })
    await audit.flush()
    audit.note({ action: 'four', via: 'http' })
    await audit.flush()
    assert.equal(warnings.length, 2)
    await sql`alter table away rename to audit_log`.execute(store.db)
    await until(['four', 'three', 'two', 'one'])
  })
})
