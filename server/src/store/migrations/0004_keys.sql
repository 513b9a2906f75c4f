-- A key in whose place another was made, until when it still works. Its own expiry stays, since the other one has the same.
alter table api_keys add column grace_until timestamptz;
