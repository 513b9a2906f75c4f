/** How many commits PostgreSQL has to flush for a run: each waits for a disk, and all runs share it. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { sql } from 'kysely'
import { type InnerCluster, startInnerCluster } from './support/cluster.ts'
import { bash } from './support/loop-scene.ts'
import { type ModelServer, openModelServer } from './support/model-server.ts'
import { findPostgres, type PostgresServer, startPostgres } from './support/postgres-server.ts'
import { shell } from './support/service.ts'

const skip = findPostgres() ? false : 'PostgreSQL is not installed'
const CREATE = 1
/** Create, claim, sandbox, start, call, result, end and release. */
const NOTHING_RUN = 8
/** What the model said with its call, and the result. */
const STEP = 2

describe('commits', { skip }, () => {
  // Of its own: transactions are numbered for all databases of a server.
  let server: PostgresServer
  let model: ModelServer
  let cluster: InnerCluster
  before(async () => {
    server = await startPostgres()
    model = await openModelServer(({ messages }) => {
      const steps = Number(/Take (\d+)/.exec(JSON.stringify(messages))?.[1])
      const done = messages.filter(({ role }) => role === 'tool').length
      return done < steps ? { calls: [bash(`test ${done} -ge 0`)] } : { text: 'Done.' }
    })
    cluster = await startInnerCluster(server.url, {
      ...{
        OPENAI_BASE_URL: model.url,
        OPENAI_API_KEY: 'of the test',
        RUNYARD_DEFAULT_MODEL: 'openai/scripted',
      },
    })
    await cluster.worker('default')
    // What happens once: the key's last use, say.
    for (const type of ['runbook', 'oz']) await countRun({ prompt: `Take 1 step.\n${shell('true')}`, type })
  })
  after(async () => {
    await cluster?.stop()
    await model?.close()
    await server?.stop()
  })

  /** Transactions that wrote, without the heartbeats, which come with time. Nothing is under way when it counts. */
  const count = async (): Promise<number> => {
    for (;;) {
      const { rows } = await sql<{ n: number; is_quiet: boolean }>`
        select (pg_snapshot_xmax(s)::text::bigint - (select sum(beat) from workers))::int as n,
          pg_snapshot_xmin(s) = pg_snapshot_xmax(s) as is_quiet from pg_current_snapshot() s`.execute(
        cluster.store.db,
      )
      const [found] = rows
      if (found?.is_quiet) return found.n
    }
  }

  const countRun = async ({ prompt, type }: { prompt: string; type: string }): Promise<number> => {
    const before = await count()
    const { state, status_message } = await cluster.api.ended(
      await cluster.api.create({ prompt, config: { harness: { type } } }),
    )
    assert.equal(state, 'SUCCEEDED', status_message?.message)
    return (await count()) - before
  }

  test('of a create, with its events, its entry in the audit log and its key', async () => {
    const before = await count()
    const body = { prompt: shell('true'), config: { worker_host: 'nobody' } }
    const created = await cluster.api.call('POST', '/agent/runs', body, { 'idempotency-key': 'once' })
    const { run_id } = (await created.json()) as { run_id: string }
    const { rows } = await sql<{ action: string }>`
      select action from audit_log where target = ${run_id}`.execute(cluster.store.db)
    assert.deepEqual(rows, [{ action: 'createRun' }])
    assert.equal((await count()) - before, CREATE)
    await cluster.api.call('POST', '/agent/runs', body, { 'idempotency-key': 'once' })
    // A repeated one is noted behind its answer.
    assert.equal(await noted(run_id), 2)
    assert.equal((await count()) - before, CREATE + 1)
  })

  const noted = async (run_id: string): Promise<number> => {
    for (;;) {
      const { rows } = await sql`select from audit_log where target = ${run_id}`.execute(cluster.store.db)
      if (rows.length > 1) return rows.length
    }
  }

  test('of a run that does nothing, from its create to its release', async () => {
    assert.equal(await countRun({ prompt: shell('true'), type: 'runbook' }), NOTHING_RUN)
  })

  test('of a step of the built-in agent', async () => {
    const few = await countRun({ prompt: 'Take 1 step.', type: 'oz' })
    const many = await countRun({ prompt: 'Take 6 steps.', type: 'oz' })
    assert.equal(many - few, 5 * STEP)
  })
})
