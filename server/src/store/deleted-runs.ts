/**
 * The one place that deletes runs. The run and what is small goes in one transaction, so that it is gone from every answer at once.
 * Its log and its files may be large: they go behind, in parts (`purge.ts`).
 */
import { sql } from 'kysely'
import { TERMINAL_STATES } from '../contract/state.ts'
import { appendAudit, type NewAuditEntry } from './audit-log.ts'
import { RUN_FILES } from './blob-keys.ts'
import type { Db } from './db.ts'
import { among } from './sql-fragments.ts'
import { AGENT, CACHES, MODEL, SECONDS, TOKENS, USED_MODELS } from './usage.ts'

/**
 * What becomes of each column that holds the id of a run, when the run is deleted; a test asks the database for columns that are
 * missing here. `row`: the row goes with the run. `later`: the row goes behind, in parts. `emptied`: the row stays without the id
 * and without what the run's sender sent. `kept`: the id stays, which is all that it says. `run`: another run has it, which stays
 * as it is; it may name a run that is gone.
 */
export const RUN_COLUMNS: Readonly<Record<string, 'row' | 'later' | 'emptied' | 'kept' | 'run'>> = {
  'artifacts.run_id': 'row',
  'attachments.run_id': 'row',
  'deleted_runs.forked_from': 'kept',
  'deleted_runs.run_id': 'kept',
  'diffs.run_id': 'row',
  'events.run_id': 'later',
  'followups.run_id': 'row',
  'open_messages.run_id': 'row',
  'prepared_attachments.run_id': 'row',
  'pull_turns.run_id': 'row',
  'pushes.run_id': 'row',
  'run_references.run_id': 'row',
  'run_releases.run_id': 'row',
  'run_urls.run_id': 'row',
  'run_usage.run_id': 'row',
  'runs.ancestor_run_ids': 'run',
  'runs.fork_of': 'run',
  'runs.parent_run_id': 'run',
  'runs.replay_of_run_id': 'run',
  'runs.root_run_id': 'run',
  'runs.run_id': 'row',
  'sandboxes.run_id': 'row',
  'schedule_firings.run_id': 'emptied',
  'share_links.run_id': 'row',
  'snapshots.run_id': 'row',
  'trigger_deliveries.run_id': 'emptied',
  'trigger_replies.run_id': 'row',
  'turn_ends.run_id': 'row',
  'visits.run_id': 'row',
  'webhook_deliveries.run_id': 'row',
}

/** Who deletes runs, and how the audit log says so: an entry for each run. */
export interface Deletion {
  /** Null: the service itself, since their retention is over. */
  deleted_by: string | null
  audit: Omit<NewAuditEntry, 'action' | 'target'>
}

/**
 * Deletes runs in a transaction that has locked their rows, whatever their state, with the entries of the audit log. What they
 * used stays in `deleted_usage`.
 */
export async function eraseRuns(trx: Db, run_ids: readonly string[], deletion: Deletion): Promise<void> {
  if (run_ids.length === 0) return
  const ids = sql`any(${[...run_ids]}::uuid[])`
  const files = RUN_FILES.map(
    ({ table, column }) =>
      sql`select ${sql.ref(column)} as blob_key from ${sql.table(table)} where run_id = ${ids}`,
  )
  await sql`
    with counted as (
      insert into deleted_usage (created_at, scope, principal_id, creator_id, environment_id, state, agent, model_id, tokens, cost,
        cache_read, cache_write, seconds, models)
      select r.created_at, r.scope, r.principal_id, r.creator_id, r.environment_id,
        -- Nothing of it is open or waits any more.
        case when r.state in (${among(TERMINAL_STATES)}) then r.state else 'CANCELLED' end,
        ${AGENT}, ${MODEL}, ${TOKENS}, r.inference_cost_usd, u.cache_read, u.cache_write, ${SECONDS},
        (select jsonb_agg(to_jsonb(m)) from (${USED_MODELS}) m)
      from runs r left join lateral ${CACHES} u on true where r.run_id = ${ids}),
    listed as (
      insert into deleted_runs (run_id, deleted_by, forked_from)
      select run_id, ${deletion.deleted_by}::uuid, (fork_of ->> 'run_id')::uuid from runs where run_id = ${ids}
      on conflict (run_id) do update set purged = false),
    named as (
      insert into removed_files (blob_key)
      select blob_key from (${sql.join(files, sql` union `)}) f where blob_key is not null on conflict do nothing),
    prepared as (delete from prepared_attachments where run_id = ${ids}),
    voided as (delete from open_messages where run_id = ${ids}),
    -- What the sender sent is what the run was asked. The rest says that the delivery has come, so that it does not start another run.
    received as (update trigger_deliveries set run_id = null, headers = '{}', payload = 'null' where run_id = ${ids}),
    fired as (update schedule_firings set run_id = null where run_id = ${ids})
    delete from runs where run_id = ${ids}`.execute(trx)
  await appendAudit(
    trx,
    run_ids.map((target) => ({ ...deletion.audit, action: 'deleteRun', target })),
  )
}
