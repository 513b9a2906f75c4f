-- A service account that executes runs: what it is called is its principal's name, its defaults are here. A deleted one is a
-- disabled principal, so that its runs still say whose they are.
create table identities (
  principal_id uuid primary key references principals,
  creator_id uuid not null references principals,
  config jsonb not null,
  updated_at timestamptz not null default date_trunc('milliseconds', clock_timestamp())
);

-- Who may use a pool, an environment or an identity. Of what is not here at all, everybody may; of an identity, who made it.
create table grants (
  resource_type text not null check (resource_type in ('pool', 'environment', 'identity')),
  resource_id text not null,
  principal_id uuid not null references principals,
  granted_by uuid not null references principals,
  created_at timestamptz not null default date_trunc('milliseconds', clock_timestamp()),
  primary key (resource_type, resource_id, principal_id)
);

-- Who did what, when and from where. No references: an entry outlives what it is about.
create table audit_log (
  entry_id bigint generated always as identity primary key,
  occurred_at timestamptz not null default date_trunc('milliseconds', clock_timestamp()),
  action text not null,
  target text,
  via text not null check (via in ('http', 'command_line', 'worker')),
  principal_id uuid,
  key_id uuid,
  role text,
  address text,
  request_id text,
  status int,
  detail text
);

create index audit_log_principal on audit_log (principal_id, entry_id);

create index audit_log_action on audit_log (action, entry_id);

create index audit_log_target on audit_log (left(target, 256), entry_id);

create index audit_log_time on audit_log (occurred_at);

-- Entries are added and read, never changed. Only clean-up says so and removes what is older than it is kept.
create function keep_audit_log() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and current_setting('runyard.audit_clean_up', true) = 'on' then
    return old;
  end if;
  raise exception 'The audit log is append-only.';
end $$;

create trigger audit_log_append_only before update or delete on audit_log
  for each row execute function keep_audit_log();

create trigger audit_log_no_truncate before truncate on audit_log
  for each statement execute function keep_audit_log();
