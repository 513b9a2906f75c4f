-- Ends of turns, where other runs can begin: the log up to there, and the workspace as it was.
create table turn_ends (
  run_id uuid not null references runs on delete cascade,
  -- Messages that the agent had been given by then.
  turn int not null,
  sequence int not null,
  -- Null: the workspace is not kept, or not any more, unless it was as it had been prepared.
  snapshot_id uuid references snapshots on delete set null,
  pristine boolean not null,
  primary key (run_id, turn)
);

create index turn_ends_snapshot on turn_ends (snapshot_id) where snapshot_id is not null;

-- Of runs before this, the last turn.
insert into turn_ends (run_id, turn, sequence, snapshot_id, pristine)
select distinct on (s.run_id) s.run_id, s.turn, s.sequence, s.snapshot_id, false
from snapshots s join runs r using (run_id)
where r.worker_id is null and s.last_execution = r.execution
order by s.run_id, s.attempt desc, s.sequence desc, s.snapshot_id desc;

-- Where a run began: the run, the end of a turn, and whether its workspace was kept.
alter table runs add column fork_of jsonb;

-- A fork names the file of the run it begins with, until it has one of its own.
alter table snapshots drop constraint snapshots_blob_key_key;

create index snapshots_blob on snapshots (blob_key);
