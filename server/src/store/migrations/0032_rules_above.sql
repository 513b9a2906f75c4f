-- The rules that the runs above a run are held to hold for it too, also when those runs are gone. Null: there are none.
alter table runs add column rules_above jsonb;
