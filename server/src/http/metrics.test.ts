import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { onEitherDatabase } from '../../test/support/databases.ts'
import { parseExposition } from '../../test/support/exposition.ts'
import { Metrics } from './metrics.ts'

onEitherDatabase('reading the counts', (open) => {
  test('a fault is logged; a database that is away says so in the numbers', async () => {
    const store = await open()
    const logged: unknown[] = []
    const metrics = new Metrics(store, '0', { error: (...said: unknown[]) => logged.push(said) })
    await sql`alter table webhook_deliveries rename to gone`.execute(store.db)
    assert.equal(parseExposition(await metrics.expose()).get('runyard_database_up'), 0)
    await sql`alter table gone rename to webhook_deliveries`.execute(store.db)
    const [[fault, said]] = logged as [[{ err: { code: string } }, string]]
    assert.deepEqual(
      [logged.length, fault.err.code, said],
      [1, '42P01', 'The counts for /metrics cannot be read.'],
    )
  })
})
