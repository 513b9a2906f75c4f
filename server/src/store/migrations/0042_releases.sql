-- When workers had stopped everything of a run: its log ends before that.
create table run_releases (
  run_id uuid not null references runs on delete cascade,
  execution int not null,
  attempt int not null,
  released_at timestamptz not null default clock_timestamp()
);

create index run_releases_run on run_releases (run_id);
