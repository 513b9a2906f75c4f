-- Personal ones have an owner. A deleted one has no value any more; its version stays, so that the next one of its name is
-- told from it.
create table secrets (
  secret_id uuid primary key default gen_random_uuid(),
  scope text not null check (scope in ('User', 'Team')),
  owner_id uuid references principals check ((scope = 'User') = (owner_id is not null)),
  name text not null,
  version int not null,
  sealed bytea,
  git jsonb,
  description text,
  creator_id uuid not null references principals,
  created_at timestamptz not null default date_trunc('milliseconds', clock_timestamp()),
  last_updated timestamptz not null default date_trunc('milliseconds', clock_timestamp())
);

create unique index secrets_team on secrets (name collate "C") where owner_id is null;

create unique index secrets_personal on secrets (owner_id, name collate "C") where owner_id is not null;
