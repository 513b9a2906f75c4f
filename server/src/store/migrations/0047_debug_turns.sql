-- A run that failed while its environment was set up can be asked in the sandbox that this left, while its state stays FAILED.
-- debug: 'waiting' for a worker at the sandbox's place, 'working' while one has the turn. debug_until: when the window ends;
-- null: there is none.
alter table runs add column debug text check (debug in ('waiting', 'working')), add column debug_until timestamptz;

create index runs_debug on runs (run_id) where debug is not null;

-- A debug turn is claimed like a queued run, in the same order.
drop index runs_queued;

create index runs_queued on runs (pool, principal_id, priority desc, run_id)
  where (state = 'QUEUED' or debug = 'waiting') and worker_id is null;
