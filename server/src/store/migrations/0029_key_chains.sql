-- The key in whose place one was made, by a rotation.
alter table api_keys add column replaces uuid references api_keys on delete set null;

create index api_keys_replaces on api_keys (replaces) where replaces is not null;
