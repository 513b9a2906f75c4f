-- The runs that somebody has to act on are few among many: each kind is found by an index of its own.
create index runs_failed_setup on runs (created_at, run_id)
  where state = 'FAILED' and status_message->>'error_code' = 'environment_setup_failed';

create index pushes_open on pushes (run_id) where pull_request is not null and status = 'open';
