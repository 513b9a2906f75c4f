-- A browser that somebody signed in with, and the links that sign in. Only hashes are kept; both end with their key.
create table web_sessions (
  token_hash bytea primary key,
  key_id uuid not null references api_keys,
  created_at timestamptz not null default date_trunc('milliseconds', clock_timestamp()),
  expires_at timestamptz not null
);

create index web_sessions_expiry on web_sessions (expires_at);

create table sign_in_links (
  token_hash bytea primary key,
  key_id uuid not null references api_keys,
  expires_at timestamptz not null
);

create index sign_in_links_expiry on sign_in_links (expires_at);
