-- Logins of programs that have no browser (RFC 8628): asked for by the program, granted by somebody who is signed in to the page.
create table device_logins (
  device_hash bytea primary key,
  -- What its user compares, or types.
  user_code text not null unique,
  -- The program's own word of where it runs, and the address that asked.
  client_name text not null,
  address text not null,
  created_at timestamptz not null default date_trunc('milliseconds', clock_timestamp()),
  expires_at timestamptz not null,
  -- When the program asked last whether it was granted.
  asked_at timestamptz,
  -- Null: nobody has answered yet. The key is the one that granted it.
  granted boolean,
  key_id uuid references api_keys (key_id) on delete cascade
);

create index device_logins_expiry on device_logins (expires_at);

-- The key that allowed the login which a key was made for. Revoking it revokes this one: who has a key that leaked gets no other with it.
alter table api_keys add column granted_by uuid references api_keys (key_id);

create index api_keys_granted_by on api_keys (granted_by) where granted_by is not null;
