import { sql } from 'kysely'
import type { EnvironmentConfig } from '../contract/environment.ts'
import type { RunCreatorInfo } from '../contract/run.ts'
import type { Db } from './db.ts'
import { json } from './storable.ts'

export interface EnvironmentRow {
  uid: string
  name: string
  config: EnvironmentConfig
  sealed: Uint8Array | null
  scope: 'User' | 'Team'
  setup_failed: boolean
  created_at: Date
  last_updated: Date
  creator: RunCreatorInfo
}

const select = sql`
  select e.uid, e.name, e.config, e.sealed, e.scope, e.setup_failed, e.created_at, e.last_updated,
    jsonb_build_object('uid', p.principal_id, 'type', p.type, 'display_name', p.display_name) as creator
  from environments e join principals p on p.principal_id = e.creator_id`

export async function insertEnvironment(
  trx: Db,
  environment: { uid: string; creator_id: string; config: EnvironmentConfig; sealed: Buffer | null },
): Promise<EnvironmentRow> {
  await sql`
    insert into environments (uid, name, config, sealed, creator_id, scope)
    values (${environment.uid}, ${environment.config.name}, ${json(environment.config)},
      ${environment.sealed}, ${environment.creator_id}, 'Team')`.execute(trx)
  const row = await findEnvironment(trx, environment.uid)
  if (!row) throw new Error('The environment just inserted is gone.')
  return row
}

export async function findEnvironment(db: Db, uid: string): Promise<EnvironmentRow | null> {
  const found = await sql<EnvironmentRow>`${select} where e.uid = ${uid}`.execute(db)
  return found.rows[0] ?? null
}

export async function listEnvironments(db: Db, sort_by: 'name' | 'last_updated'): Promise<EnvironmentRow[]> {
  const order = sort_by === 'name' ? sql`e.name collate "C", e.uid` : sql`e.last_updated desc, e.uid`
  const found = await sql<EnvironmentRow>`${select} order by ${order}`.execute(db)
  return found.rows
}

/** Remembers how the latest setup went; not an edit, so `last_updated` stays. */
export async function markSetup(db: Db, uid: string, failed: boolean): Promise<void> {
  await sql`update environments set setup_failed = ${failed} where uid = ${uid} and setup_failed <> ${failed}`.execute(
    db,
  )
}
