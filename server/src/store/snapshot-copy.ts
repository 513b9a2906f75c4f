import { type RawBuilder, sql } from 'kysely'

/**
 * An insert that gives the run of `inserted` a snapshot of another run, of before its first execution. Its file is one for both;
 * locked, so that whoever removes the other one finds this one when it looks who else names the file.
 */
export const copySnapshot = (snapshot_id: string): RawBuilder<unknown> => sql`
  insert into snapshots (snapshot_id, run_id, attempt, execution, last_execution, turn, sequence, folders, commits,
    attachments_written, backend, sandbox_id, image, stamp, blob_key, size_bytes, expanded_bytes, entries, sha256, created_at)
  select gen_random_uuid(), i.run_id, 0, 0, 0, s.turn, 0, s.folders, s.commits, '{}', s.backend, s.sandbox_id, s.image, null,
    s.blob_key, s.size_bytes, s.expanded_bytes, s.entries, s.sha256, s.created_at
  from inserted i, (select * from snapshots where snapshot_id = ${snapshot_id}::uuid for share) s returning 1`
