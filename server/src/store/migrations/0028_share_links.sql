-- Links that open one run for people without a key, until they are revoked or expire. Only hashes are kept.
create table share_links (
  share_link_id uuid primary key,
  token_hash bytea not null unique,
  run_id uuid not null references runs on delete cascade,
  created_by uuid not null references principals,
  name text,
  created_at timestamptz not null default date_trunc('milliseconds', clock_timestamp()),
  expires_at timestamptz,
  last_used_at timestamptz
);

create index share_links_run on share_links (run_id, share_link_id);

-- Browsers that look at one run without a key: by a share link, or by the link of a run that says it may be seen so, which
-- ends with the key it was made with.
create table visits (
  visit_id uuid primary key,
  token_hash bytea not null unique,
  run_id uuid not null references runs on delete cascade,
  share_link_id uuid references share_links on delete cascade,
  key_id uuid references api_keys,
  expires_at timestamptz not null,
  check (num_nonnulls(share_link_id, key_id) = 1)
);

create index visits_expiry on visits (expires_at);

create index visits_share_link on visits (share_link_id);

create index visits_run on visits (run_id);
