import { type RawBuilder, sql } from 'kysely'
import type { Actor } from '../contract/actor.ts'
import type { KeptArtifactType } from '../contract/artifact.ts'
import type { Db } from './db.ts'
import { held, type Lease } from './leases.ts'
import { visibleTo } from './runs.ts'
import { AT_WORK } from './sql-fragments.ts'
import { json } from './storable.ts'

export interface ArtifactRow {
  artifact_uid: string
  run_id: string
  artifact_type: KeptArtifactType
  filename: string
  filepath: string
  mime_type: string
  size_bytes: number
  sha256: string
  blob_key: string
  created_at: Date
  /** Of a plan, or what the agent says of a file that it attached. */
  title: string | null
  description: string | null
}

export type NewArtifact = Omit<ArtifactRow, 'created_at' | 'run_id' | 'title' | 'description'> & {
  title?: string
  description?: string
}

/**
 * Stores an artifact and its event in one fenced statement, once however often it is said; false when the lease is lost.
 * `also`: what its event says beside, and an insert that reads the run's id from `owned`.
 */
export async function insertArtifact(
  db: Db,
  lease: Lease,
  artifact: NewArtifact,
  also?: { event: Record<string, unknown>; insert: RawBuilder<unknown> },
): Promise<boolean> {
  const { artifact_uid, artifact_type, filename, filepath, mime_type, size_bytes, title, description } =
    artifact
  const event = {
    ...{ artifact_uid, artifact_type, filename, filepath, mime_type, size_bytes, ...also?.event },
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
  }
  const inserted = await sql`
    with owned as (
      update runs set last_sequence = last_sequence + 1, updated_at = next_update(updated_at)
      where ${held(lease)} and ${AT_WORK}
        and not exists (select 1 from artifacts where artifact_uid = ${artifact_uid}) returning run_id, last_sequence),
    logged as (
      insert into events (run_id, sequence, type, data)
      select run_id, last_sequence, 'artifact.created', ${json(event)} from owned)
    ${also ? sql`, also as (${also.insert})` : sql``}
    insert into artifacts (artifact_uid, run_id, artifact_type, filename, filepath, mime_type, size_bytes, sha256, blob_key,
      title, description)
    select ${artifact_uid}::uuid, run_id, ${artifact_type}, ${filename}, ${filepath}, ${mime_type}, ${size_bytes}::int,
      ${artifact.sha256}, ${artifact.blob_key}, ${title ?? null}::text, ${description ?? null}::text from owned returning 1`.execute(
    db,
  )
  return inserted.rows.length > 0 || (await isStored(db, artifact_uid))
}

/** The newest artifact of each path, so that a file that did not change is not kept twice. */
export async function readArtifactHashes(db: Db, run_id: string): Promise<Map<string, string>> {
  const found = await sql<{ filepath: string; sha256: string }>`
    select distinct on (filepath) filepath, sha256 from artifacts
    where run_id = ${run_id} and artifact_type not in ('DIFF', 'PLAN')
    order by filepath, artifact_uid desc`.execute(db)
  return new Map(found.rows.map((row) => [row.filepath, row.sha256]))
}

export async function findArtifact(db: Db, artifact_uid: string, actor: Actor): Promise<ArtifactRow | null> {
  const found = await sql<ArtifactRow>`
    select a.* from artifacts a join runs r using (run_id)
    where a.artifact_uid = ${artifact_uid} and ${visibleTo(actor)}`.execute(db)
  return found.rows[0] ?? null
}

/** The newest artifact of a path. */
export async function findArtifactOf(db: Db, run_id: string, filepath: string): Promise<ArtifactRow | null> {
  const found = await sql<ArtifactRow>`
    select * from artifacts where run_id = ${run_id} and filepath = ${filepath} and artifact_type not in ('DIFF', 'PLAN')
    order by artifact_uid desc limit 1`.execute(db)
  return found.rows[0] ?? null
}

/** What the run keeps, files of all kinds. */
export async function countArtifacts(db: Db, run_id: string): Promise<number> {
  const found = await sql<{ n: number }>`
    select count(*)::int as n from artifacts where run_id = ${run_id}`.execute(db)
  return found.rows[0]?.n ?? 0
}

async function isStored(db: Db, artifact_uid: string): Promise<boolean> {
  const found = await sql`select 1 from artifacts where artifact_uid = ${artifact_uid}`.execute(db)
  return found.rows.length > 0
}
