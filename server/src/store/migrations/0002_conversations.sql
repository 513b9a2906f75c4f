-- What a run's conversation held when the run was created: [{run_id, sequence}], oldest run first. Runs from before get what
-- their conversation's earlier runs hold now.
alter table runs add column context jsonb not null default '[]';

update runs r set context = coalesce((
  select jsonb_agg(jsonb_build_object('run_id', c.run_id, 'sequence', c.last_sequence) order by c.run_id)
  from runs c where c.conversation_id = r.conversation_id and c.run_id < r.run_id
    and (c.scope = 'Team' or c.principal_id = r.principal_id or c.creator_id = r.principal_id)), '[]')
where r.conversation_id <> r.run_id;
