-- What people want to know of a worker: on which machine, of which version, since when it was not heard of, and whether it has
-- stopped in order, which is no loss. Nothing decides by them: a worker's loss is judged by its beats alone.
alter table workers add column host text;

alter table workers add column version text;

alter table workers add column seen_at timestamptz;

alter table workers add column stopped boolean not null default false;

-- Which pools have a queue, and how old each is, however long they are.
create index runs_waiting on runs (pool, updated_at) where state = 'QUEUED' and worker_id is null;
