-- What the setup of an environment left, packed, for later runs that would set up the same.
create table prepared_workspaces (
  -- A hash of everything that the setup depends on.
  key text primary key,
  environment_id text not null references environments on delete cascade,
  folders text[] not null,
  blob_key text not null unique,
  size_bytes bigint not null,
  expanded_bytes bigint not null,
  entries int not null,
  sha256 text not null,
  created_at timestamptz not null default clock_timestamp(),
  used_at timestamptz not null default clock_timestamp()
);
