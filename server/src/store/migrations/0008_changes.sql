-- What each repository was cloned at, by its folder.
alter table sandboxes add column commits jsonb not null default '{}';

-- What the patch of an artifact is about.
create table diffs (
  artifact_uid uuid primary key references artifacts on delete cascade,
  run_id uuid not null references runs on delete cascade,
  turn int not null,
  files_changed int not null,
  additions bigint not null,
  deletions bigint not null,
  repositories jsonb not null,
  files jsonb not null,
  notes jsonb not null
);

create index diffs_run on diffs (run_id, turn, artifact_uid);
