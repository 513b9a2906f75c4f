-- What a run pushed last, one row for each repository of its workspace.
create table pushes (
  artifact_uid uuid primary key,
  run_id uuid not null references runs on delete cascade,
  directory text not null,
  repository text not null,
  branch text not null,
  commit text not null,
  -- For people: the pull request, or else the branch.
  url text not null,
  pull_request int,
  created_at timestamptz not null default clock_timestamp(),
  unique (run_id, directory)
);
