-- What an agent says of a file that it attached, and of its plan.
alter table artifacts add column title text;

alter table artifacts add column description text;

-- A run has one plan, which is replaced.
create unique index artifacts_plan on artifacts (run_id) where artifact_type = 'PLAN';

-- What lies elsewhere and a run reported.
create table run_references (
  artifact_uid uuid primary key,
  run_id uuid not null references runs on delete cascade,
  reference_type text not null,
  url text not null,
  title text,
  created_at timestamptz not null default clock_timestamp(),
  unique (run_id, url)
);
