-- A worker over HTTPS: the pool key that it was enrolled with, and the hash of the token that is its own.
alter table workers add column key_id uuid references api_keys, add column token_hash bytea unique;
