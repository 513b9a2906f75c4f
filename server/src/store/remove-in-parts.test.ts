import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { onEitherDatabase } from '../../test/support/databases.ts'
import type { Db } from './db.ts'
import { removeInParts } from './remove-in-parts.ts'

onEitherDatabase('removal in parts', (open) => {
  let db: Db
  before(async () => {
    db = (await open()).db
    await sql`create table things (n int)`.execute(db)
  })

  test('removes all that is chosen and nothing else, at every count around a whole part', async () => {
    for (const count of [0, 1, 9, 10, 11, 20, 25]) {
      await sql`truncate things`.execute(db)
      await sql`insert into things select n from generate_series(1, ${count + 3}::int) n`.execute(db)
      await removeInParts(db, 'things', sql`n <= ${count}::int`, 10)
      const { rows } = await sql<{ n: number }>`select n from things order by n`.execute(db)
      assert.deepEqual(
        rows.map(({ n }) => n),
        [count + 1, count + 2, count + 3],
      )
    }
  })
})
