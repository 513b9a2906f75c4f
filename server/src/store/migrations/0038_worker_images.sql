-- Which images environments may name at the worker: {"patterns": [...], "local": ...}. Null: its sandboxes are made of none.
alter table workers add column images jsonb;
