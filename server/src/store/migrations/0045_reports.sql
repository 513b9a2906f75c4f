-- When workers had stopped everything of a run: its log ends before that.
create table run_releases (
  run_id uuid not null references runs on delete cascade,
  execution int not null,
  attempt int not null,
  released_at timestamptz not null default clock_timestamp()
);

create index run_releases_run on run_releases (run_id);

-- How a pull request stood when its host last said so.
alter table pushes add column status text not null default 'unknown'
  check (status in ('open', 'draft', 'merged', 'closed', 'unknown'));

create index pushes_url on pushes (url) where pull_request is not null;

-- What a run has used of each model, and for what; those of the cache are among the input tokens.
create table run_usage (
  run_id uuid not null references runs on delete cascade,
  category text not null,
  model_id text not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  cache_read_tokens bigint not null,
  cache_write_tokens bigint not null,
  input_cost_usd double precision not null,
  output_cost_usd double precision not null,
  cache_read_cost_usd double precision not null,
  cache_write_cost_usd double precision not null,
  primary key (run_id, category, model_id)
);
