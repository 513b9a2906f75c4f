-- What starts runs when others post to it.
create table triggers (
  trigger_id uuid primary key,
  name text not null,
  verification text not null check (verification in ('standard_webhooks', 'github', 'gitlab', 'slack', 'linear')),
  filter text,
  on_open_run text not null check (on_open_run in ('followup', 'new_run')),
  prompt text not null,
  title text,
  mode text,
  config jsonb not null,
  -- What senders sign with, and values that config shows as ***.
  sealed bytea not null,
  metadata jsonb not null,
  budget jsonb,
  scope text not null check (scope in ('User', 'Team')),
  creator_id uuid not null references principals,
  -- Who saved it last: runs are created as this principal.
  editor_id uuid not null references principals,
  -- A service account that executes its runs in the place of the editor.
  agent_uid uuid references principals,
  enabled boolean not null,
  created_at timestamptz not null default date_trunc('milliseconds', clock_timestamp()),
  updated_at timestamptz not null default date_trunc('milliseconds', clock_timestamp())
);

create index triggers_name on triggers (lower(name) collate "C", trigger_id);

create table trigger_deliveries (
  delivery_id uuid primary key,
  trigger_id uuid not null references triggers on delete cascade,
  -- By which the sender tells deliveries apart. None: it was replayed, and may be so often.
  sender_delivery_id text,
  received_at timestamptz not null default date_trunc('milliseconds', clock_timestamp()),
  event text,
  outcome text not null check (outcome in ('run_started', 'followup_sent', 'filtered', 'failed')),
  run_id uuid,
  reason text,
  duplicates int not null default 0,
  replay_of uuid,
  headers jsonb not null,
  payload jsonb not null,
  -- What makes one delivery one run, whichever process it comes to.
  unique (trigger_id, sender_delivery_id)
);

create index trigger_deliveries_of on trigger_deliveries (trigger_id, delivery_id);

create index trigger_deliveries_time on trigger_deliveries (received_at);

-- {trigger_id, delivery_id}: a run outlives both.
alter table runs add column trigger jsonb;

create index runs_trigger on runs ((trigger->>'trigger_id'), run_id) where trigger is not null;

-- Which run opened a pull request.
create index pushes_pull_request on pushes (url) where pull_request is not null;
