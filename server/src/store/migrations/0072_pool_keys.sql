-- A key with a pool is its workers': it may claim for this pool, and nothing else.
alter table api_keys add column pool text;
