-- What the repositories of an environment hold for agents, as the last run that looked found it.
create table environment_skills (
  environment_id text primary key references environments on delete cascade,
  found jsonb not null,
  -- The configuration it was found with.
  version timestamptz not null,
  read_at timestamptz not null default clock_timestamp()
);
