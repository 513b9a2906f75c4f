/** `runyard dev` cleans up after earlier starts. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { sql } from 'kysely'
import type { Db } from '../src/store/db.ts'
import { until } from './support/cluster.ts'
import { openEmbedded } from './support/databases.ts'
import { startService, temporaryDirectory } from './support/service.ts'

test('dev removes old idempotency keys and says whose its files are', async () => {
  const data_dir = temporaryDirectory('data')
  const atDatabase = async (use: (db: Db) => Promise<unknown>) => {
    const store = await openEmbedded(join(data_dir, 'db'))
    await use(store.db).finally(() => store.close())
  }
  await atDatabase(async (db) => {
    await sql`insert into idempotency_keys (principal_id, route, key, body_hash, status, response, created_at)
      values (gen_random_uuid(), 'POST /x', 'old', '', 201, '{}', clock_timestamp() - interval '25 hours')`.execute(
      db,
    )
  })

  const service = await startService({ data_dir, embedded: true })
  const owners = join(data_dir, 'blobs/owners')
  // Written after the rows were removed.
  await until('the first look', () => existsSync(owners) && readdirSync(owners).length > 0).finally(
    service.stop,
  )
  await atDatabase(async (db) => {
    const { rows } = await sql`select key from idempotency_keys`.execute(db)
    assert.deepEqual(rows, [])
    const found = await sql<{ installation_id: string }>`select installation_id from installation`.execute(db)
    assert.deepEqual(readdirSync(owners), [found.rows[0]?.installation_id])
  })
})
