-- Claims up to p_n queued runs, and runs that wait for a debug turn, which keep their state and go to workers at their sandbox's
-- place alone: exact limits per principal that executes, fair share between those who created the runs, priority within one, age.
-- Shares of identities would let a person who makes many have many.
-- The worker row comes first, so that a slow beat never holds the gate. The gate is locked by a statement of its own:
-- inside the counting statement the count would use the older snapshot and the limit would not hold.
-- A run whose idle sandbox another live worker holds is left to that worker for two seconds after it was queued, unless
-- that one is stopping or its disk is full. One whose agent this worker lacks is left to those of the pool that may have it,
-- unless its environment may bring the agent along. These environments are found once, before the gate: a query for each run
-- that is passed over kept the gate 0.5 s for 20,000 of them, in place of 0.1 s.
create or replace function claim(p_pool text, p_worker uuid, p_n int)
returns table (claimed_run uuid, claimed_attempt int) language plpgsql volatile as $$
declare p_place text;
  p_lacking text[];
  p_left text[];
  p_bringing text[];
begin
  select place, lacking_agents into p_place, p_lacking from workers
    where worker_id = p_worker and not (lost or draining) for share;
  if not found then return; end if;
  if p_lacking <> '{}' then
    select array_agg(agent) into p_left from unnest(p_lacking) agent where exists (
      select 1 from workers w where w.pool = p_pool and w.worker_id <> p_worker
        and not (w.lost or w.draining or w.disk_full) and agent <> all(w.lacking_agents));
    if p_left is not null then
      select array_agg(e.uid) into p_bringing from environments e where brings_programs(e.config);
    end if;
  end if;
  perform 1 from gate where id = 1 for update;
  return query
  with recursive heads (principal_id, payer, priority, run_id) as (
    (select r.principal_id, coalesce(r.charged_to, r.creator_id), r.priority, r.run_id from runs r
      where (r.state = 'QUEUED' or r.debug = 'waiting') and r.worker_id is null and r.pool = p_pool
        and (p_left is null or coalesce(r.config->'harness'->>'type' <> all(p_left), true) or r.environment_id = any(p_bringing)
          or r.debug is not null)
      order by r.principal_id, r.priority desc, r.run_id limit 1)
    union all
    select n.* from heads h cross join lateral (
      select r.principal_id, coalesce(r.charged_to, r.creator_id), r.priority, r.run_id from runs r
      where (r.state = 'QUEUED' or r.debug = 'waiting') and r.worker_id is null and r.pool = p_pool and r.principal_id > h.principal_id
        and (p_left is null or coalesce(r.config->'harness'->>'type' <> all(p_left), true) or r.environment_id = any(p_bringing)
          or r.debug is not null)
      order by r.principal_id, r.priority desc, r.run_id limit 1) n),
  active as materialized (
    select r.principal_id, count(*)::int n from runs r where r.worker_id is not null group by 1),
  paid as materialized (
    select coalesce(r.charged_to, r.creator_id) payer, count(*)::int n from runs r where r.worker_id is not null group by 1),
  open as materialized (
    select h.principal_id, least(p_n, p.max_running - coalesce(a.n, 0)) room
    from heads h join principals p using (principal_id) left join active a using (principal_id) left join paid using (payer)
    where p.max_running > coalesce(a.n, 0) and not p.disabled
    order by coalesce(paid.n, 0) + row_number() over (partition by h.payer order by h.priority desc, h.run_id),
      h.priority desc, h.run_id limit p_n),
  best as materialized (
    select q.run_id from open o cross join lateral (
      select r.run_id, r.priority, coalesce(r.charged_to, r.creator_id) payer from runs r
      where (r.state = 'QUEUED' or r.debug = 'waiting') and r.worker_id is null and r.pool = p_pool and r.principal_id = o.principal_id
        and (p_left is null or coalesce(r.config->'harness'->>'type' <> all(p_left), true) or r.environment_id = any(p_bringing)
          or r.debug is not null)
        and not exists (
          select 1 from sandboxes s join workers w on w.worker_id = s.worker_id and not (w.lost or w.draining or w.disk_full)
          where s.run_id = r.run_id and s.worker_id <> p_worker and s.place <> p_place
            and r.updated_at > clock_timestamp() - interval '2 seconds')
        and (r.debug is null or exists (select 1 from sandboxes s where s.run_id = r.run_id and s.place = p_place))
      order by r.priority desc, r.run_id limit o.room) q left join paid using (payer)
    order by coalesce(paid.n, 0) + row_number() over (partition by payer order by q.priority desc, q.run_id),
      q.priority desc, q.run_id limit p_n),
  locked as materialized (
    select r.run_id from runs r join best using (run_id)
    where (r.state = 'QUEUED' or r.debug = 'waiting') and r.worker_id is null for update of r skip locked),
  claimed as (
    update runs r set state = case when r.debug is null then 'CLAIMED' else r.state end, worker_id = p_worker,
      debug = case when r.debug is not null then 'working' end, attempt = r.attempt + 1,
      last_sequence = r.last_sequence + case when r.debug is null then 2 else 1 end, claimed_at = date_trunc('milliseconds', clock_timestamp()), updated_at = next_update(r.updated_at),
      batch = 0, status_message = case when r.debug is not null then r.status_message end,
      finished_at = case when r.debug is not null then r.finished_at end
    from locked l where r.run_id = l.run_id returning r.*),
  logged as (
    insert into events (run_id, sequence, type, data)
    select c.run_id, c.last_sequence - case when c.debug is null then 1 else 0 end, 'attempt.started',
      jsonb_strip_nulls(jsonb_build_object('attempt', c.attempt, 'execution', c.execution, 'worker_id', p_worker,
        'pool', c.pool, 'debug', case when c.debug is not null then true end)) from claimed c
    union all
    select c.run_id, c.last_sequence, 'run.state', jsonb_build_object('state', 'CLAIMED',
      'previous_state', 'QUEUED', 'execution', c.execution, 'attempt', c.attempt) from claimed c where c.debug is null)
  select c.run_id, c.attempt from claimed c;
end $$;
