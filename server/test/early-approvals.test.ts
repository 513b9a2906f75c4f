/** Answers to a question that a turn is only about to end with: the log has it, and the run is not BLOCKED yet. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import { createPrincipalWithKey, type NewKey, revokeKey } from '../src/store/api-keys.ts'
import { listAudit } from '../src/store/audit-log.ts'
import type { Store } from '../src/store/db.ts'
import { appendEvents } from '../src/store/events.ts'
import { finishRun, requeueLost, startRun } from '../src/store/transitions.ts'
import { Watch } from '../src/store/watch.ts'
import { openApp } from './support/app.ts'
import { until } from './support/cluster.ts'
import { onEitherDatabase } from './support/databases.ts'
import { cancel, follow, holdRun, readWholeLog } from './support/stored.ts'

onEitherDatabase('early answers to approvals', (open) => {
  let store: Store
  let watch: Watch
  let app: FastifyInstance
  let base: string
  let admin: NewKey
  before(async () => {
    store = await open()
    watch = new Watch(store)
    await watch.start()
    app = openApp(store, undefined, watch)
    base = await app.listen({ host: '127.0.0.1', port: 0 })
    admin = await createPrincipalWithKey(store.db, { name: 'Ada', role: 'admin' })
  })
  after(async () => {
    await app?.close()
    await watch?.close()
  })

  interface Asking {
    held: Awaited<ReturnType<typeof holdRun>>
    approval_id: string
  }
  const ask = async (): Promise<Asking> => {
    const held = await holdRun(store.db)
    assert(await startRun(store.db, held, { harness: 'oz' }))
    const [approval_id, tool_call_id] = [randomUUID(), randomUUID()]
    await appendEvents(store.db, held, 1, [
      { type: 'tool.call', data: { tool_call_id, name: 'bash', input: { command: 'x' } } },
      {
        type: 'approval.requested',
        data: { approval_id, tool_call_id, tool: 'bash', rule: { tool: 'bash', action: 'ask' } },
      },
    ])
    return { held, approval_id }
  }
  const block = async ({ held, approval_id }: Asking): Promise<void> => {
    const approval = { approval_id, tool_call_id: 'x', tool: 'bash' }
    const status_message = { message: 'asks', retryable: false, approval }
    assert.equal(await finishRun(store.db, held, { state: 'BLOCKED', status_message }), 'finished')
    watch.touchRun(held.run_id)
  }
  const answer = (
    { held, approval_id }: Asking,
    { key = admin.api_key, signal = AbortSignal.timeout(60_000) } = {},
  ) =>
    fetch(`${base}/api/v1/agent/runs/${held.run_id}/approvals/${approval_id}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: '{"decision": "allow_once"}',
      signal,
    })
  const answers = async ({ held }: Asking): Promise<number> =>
    (await readWholeLog(store.db, held.run_id)).filter(({ type }) => type === 'approval.answered').length
  const refused = async (asked: Asking): Promise<[number, unknown]> => {
    const response = await answer(asked)
    return [response.status, ((await response.json()) as { retryable: unknown }).retryable]
  }

  test('wait for the end of the turn', async () => {
    const asked = await ask()
    const waiting = answer(asked)
    await delay(200)
    assert.equal(await answers(asked), 0)
    await block(asked)
    assert.equal((await waiting).status, 200)
    assert.equal(await answers(asked), 1)
  })

  test('do nothing once their caller has hung up, and the audit log says that it asked', async () => {
    const asked = await ask()
    await assert.rejects(answer(asked, { signal: AbortSignal.timeout(200) }))
    await until('it is in the audit log', async () => {
      const { entries } = await listAudit(store.db, {})
      return entries.some(
        ({ action, target }) => action === 'answerApproval' && target?.includes(asked.approval_id),
      )
    })
    await block(asked)
    assert.equal(await answers(asked), 0)
    assert.equal((await answer(asked)).status, 200)
  })

  test('are refused where the key was revoked meanwhile', async () => {
    const asked = await ask()
    const other = await createPrincipalWithKey(store.db, { name: 'Eve', role: 'member' })
    const waiting = answer(asked, { key: other.api_key })
    await delay(200)
    assert(await revokeKey(store.db, other.key_id))
    await block(asked)
    assert.equal((await waiting).status, 401)
    assert.equal(await answers(asked), 0)
  })

  test('are refused at once where no turn is ending', async () => {
    const cancelled = await ask()
    await cancel(store.db, cancelled.held.run_id, cancelled.held.principal_id)
    assert.deepEqual(await refused(cancelled), [409, false])
    await follow(store.db, cancelled.held.run_id, cancelled.held.principal_id)
    assert.deepEqual(await refused(cancelled), [409, false])
    const lost = await ask()
    await sql`update workers set lost = true where worker_id = ${lost.held.worker_id}`.execute(store.db)
    await requeueLost(store.db, () => {})
    assert.deepEqual(await refused(lost), [409, false])
  })

  test('are worth repeating where the turn does not end', async () => {
    assert.deepEqual(await refused(await ask()), [409, true])
  })
})
