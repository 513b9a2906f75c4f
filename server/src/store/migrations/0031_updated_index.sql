-- A filter by creation, in the order of changes, is decided in the index: a page of last year's runs passed over a million rows.
drop index runs_updated;

create index runs_updated on runs (updated_at, run_id, created_at);
