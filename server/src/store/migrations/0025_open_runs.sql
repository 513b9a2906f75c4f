-- How many runs of somebody are queued or worked on: few, however many there have been.
create index runs_open on runs (principal_id) where state in ('QUEUED', 'CLAIMED', 'INPROGRESS');
