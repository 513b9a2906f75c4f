-- The run whose prompt and configuration this one took over. It may be gone since.
alter table runs add column replay_of_run_id uuid;
