-- The keys of one principal, newest last: few, however many there are.
create index api_keys_principal on api_keys (principal_id, key_id);
