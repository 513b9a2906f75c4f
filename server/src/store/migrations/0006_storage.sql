-- Whether a file is named is asked before it is removed.
create index attachments_blob on attachments (blob_key);

create index artifacts_blob on artifacts (blob_key);

-- It never was a machine's name: an id that is kept where the sandboxes are, and goes where they go.
alter table workers rename column host_id to place;

alter table sandboxes rename column host_id to place;

alter index sandboxes_host rename to sandboxes_place;
