/** Deliveries to two processes, while these are killed and answers of the database are lost: each starts one run. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { sql } from 'kysely'
import type { HookAnswer, Trigger } from '../src/contract/trigger.ts'
import { type Cluster, type ServeRole, startCluster, until } from './support/cluster.ts'
import { startCuttingProxy } from './support/cutting-proxy.ts'
import { createDatabase, stopTestServer } from './support/databases.ts'
import { findPostgres } from './support/postgres-server.ts'
import { SIGN } from './support/sign-hook.ts'

const DELIVERIES = 8

const skip = findPostgres() || process.env.RUNYARD_TEST_POSTGRES ? false : 'PostgreSQL is not installed'
describe('triggers of two processes on PostgreSQL', { skip }, () => {
  let database: Awaited<ReturnType<typeof createDatabase>>
  let cluster: Cluster
  let second: ServeRole
  let trigger: Trigger & { secret: string }

  before(async () => {
    database = await createDatabase()
    cluster = await startCluster(database.url)
    second = await cluster.serve()
    trigger = await cluster.api.json('POST', '/agent/triggers', {
      ...{ name: 'T', verification: 'github', prompt: 'x', filter: 'payload.n > 0' },
      agent_config: { worker_host: 'nobody' },
    })
  })
  after(async () => {
    await cluster?.stop()
    await database?.drop()
    await stopTestServer()
  })

  const send = (role: Pick<ServeRole, 'base_url'>, id: string): Promise<Response> => {
    const body = '{"n":1}'
    const url = new URL(`/hooks/${trigger.trigger_id}`, role.base_url)
    return fetch(url, { method: 'POST', body, headers: SIGN.github({ secret: trigger.secret, body, id }) })
  }
  const answerOf = async (answer: Promise<Response>): Promise<HookAnswer> =>
    (await (await answer).json()) as HookAnswer
  /** Each delivery has its run, and each run its delivery. */
  async function assertPaired(ids: readonly string[]): Promise<void> {
    const { rows } = await sql<{ id: string; runs: number }>`
      select d.sender_delivery_id as id, count(r.run_id)::int as runs from trigger_deliveries d
        left join runs r on r.run_id = d.run_id and r.trigger->>'delivery_id' = d.delivery_id::text
      where d.trigger_id = ${trigger.trigger_id}::uuid group by 1`.execute(cluster.store.db)
    const runs = new Map(rows.map((row) => [row.id, row.runs]))
    assert.deepEqual(
      ids.map((id) => runs.get(id)),
      ids.map(() => 1),
    )
    const { rows: all } = await sql<{ runs: number }>`
      select count(*)::int as runs from runs where trigger->>'trigger_id' = ${trigger.trigger_id}`.execute(
      cluster.store.db,
    )
    assert.equal(all[0]?.runs, rows.length)
  }
  const idsOf = (name: string): string[] =>
    Array.from({ length: DELIVERIES }, (_, index) => `${name}${index}`)

  test('the same delivery to both at the same moment starts one run', async () => {
    const ids = idsOf('both')
    await Promise.all(
      ids.map(async (id) => {
        const [one, two] = await Promise.all([answerOf(send(cluster, id)), answerOf(send(second, id))])
        assert.equal(one.run_id, two.run_id)
        assert.deepEqual([one.outcome, two.outcome].sort(), ['duplicate', 'run_started'])
      }),
    )
    await assertPaired(ids)
  })

  test('any answer of the database may be lost, and the sender tries again', async (t) => {
    const proxy = await startCuttingProxy(database.url, [
      /from triggers t[^;]*for key share/,
      /insert into trigger_deliveries/,
      /insert into runs/,
      /Q.{4}commit/s,
    ])
    t.after(() => proxy.close())
    const behind = await cluster.serve({ DATABASE_URL: proxy.url })
    const ids: string[] = []
    await until('every answer to be lost', async () => {
      const id = `lost${ids.length}`
      ids.push(id)
      await until('it to be taken', async () => (await send(behind, id)).ok)
      return proxy.left().length === 0
    })
    await assertPaired(ids)
  })

  test('a process that is killed leaves nothing half done', async () => {
    const ids = idsOf('killed')
    const answers = ids.map((id) =>
      send(second, id)
        .then(({ ok }) => ok)
        .catch(() => false),
    )
    await Promise.race(answers)
    await second.end('SIGKILL')
    const taken = await Promise.all(answers)
    // As a sender does that had no answer; those that had one may come again, too.
    for (const [index, id] of ids.entries()) {
      const again = await answerOf(send(cluster, id))
      assert(again.run_id)
      if (taken[index]) assert.equal(again.outcome, 'duplicate')
    }
    await assertPaired(ids)
  })
})
