-- What a run's conversation held when the run was created: [{run_id, sequence}], oldest run first. Runs from before get what
-- their conversation's earlier runs hold now.
alter table runs add column context jsonb not null default '[]';

update runs r set context = coalesce((
  select jsonb_agg(jsonb_build_object('run_id', c.run_id, 'sequence', c.last_sequence) order by c.run_id)
  from runs c where c.conversation_id = r.conversation_id and c.run_id < r.run_id
    and (c.scope = 'Team' or c.principal_id = r.principal_id or c.creator_id = r.principal_id)), '[]')
where r.conversation_id <> r.run_id;

-- What an index holds must not outgrow it: a text of 1,024 characters can take 4 kB, and a page of an index 2.7.
drop index runs_skill;

create index runs_skill on runs (left(skill_spec, 512) collate "C", run_id);

drop index runs_search;

create index runs_search on runs using gin
  ((title || ' ' || left(prompt, 2048) || ' ' || coalesce(skill_spec, '')) gin_trgm_ops);

-- Of RUNYARD_SECRET_KEY: processes with different keys could not open what the others sealed.
alter table installation add column secret_fingerprint text;

-- Where the file lies below the workspace: another place for each file of a run.
alter table attachments add column path text;

update attachments set path = 'attachments/' || file_name;

alter table attachments alter column path set not null;

-- Which attachments were written into the workspace: once, since they are the agent's to change from then on.
alter table sandboxes add column attachments_written uuid[] not null default '{}';

-- What the run was really executed with: {harness, model_id, image}. config is what was asked for.
alter table runs add column resolved jsonb;
