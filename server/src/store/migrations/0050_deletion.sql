-- Runs that were deleted. The list is kept, so that a restored backup does not bring them back (`deletion_notes`).
create table deleted_runs (
  run_id uuid primary key,
  deleted_at timestamptz not null default date_trunc('milliseconds', clock_timestamp()),
  -- Null: their retention was over.
  deleted_by uuid,
  -- The run whose workspace this one began with: what a fork of this one may have seen of secrets is asked along this line.
  forked_from uuid,
  -- The list in the files' storage has it.
  noted boolean not null default false,
  -- Its log is gone, too.
  purged boolean not null default false
);

create index deleted_runs_unnoted on deleted_runs (deleted_at) where not noted;

create index deleted_runs_unpurged on deleted_runs (deleted_at) where not purged;

-- The lists of deleted runs in the files' storage that this database has read or written. One that it does not know was written after
-- the backup that it was restored from.
create table deletion_notes (name text primary key);

-- Files whose rows were deleted. They go when no other row names them.
create table removed_files (blob_key text primary key);

-- What GET /agent/usage says of deleted runs: the figures of one run each, and nothing that says which run it was. `models`:
-- [{model_id, tokens, cost, cache_read, cache_write}].
create table deleted_usage (
  created_at timestamptz not null,
  scope text not null,
  principal_id uuid not null,
  creator_id uuid not null,
  environment_id text,
  state text not null,
  agent text not null,
  model_id text,
  tokens bigint not null,
  cost double precision not null,
  cache_read bigint,
  cache_write bigint,
  seconds double precision,
  models jsonb
);

create index deleted_usage_created on deleted_usage (created_at);

-- A log may be long: it goes in parts after its run, which the cascade would delete in one statement.
alter table events drop constraint events_run_id_fkey;

-- What names a run is looked up when the run is deleted.
create index pull_turns_run on pull_turns (run_id);

create index trigger_deliveries_run on trigger_deliveries (run_id) where run_id is not null;

create index schedule_firings_run on schedule_firings (run_id) where run_id is not null;

-- What retention looks for.
create index snapshots_age on snapshots (created_at);

create index artifacts_age on artifacts (created_at);

-- Of several processes one at a time removes what is to be removed.
alter table installation add column purger uuid, add column purger_until timestamptz;

-- Hidden from lists, unless they ask for it.
alter table runs add column archived_at timestamptz;
