-- What workspaces held, so that their runs can go on elsewhere. Of a run the newest counts: by attempt, then by sequence.
create table snapshots (
  snapshot_id uuid primary key,
  run_id uuid not null references runs on delete cascade,
  attempt int not null,
  -- The execution that took it, and the last one at whose end it still was what the workspace held.
  execution int not null,
  last_execution int not null,
  -- Messages that the agent had been given by then.
  turn int not null,
  -- It holds everything that was done up to this event.
  sequence int not null,
  folders text[] not null,
  -- As in `sandboxes`.
  commits jsonb not null,
  attachments_written uuid[] not null,
  -- What the workspace was in: the backend, its id of the sandbox, and what that was made of.
  backend text not null,
  sandbox_id text not null,
  image text,
  -- Seconds by the clock of that sandbox: what was changed later is not in it.
  stamp text,
  blob_key text not null unique,
  size_bytes bigint not null,
  expanded_bytes bigint not null,
  entries int not null,
  sha256 text not null,
  created_at timestamptz not null default clock_timestamp()
);

create index snapshots_run on snapshots (run_id, attempt, sequence);
