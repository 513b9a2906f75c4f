import { type RawBuilder, sql } from 'kysely'
import type { EventData } from '../contract/event.ts'
import { json } from './storable.ts'

/** Of one run: whoever answers commands for a model may call itself anything. */
const MOST_MODELS = 100
const MOST = sql.lit(Number.MAX_SAFE_INTEGER)

/** What a run has used of one model for one purpose. Tokens of the cache are among `input_tokens`. */
export interface UsageOfRun {
  category: string
  model_id: string
  input_tokens: number
  output_tokens: number
  cache_read_tokens: number
  cache_write_tokens: number
  input_cost_usd: number
  output_cost_usd: number
  cache_read_cost_usd: number
  cache_write_cost_usd: number
}

const COUNTS = [
  ...(['input_tokens', 'output_tokens', 'cache_read_tokens', 'cache_write_tokens'] as const),
  ...(['input_cost_usd', 'output_cost_usd', 'cache_read_cost_usd', 'cache_write_cost_usd'] as const),
] as const

/** By purpose and model. `gateway`: the agent itself, where it is not the built-in one, else commands in its sandbox. */
function sumUsage(events: ReadonlyArray<EventData<'usage'>>): UsageOfRun[] {
  const sums = new Map<string, UsageOfRun>()
  for (const data of events) {
    const category = data.by_gateway
      ? 'gateway'
      : data.by_compaction
        ? 'conversation_compaction'
        : 'primary_agent'
    const { model_id, inference_cost_parts_usd: costs } = data
    const used: UsageOfRun = {
      ...{ category, model_id, input_tokens: data.input_tokens, output_tokens: data.output_tokens },
      cache_read_tokens: Math.min(data.cached_input_tokens ?? 0, data.input_tokens),
      cache_write_tokens: Math.min(data.cache_write_tokens ?? 0, data.input_tokens),
      input_cost_usd: costs?.input ?? 0,
      output_cost_usd: costs?.output ?? 0,
      cache_read_cost_usd: costs?.cache_read ?? 0,
      cache_write_cost_usd: costs?.cache_write ?? 0,
    }
    const known = sums.get(`${category} ${model_id}`)
    if (known) for (const count of COUNTS) known[count] += used[count]
    else sums.set(`${category} ${model_id}`, used)
  }
  return [...sums.values()]
}

/** An insert that adds what the run of `owned` has used to what it had; models beyond the first hundred are one. */
export function keepUsage(events: ReadonlyArray<EventData<'usage'>>): RawBuilder<unknown> {
  const columns = sql.join(COUNTS.map((count) => sql.ref(count)))
  const atMost = (count: string, sum: RawBuilder<unknown>) =>
    count.endsWith('_tokens') ? sql`least(${sum}, ${MOST})` : sum
  const sums = sql.join(COUNTS.map((count) => atMost(count, sql`sum(${sql.ref(count)})`)))
  const added = sql.join(
    COUNTS.map((count) => {
      const sum = sql`${sql.ref(`u.${count}`)} + ${sql.ref(`excluded.${count}`)}`
      return sql`${sql.ref(count)} = ${atMost(count, sum)}`
    }),
  )
  return sql`
    insert into run_usage as u (run_id, category, model_id, ${columns})
    select run_id, category, model_id, ${sums} from (
      select o.run_id, case when n.category <> 'gateway' then n.category
          when o.resolved->>'harness' in ('oz', 'runbook') then 'sandbox_commands' else 'primary_agent' end as category,
        case when (select count(*) from run_usage k where k.run_id = o.run_id) < ${sql.lit(MOST_MODELS)}
          or exists (select 1 from run_usage k where k.run_id = o.run_id and k.model_id = n.model_id)
          then n.model_id else 'others' end as model_id,
        ${sql.join(COUNTS.map((count) => sql.ref(`n.${count}`)))}
      from owned o, jsonb_to_recordset(${json(sumUsage(events))}) n (category text, model_id text, ${sql.join(
        COUNTS.map(
          (count) =>
            sql`${sql.ref(count)} ${count.endsWith('_tokens') ? sql`bigint` : sql`double precision`}`,
        ),
      )})) n
    group by run_id, category, model_id
    on conflict (run_id, category, model_id) do update set ${added}`
}

/** What the run `r` has used, a list, most first. */
export const USAGE_OF_RUN = sql`coalesce((
  select jsonb_agg(to_jsonb(u) - 'run_id' order by u.input_tokens + u.output_tokens desc, u.model_id, u.category)
  from run_usage u where u.run_id = r.run_id), '[]')`
