-- Whether a file is named is asked before it is removed.
create index attachments_blob on attachments (blob_key);

create index artifacts_blob on artifacts (blob_key);
