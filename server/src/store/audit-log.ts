import { type RawBuilder, sql } from 'kysely'
import type { Role } from '../contract/actor.ts'
import type { AuditEntry, ListAuditLogQuery } from '../contract/audit-log.ts'
import { brokenCursor, decodeCursor, encodeCursor } from './cursor.ts'
import type { Db } from './db.ts'
import { repeatInParts } from './remove-in-parts.ts'
import { json } from './storable.ts'

/** Something that somebody did, or was refused. Names and ids, never values. */
export interface NewAuditEntry {
  action: string
  target?: string | null
  via: AuditEntry['via']
  principal_id?: string | null
  key_id?: string | null
  role?: Role | null
  address?: string | null
  request_id?: string | null
  status?: number | null
  detail?: string | null
  /** Default: now. */
  occurred_at?: Date
}

const REMOVED_AT_ONCE = 1_000
const TEXT_LENGTH = 1024

/** Adds entries, in this order: one statement. */
export async function appendAudit(db: Db, entries: readonly NewAuditEntry[]): Promise<void> {
  await insertEntries(entries, sql`true`).execute(db)
}

/** The same as a part of the statement that does what they are about, where `condition` says that it did. */
export const insertEntries = (
  entries: readonly NewAuditEntry[],
  condition: RawBuilder<boolean>,
): RawBuilder<unknown> => sql`
    insert into audit_log (occurred_at, action, target, via, principal_id, key_id, role, address, request_id, status, detail)
    select coalesce(e.occurred_at, date_trunc('milliseconds', clock_timestamp())), left(e.action, ${TEXT_LENGTH}::int),
      left(e.target, ${TEXT_LENGTH}::int), e.via, e.principal_id, e.key_id, e.role, e.address, e.request_id, e.status,
      case when length(e.detail) > ${TEXT_LENGTH}::int then left(e.detail, ${TEXT_LENGTH - 1}::int) || '…' else e.detail end
    from rows from (jsonb_to_recordset(${json(entries)}) as (occurred_at timestamptz, action text, target text, via text,
      principal_id uuid, key_id uuid, role text, address text, request_id text, status int, detail text))
      with ordinality as e (occurred_at, action, target, via, principal_id, key_id, role, address, request_id, status,
      detail, place)
    where ${condition} order by e.place`

/** What the service did by itself for somebody; in the transaction that does it, so that neither is there without the other. */
export const noteService = (
  db: Db,
  {
    action,
    run_id,
    principal_id,
    detail,
  }: { action: 'createRun' | 'submitFollowup'; run_id: string; principal_id: string; detail: string },
): Promise<void> => appendAudit(db, [{ action, target: run_id, via: 'service', principal_id, detail }])

/**
 * The secrets that a worker opens for a run or an environment. Grants are asked for by these names later, so none of them may be
 * cut off: as many entries as they fill.
 */
export async function noteSecrets(
  db: Db,
  { target, principal_id, names }: { target: string; principal_id: string; names: readonly string[] },
): Promise<void> {
  const details: string[] = []
  for (const name of names) {
    const longer = `${details.at(-1) ?? ''} ${name}`.trimStart()
    if (details.length > 0 && longer.length <= TEXT_LENGTH) details[details.length - 1] = longer
    else details.push(name)
  }
  await appendAudit(
    db,
    details.map((detail) => ({ action: 'useSecrets', target, via: 'worker', principal_id, detail })),
  )
}

export interface AuditRow {
  entry_id: string
  occurred_at: Date
  action: string
  target: string | null
  via: AuditEntry['via']
  principal_id: string | null
  principal_name: string | null
  key_id: string | null
  role: Role | null
  address: string | null
  request_id: string | null
  status: number | null
  detail: string | null
}

/** One page, newest first. */
export async function listAudit(
  db: Db,
  { limit = 100, cursor, principal_id, action, target, since, until }: ListAuditLogQuery,
): Promise<{ entries: AuditRow[]; next_cursor: string | null }> {
  const conditions: RawBuilder<unknown>[] = [sql`true`]
  if (principal_id !== undefined) conditions.push(sql`a.principal_id = ${principal_id}::uuid`)
  if (action !== undefined) conditions.push(sql`a.action = ${action}::text`)
  if (target !== undefined)
    conditions.push(sql`left(a.target, 256) = left(${target}::text, 256) and a.target = ${target}::text`)
  if (since !== undefined) conditions.push(sql`a.occurred_at >= ${since}::timestamptz`)
  if (until !== undefined) conditions.push(sql`a.occurred_at < ${until}::timestamptz`)
  if (cursor !== undefined) {
    const [before] = decodeCursor(cursor, 1)
    if (typeof before !== 'string' || !/^\d{1,18}$/.test(before)) throw brokenCursor()
    conditions.push(sql`a.entry_id < ${before}::bigint`)
  }
  const { rows } = await sql<AuditRow>`
    select a.entry_id::text as entry_id, a.occurred_at, a.action, a.target, a.via, a.principal_id,
      p.display_name as principal_name, a.key_id, a.role, a.address, a.request_id, a.status, a.detail
    from audit_log a left join principals p using (principal_id)
    where ${sql.join(conditions, sql` and `)} order by a.entry_id desc limit ${limit + 1}`.execute(db)
  const entries = rows.slice(0, limit)
  const last = entries.at(-1)
  return { entries, next_cursor: last && rows.length > limit ? encodeCursor([last.entry_id]) : null }
}

/** The one place where entries go: those older than so many days, in parts, since one statement may not take long. */
export async function removeOldAudit(db: Db, days: number): Promise<void> {
  await repeatInParts(REMOVED_AT_ONCE, () =>
    db.transaction().execute(async (trx) => {
      await sql`set local runyard.audit_clean_up = 'on'`.execute(trx)
      const { numAffectedRows } = await sql`
        delete from audit_log where entry_id = any(array(
          select entry_id from audit_log where occurred_at < clock_timestamp() - ${days}::int * interval '1 day'
          limit ${REMOVED_AT_ONCE}::int))`.execute(trx)
      return numAffectedRows
    }),
  )
}
