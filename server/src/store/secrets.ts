import { type RawBuilder, sql } from 'kysely'
import type { Actor } from '../contract/actor.ts'
import { AppError } from '../contract/error.ts'
import { MAX_PAGE } from '../contract/page-info.ts'
import type { RunCreatorInfo } from '../contract/run.ts'
import {
  type GitAccess,
  type ListSecretsQuery,
  type RegistryAccess,
  SecretName,
  SecretScope,
} from '../contract/secret.ts'
import { brokenCursor, decodeCursor, encodeCursor } from './cursor.ts'
import { type Db, transact } from './db.ts'
import { cutPage, isFollowed, type Paged } from './page.ts'
import { isRestricted, isUsableIn } from './secret-rights.ts'
import { json } from './storable.ts'

/** Which secret: one of the team, or a personal one of its owner. */
export interface SecretKey {
  scope: SecretScope
  owner_id: string | null
  name: string
}

/** What is known of a secret without its value. */
export interface ListedSecret extends SecretKey {
  version: number
  git: GitAccess | null
  registry: RegistryAccess | null
  description: string | null
  created_at: Date
  last_updated: Date
  creator: RunCreatorInfo
  /** Only those who are named, and admins, may use it. */
  restricted: boolean
}

/** What a worker opens. */
export interface SecretRow extends SecretKey {
  version: number
  sealed: Uint8Array
  git: GitAccess | null
  registry: RegistryAccess | null
}

export const secretKeyOf = (actor: Actor, name: string, scope: SecretScope = 'Team'): SecretKey => ({
  scope,
  owner_id: scope === 'User' ? actor.principal_id : null,
  name,
})

const OTHER_KIND =
  'A secret keeps its kind: a variable does not become a token of git or a password of a registry, nor one of these a variable or one of another host. Delete it first.'

const LISTED = sql`s.scope, s.owner_id, s.name, s.version, s.git, s.registry, s.description, s.created_at, s.last_updated, ${isRestricted} as restricted,
  jsonb_build_object('uid', p.principal_id, 'type', p.type, 'display_name', p.display_name) as creator`
const FROM = sql`from secrets s join principals p on p.principal_id = s.creator_id`

const is = ({ owner_id, name }: SecretKey): RawBuilder<unknown> =>
  owner_id === null
    ? sql`owner_id is null and name = ${name}`
    : sql`owner_id = ${owner_id}::uuid and name = ${name}`

/**
 * Creates a secret, or replaces its value and all that is said of it; `seal` makes the bytes for its version. Throws `conflict`
 * when one that is there is of another kind.
 */
export const putSecret = (
  db: Db,
  secret: SecretKey & Pick<ListedSecret, 'git' | 'registry' | 'description'> & { creator_id: string },
  seal: (version: number) => Uint8Array,
): Promise<ListedSecret> =>
  transact(db, async (trx) => {
    await sql`
      insert into secrets (scope, owner_id, name, version, creator_id)
      values (${secret.scope}, ${secret.owner_id}::uuid, ${secret.name}, 0, ${secret.creator_id}::uuid)
      on conflict do nothing`.execute(trx)
    const found = await sql<Pick<SecretRow, 'version' | 'git' | 'registry'> & { exists: boolean }>`
      select version, git, registry, sealed is not null as exists from secrets where ${is(secret)} for update`.execute(
      trx,
    )
    const before = found.rows[0]
    if (!before) throw new Error('The secret just inserted is gone.')
    if (before.exists && hostsOf(before) !== hostsOf(secret))
      throw new AppError('conflict', OTHER_KIND, { retryable: false })
    const version = before.version + 1
    const sealed = seal(version)
    const fresh = before.exists
      ? sql``
      : sql`creator_id = ${secret.creator_id}::uuid, created_at = now.moment,`
    await sql`
      update secrets set ${fresh} version = ${version}::int, sealed = ${sealed}::bytea,
        git = ${secret.git && json(secret.git)}, registry = ${secret.registry && json(secret.registry)}, description = ${secret.description}::text,
        last_updated = now.moment
      from (select next_update(last_updated) as moment from secrets where ${is(secret)}) now
      where ${is(secret)}`.execute(trx)
    const row = await findSecret(trx, secret)
    if (!row) throw new Error('The secret just put is gone.')
    return row
  })

const hostsOf = ({ git, registry }: Pick<SecretRow, 'git' | 'registry'>): string =>
  JSON.stringify([git?.host, registry?.host])

export async function findSecret(db: Db, key: SecretKey): Promise<ListedSecret | null> {
  const found = await sql<ListedSecret>`
    select ${LISTED} ${FROM} where ${is(key)} and sealed is not null`.execute(db)
  return found.rows[0] ?? null
}

/** The secret as it was, `null` when there is none. Its value is gone for good. */
export const deleteSecret = (db: Db, key: SecretKey): Promise<ListedSecret | null> =>
  transact(db, async (trx) => {
    const row = await findSecret(trx, key)
    const done = await sql<{ version: number }>`
      update secrets set sealed = null, git = null, registry = null, description = null, last_updated = next_update(last_updated)
      where ${is(key)} and sealed is not null returning version`.execute(trx)
    return done.rows.length > 0 ? row : null
  })

/** One page by name, of the team and of the caller. */
export async function listSecrets(
  db: Db,
  { limit = MAX_PAGE, cursor, scope }: ListSecretsQuery,
  actor: Actor,
): Promise<{ secrets: ListedSecret[]; next_cursor: string | null }> {
  const position = cursor === undefined ? null : readPosition(cursor)
  const own = sql`s.owner_id = ${actor.principal_id}::uuid`
  const seen =
    scope === undefined
      ? sql`(s.owner_id is null or ${own})`
      : scope === 'User'
        ? own
        : sql`s.owner_id is null`
  const beyond = position
    ? sql`and (s.name collate "C", s.scope) > (${position.name}::text, ${position.scope}::text)`
    : sql``
  const page = cutPage(
    sql`select * from (select ${LISTED} ${FROM} where s.sealed is not null and ${seen} ${beyond}) r`,
    {
      order: sql`r.name collate "C", r.scope`,
      bytes: sql`octet_length(coalesce(r.git::text, '')) + octet_length(coalesce(r.registry::text, '')) + octet_length(coalesce(r.description, ''))`,
      limit,
    },
  )
  const { rows: secrets } = await sql<ListedSecret & Paged>`${page}`.execute(db)
  const last = secrets.at(-1)
  const more = isFollowed(secrets) && last
  return { secrets, next_cursor: more ? encodeCursor([last.name, last.scope]) : null }
}

function readPosition(cursor: string): { name: string; scope: SecretScope } {
  const [name, scope] = decodeCursor(cursor, 2)
  const position = { name: SecretName.safeParse(name), scope: SecretScope.safeParse(scope) }
  if (!position.name.success || !position.scope.success) throw brokenCursor()
  return { name: position.name.data, scope: position.scope.data }
}

/** Whether the team has a secret of this name, or had one. */
export async function isKnownSecret(db: Db, name: string): Promise<boolean> {
  const found = await sql`select from secrets where owner_id is null and name = ${name}`.execute(db)
  return found.rows.length > 0
}

/** For what secrets are used: who does it, and whether for that person alone. */
export interface SecretUse {
  principal_id: string
  personal: boolean
  /** Where messages may wait for it. */
  run_id?: string
}

/**
 * Those of these names that a run of a principal may use, by name: the principal's own where the run is personal, else, or
 * without one, the team's. A name that nobody has, or that is for others, is missing.
 */
export async function readSecrets(db: Db, names: readonly string[], use: SecretUse): Promise<SecretRow[]> {
  const found = await sql<SecretRow>`
    select distinct on (s.name collate "C") s.name, s.scope, s.owner_id, s.version, s.sealed, s.git, s.registry from secrets s
    where s.name = any (${[...names]}::text[]) and ${isFor(use)}
    order by s.name collate "C", s.owner_id nulls last`.execute(db)
  return found.rows
}

const isFor = ({ principal_id, personal, run_id }: SecretUse): RawBuilder<boolean> => {
  const own = personal ? sql`or s.owner_id = ${principal_id}::uuid` : sql``
  return sql<boolean>`(s.sealed is not null and (s.owner_id is null ${own})
    and ${isUsableIn(sql`${principal_id}::uuid`, sql`${run_id ?? null}::uuid`)})`
}

/** Secrets for git that a principal's own runs could use, one's own before those of the team; of many the first. */
export async function readGitSecrets(db: Db, principal_id: string): Promise<SecretRow[]> {
  const found = await sql<SecretRow>`
    select s.name, s.scope, s.owner_id, s.version, s.sealed, s.git, s.registry from secrets s
    where s.git is not null and ${isFor({ principal_id, personal: true })}
    order by s.owner_id nulls last, s.name collate "C" limit ${MOST_GIT_SECRETS}`.execute(db)
  return found.rows
}
const MOST_GIT_SECRETS = 20

/** Those of these names that `readSecrets` would miss, in their order. */
export async function findMissingSecrets(
  db: Db,
  names: readonly string[],
  use: SecretUse,
): Promise<string[]> {
  const found = await sql<{ name: string }>`
    select n.name from unnest(${[...names]}::text[]) with ordinality n (name, place)
    where not exists (select from secrets s where s.name = n.name and ${isFor(use)}) order by n.place`.execute(
    db,
  )
  return found.rows.map(({ name }) => name)
}

/** Those of these names that neither the team has nor this principal, as if nobody else had any. */
export async function findUnknownSecrets(
  db: Db,
  names: readonly string[],
  principal_id: string,
): Promise<string[]> {
  const found = await sql<{ name: string }>`
    select n.name from unnest(${[...names]}::text[]) with ordinality n (name, place)
    where not exists (select from secrets s where s.name = n.name and s.sealed is not null
      and (s.owner_id is null or s.owner_id = ${principal_id}::uuid)) order by n.place`.execute(db)
  return found.rows.map(({ name }) => name)
}
