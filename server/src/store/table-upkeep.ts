import { sql } from 'kysely'
import type { Store } from './db.ts'

/** When autovacuum would do it, by PostgreSQL's defaults. */
const CHANGED = { rows: 50, share: 0.1 }
const DEAD = { rows: 50, share: 0.2 }
/** Everything else waits for VACUUM, which reads some 200 MB a second: a larger table keeps its dead rows. */
const MOST_BYTES = 256 * 1024 ** 2

/**
 * What autovacuum does elsewhere; the embedded database has none. Without it PostgreSQL plans as if it knew nothing of a table,
 * however large that became, and never uses the space of removed rows again. Returns the tables it worked on.
 */
export async function maintainTables({ db, kind }: Pick<Store, 'db' | 'kind'>): Promise<string[]> {
  if (kind !== 'pglite') return []
  // Counts would be up to a second old otherwise.
  await sql`select pg_stat_force_next_flush()`.execute(db)
  const { rows } = await sql<{ name: string; has_changed: boolean; has_dead: boolean }>`
    select * from (
      select s.relname as name,
        s.n_mod_since_analyze > ${CHANGED.rows} + ${CHANGED.share} * greatest(c.reltuples, 0) as has_changed,
        s.n_dead_tup > ${DEAD.rows} + ${DEAD.share} * greatest(c.reltuples, 0)
          and pg_table_size(c.oid) < ${MOST_BYTES} as has_dead
      from pg_stat_user_tables s join pg_class c on c.oid = s.relid) t
    where has_changed or has_dead`.execute(db)
  // One statement each, so that others get their turn between them.
  for (const { name, has_changed, has_dead } of rows) {
    if (has_dead) await sql`vacuum ${sql.table(name)}`.execute(db)
    if (has_changed) await sql`analyze ${sql.table(name)}`.execute(db)
  }
  return rows.map(({ name }) => name)
}
