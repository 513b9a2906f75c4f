import { type RawBuilder, sql } from 'kysely'

/**
 * An insert that gives new runs, before their first execution, snapshots of other runs. `runs` is what follows a `from`, with
 * rows `a` that have a `run_id` and a `snapshot_id`. Both share its files. The other snapshot is locked, so
 * that its removal sees this one and keeps them.
 */
export const copySnapshots = (runs: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  insert into snapshots (snapshot_id, run_id, attempt, execution, last_execution, turn, sequence, folders, commits,
    attachments_written, backend, sandbox_id, image, stamp, blob_key, index_blob_key, size_bytes, expanded_bytes, entries, sha256,
    created_at)
  select gen_random_uuid(), a.run_id, 0, 0, 0, s.turn, 0, s.folders, s.commits, '{}', s.backend, s.sandbox_id, s.image, null,
    s.blob_key, s.index_blob_key, s.size_bytes, s.expanded_bytes, s.entries, s.sha256, s.created_at
  from ${runs} cross join lateral (select * from snapshots where snapshot_id = a.snapshot_id for share) s`
