-- That somebody wants the repositories of an environment looked at now: a worker of the pool does it, as who asked.
create table skill_refreshes (
  environment_id text primary key references environments on delete cascade,
  principal_id uuid not null references principals on delete cascade,
  pool text not null,
  requested_at timestamptz not null,
  -- By a worker, which may be lost.
  claimed_at timestamptz,
  -- When what was read last began to be read. What was asked for before that is answered.
  served_at timestamptz,
  -- Why it could not be read then.
  problem text
);
