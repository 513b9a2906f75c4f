/** What is written for webhooks together with the changes of runs, and what is taken of it. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { v7 as uuidv7 } from 'uuid'
import { onPostgres, waitForLock } from '../../test/support/databases.ts'
import { actorOf, addPrincipal, addRun, cancel } from '../../test/support/stored.ts'
import { WEBHOOK_EVENTS } from '../contract/webhook.ts'
import { type Store, transact } from './db.ts'
import { deleteWebhook, insertWebhook } from './webhooks.ts'

onPostgres('a webhook that is deleted or changed while runs change', (open) => {
  let store: Store
  before(async () => {
    store = await open()
  })

  const addWebhook = async (creator_id: string): Promise<string> => {
    const webhook_id = uuidv7()
    await insertWebhook(store.db, {
      ...{ webhook_id, creator_id, scope: 'Team', url: 'https://example.com/', events: [...WEBHOOK_EVENTS] },
      ...{ format: 'runyard', description: null, enabled: true, sealed: Buffer.from('x') },
    })
    return webhook_id
  }
  /** Deletes one, and does not commit before `change` waits for it. */
  async function whileDeleting(principal_id: string, change: () => Promise<unknown>): Promise<void> {
    const webhook_id = await addWebhook(principal_id)
    let changing: Promise<unknown> = Promise.resolve()
    await transact(store.db, async (trx) => {
      await deleteWebhook(trx, webhook_id, actorOf(principal_id))
      changing = change()
      changing.catch(() => {})
      await waitForLock(store.db)
    })
    await changing
  }

  test('keeps no run from being created, nor from its next state', async () => {
    const principal_id = await addPrincipal(store.db)
    let run_id = ''
    await whileDeleting(principal_id, async () => {
      run_id = await addRun(store.db, principal_id)
    })
    await whileDeleting(principal_id, () => cancel(store.db, run_id, principal_id))
    const { rows } = await sql`select state from runs where run_id = ${run_id}::uuid`.execute(store.db)
    assert.deepEqual(rows, [{ state: 'CANCELLED' }])
  })

  test('and one that changes while a run waits for its turn is told', async () => {
    const principal_id = await addPrincipal(store.db)
    const webhook_id = await addWebhook(principal_id)
    const run_id = await addRun(store.db, principal_id)
    let cancelling: Promise<unknown> = Promise.resolve()
    await transact(store.db, async (trx) => {
      await sql`select 1 from runs where run_id = ${run_id}::uuid for update`.execute(trx)
      cancelling = cancel(store.db, run_id, principal_id)
      await waitForLock(store.db)
      await sql`update webhooks set failing_since = clock_timestamp()`.execute(store.db)
    })
    await cancelling
    const { rows } =
      await sql`select event_type from webhook_deliveries where webhook_id = ${webhook_id}::uuid
      order by place`.execute(store.db)
    assert.deepEqual(rows, [{ event_type: 'run.created' }, { event_type: 'run.cancelled' }])
  })
})
