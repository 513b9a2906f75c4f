-- A name stands wherever an id does: it looks like none, is no word of the API, and holds nothing that a line or a path cannot.
update environments set name = case
    when name ~ '^[[:space:]\u0001-\u001f\u007f-\u00a0\u2028\u2029\ufeff]*$' then 'environment'
    when name ~ '^[A-Za-z0-9]{22}$' or name in ('.', '..', 'empty-environment') then name || '-2'
    else regexp_replace(regexp_replace(name, '^[[:space:]\u00a0\ufeff]+|[[:space:]\u00a0\ufeff]+$', '', 'g'),
      '[\u0001-\u001f\u007f-\u009f\u2028\u2029]', ' ', 'g') end;

create index environments_names on environments (name);

-- Of several of one name the oldest keeps it, and the others get the next number that is free. A long one is cut for it: the
-- contract counts in UTF-16, of which 240 bytes of UTF-8 are never more than 240.
do $$
declare
  twin record;
  base text;
  number int;
begin
  for twin in
    select uid, name, place from (
      select uid, name, row_number() over (partition by scope, case scope when 'User' then creator_id end, name
        order by created_at, uid) as place
      from environments) e
    where place > 1 order by name, place
  loop
    base := case when octet_length(twin.name) > 240 then rtrim(left(twin.name, 120)) else twin.name end;
    number := twin.place;
    while exists (select 1 from environments e where e.name = base || '-' || number) loop
      number := number + 1;
    end loop;
    update environments set name = base || '-' || number where uid = twin.uid;
  end loop;
end $$;

drop index environments_names;

update environments set config = jsonb_set(config, '{name}', to_jsonb(name)) where config->>'name' <> name;

create unique index environments_team_name on environments (name) where scope = 'Team';

create unique index environments_own_name on environments (creator_id, name) where scope = 'User';

-- The newest run of an environment that somebody may see: the newest for everybody, and the newest of one's own.
create index runs_environment_team on runs (environment_id, run_id) where scope = 'Team' and environment_id is not null;

create index runs_environment_executor on runs (environment_id, principal_id, run_id)
  where scope = 'User' and environment_id is not null;

create index runs_environment_creator on runs (environment_id, creator_id, run_id)
  where scope = 'User' and environment_id is not null;
