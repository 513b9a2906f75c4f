-- Agents that no sandbox of the worker has, as far as it can know; of others it says nothing.
alter table workers add column lacking_agents text[] not null default '{}';

-- Whether runs of the environment may find programs that the worker knows nothing of: in an image, or by a path of their own.
create function brings_programs(p_config jsonb) returns boolean language sql immutable as $$
  select p_config->>'docker_image' is not null
    or coalesce(p_config->'variables' ?| array['PATH', 'BASH_ENV'], false)
    or coalesce(p_config->'secrets' ?| array['PATH', 'BASH_ENV'], false)
$$;

-- Whether the run is one for those who have its agent.
create function needs_agent(p_run uuid, p_agents text[]) returns boolean language sql stable as $$
  select exists (
    select 1 from runs r where r.run_id = p_run and r.config->'harness'->>'type' = any(p_agents)
      and not exists (select 1 from environments e where e.uid = r.environment_id and brings_programs(e.config)))
$$;
