import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { onEitherDatabase } from '../../test/support/databases.ts'
import { RUN_FILES } from './blob-keys.ts'
import type { Db } from './db.ts'
import { RUN_COLUMNS } from './deleted-runs.ts'

onEitherDatabase('what names runs and their files', (open) => {
  let db: Db
  before(async () => {
    db = (await open()).db
  })

  test('each column with the id of a run is known to the deletion', async () => {
    const found = await sql<{ place: string }>`
      select c.table_name || '.' || c.column_name as place from information_schema.columns c
      where c.table_schema = 'public' and (c.column_name ~ 'run_ids?$' or c.column_name ~ 'fork')
      union
      select k.conrelid::regclass || '.' || a.attname from pg_constraint k
        join pg_attribute a on a.attrelid = k.conrelid and a.attnum = any(k.conkey)
      where k.contype = 'f' and k.confrelid = 'runs'::regclass
      order by 1`.execute(db)
    const known = Object.keys(RUN_COLUMNS).sort()
    assert.deepEqual(found.rows.map(({ place }) => place).sort(), known)
  })

  test('a row that goes with its run does so by a foreign key, or is deleted by name', async () => {
    const cascading = await sql<{ place: string }>`
      select k.conrelid::regclass || '.' || a.attname as place from pg_constraint k
        join pg_attribute a on a.attrelid = k.conrelid and a.attnum = any(k.conkey)
      where k.contype = 'f' and k.confrelid = 'runs'::regclass and k.confdeltype = 'c'`.execute(db)
    const by_key = new Set(cascading.rows.map(({ place }) => place))
    const by_name = Object.entries(RUN_COLUMNS)
      .filter(([place, what]) => what === 'row' && !by_key.has(place))
      .map(([place]) => place)
    assert.deepEqual(by_name.sort(), ['open_messages.run_id', 'prepared_attachments.run_id', 'runs.run_id'])
  })

  test('each table that goes with a run is found by its run in an index', async () => {
    for (const [place, what] of Object.entries(RUN_COLUMNS)) {
      if (what === 'kept' || what === 'run') continue
      const [table = '', column] = place.split('.')
      const { rows } = await sql`
        select 1 from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
        where i.indrelid = ${table}::regclass and a.attname = ${column}`.execute(db)
      assert(rows.length > 0, `${place} has no index: each deletion would read the whole table.`)
    }
  })

  test('each column that names a file is known', async () => {
    const found = await sql<{ name: string }>`
      select table_name || '.' || column_name as name from information_schema.columns
      where table_schema = 'public' and column_name ~ 'blob'`.execute(db)
    assert.deepEqual(
      found.rows.map(({ name }) => name).sort(),
      [
        ...RUN_FILES.map(({ table, column }) => `${table}.${column}`),
        ...['prepared_workspaces.blob_key', 'removed_files.blob_key'],
      ].sort(),
    )
  })
})
