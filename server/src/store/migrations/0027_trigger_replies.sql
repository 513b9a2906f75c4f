-- How a trigger answers in the thread that a delivery came from.
alter table triggers add column reply jsonb;

-- What is to be said there of the run that a delivery started or went on with. One comment, which is changed as the run goes on.
create table trigger_replies (
  delivery_id uuid primary key references trigger_deliveries on delete cascade,
  run_id uuid not null references runs on delete cascade,
  -- {host, repository, number, review_comment_id}
  thread jsonb not null,
  -- What the log of the run holds after this is about the delivery.
  after_sequence int not null,
  status text not null default 'pending' check (status in ('pending', 'posted', 'failed')),
  created_at timestamptz not null default date_trunc('milliseconds', clock_timestamp()),
  -- The run as it was when it was looked at last.
  seen_state text not null,
  seen_execution int not null,
  -- What the comment says: 'working', 'blocked 17' or 'ended 42', with the sequence of that state.
  told text,
  comment_id bigint,
  comment_url text,
  attempts int not null default 0,
  -- Since something went well.
  tries int not null default 0,
  failing_since timestamptz,
  -- None: when the run rests or goes on.
  next_attempt_at timestamptz,
  error text
);

create index trigger_replies_due on trigger_replies (next_attempt_at) where status = 'pending';

create index trigger_replies_run on trigger_replies (run_id);

-- The service uses secrets by itself.
alter table audit_log drop constraint audit_log_via_check,
  add constraint audit_log_via_check check (via in ('http', 'command_line', 'worker', 'service'));
