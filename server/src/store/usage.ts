import { type RawBuilder, sql } from 'kysely'
import type { Actor } from '../contract/actor.ts'
import { ME } from '../contract/run.ts'
import { isUuid } from '../contract/run-id.ts'
import { TERMINAL_STATES, UNFINISHED_STATES } from '../contract/state.ts'
import type { Usage, UsageQuery } from '../contract/usage.ts'
import type { Db } from './db.ts'
import { visibleTo } from './runs.ts'
import { among } from './sql-fragments.ts'

const MOST_GROUPS = 100
const NO_ONE = '00000000-0000-0000-0000-000000000000'

const COUNTS = sql`'runs', count(*), 'succeeded', count(*) filter (where state = 'SUCCEEDED'),
  'failed', count(*) filter (where state = 'FAILED'), 'errors', count(*) filter (where state = 'ERROR'),
  'cancelled', count(*) filter (where state = 'CANCELLED'), 'total_tokens', coalesce(sum(tokens), 0),
  'cache_read_tokens', coalesce(sum(cache_read), 0), 'cache_write_tokens', coalesce(sum(cache_write), 0),
  'cost_usd', coalesce(round(sum(cost)::numeric, 6), 0)`

const FIGURES = sql`${COUNTS}, 'blocked', count(*) filter (where state = 'BLOCKED'),
  'open', count(*) filter (where state in (${among(UNFINISHED_STATES)})),
  'run_seconds_p50', percentile_disc(0.5) within group (order by seconds),
  'run_seconds_p95', percentile_disc(0.95) within group (order by seconds)`

/** Of the run `r`, as it is counted. */
export const AGENT = sql`coalesce(r.resolved->>'harness', r.config #>> '{harness,type}', 'oz')`
export const MODEL = sql`case when r.resolved is null then r.model_id else r.resolved->>'model_id' end`
export const TOKENS = sql`r.input_tokens::bigint + r.output_tokens`
/** How long it ran, once it has ended. */
export const SECONDS = sql`case when r.state in (${among(TERMINAL_STATES)}) and r.started_at is not null
  then r.run_time_ms::double precision / 1000 end`
/** What the run `r` took from caches, and wrote into them; one row. */
export const CACHES = sql`(select sum(cache_read_tokens) as cache_read, sum(cache_write_tokens) as cache_write
  from run_usage where run_id = r.run_id)`
/** What the run `r` used, by model. */
export const USED_MODELS = sql`
  select model_id, sum(input_tokens + output_tokens) as tokens, sum(cache_read_tokens) as cache_read,
    sum(cache_write_tokens) as cache_write,
    sum(input_cost_usd + output_cost_usd + cache_read_cost_usd + cache_write_cost_usd) as cost
  from run_usage where run_id = r.run_id group by model_id`

/** What the runs that the caller may see have come to, deleted ones included; days are those of the time zone, whatever its clocks do. */
export async function readUsage(db: Db, query: UsageQuery, actor: Actor): Promise<Usage> {
  const { time_zone: asked = 'UTC', from = null } = query
  const creator = query.creator === ME ? actor.principal_id : query.creator
  // Of an abbreviation PostgreSQL would take its own: `IST` is Israel there, `PST` has no summer.
  const time_zone = new Intl.DateTimeFormat('en', { timeZone: asked }).resolvedOptions().timeZone
  const to = query.to ?? new Date().toISOString()
  const by = (
    column: string,
    extra: RawBuilder<unknown> = sql``,
    of = sql`found`,
  ): RawBuilder<unknown> => sql`
    (select coalesce(jsonb_agg(g.figures || jsonb_build_object(${sql.lit(column)}::text, g.it) ${extra}
        order by (g.figures->'runs')::bigint desc, g.it), '[]')
      from (select ${sql.ref(column)} as it, jsonb_build_object(${FIGURES}) as figures from ${of}
        group by ${sql.ref(column)} order by count(*) desc, ${sql.ref(column)} limit ${sql.lit(MOST_GROUPS)}) g)`
  const asked_for = sql`r.created_at >= span.since and r.created_at < span.till and ${visibleTo(actor)}
    and ${creator === undefined ? sql`true` : sql`r.creator_id = ${isUuid(creator) ? creator : NO_ONE}::uuid`}`
  const { rows } = await sql<{ usage: Omit<Usage, 'from' | 'to'>; since: Date; till: Date }>`
    with span as (
      select ${time_zone}::text as zone, ${to}::timestamptz as till, coalesce(${from}::timestamptz,
        (date_trunc('day', (${to}::timestamptz - interval '1 microsecond') at time zone ${time_zone}) - interval '29 days')
          at time zone ${time_zone}) as since),
    -- Read once, and grouped five times.
    found as materialized (
      select r.run_id, null::jsonb as models, r.state, (r.created_at at time zone ${time_zone})::date as day, r.environment_id,
        ${AGENT} as agent, ${MODEL} as model_id, ${TOKENS} as tokens, r.inference_cost_usd as cost, u.cache_read, u.cache_write,
        ${SECONDS} as seconds
      from span, runs r left join lateral ${CACHES} u on true
      where ${asked_for}
      union all
      select null, r.models, r.state, (r.created_at at time zone ${time_zone})::date, r.environment_id, r.agent, r.model_id,
        r.tokens, r.cost, r.cache_read, r.cache_write, r.seconds
      from span, deleted_usage r where ${asked_for}),
    -- Of what ran before usage was kept by model, and of what used none, the run itself says it.
    by_models as (
      select r.state, r.seconds, coalesce(u.model_id, r.model_id) as model_id, coalesce(u.tokens, r.tokens) as tokens,
        case when u.model_id is null then r.cost else u.cost end as cost, u.cache_read, u.cache_write
      from found r left join lateral (
        ${USED_MODELS}
        union all select * from jsonb_to_recordset(r.models) m (model_id text, tokens numeric, cache_read numeric,
          cache_write numeric, cost double precision)) u on true),
    by_day as (select day, jsonb_build_object(${COUNTS}) as figures from found group by day)
    select jsonb_build_object('time_zone', zone,
      'totals', (select jsonb_build_object(${FIGURES}) from found),
      'days', (select jsonb_agg(jsonb_build_object('date', to_char(d, 'YYYY-MM-DD')) || coalesce(by_day.figures,
            (select jsonb_build_object(${COUNTS}) from found where false)) order by d)
          from generate_series((since at time zone zone)::date::timestamp,
            (till - interval '1 microsecond') at time zone zone, interval '1 day') d
          left join by_day on by_day.day = d::date),
      'by_agent', ${by('agent')},
      'by_model', ${by('model_id', sql``, sql`by_models`)},
      'by_environment', ${by(
        'environment_id',
        sql`|| coalesce((select jsonb_build_object('name', e.name)
        from environments e where e.uid = g.it), '{}')`,
      )}) as usage, since, till
    from span`.execute(db)
  const [row] = rows
  if (!row) throw new Error('The usage has no row.')
  return { from: row.since.toISOString(), to: row.till.toISOString(), ...row.usage, time_zone: asked }
}
