-- Where changes of runs are sent. `sealed` holds what requests are signed with; after a rotation for a day the secret before
-- it as well, so that receivers can be told the new one.
create table webhooks (
  webhook_id uuid primary key,
  scope text not null check (scope in ('User', 'Team')),
  creator_id uuid not null references principals,
  url text not null,
  events text[] not null,
  description text,
  enabled boolean not null default true,
  disabled_reason text,
  -- Without a success between them; what fails after a long silence begins anew.
  failing_since timestamptz,
  failed_at timestamptz,
  sealed bytea not null,
  rotated_at timestamptz,
  created_at timestamptz not null default date_trunc('milliseconds', clock_timestamp()),
  updated_at timestamptz not null default date_trunc('milliseconds', clock_timestamp())
);

-- One row for each event and webhook, written in the statement that changes the run. Of one run they are sent in order.
create table webhook_deliveries (
  delivery_id uuid primary key,
  -- In the order in which they were written.
  place bigint generated always as identity,
  webhook_id uuid not null references webhooks on delete cascade,
  run_id uuid not null references runs on delete cascade,
  sequence int not null,
  event_type text not null,
  state text not null,
  status text not null default 'pending' check (status in ('pending', 'delivered', 'failed')),
  attempts int not null default 0,
  -- Since `queued_at`: how long it is waited before the next.
  tries int not null default 0,
  created_at timestamptz not null default date_trunc('milliseconds', clock_timestamp()),
  -- Since when it is tried: redelivery begins anew.
  queued_at timestamptz not null default date_trunc('milliseconds', clock_timestamp()),
  last_attempt_at timestamptz,
  next_attempt_at timestamptz default date_trunc('milliseconds', clock_timestamp()),
  response_status int,
  error text
);

create index webhook_deliveries_due on webhook_deliveries (webhook_id, next_attempt_at) where status = 'pending';

create index webhook_deliveries_order on webhook_deliveries (webhook_id, run_id, sequence) where status = 'pending';

create index webhook_deliveries_list on webhook_deliveries (webhook_id, place);

create index webhook_deliveries_run on webhook_deliveries (run_id);

create index webhook_deliveries_age on webhook_deliveries (created_at) where status <> 'pending';
