-- The rules that the runs above a run are held to hold for it too, also when those runs are gone. Null: there are none.
alter table runs add column rules_above jsonb;

-- Secrets of the team, by name. Of one without grants everybody may make use; a deleted one keeps its own.
alter table grants drop constraint grants_resource_type_check,
  add constraint grants_resource_type_check check (resource_type in ('pool', 'environment', 'identity', 'secret'));
