import { type Kysely, sql } from 'kysely'

/** The whole first schema. Rows name wire fields; times are truncated to the milliseconds the wire carries. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const now = `date_trunc('milliseconds', clock_timestamp())`

const STATEMENTS = [
  `create extension if not exists pg_trgm`,

  // updated_at must grow strictly, whatever the clock does.
  `create function next_update(previous timestamptz) returns timestamptz language sql volatile as
   $$ select greatest(${now}, previous + interval '1 millisecond') $$`,

  `create table principals (
    principal_id uuid primary key,
    type text not null check (type in ('user', 'service_account')),
    display_name text not null,
    max_running int not null default 1000 check (max_running >= 0),
    disabled boolean not null default false,
    created_at timestamptz not null default ${now}
  )`,
  `create table api_keys (
    key_id uuid primary key,
    key_hash bytea not null unique,
    principal_id uuid not null references principals,
    name text not null,
    role text not null check (role in ('admin', 'member', 'viewer')),
    masked text not null,
    created_at timestamptz not null default ${now},
    expires_at timestamptz,
    last_used_at timestamptz,
    revoked_at timestamptz
  )`,
  `create table environments (
    uid text primary key,
    name text not null,
    config jsonb not null,
    sealed bytea,
    creator_id uuid not null references principals,
    scope text not null check (scope in ('User', 'Team')),
    setup_failed boolean not null default false,
    created_at timestamptz not null default ${now},
    last_updated timestamptz not null default ${now}
  )`,
  `create table workers (
    worker_id uuid primary key,
    pool text not null,
    host_id text not null,
    slots int not null,
    beat int not null default 0,
    lost boolean not null default false,
    sandbox text not null,
    models jsonb not null,
    started_at timestamptz not null default ${now}
  )`,

  // fillfactor: every batch of events rewrites the row (last_sequence), in place when the page has room.
  `create table runs (
    run_id uuid primary key,
    state text not null,
    pool text not null,
    principal_id uuid not null references principals,
    creator_id uuid not null references principals,
    scope text not null check (scope in ('User', 'Team')),
    priority int not null,
    worker_id uuid,
    attempt int not null default 0,
    execution int not null default 1,
    lost_attempts int not null default 0,
    last_sequence int not null default 0,
    undelivered int not null default 0 check (undelivered >= 0),
    interrupt_attempt int,
    batch int not null default 0,
    title text not null,
    prompt text not null,
    name text,
    model_id text,
    environment_id text,
    skill_spec text,
    source text not null,
    config jsonb not null,
    sealed bytea,
    request jsonb not null,
    metadata jsonb not null,
    conversation_id uuid not null,
    parent_run_id uuid,
    root_run_id uuid not null,
    ancestor_run_ids uuid[] not null default '{}',
    status_message jsonb,
    result jsonb,
    input_tokens int not null default 0,
    output_tokens int not null default 0,
    inference_cost_usd double precision not null default 0,
    run_time_ms int not null default 0,
    created_at timestamptz not null default ${now},
    updated_at timestamptz not null default ${now},
    claimed_at timestamptz,
    started_at timestamptz,
    finished_at timestamptz
  ) with (fillfactor = 90)`,
  `create index runs_queued on runs (pool, principal_id, priority desc, run_id) where state = 'QUEUED' and worker_id is null`,
  `create index runs_active on runs (worker_id, principal_id) where worker_id is not null`,
  `create index runs_updated on runs (updated_at, run_id)`,
  `create index runs_created on runs (created_at, run_id)`,
  `create index runs_title on runs (title collate "C", run_id)`,
  `create index runs_skill on runs (skill_spec collate "C", run_id)`,
  `create index runs_state on runs (state, run_id)`,
  `create index runs_name on runs (name, run_id) where name is not null`,
  `create index runs_model on runs (model_id, run_id) where model_id is not null`,
  `create index runs_creator on runs (creator_id, run_id)`,
  `create index runs_executor on runs (principal_id, run_id)`,
  `create index runs_source on runs (source, run_id)`,
  `create index runs_environment on runs (environment_id, run_id)`,
  `create index runs_conversation on runs (conversation_id, run_id)`,
  `create index runs_ancestors on runs using gin (ancestor_run_ids) where parent_run_id is not null`,
  `create index runs_metadata on runs using gin (metadata jsonb_path_ops) where metadata <> '{}'`,
  `create index runs_search on runs using gin ((title || ' ' || prompt || ' ' || coalesce(skill_spec, '')) gin_trgm_ops)`,

  `create table events (
    run_id uuid not null references runs on delete cascade,
    sequence int not null,
    type text not null,
    data jsonb not null,
    occurred_at timestamptz not null default ${now},
    primary key (run_id, sequence)
  )`,
  `create table followups (
    followup_id uuid primary key,
    run_id uuid not null references runs on delete cascade,
    position int not null,
    message text not null,
    mode text not null,
    outcome text not null,
    author_id uuid not null references principals,
    accepted_at timestamptz not null default ${now},
    delivered_at timestamptz,
    unique (run_id, position)
  )`,
  `create index followups_waiting on followups (run_id, position) where delivered_at is null`,
  `create table attachments (
    attachment_id uuid primary key,
    run_id uuid not null references runs on delete cascade,
    followup_id uuid,
    file_name text not null,
    mime_type text not null,
    size_bytes int not null,
    blob_key text not null
  )`,
  `create index attachments_run on attachments (run_id)`,
  // Text on its way is worth nothing after a crash: the message is told again.
  `create unlogged table open_messages (
    run_id uuid not null,
    message_id text not null,
    attempt int not null,
    text text not null,
    primary key (run_id, message_id)
  )`,
  `create table artifacts (
    artifact_uid uuid primary key,
    run_id uuid not null references runs on delete cascade,
    artifact_type text not null,
    filename text not null,
    filepath text not null,
    mime_type text not null,
    size_bytes int not null,
    sha256 text not null,
    blob_key text not null,
    created_at timestamptz not null default ${now}
  )`,
  `create index artifacts_run on artifacts (run_id, artifact_uid)`,
  `create table sandboxes (
    run_id uuid primary key references runs on delete cascade,
    attempt int not null,
    worker_id uuid not null,
    host_id text not null,
    ref jsonb not null,
    prepared boolean not null default false,
    idle_until timestamptz
  )`,
  `create index sandboxes_host on sandboxes (host_id)`,
  // json, not jsonb: the first answer is given again as it was, in the order of its fields.
  `create table idempotency_keys (
    principal_id uuid not null,
    route text not null,
    key text not null,
    body_hash bytea not null,
    status int not null,
    response json not null,
    created_at timestamptz not null default ${now},
    primary key (principal_id, route, key)
  )`,
  `create index idempotency_keys_age on idempotency_keys (created_at)`,

  // Tells sandboxes of this installation from others' on the same machine.
  `create table installation (installation_id uuid primary key)`,
  `insert into installation values (gen_random_uuid())`,

  `create table gate (id int primary key)`,
  `insert into gate values (1)`,

  // Claims up to p_n queued runs: exact limits per principal, fair share between principals, priority within one, age.
  // The worker row comes first, so that a slow beat never holds the gate. The gate is locked by a statement of its own:
  // inside the counting statement the count would use the older snapshot and the limit would not hold.
  // A run whose idle sandbox another live worker holds is left to that worker for two seconds after it was queued.
  `create function claim(p_pool text, p_worker uuid, p_n int)
  returns table (claimed_run uuid, claimed_attempt int) language plpgsql volatile as $$
  declare p_host text;
  begin
    select host_id into p_host from workers where worker_id = p_worker and not lost for share;
    if not found then return; end if;
    perform 1 from gate where id = 1 for update;
    return query
    with recursive heads (principal_id, priority, run_id) as (
      (select r.principal_id, r.priority, r.run_id from runs r
        where r.state = 'QUEUED' and r.worker_id is null and r.pool = p_pool
        order by r.principal_id, r.priority desc, r.run_id limit 1)
      union all
      select n.* from heads h cross join lateral (
        select r.principal_id, r.priority, r.run_id from runs r
        where r.state = 'QUEUED' and r.worker_id is null and r.pool = p_pool and r.principal_id > h.principal_id
        order by r.principal_id, r.priority desc, r.run_id limit 1) n),
    active as materialized (
      select r.principal_id, count(*)::int n from runs r where r.worker_id is not null group by 1),
    open as materialized (
      select h.principal_id, coalesce(a.n, 0) n, least(p_n, p.max_running - coalesce(a.n, 0)) room
      from heads h join principals p using (principal_id) left join active a using (principal_id)
      where p.max_running > coalesce(a.n, 0) and not p.disabled
      order by coalesce(a.n, 0), h.priority desc, h.run_id limit p_n),
    best as materialized (
      select q.run_id from open o cross join lateral (
        select r.run_id, r.priority, row_number() over (order by r.priority desc, r.run_id) rn from runs r
        where r.state = 'QUEUED' and r.worker_id is null and r.pool = p_pool and r.principal_id = o.principal_id
          and not exists (
            select 1 from sandboxes s join workers w on w.worker_id = s.worker_id and not w.lost
            where s.run_id = r.run_id and s.worker_id <> p_worker and s.host_id <> p_host
              and r.updated_at > clock_timestamp() - interval '2 seconds')
        order by r.priority desc, r.run_id limit o.room) q
      order by o.n + q.rn, q.priority desc, q.run_id limit p_n),
    locked as materialized (
      select r.run_id from runs r join best using (run_id)
      where r.state = 'QUEUED' and r.worker_id is null for update of r skip locked),
    claimed as (
      update runs r set state = 'CLAIMED', worker_id = p_worker, attempt = r.attempt + 1,
        last_sequence = r.last_sequence + 2, claimed_at = ${now}, updated_at = next_update(r.updated_at),
        interrupt_attempt = null, batch = 0, status_message = null, finished_at = null
      from locked l where r.run_id = l.run_id returning r.*),
    logged as (
      insert into events (run_id, sequence, type, data)
      select c.run_id, c.last_sequence - 1, 'attempt.started', jsonb_build_object('attempt', c.attempt,
        'execution', c.execution, 'worker_id', p_worker, 'pool', c.pool) from claimed c
      union all
      select c.run_id, c.last_sequence, 'run.state', jsonb_build_object('state', 'CLAIMED',
        'previous_state', 'QUEUED', 'execution', c.execution, 'attempt', c.attempt) from claimed c)
    select c.run_id, c.attempt from claimed c;
  end $$`,
]
