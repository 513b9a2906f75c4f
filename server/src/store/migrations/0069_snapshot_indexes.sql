-- Where the index of a packed workspace's files is. Null: it was packed before there were any.
alter table snapshots add column index_blob_key text;

create index snapshots_index_blob on snapshots (index_blob_key) where index_blob_key is not null;
