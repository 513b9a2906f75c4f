/**
 * Old runs deleted by their retention beside 50 creates a second, on PostgreSQL: how long creates take meanwhile and in between, and
 * whether anything is left of what was to go, or missing of what was to stay. No part of `npm run bench`, since it takes minutes:
 * `node bench/retention.ts [--runs 100000] [--write]`.
 */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { availableParallelism, loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { sql } from 'kysely'
import { openDiskBlobs } from '../server/src/blobs/disk.ts'
import { Housekeeping } from '../server/src/housekeeping/housekeeping.ts'
import { PATIENT } from '../server/src/store/connection-limits.ts'
import { type Db, openPostgres } from '../server/src/store/db.ts'
import { startCluster } from '../server/test/support/cluster.ts'
import { startPostgres } from '../server/test/support/postgres-server.ts'
import { writeFigures } from './figures.ts'

const OLD = Number(process.argv[process.argv.indexOf('--runs') + 1]) || 100_000
/** As old, and not to go: queued ones, and ones that a worker holds. */
const HELD = 200
const YOUNG = 2_000
const EVENTS = 10
const PER_SECOND = 50
const WINDOW_MS = 20_000
const RUN_DAYS = 30

/** Runs with a log, an artifact and a snapshot each, and a message; `kept` says whether they stay. */
async function seed(db: Db, data_dir: string): Promise<void> {
  const principal = sql`(select principal_id from principals limit 1)`
  await sql`create table seeded (run_id uuid primary key, kept boolean not null)`.execute(db)
  await sql`
    insert into seeded select gen_random_uuid(), n > ${OLD}::int from generate_series(1, ${OLD + HELD + YOUNG}::int) n`.execute(
    db,
  )
  await sql`
    insert into runs (run_id, state, pool, principal_id, creator_id, scope, priority, title, prompt, source, config, request, metadata,
      conversation_id, root_run_id, last_sequence, created_at, updated_at, worker_id)
    select run_id, case when n <= ${HELD / 2}::int then 'QUEUED' else 'SUCCEEDED' end, 'nobody', ${principal}, ${principal}, 'Team', 0,
      'Fix ' || left(run_id::text, 8), repeat('some words of a prompt ', 10), 'API', '{}', '{}', '{}', run_id, run_id, ${EVENTS}::int,
      at, at, case when n between ${HELD / 2 + 1}::int and ${HELD}::int then gen_random_uuid() end
    from (
      select run_id, case when kept then row_number() over (partition by kept order by run_id) end as n,
        clock_timestamp() - case when kept and row_number() over (partition by kept order by run_id) > ${HELD}::int
          then 1 else ${RUN_DAYS + 10} end * interval '1 day' as at
      from seeded) s`.execute(db)
  await sql`
    insert into events (run_id, sequence, type, data, occurred_at)
    select run_id, n, 'tool.output', jsonb_build_object('text', repeat(md5(run_id::text || n), 8)), clock_timestamp()
    from seeded, generate_series(1, ${EVENTS}::int) n`.execute(db)
  await sql`
    insert into followups (followup_id, run_id, position, message, mode, outcome, author_id, delivered_at)
    select gen_random_uuid(), run_id, 1, 'Go on.', 'normal', 'live_session', ${principal}, clock_timestamp() from seeded`.execute(
    db,
  )
  await sql`
    insert into artifacts (artifact_uid, run_id, artifact_type, filename, filepath, mime_type, size_bytes, sha256, blob_key)
    select gen_random_uuid(), run_id, 'FILE', 'a', 'a', 'text/plain', 4, 'x', 'runs/' || run_id || '/artifacts/a' from seeded`.execute(
    db,
  )
  await sql`vacuum analyze`.execute(db)
  const { rows } = await sql<{ run_id: string }>`select run_id from seeded`.execute(db)
  for (const { run_id } of rows) {
    const folder = join(data_dir, 'blobs/runs', run_id, 'artifacts')
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'a'), 'four')
  }
}

/** Milliseconds of each create, sent when it is due whether or not the ones before have their answers. */
async function create(
  base_url: string,
  api_key: string,
  until: () => Promise<boolean> | boolean,
): Promise<number[]> {
  const agent = new Agent({ keepAlive: true })
  const body = JSON.stringify({ prompt: 'x', config: { worker_host: 'nobody' } })
  const headers = { authorization: `Bearer ${api_key}`, 'content-type': 'application/json' }
  const times: number[] = []
  const send = () =>
    new Promise<void>((resolve, reject) => {
      const began = performance.now()
      const call = request(`${base_url}/agent/runs`, { agent, method: 'POST', headers }, (response) => {
        response.resume()
        response.once('end', () => {
          if (response.statusCode !== 200) return reject(new Error(`A create: ${response.statusCode}`))
          times.push(performance.now() - began)
          resolve()
        })
      })
      call.once('error', reject)
      call.end(body)
    })
  const sent: Promise<void>[] = []
  const began = performance.now()
  let ends = false
  const ending = (async () => {
    while (!(await until())) await wait(500)
    ends = true
  })()
  for (let n = 0; !ends; n += 1) {
    await wait(Math.max(0, began + (n * 1_000) / PER_SECOND - performance.now()))
    sent.push(send())
  }
  await Promise.all([...sent, ending])
  agent.destroy()
  return times
}

const quantile = (values: readonly number[], q: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * q)] ?? Number.NaN

/** Of all tables and of the storage: what names a run that was to go, and how much of what was to stay is there. */
async function search(db: Db, data_dir: string): Promise<string[]> {
  const columns = await sql<{ name: string; field: string }>`
    select c.table_name as name, c.column_name as field from information_schema.columns c
      join information_schema.tables t using (table_schema, table_name)
    where c.table_schema = 'public' and t.table_type = 'BASE TABLE' and c.data_type = 'uuid' and c.table_name <> 'seeded'`.execute(
    db,
  )
  const left: string[] = []
  for (const { name, field } of columns.rows) {
    const { rows } = await sql<{ n: number }>`
      select count(*)::int as n from ${sql.table(name)} t join seeded s on s.run_id = ${sql.ref(`t.${field}`)} where not s.kept`.execute(
      db,
    )
    if (rows[0]?.n) left.push(`${name}.${field} ${rows[0].n}`)
  }
  const noted = await sql<{ n: number }>`
    select count(*)::int as n from audit_log a join seeded s on s.run_id::text = a.target where not s.kept`.execute(
    db,
  )
  const there = await sql<{ runs: number; events: number; files: number }>`
    select (select count(*)::int from seeded join runs using (run_id) where kept) as runs,
      (select count(*)::int from seeded join events using (run_id) where kept) as events,
      (select count(*)::int from seeded join artifacts using (run_id) where kept) as files`.execute(db)
  const files = readdirSync(join(data_dir, 'blobs/runs'), { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile(),
  )
  const { runs = 0, events = 0, files: named = 0 } = there.rows[0] ?? {}
  const wanted = HELD + YOUNG
  return [
    `Columns that still hold the id of a deleted run: ${left.join(', ') || 'none'}. Audit log entries for them: ${noted.rows[0]?.n.toLocaleString('en')}.`,
    `Found of the ${wanted.toLocaleString('en')} runs to be kept (${HELD} of them as old, but queued or held by a worker): ${runs} runs, ${events} of ${wanted * EVENTS} events, ${named} artifacts, ${files.length} files in the storage.`,
  ]
}

const server = await startPostgres()
const cluster = await startCluster(server.url)
const patient = openPostgres({ url: server.url, max: 2, limits: PATIENT })
const ordinary = openPostgres({ url: server.url, max: 2 })
try {
  const { db } = patient
  const began = performance.now()
  await seed(db, cluster.data_dir)
  console.error(`Seeded in ${Math.round((performance.now() - began) / 1000)} s.`)
  const forMs = (milliseconds: number) => {
    const end = performance.now() + milliseconds
    return () => performance.now() >= end
  }
  const createFor = (milliseconds: number) => create(cluster.base_url, cluster.api_key, forMs(milliseconds))
  await createFor(5_000)
  const isDone = async () => {
    const { rows } = await sql<{ done: boolean }>`
      select (select count(*) from deleted_runs) = ${OLD}::int and not exists (select from removed_files)
        and not exists (select from deleted_runs where not purged or not noted) as done`.execute(db)
    return rows[0]?.done === true
  }
  const blobs = openDiskBlobs(join(cluster.data_dir, 'blobs'))
  const retention = { run: RUN_DAYS, workspace: null, artifact: null }
  const log = { info: () => {}, warn: (fields: object, message: string) => console.error(message, fields) }
  const quiet: number[] = []
  const busy: number[] = []
  let deleting_ms = 0
  // In turns, since other work on the machine makes more of a difference than this.
  while (!(await isDone())) {
    quiet.push(...(await createFor(WINDOW_MS)))
    const housekeeping = new Housekeeping({ store: ordinary, blobs, log, retention })
    const started = performance.now()
    const looking = housekeeping.look().finally(() => {
      deleting_ms += performance.now() - started
    })
    busy.push(...(await createFor(WINDOW_MS)))
    housekeeping.stop()
    await looking
    console.error(
      `p99 ${quantile(quiet, 0.99).toFixed(1)} and ${quantile(busy, 0.99).toFixed(1)} ms, load ${loadavg()[0]?.toFixed(1)}`,
    )
  }
  const found = await search(db, cluster.data_dir)
  const row = (what: string, times: readonly number[]) =>
    `| ${what} | ${times.length} | ${[0.5, 0.9, 0.99, 1].map((q) => quantile(times, q).toFixed(1)).join(' | ')} |`
  const table = [
    '| creates | how many | median ms | p90 ms | p99 ms | slowest |',
    '|---|---|---|---|---|---|',
    row('while nothing is deleted', quiet),
    row('while old runs are deleted', busy),
    '',
    `The p99 is ${(quantile(busy, 0.99) / quantile(quiet, 0.99)).toFixed(2)} times the p99 without deletion. ${OLD.toLocaleString('en')} runs, each with ${EVENTS} events, a message, ` +
      `an artifact and its file, were deleted at ${Math.round((OLD * 1000) / deleting_ms)} a second, during ${PER_SECOND} creates a second.`,
    ...found,
    `Both rows were measured in alternating periods of ${WINDOW_MS / 1000} s. Clients, service and PostgreSQL (fsync off) share ${availableParallelism()} cores, whose load was ${loadavg()[0]?.toFixed(1)} at the end. ` +
      '`node bench/retention.ts --write`',
  ].join('\n')
  console.log(table)
  if (process.argv.includes('--write')) writeFigures('retention', table)
} finally {
  await ordinary.close()
  await patient.close()
  await cluster.stop()
  await server.stop()
}
