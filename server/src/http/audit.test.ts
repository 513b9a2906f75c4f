import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { sql } from 'kysely'
import { onEitherDatabase } from '../../test/support/databases.ts'
import { listAudit } from '../store/audit-log.ts'
import type { Store } from '../store/db.ts'
import { AuditWriter } from './audit.ts'

onEitherDatabase('writing the audit log', (open) => {
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
    assert(warnings.length >= 2)
    await sql`alter table away rename to audit_log`.execute(store.db)
    await until(['four', 'three', 'two', 'one'])
  })

  test('a stop writes what waits, and does not wait for a database that is away', async () => {
    const audit = new AuditWriter(store.db, log)
    audit.note({ action: 'five', via: 'http' })
    await audit.close()
    assert.equal((await actions())[0], 'five')
    const lost: unknown[] = []
    const late = new AuditWriter(store.db, { warn: () => {}, error: (said: unknown) => lost.push(said) })
    await sql`alter table audit_log rename to away`.execute(store.db)
    late.note({ action: 'six', via: 'http' })
    await late.close()
    await sql`alter table away rename to audit_log`.execute(store.db)
    assert.deepEqual(lost, [{ lost: 1 }])
  })
})
