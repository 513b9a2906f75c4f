import { sql } from 'kysely'
import type { Db } from './db.ts'
import { held, type Lease } from './leases.ts'
import { AT_WORK } from './sql-fragments.ts'
import { json } from './storable.ts'

/** Replaces what the harness of the run keeps between its sessions; fenced, false when the lease is lost. */
export async function writeHarnessState(
  db: Db,
  lease: Lease,
  state: Record<string, unknown>,
): Promise<boolean> {
  const written = await sql`
    update runs set harness_state = ${json(state)}
    where ${held(lease)} and ${AT_WORK} returning 1`.execute(db)
  return written.rows.length > 0
}
