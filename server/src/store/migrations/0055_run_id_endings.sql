-- People name a run by the end of its id, which is random; its beginning is the time. Backwards, ids with the same end are beside
-- each other.
create index runs_id_ending on runs (reverse(right(run_id::text, 12)) collate "C");
