-- When to create runs, and which.
create table schedules (
  schedule_id uuid primary key,
  name text not null,
  cron_schedule text not null,
  time_zone text not null,
  overlap text not null check (overlap in ('skip', 'allow', 'cancel')),
  catch_up text not null check (catch_up in ('latest', 'skip')),
  prompt text not null,
  mode text,
  config jsonb not null,
  -- Values that config shows as ***.
  sealed bytea,
  metadata jsonb not null,
  scope text not null check (scope in ('User', 'Team')),
  creator_id uuid not null references principals,
  -- Who saved it last: runs are created as this principal.
  editor_id uuid not null references principals,
  -- A service account that executes its runs in the place of the editor.
  agent_uid uuid references principals,
  -- None while it is paused.
  next_run_at timestamptz,
  last_ran_at timestamptz,
  last_spawn_error text,
  created_at timestamptz not null default date_trunc('milliseconds', clock_timestamp()),
  updated_at timestamptz not null default date_trunc('milliseconds', clock_timestamp())
);

create index schedules_due on schedules (next_run_at) where next_run_at is not null;

create index schedules_name on schedules (lower(name) collate "C", schedule_id);

-- The key is what a due time can never pass twice, whatever a clock does.
create table schedule_firings (
  schedule_id uuid not null references schedules on delete cascade,
  due_at timestamptz not null,
  fired_at timestamptz not null,
  outcome text not null check (outcome in ('created', 'skipped', 'failed')),
  run_id uuid,
  reason text,
  primary key (schedule_id, due_at)
);

-- {schedule_id, schedule_name, cron_schedule} as they were then: a run outlives its schedule.
alter table runs add column schedule jsonb;

create index runs_schedule on runs ((schedule->>'schedule_id'), run_id) where schedule is not null;

-- What overlaps with a run to be: few, however many a schedule has had.
create index runs_schedule_open on runs ((schedule->>'schedule_id'))
  where schedule is not null and state in ('QUEUED', 'CLAIMED', 'INPROGRESS');
