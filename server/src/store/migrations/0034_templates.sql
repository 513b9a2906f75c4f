-- What a run may be asked with, schedules and triggers ask of each of theirs.
alter table schedules add column title text, add column priority int, add column budget jsonb,
  add column output_schema jsonb;

alter table triggers add column priority int, add column output_schema jsonb;
