import { type RawBuilder, sql } from 'kysely'
import type { SecretScope } from '../contract/secret.ts'
import type { Db } from './db.ts'

/** Whatever holds sealed values. */
export const SEALED_KINDS = ['secrets', 'environments', 'schedules', 'triggers', 'runs', 'webhooks'] as const
export type SealedKind = (typeof SEALED_KINDS)[number]

export interface SealedValue {
  id: string
  sealed: Uint8Array
  /** Of a secret: what it is sealed for besides. */
  secret: { scope: SecretScope; owner_id: string | null; name: string; version: number } | null
}

interface Place {
  table: RawBuilder<unknown>
  id: RawBuilder<unknown>
  /** An id as this column has it. */
  cast: (id: string) => RawBuilder<unknown>
  /** Before all others. */
  first: string
  secret: RawBuilder<unknown>
}

const NO_UUID = '00000000-0000-0000-0000-000000000000'
const uuid = (id: string): RawBuilder<unknown> => sql`${id}::uuid`

const PLACES: Record<SealedKind, Place> = {
  secrets: {
    table: sql`secrets`,
    id: sql`secret_id`,
    cast: uuid,
    first: NO_UUID,
    secret: sql`jsonb_build_object('scope', scope, 'owner_id', owner_id, 'name', name, 'version', version)`,
  },
  environments: {
    table: sql`environments`,
    id: sql`uid`,
    cast: (id) => sql`${id}::text`,
    first: '',
    secret: sql`null::jsonb`,
  },
  schedules: {
    table: sql`schedules`,
    id: sql`schedule_id`,
    cast: uuid,
    first: NO_UUID,
    secret: sql`null::jsonb`,
  },
  triggers: {
    table: sql`triggers`,
    id: sql`trigger_id`,
    cast: uuid,
    first: NO_UUID,
    secret: sql`null::jsonb`,
  },
  runs: { table: sql`runs`, id: sql`run_id`, cast: uuid, first: NO_UUID, secret: sql`null::jsonb` },
  webhooks: {
    table: sql`webhooks`,
    id: sql`webhook_id`,
    cast: uuid,
    first: NO_UUID,
    secret: sql`null::jsonb`,
  },
}

/** The next sealed values, by id, that do not begin with these bytes. */
export async function readSealedOtherwise(
  db: Db,
  kind: SealedKind,
  { head, after, limit }: { head: Buffer; after: string | null; limit: number },
): Promise<SealedValue[]> {
  const { table, id, cast, first, secret } = PLACES[kind]
  const found = await sql<SealedValue>`
    select ${id}::text as id, sealed, ${secret} as secret from ${table}
    where sealed is not null and substring(sealed from 1 for ${head.length}::int) <> ${head}::bytea
      and ${id} > ${cast(after ?? first)}
    order by ${id} limit ${limit}::int`.execute(db)
  return found.rows
}

/** False when the value has been changed or has gone since it was read. Not an edit: no time is touched. */
export async function replaceSealed(
  db: Db,
  kind: SealedKind,
  { id, sealed }: SealedValue,
  by: Uint8Array,
): Promise<boolean> {
  const place = PLACES[kind]
  const done = await sql`
    update ${place.table} set sealed = ${by}::bytea
    where ${place.id} = ${place.cast(id)} and sealed = ${Buffer.from(sealed)}::bytea returning 1`.execute(db)
  return done.rows.length > 0
}
