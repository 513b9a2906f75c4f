import { sql } from 'kysely'
import type { Changes } from '../contract/diff.ts'
import { type ArtifactRow, insertArtifact, type NewArtifact } from './artifacts.ts'
import type { Db } from './db.ts'
import type { Lease } from './leases.ts'
import { json } from './storable.ts'

/** The changes of a run after a turn. */
export type Diff = Changes & { turn: number }

/** Stores the patch as an artifact and what it is about with it; like `insertArtifact`. */
export function insertDiff(db: Db, lease: Lease, patch: NewArtifact, diff: Diff): Promise<boolean> {
  const { turn, files_changed, additions, deletions } = diff
  return insertArtifact(db, lease, patch, {
    event: { diff: { turn, files_changed, additions, deletions } },
    insert: sql`
      insert into diffs (artifact_uid, run_id, turn, files_changed, additions, deletions, repositories, files, notes)
      select ${patch.artifact_uid}::uuid, run_id, ${turn}::int, ${files_changed}::int, ${additions}::bigint,
        ${deletions}::bigint, ${json(diff.repositories)}, ${json(diff.files)}, ${json(diff.notes)} from owned`,
  })
}

/** The newest diff of a run, or the newest up to a turn, with its patch. */
export async function findDiff(
  db: Db,
  run_id: string,
  turn: number | null = null,
): Promise<(Diff & ArtifactRow) | null> {
  const found = await sql<Diff & ArtifactRow>`
    select a.*, d.turn, d.files_changed, d.additions::double precision as additions,
      d.deletions::double precision as deletions, d.repositories, d.files, d.notes
    from diffs d join artifacts a using (artifact_uid)
    where d.run_id = ${run_id} and (${turn}::int is null or d.turn <= ${turn}::int)
    order by d.turn desc, d.artifact_uid desc limit 1`.execute(db)
  return found.rows[0] ?? null
}

/** The messages that the agent of a run has been given so far, the prompt included. */
export async function readTurn(db: Db, run_id: string): Promise<number> {
  const found = await sql<{ turn: number }>`
    select count(*)::int as turn from events where run_id = ${run_id} and type = 'message.user'`.execute(db)
  return found.rows[0]?.turn ?? 0
}
