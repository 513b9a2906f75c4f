-- The whole first schema. Rows name wire fields; times are truncated to the milliseconds the wire carries.
-- A statement ends with a semicolon before an empty line.

create extension if not exists pg_trgm;

-- updated_at must grow strictly, whatever the clock does.
create function next_update(previous timestamptz) returns timestamptz language sql volatile as
 $$ select greatest(date_trunc('milliseconds', clock_timestamp()), previous + interval '1 millisecond') $$;

create table principals (
  principal_id uuid primary key,
  type text not null check (type in ('user', 'service_account')),
  display_name text not null,
  max_running int not null default 1000 check (max_running >= 0),
  disabled boolean not null default false,
  created_at timestamptz not null default date_trunc('milliseconds', clock_timestamp())
);

create table api_keys (
  key_id uuid primary key,
  key_hash bytea not null unique,
  principal_id uuid not null references principals,
  name text not null,
  role text not null check (role in ('admin', 'member', 'viewer')),
  masked text not null,
  created_at timestamptz not null default date_trunc('milliseconds', clock_timestamp()),
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz
);

create table environments (
  uid text primary key,
  name text not null,
  config jsonb not null,
  sealed bytea,
  creator_id uuid not null references principals,
  scope text not null check (scope in ('User', 'Team')),
  setup_failed boolean not null default false,
  created_at timestamptz not null default date_trunc('milliseconds', clock_timestamp()),
  last_updated timestamptz not null default date_trunc('milliseconds', clock_timestamp())
);

create table workers (
  worker_id uuid primary key,
  pool text not null,
  host_id text not null,
  slots int not null,
  beat int not null default 0,
  lost boolean not null default false,
  sandbox text not null,
  models jsonb not null,
  started_at timestamptz not null default date_trunc('milliseconds', clock_timestamp())
);

-- fillfactor: every batch of events rewrites the row (last_sequence), in place when the page has room.
create table runs (
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
  created_at timestamptz not null default date_trunc('milliseconds', clock_timestamp()),
  updated_at timestamptz not null default date_trunc('milliseconds', clock_timestamp()),
  claimed_at timestamptz,
  started_at timestamptz,
  finished_at timestamptz
) with (fillfactor = 90);

create index runs_queued on runs (pool, principal_id, priority desc, run_id) where state = 'QUEUED' and worker_id is null;

create index runs_active on runs (worker_id, principal_id) where worker_id is not null;

create index runs_updated on runs (updated_at, run_id);

create index runs_created on runs (created_at, run_id);

create index runs_title on runs (title collate "C", run_id);

create index runs_skill on runs (skill_spec collate "C", run_id);

create index runs_state on runs (state, run_id);

create index runs_name on runs (name, run_id) where name is not null;

create index runs_model on runs (model_id, run_id) where model_id is not null;

create index runs_creator on runs (creator_id, run_id);

create index runs_executor on runs (principal_id, run_id);

create index runs_source on runs (source, run_id);

create index runs_environment on runs (environment_id, run_id);

create index runs_conversation on runs (conversation_id, run_id);

create index runs_ancestors on runs using gin (ancestor_run_ids) where parent_run_id is not null;

create index runs_metadata on runs using gin (metadata jsonb_path_ops) where metadata <> '{}';

create index runs_search on runs using gin ((title || ' ' || prompt || ' ' || coalesce(skill_spec, '')) gin_trgm_ops);

create table events (
  run_id uuid not null references runs on delete cascade,
  sequence int not null,
  type text not null,
  data jsonb not null,
  occurred_at timestamptz not null default date_trunc('milliseconds', clock_timestamp()),
  primary key (run_id, sequence)
);

create table followups (
  followup_id uuid primary key,
  run_id uuid not null references runs on delete cascade,
  position int not null,
  message text not null,
  mode text not null,
  outcome text not null,
  author_id uuid not null references principals,
  accepted_at timestamptz not null default date_trunc('milliseconds', clock_timestamp()),
  delivered_at timestamptz,
  unique (run_id, position)
);

create index followups_waiting on followups (run_id, position) where delivered_at is null;

create table attachments (
  attachment_id uuid primary key,
  run_id uuid not null references runs on delete cascade,
  followup_id uuid,
  file_name text not null,
  mime_type text not null,
  size_bytes int not null,
  blob_key text not null
);

create index attachments_run on attachments (run_id);

-- Text on its way is worth nothing after a crash: the message is told again.
create unlogged table open_messages (
  run_id uuid not null,
  message_id text not null,
  attempt int not null,
  text text not null,
  primary key (run_id, message_id)
);

create table artifacts (
  artifact_uid uuid primary key,
  run_id uuid not null references runs on delete cascade,
  artifact_type text not null,
  filename text not null,
  filepath text not null,
  mime_type text not null,
  size_bytes int not null,
  sha256 text not null,
  blob_key text not null,
  created_at timestamptz not null default date_trunc('milliseconds', clock_timestamp())
);

create index artifacts_run on artifacts (run_id, artifact_uid);

create table sandboxes (
  run_id uuid primary key references runs on delete cascade,
  attempt int not null,
  worker_id uuid not null,
  host_id text not null,
  ref jsonb not null,
  prepared boolean not null default false,
  idle_until timestamptz
);

create index sandboxes_host on sandboxes (host_id);

-- json, not jsonb: the first answer is given again as it was, in the order of its fields.
create table idempotency_keys (
  principal_id uuid not null,
  route text not null,
  key text not null,
  body_hash bytea not null,
  status int not null,
  response json not null,
  created_at timestamptz not null default date_trunc('milliseconds', clock_timestamp()),
  primary key (principal_id, route, key)
);

create index idempotency_keys_age on idempotency_keys (created_at);

-- Tells sandboxes of this installation from others' on the same machine.
create table installation (installation_id uuid primary key);

insert into installation values (gen_random_uuid());

create table gate (id int primary key);

insert into gate values (1);
