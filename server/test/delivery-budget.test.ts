/** What triggers keep of deliveries that start nothing. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { BUDGETS } from '../src/budgets/budgets.ts'
import type { HookAnswer, Trigger } from '../src/contract/trigger.ts'
import { createCounter } from '../src/store/request-counts.ts'
import { removeOldTriggerDeliveries } from '../src/store/trigger-deliveries.ts'
import { onFace } from './support/face.ts'
import { SIGN } from './support/sign-hook.ts'

const MiB = 1024 ** 2

onFace('bodies of deliveries', (face) => {
  const keptBytes = async (): Promise<number> => {
    const { rows } = await sql<{ bytes: string }>`
      select coalesce(sum(length(payload::text)) filter (where payload <> 'null'), 0) as bytes from trigger_deliveries`.execute(
      face().store.db,
    )
    return Number(rows[0]?.bytes)
  }

  test('that start nothing are kept within a budget of their owner, and for a day', async () => {
    const { other, app, store } = face()
    const api = other
    const create = (name: string) =>
      api.json<Trigger & { secret: string }>('POST', '/agent/triggers', {
        ...{ name, verification: 'github', prompt: 'x', agent_config: { worker_host: 'nobody' } },
      })
    const triggers = [await create('one'), await create('two')]
    const answers: Array<HookAnswer & { trigger_id: string }> = []
    for (let count = 0; count < 11; count++) {
      const trigger = triggers[count % 2]
      assert(trigger)
      const payload = JSON.stringify({ count, zen: 'x'.repeat(1.9 * MiB) })
      const headers = {
        ...{ host: '127.0.0.1', 'content-type': 'application/json' },
        ...SIGN.github({ secret: trigger.secret, body: payload, id: `${count}` }),
        'x-github-event': 'ping',
      }
      const answer = await app.inject({
        method: 'POST',
        url: new URL(trigger.url).pathname,
        headers,
        payload,
      })
      assert.equal(answer.statusCode, 202, answer.body)
      answers.push({ ...answer.json<HookAnswer>(), trigger_id: trigger.trigger_id })
    }
    assert.deepEqual(new Set(answers.map(({ outcome }) => outcome)), new Set(['filtered']))
    const kept = await keptBytes()
    assert(kept > 10 * MiB && kept <= 16 * MiB, `${kept} bytes are kept`)
    const replay = async (at: number): Promise<number> => {
      const { delivery_id, trigger_id } = answers[at] ?? {}
      return (await api.call('POST', `/agent/triggers/${trigger_id}/deliveries/${delivery_id}/replay`, {}))
        .status
    }
    assert.deepEqual([await replay(0), await replay(0), await replay(10)], [202, 202, 409])
    assert.equal(await keptBytes(), kept, 'a replay has the body of the first')
    await sql`update trigger_deliveries set received_at = received_at - interval '25 hours'`.execute(store.db)
    await removeOldTriggerDeliveries(store.db)
    assert.equal(await keptBytes(), 0)
    const { rows } = await sql`select 1 from trigger_deliveries`.execute(store.db)
    assert(rows.length >= 11, 'what happened is still told')
  })

  test('what comes again, and what cannot be read, counts as what is new', async () => {
    const { app, admin, store } = face()
    const { url, secret, updated_by } = await admin.json<Trigger & { secret: string }>(
      'POST',
      '/agent/triggers',
      {
        ...{ name: 'often', verification: 'github', prompt: 'x', agent_config: { worker_host: 'nobody' } },
      },
    )
    const post = async (payload: string): Promise<number> => {
      const headers = { host: '127.0.0.1', 'content-type': 'application/json' }
      const signed = SIGN.github({ secret, body: payload, id: 'one' })
      const request = { url: new URL(url).pathname, headers: { ...headers, ...signed }, payload }
      return (await app.inject({ method: 'POST', ...request })).statusCode
    }
    const { most } = BUDGETS.deliveries
    await createCounter(store.db, 'deliveries', most).consume(updated_by.uid, most - 3)
    assert.deepEqual([await post('{"a":1}'), await post('{"a":1}'), await post('{"a":')], [202, 200, 400])
    assert.deepEqual([await post('{"a":1}'), await post('{"a":2}')], [429, 429])
  })
})
