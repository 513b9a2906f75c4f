-- Who wrote an environment last; unknown where that was before this column.
alter table environments add column editor_id uuid references principals;

-- The wire format's name for it.
update environments set config = (config - 'failure_retention_minutes')
  || jsonb_build_object('failure_session_retention_minutes', config -> 'failure_retention_minutes')
where config ? 'failure_retention_minutes';

-- Files that were announced and perhaps uploaded, for a follow-up that names them. blob_key: null until it was uploaded.
create table prepared_attachments (
  attachment_id uuid primary key,
  run_id uuid not null references runs,
  -- Set where any run of the conversation may take it.
  conversation_id uuid,
  principal_id uuid not null references principals,
  file_name text not null,
  mime_type text not null,
  size_bytes int,
  blob_key text,
  expires_at timestamptz not null
);

create index prepared_attachments_run on prepared_attachments (run_id);

create index prepared_attachments_expiry on prepared_attachments (expires_at);
