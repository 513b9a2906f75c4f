/**
 * Pages of the list, and usage, over a million runs on PostgreSQL, through HTTP. No part of `npm run bench`, since it takes minutes:
 * `node bench/many-runs.ts [--write]`.
 */
import { availableParallelism, loadavg } from 'node:os'
import { sql } from 'kysely'
import { createPrincipalWithKey } from '../server/src/store/api-keys.ts'
import { PATIENT } from '../server/src/store/connection-limits.ts'
import { type Db, openPostgres } from '../server/src/store/db.ts'
import { migrate } from '../server/src/store/migrate.ts'
import { openApp } from '../server/test/support/app.ts'
import { startPostgres } from '../server/test/support/postgres-server.ts'
import { writeFigures } from './figures.ts'

const RUNS = 1_000_000
const PEOPLE = 20
const PAGES = 12
const DAYS = 400

/** Runs of a year by 20 people, a tenth of them personal, each with a prompt of about 170 characters. */
async function seed(db: Db, people: readonly string[]): Promise<void> {
  const { rows } = await sql<{ name: string; definition: string }>`
    select i.indexname as name, i.indexdef as definition from pg_indexes i
    where i.tablename = 'runs' and not exists (select 1 from pg_constraint c where c.conname = i.indexname)`.execute(
    db,
  )
  // One after another, over all rows at once: ten times as fast as row by row.
  for (const { name } of rows) await sql`drop index ${sql.ref(name)}`.execute(db)
  await sql`
    insert into runs (run_id, state, pool, principal_id, creator_id, scope, priority, title, prompt, name, model_id,
      environment_id, source, config, request, metadata, conversation_id, root_run_id, input_tokens, output_tokens,
      inference_cost_usd, run_time_ms, created_at, updated_at, started_at, finished_at)
    select id, state, 'default', person, person, case when n % 10 = 0 then 'User' else 'Team' end, 0,
      'Fix ' || w[1 + n % 60] || ' of ' || w[1 + n / 60 % 60] || ' #' || n,
      (select string_agg(w[1 + (n * 7 + k * k * 13 + k * n) % 60], ' ') from generate_series(1, 25) k),
      'job-' || n % 50, 'openai/model-' || n % 5, env[1 + n % 12],
      (array['API', 'API', 'API', 'CLI', 'WEB_APP', 'SCHEDULED_AGENT', 'ORCHESTRATION'])[1 + n % 7],
      jsonb_build_object('name', 'job-' || n % 50, 'model_id', 'openai/model-' || n % 5,
        'harness', jsonb_build_object('type', (array['oz', 'oz', 'claude', 'codex'])[1 + n % 4])),
      '{}', case when n % 3 = 0 then jsonb_build_object('team', 't' || n % 30) else '{}' end, id, id,
      1000 + n % 90000, n % 9000, (n % 700) / 100.0, 1000 + n % 1800000,
      created, created + n % 3600 * interval '1 second', created + interval '2 seconds',
      case when state in ('QUEUED', 'INPROGRESS', 'BLOCKED') then null else created + n % 3600 * interval '1 second' end
    from (
      select n, gen_random_uuid() as id, (${people}::uuid[])[1 + n % ${PEOPLE}::int] as person,
        now() - (${RUNS}::int - n) * ${DAYS}::int * interval '1 day' / ${RUNS}::int as created,
        case when n % 1000 = 0 then 'INPROGRESS' when n % 1000 = 1 then 'QUEUED' when n % 200 = 2 then 'BLOCKED'
          when n % 10 < 7 then 'SUCCEEDED' when n % 10 = 7 then 'FAILED' when n % 20 = 8 then 'ERROR' else 'CANCELLED' end as state
      from generate_series(1, ${RUNS}::int) n) s,
      (select array_agg(substr(md5(k::text), 1, 4 + k % 6)) as w from generate_series(1, 60) k) words,
      (select array_agg(case when k = 12 then null else left(md5('e' || k), 22) end) as env from generate_series(1, 12) k) environments`.execute(
    db,
  )
  for (const { definition } of rows) await sql.raw(definition).execute(db)
  await sql`vacuum analyze runs`.execute(db)
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

const server = await startPostgres()
const store = openPostgres({ url: server.url })
try {
  await migrate(store.db)
  const keys = []
  for (let n = 0; n < PEOPLE; n++)
    keys.push(await createPrincipalWithKey(store.db, { name: `person ${n}`, role: 'member' }))
  const began = performance.now()
  const patient = openPostgres({ url: server.url, max: 2, limits: PATIENT })
  await seed(
    patient.db,
    keys.map(({ principal_id }) => principal_id),
  ).finally(() => patient.close())
  console.error(`${RUNS} runs in ${Math.round((performance.now() - began) / 1000)} s at ${server.url}`)
  const app = openApp(store)
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  const [asker] = keys
  const get = async (path: string): Promise<{ page_info?: { next_cursor?: string }; runs?: unknown[] }> => {
    const answer = await fetch(`${address}/api/v1${path}`, {
      headers: { authorization: `Bearer ${asker?.api_key}` },
    })
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as { page_info?: { next_cursor?: string }; runs?: unknown[] }
  }
  const timed = async <T>(work: () => Promise<T>): Promise<{ ms: number; value: T }> => {
    const started = performance.now()
    const value = await work()
    return { ms: performance.now() - started, value }
  }
  const month = new Date(Date.now() - 30 * 86_400_000).toISOString()
  const year = new Date(Date.now() - 365 * 86_400_000).toISOString()
  const filters: Array<[string, string]> = [
    ['no filter', ''],
    ['state, most runs (SUCCEEDED)', '&state=SUCCEEDED'],
    ['state, few runs (INPROGRESS)', '&state=INPROGRESS'],
    ['two states', '&state=FAILED&state=ERROR'],
    ['source', '&source=CLI'],
    [
      'environment',
      `&environment_id=${(await sql<{ e: string }>`select environment_id as e from runs where environment_id is not null limit 1`.execute(store.db)).rows[0]?.e}`,
    ],
    ['no environment', '&environment_id=empty-environment'],
    ['creator', `&creator=${keys[3]?.principal_id}`],
    ['q, a few hits', '&q=%23999999'],
    ['q, many hits', '&q=Fix'],
    [
      'q, a word of every fourth',
      `&q=${(await sql<{ w: string }>`select split_part(title, ' ', 2) as w from runs limit 1`.execute(store.db)).rows[0]?.w}`,
    ],
    ['q, no hit', '&q=nothing%20holds%20this'],
    ['created within a month', `&created_after=${month}`],
    ['created a year ago', `&created_before=${year}`],
    ['state and source and environment missing', '&state=ERROR&source=CLI&environment_id=empty-environment'],
  ]
  const rows: string[] = []
  for (const [what, filter] of filters) {
    const cells: string[] = []
    for (const order of ['updated_at', 'created_at']) {
      const times: number[] = []
      let cursor: string | undefined
      for (let page = 0; page < PAGES; page++) {
        const path = `/agent/runs?limit=50&sort_by=${order}${filter}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`
        const { ms, value } = await timed(() => get(path))
        times.push(ms)
        cursor = value.page_info?.next_cursor
      }
      cells.push(median(times).toFixed(1), Math.max(...times).toFixed(1))
    }
    rows.push(`| ${what} | ${cells.join(' | ')} |`)
    console.error(rows.at(-1))
  }
  const usage = await timed(() => get('/agent/usage'))
  const table = [
    `| ${PAGES} pages of 50 runs | by \`updated_at\`: median ms | slowest | by \`created_at\`: median ms | slowest |`,
    '|---|---|---|---|---|',
    ...rows,
    '',
    `Usage of 30 days: ${Math.round(usage.ms)} ms. ${RUNS.toLocaleString('en')} runs of ${DAYS} days by ${PEOPLE} people. ${availableParallelism()} cores, the load was ${loadavg()[0]?.toFixed(1)}. \`node bench/many-runs.ts --write\``,
  ].join('\n')
  console.log(table)
  if (process.argv.includes('--write')) writeFigures('many-runs', table)
  await app.close()
} finally {
  await store.close()
  await server.stop()
}
