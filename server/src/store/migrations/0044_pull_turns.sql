-- Which run is at work on a pull request for these files: another one with the same files waits, and finds what it opened.
-- `owner`: whose personal runs take turns here; empty: those of the team.
create table pull_turns (
  repository text not null,
  tree text not null,
  owner text not null,
  run_id uuid not null references runs on delete cascade,
  primary key (repository, tree, owner));
