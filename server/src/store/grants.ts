import { type RawBuilder, sql } from 'kysely'
import type { Actor } from '../contract/actor.ts'
import { AppError } from '../contract/error.ts'
import type { GrantedKind } from '../contract/grant.ts'
import type { RunCreatorInfo } from '../contract/run.ts'
import { activeKey } from './api-keys.ts'
import { type Db, transact } from './db.ts'

export interface Granted {
  resource_type: GrantedKind
  resource_id: string
}

export interface GrantRow {
  principal: RunCreatorInfo
  granted_by: RunCreatorInfo
  created_at: Date
}

/** Who may use it besides admins, by name. */
export async function listGrants(db: Db, { resource_type, resource_id }: Granted): Promise<GrantRow[]> {
  const found = await sql<GrantRow>`
    select jsonb_build_object('uid', p.principal_id, 'type', p.type, 'display_name', p.display_name) as principal,
      jsonb_build_object('uid', b.principal_id, 'type', b.type, 'display_name', b.display_name) as granted_by, g.created_at
    from grants g join principals p using (principal_id) join principals b on b.principal_id = g.granted_by
    where g.resource_type = ${resource_type} and g.resource_id = ${resource_id}
    order by p.display_name, p.principal_id`.execute(db)
  return found.rows
}

/**
 * Replaces them; those that stay keep who granted them, and may be of identities that were deleted since. An id of nobody is
 * returned, and then nothing is changed.
 */
export const replaceGrants = (
  db: Db,
  { resource_type, resource_id }: Granted,
  principal_ids: readonly string[],
  granted_by: string,
): Promise<string | null> =>
  transact(db, async (trx) => {
    const ids = [...new Set(principal_ids)]
    const known = await sql<{ principal_id: string }>`
      select principal_id from principals p where principal_id = any(${ids}::uuid[]) and (not disabled or exists (
        select from grants g where g.resource_type = ${resource_type} and g.resource_id = ${resource_id}
          and g.principal_id = p.principal_id))`.execute(trx)
    const unknown = ids.find((id) => !known.rows.some((row) => row.principal_id === id))
    if (unknown !== undefined) return unknown
    await sql`
      delete from grants where resource_type = ${resource_type} and resource_id = ${resource_id}
        and principal_id <> all(${ids}::uuid[])`.execute(trx)
    await sql`
      insert into grants (resource_type, resource_id, principal_id, granted_by)
      select ${resource_type}::text, ${resource_id}::text, principal_id, ${granted_by}::uuid
      from unnest(${ids}::uuid[]) as principal_id on conflict do nothing`.execute(trx)
    return null
  })

export async function removeGrants(db: Db, { resource_type, resource_id }: Granted): Promise<void> {
  await sql`delete from grants where resource_type = ${resource_type} and resource_id = ${resource_id}`.execute(
    db,
  )
}

/** What a run is given by grants. */
interface GrantedRun {
  /** One that is there: what it was given before counts, too. */
  run_id?: string
  principal_id: string
  pool: string
  environment_id: string | null
  scope: 'User' | 'Team'
}

/**
 * Of the pool, the environment and its secrets what the principal may not use: it is granted to others, and not to this one. Of a
 * personal run its owner's secrets come first.
 */
export async function findMissingGrants(
  db: Db,
  { run_id, principal_id, pool, environment_id, scope }: GrantedRun,
): Promise<Granted[]> {
  const own =
    scope === 'User'
      ? sql`where not exists (select from secrets o
          where o.owner_id = ${principal_id}::uuid and o.name = s.name and o.sealed is not null)`
      : sql``
  // Its environment may have been changed or deleted since, but its workspace may hold their values still.
  const given =
    run_id === undefined
      ? sql``
      : sql`
      union all
      select 'secret', s.name from audit_log a, unnest(string_to_array(a.detail, ' ')) s (name) ${own}
        ${scope === 'User' ? sql`and` : sql`where`} a.action = 'useSecrets' and a.via = 'worker' and left(a.target, 256) in (${forkedFrom(run_id)})`
  const found = await sql<Granted>`
    with n (resource_type, resource_id) as (
      values ('pool', ${pool}::text), ('environment', ${environment_id}::text)
      union all
      select 'secret', s.name from environments e, jsonb_array_elements_text(e.config -> 'secrets') s (name) ${own}
        ${scope === 'User' ? sql`and` : sql`where`} e.uid = ${environment_id}::text${given})
    select n.resource_type, n.resource_id from n
    where exists (select from grants g where g.resource_type = n.resource_type and g.resource_id = n.resource_id)
      and not exists (select from grants g where g.resource_type = n.resource_type and g.resource_id = n.resource_id
        and g.principal_id = ${principal_id}::uuid)`.execute(db)
  return found.rows.filter(
    ({ resource_type, resource_id }, at, all) =>
      all.findIndex((one) => one.resource_type === resource_type && one.resource_id === resource_id) === at,
  )
}

/** The run, and those whose workspaces it began with, deleted ones too. */
const forkedFrom = (run_id: string): RawBuilder<unknown> => sql`
  with recursive line (run_id, source) as (
    select r.run_id, (r.fork_of ->> 'run_id')::uuid from runs r where r.run_id = ${run_id}::uuid
    union
    select l.source, coalesce(r.fork_of ->> 'run_id', d.forked_from::text)::uuid
    from line l left join runs r on r.run_id = l.source left join deleted_runs d on d.run_id = l.source
    where l.source is not null)
  select run_id::text from line`

/** Whether somebody may have runs executed by an identity: admins, who made it, itself, and to whom it is granted. */
export async function mayUseIdentity(
  db: Db,
  uid: string,
  { principal_id, role }: Pick<Actor, 'principal_id' | 'role'>,
): Promise<boolean> {
  if (role === 'admin' || uid === principal_id) return true
  const found = await sql<{ allowed: boolean }>`
    select exists (select from identities where principal_id = ${uid}::uuid and creator_id = ${principal_id}::uuid)
      or exists (select from grants where resource_type = 'identity' and resource_id = ${uid}::text
        and principal_id = ${principal_id}::uuid) as allowed`.execute(db)
  return found.rows[0]?.allowed === true
}

/** An error that names what is missing. */
export function notGranted(missing: readonly Granted[]): AppError {
  const named = missing.map(({ resource_type, resource_id }) => `the ${resource_type} ${resource_id}`)
  return new AppError(
    'not_authorized',
    `This needs a grant for ${named.join(' and ')}. An admin can give it: PUT /agent/grants.`,
  )
}

/** Throws `not_authorized` when some of these are granted to others only. */
export async function requireGrants(
  db: Db,
  { principal_id, role }: Pick<Actor, 'principal_id' | 'role'>,
  resource_type: GrantedKind,
  ids: readonly string[],
): Promise<void> {
  if (role === 'admin' || ids.length === 0) return
  const missing = await sql<{ resource_id: string }>`
    select resource_id from grants where resource_type = ${resource_type} and resource_id = any(${[...ids]}::text[])
    group by resource_id having not bool_or(principal_id = ${principal_id}::uuid) order by resource_id`.execute(
    db,
  )
  if (missing.rows.length > 0)
    throw notGranted(missing.rows.map(({ resource_id }) => ({ resource_type, resource_id })))
}

/** Throws `not_authorized` when somebody may not go on with a run, since its pool, environment, secrets or identity are for others only. */
export async function requireGrantsFor(
  db: Db,
  actor: Pick<Actor, 'principal_id' | 'role'>,
  run: GrantedRun,
): Promise<void> {
  const missing = await findMissingFor(db, actor, run)
  if (missing.length > 0) throw notGranted(missing)
}

/**
 * The one question before anything of a run is given out in which nothing is masked, or another run begins with it; throws
 * `not_authorized`. A `workspace`, and files that came with a prompt, are for those who could go on with the run. What its agent
 * handed in (`files`: artifacts and patches) is for all who see the run, but for those who may not use its secrets.
 */
export async function requireUnmasked(
  db: Db,
  actor: Actor,
  run: GrantedRun,
  what: 'workspace' | 'files',
): Promise<void> {
  // Visitors have no key: they see what the person sees who gave them the link.
  const is_admin = actor.role === 'admin' || (actor.only_run_id !== undefined && (await isAdmin(db, actor)))
  if (is_admin) return
  if (what === 'workspace') {
    if (actor.role === 'viewer')
      throw new AppError(
        'not_authorized',
        "Viewers cannot have a run's workspace, since nothing in it is masked. Use a member's key.",
      )
    return requireGrantsFor(db, actor, run)
  }
  const missing = await findMissingFor(db, actor, run)
  const secrets = missing.filter(({ resource_type }) => resource_type === 'secret')
  if (secrets.length > 0) throw notGranted(secrets)
}

/** With none of somebody's keys at hand an admin is who has a working key of one. */
async function isAdmin(db: Db, { principal_id }: Pick<Actor, 'principal_id'>): Promise<boolean> {
  const found = await sql`
    select from api_keys k join principals p using (principal_id)
    where k.principal_id = ${principal_id}::uuid and k.role = 'admin' and ${activeKey} limit 1`.execute(db)
  return found.rows.length > 0
}

/**
 * What of a run somebody may not use who goes on with it. An identity that executes it does what is said there, so this takes what
 * creating a run by it takes; then its grants are as good as own ones.
 */
async function findMissingFor(
  db: Db,
  actor: Pick<Actor, 'principal_id' | 'role'>,
  run: GrantedRun,
): Promise<Granted[]> {
  if (actor.role === 'admin') return []
  const missing = await findMissingGrants(db, { ...run, principal_id: actor.principal_id })
  if (run.principal_id === actor.principal_id || !(await isIdentity(db, run.principal_id))) return missing
  if (!(await mayUseIdentity(db, run.principal_id, actor)))
    return [...missing, { resource_type: 'identity', resource_id: run.principal_id }]
  return missing.length === 0 ? missing : findMissingGrants(db, run)
}

async function isIdentity(db: Db, principal_id: string): Promise<boolean> {
  const found = await sql`select from identities where principal_id = ${principal_id}::uuid`.execute(db)
  return found.rows.length > 0
}
