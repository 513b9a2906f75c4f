import { type RawBuilder, sql } from 'kysely'
import type { Db } from './db.ts'

/** What a statement is done with in a fraction of a second, and locks meanwhile. */
const AT_ONCE = 1_000

/** Removes the rows of a table that a condition chooses, however many there are: one statement may not take long. */
export async function removeInParts(
  db: Db,
  table: string,
  where: RawBuilder<unknown>,
  at_once = AT_ONCE,
): Promise<void> {
  await repeatInParts(at_once, async () => {
    const { numAffectedRows } = await sql`
      delete from ${sql.table(table)} where ctid = any(array(
        select ctid from ${sql.table(table)} where ${where} limit ${at_once}::int))`.execute(db)
    return numAffectedRows
  })
}

/** Does the next part until there is less than a whole one. */
export async function repeatInParts(
  at_once: number,
  doPart: () => Promise<bigint | undefined>,
): Promise<void> {
  while (Number((await doPart()) ?? 0) === at_once);
}
