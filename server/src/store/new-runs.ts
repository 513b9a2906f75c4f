import { type RawBuilder, sql } from 'kysely'
import type { AmbientAgentConfig } from '../contract/agent-config.ts'
import { AppError } from '../contract/error.ts'
import type { ForkedFrom } from '../contract/fork.ts'
import type { Permissions } from '../contract/permission.ts'
import type { RunSchedule, RunSourceType, RunTrigger } from '../contract/run.ts'
import type { RunAgentRequest, RunAgentResponse } from '../contract/run-request.ts'
import type { StoredAttachment } from './attachments.ts'
import { insertEntries, type NewAuditEntry } from './audit-log.ts'
import { type Db, transact } from './db.ts'
import { CHANNEL } from './hint.ts'
import { claimKeys, type IdempotencyKey, readAnswer } from './idempotency.ts'
import { isLimited, lockRoom, type RunMaxima, requireRoom } from './quotas.ts'
import { type LogPart, visibleTo } from './runs.ts'
import { copySnapshots } from './snapshot-copy.ts'
import { json } from './storable.ts'
import { outboxOfCreated } from './webhook-outbox.ts'

/** A run to be, complete: nothing is filled in by the database but times and places. */
export interface NewRun {
  run_id: string
  pool: string
  /** Who executes it, with whose rights. */
  principal_id: string
  /** Who asked for it. */
  creator_id: string
  /** Whose budget it uses; `null`: its creator's. */
  charged_to?: string | null
  scope: 'User' | 'Team'
  priority: number
  title: string
  prompt: string
  name: string | null
  model_id: string | null
  environment_id: string | null
  skill_spec: string | null
  source: RunSourceType
  /** That created it, as it was then. */
  schedule?: RunSchedule
  /** Whose delivery created it. */
  trigger?: RunTrigger
  config: AmbientAgentConfig
  /** Encrypted values that `config` shows as `***`. */
  sealed: Buffer | null
  /** What the runs above it are held to, which holds for it too: sets of rules. */
  rules_above: readonly Permissions[]
  /** Fields of the request that are recorded but not resolved. */
  request: Partial<RunAgentRequest>
  metadata: Record<string, string>
  conversation_id: string
  parent_run_id: string | null
  root_run_id: string
  ancestor_run_ids: string[]
  /** Whose prompt and configuration it took over. */
  replay_of_run_id?: string | null
  /** Where it begins: with this log of others, and with this workspace. */
  fork?: (ForkedFrom & { snapshot_id: string | null; context: LogPart[] }) | null
  attachments: StoredAttachment[]
}

/**
 * Stores a run, its first two events (QUEUED, the prompt), its attachments and, when given, the idempotency key: one
 * statement. `replayed` holds the first answer when the key was used before. Two concurrent uses of a key meet at its
 * unique index: the second waits for the first and replays. If `maxima` sets a limit, a transaction admits one creator at a
 * time; without room it throws and stores nothing.
 */
export async function insertRun(
  db: Db,
  run: NewRun,
  key: IdempotencyKey | null,
  maxima?: RunMaxima,
  besides: Besides = {},
): Promise<Inserted> {
  if (!maxima || !isLimited(maxima)) return insertOne(db, { run, key, ...besides })
  return transact(db, async (trx) => {
    await lockRoom(trx, run, maxima)
    // The same request may have come first, and taken the last room.
    const earlier = key ? await readAnswer(trx, key) : null
    if (earlier) return { response: earlier.body as RunAgentResponse, replayed: true }
    await requireRoom(trx, run, maxima)
    return insertOne(trx, { run, key, ...besides })
  })
}

/** Stored with a run that is created. A replay stores none of it. */
interface Besides {
  /** For its answer. */
  warnings?: readonly string[]
  /** Its entry in the audit log, which names the run. */
  audit?: Omit<NewAuditEntry, 'target'>
  /** The payload of a NOTIFY that the commit sends. */
  hint?: string | null
}

interface Inserted {
  response: RunAgentResponse
  replayed: boolean
}

/** A run that somebody asks for, and what is stored with it. */
export interface Wish extends Besides {
  run: NewRun
  key: IdempotencyKey | null
}

async function insertOne(db: Db, wish: Wish): Promise<Inserted> {
  const [response = null] = await insertRuns(db, [wish])
  return answer(db, wish, response)
}

/** The caller's answer: `response`, or the earlier answer of the key where the run was not stored. */
export async function answer(
  db: Db,
  { key }: Pick<Wish, 'key'>,
  response: RunAgentResponse | null,
): Promise<Inserted> {
  if (response) return { response, replayed: false }
  const earlier = key ? await readAnswer(db, key) : null
  if (!earlier) throw new AppError('conflict', 'A request with this Idempotency-Key is still being handled.')
  return { response: earlier.body as RunAgentResponse, replayed: true }
}

/**
 * Stores many runs in one statement, each as if it came alone, but without `maxima`. `null`: the run was not stored, since its key
 * was used before. The statement fails as a whole, also if two of the runs have the same key.
 */
export async function insertRuns(db: Db, wishes: readonly Wish[]): Promise<Array<RunAgentResponse | null>> {
  // Parts that no run needs are left out: PostgreSQL opens every table that a statement may write, with all its indexes.
  const has_keys = wishes.some(({ key }) => key)
  const entries = entriesOf(wishes)
  const { rows } = await sql<{ place: number; response: RunAgentResponse }>`
    with
    asked as materialized (
      select * from jsonb_to_recordset(${json(wishes.map(rowOf))}) a (place int, run_id uuid, pool text, principal_id uuid,
        creator_id uuid, charged_to uuid, scope text, priority int, title text, prompt text, name text, model_id text,
        environment_id text, skill_spec text, source text, schedule jsonb, trigger jsonb, config jsonb, sealed text,
        rules_above jsonb, request jsonb, metadata jsonb, conversation_id uuid, context jsonb, parent_run_id uuid, root_run_id uuid,
        ancestor_run_ids uuid[], replay_of_run_id uuid, fork_of jsonb, snapshot_id uuid, files jsonb, warnings jsonb, hint text,
        key_owner uuid, key_route text, key text, key_hash text)),
    -- Room is known when the pool's live workers have more free slots than there are runs waiting.
    free as (
      select p.pool, (select coalesce(sum(w.slots), 0)::int from workers w where w.pool = p.pool and not w.lost) - (
        select count(*)::int from runs a join workers o using (worker_id) where o.pool = p.pool and not o.lost) as n
      from (select distinct pool from asked) p),
    room as materialized (
      select pool, n, (select count(*) from (select 1 from runs q where q.state = 'QUEUED' and q.worker_id is null
        and q.pool = free.pool limit greatest(n, 0)) waiting) as waiting from free),
    answered as materialized (
      select a.*, case when a.warnings is null then json_build_object(${ANSWER})
        else json_build_object(${ANSWER}, 'warnings', a.warnings) end as response
      from (
        select a.*, r.n <= r.waiting + row_number() over (partition by a.pool order by a.place) - 1 as full_up
        from asked a join room r using (pool)) a),
    ${has_keys ? CLAIMED : sql``}
    inserted as (
      insert into runs (run_id, state, pool, principal_id, creator_id, charged_to, scope, priority, last_sequence, title, prompt, name,
        model_id, environment_id, skill_spec, source, schedule, trigger, config, sealed, rules_above, request, metadata, conversation_id, context,
        parent_run_id, root_run_id, ancestor_run_ids, replay_of_run_id, fork_of)
      select a.run_id, 'QUEUED', a.pool, a.principal_id, a.creator_id, a.charged_to, ${SCOPE},
        a.priority, 2, a.title, a.prompt, a.name, a.model_id, a.environment_id, a.skill_spec, a.source, a.schedule, a.trigger, a.config,
        decode(a.sealed, 'base64'), a.rules_above, a.request, a.metadata, a.conversation_id, ${CONTEXT},
        a.parent_run_id, a.root_run_id, a.ancestor_run_ids, a.replay_of_run_id, a.fork_of
      from asked a ${has_keys ? UNLESS_USED : sql``}
      order by a.place
      returning *),
    files as (
      insert into attachments (attachment_id, run_id, file_name, mime_type, size_bytes, blob_key, path)
      select f.attachment_id, a.run_id, f.file_name, f.mime_type, f.size_bytes, f.blob_key, 'attachments/' || f.file_name
      from inserted join asked a using (run_id), jsonb_to_recordset(a.files)
        f (attachment_id uuid, file_name text, mime_type text, size_bytes int, blob_key text)),
    ${wishes.some(({ run }) => run.fork?.snapshot_id) ? WORKSPACES : sql``}
    logged as (
      insert into events (run_id, sequence, type, data)
      select run_id, 1, 'run.state', jsonb_build_object('state', 'QUEUED', 'execution', 1, 'attempt', 0) from inserted
      union all
      select a.run_id, 2, 'message.user', jsonb_strip_nulls(jsonb_build_object('message_id', a.run_id, 'text', a.prompt,
        'attachments', (select jsonb_agg(jsonb_build_object('file_name', f.file_name, 'mime_type', f.mime_type,
          'path', 'attachments/' || f.file_name)) from jsonb_to_recordset(a.files) f (file_name text, mime_type text))))
      from inserted join asked a using (run_id)),
    ${entries.length > 0 ? sql`audited as (${insertEntries(entries, sql`e.target in (select run_id::text from inserted)`)}),` : sql``}
    ${outboxOfCreated}
    select a.place, a.response, case when a.hint is not null then pg_notify(${CHANNEL}, a.hint) is null end as told
    from inserted join answered a using (run_id)`.execute(db)
  const responses = new Map(rows.map(({ place, response }) => [place, response]))
  return wishes.map((_, place) => responses.get(place) ?? null)
}

const entriesOf = (wishes: readonly Wish[]): NewAuditEntry[] =>
  wishes.flatMap(({ run, audit }) => (audit ? [{ ...audit, target: run.run_id }] : []))

/** One of `asked`. */
function rowOf({ run, key, warnings = [], hint = null }: Wish, place: number): Record<string, unknown> {
  const { sealed, rules_above, fork, attachments: files, ...rest } = run
  return {
    ...rest,
    ...{ place, files, hint },
    sealed: sealed?.toString('base64'),
    rules_above: rules_above.length > 0 ? rules_above : null,
    context: fork?.context ?? [],
    fork_of: fork ? forkOf(fork) : null,
    snapshot_id: fork?.snapshot_id,
    warnings: warnings.length > 0 ? warnings : null,
    ...(key && {
      key_owner: key.principal_id,
      key_route: key.route,
      key: key.key,
      key_hash: key.body_hash.toString('hex'),
    }),
  }
}

/** The keys of `answered`; in one order, so that no two statements wait for each other's. */
const CLAIMED = sql`claimed as (${claimKeys(sql`
  select a.key_owner, a.key_route, a.key, decode(a.key_hash, 'hex'), 200, a.response
  from answered a where a.key is not null order by 1, 2, 3`)}),`

const UNLESS_USED = sql`where a.key is null or exists (
  select from claimed k where k.principal_id = a.key_owner and k.route = a.key_route and k.key = a.key)`

const WORKSPACES = sql`workspaces as (${copySnapshots(sql`inserted join asked a using (run_id)`)}),`

const ANSWER = sql`'run_id', a.run_id::text, 'task_id', a.run_id::text, 'state', 'QUEUED', 'at_capacity', a.full_up`

const forkOf = ({ run_id, sequence, turn, snapshot_id }: NonNullable<NewRun['fork']>) => ({
  ...{ run_id, sequence, turn },
  with_workspace: snapshot_id !== null,
})

/** Runs of the conversation of `a` that its principal may see. */
const EARLIER: RawBuilder<unknown> = sql`from runs r where r.conversation_id = a.conversation_id
  and ${visibleTo({ principal_id: sql`a.principal_id` })}`

/** Asked again with the context, since a personal run may have come into the conversation after the request was looked at. */
const SCOPE = sql`case when a.scope = 'Team' and a.conversation_id <> a.run_id
  and exists (select ${EARLIER} and r.scope = 'User') then 'User' else a.scope end`

/** What the conversation holds now, of what the principal may see. A run that begins one has none. */
const CONTEXT = sql`case when a.conversation_id = a.run_id then a.context else coalesce((
  select jsonb_agg(jsonb_build_object('run_id', r.run_id, 'sequence', r.last_sequence) order by r.run_id) ${EARLIER}), '[]') end`
