/** What comes to a trigger while its runs have no room, or are refused otherwise, is not lost. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { LOOP } from '../src/contract/harness-fields.ts'
import type { HookAnswer, ListTriggerDeliveriesResponse, Trigger } from '../src/contract/trigger.ts'
import type { RunServices } from '../src/intake/new-run.ts'
import { retryDeliveries } from '../src/schedules/waiting-deliveries.ts'
import { openKeyring } from '../src/sealing/keyring.ts'
import { findWaiting } from '../src/store/trigger-deliveries.ts'
import { onFace } from './support/face.ts'
import { makeKeys } from './support/seed-keys.ts'
import type { apiOf } from './support/service.ts'
import { SIGN } from './support/sign-hook.ts'

type Made = Trigger & { secret: string }
const SECRET_KEY = 'a secret key of more than thirty-two characters'
const IDLE = { agent_config: { worker_host: 'nobody' } }

onFace(
  'what waits for a trigger',
  (face) => {
    let owner: ReturnType<typeof apiOf>
    let intake: RunServices
    before(async () => {
      const { store, blobs } = face()
      owner = face().as((await makeKeys(store.db, { owner: { role: 'member' } })).owner)
      intake = {
        ...{ db: store.db, blobs, max_run_files_bytes: 1, seal_key: openKeyring(SECRET_KEY) },
        ...{ default_pool: 'nobody', harnesses: [LOOP], open_runs: { principal: 1, total: 0 } },
      }
    })

    const create = (body: object = {}) =>
      owner.json<Made>('POST', '/agent/triggers', {
        ...{ name: 'T', verification: 'github', prompt: 'Look at {{payload.n}}.', ...IDLE, ...body },
      })
    async function post(trigger: Made, payload: object, id: string = randomUUID()) {
      const body = JSON.stringify(payload)
      const headers = SIGN.github({ secret: trigger.secret, body, id })
      const answer = await face().fetch(trigger.url, {
        ...{ method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } },
      })
      const said = (await answer.json()) as HookAnswer
      return { status: answer.status, retry_after: answer.headers.get('retry-after'), said }
    }
    const deliveriesOf = async ({ trigger_id }: Trigger) =>
      (await owner.json<ListTriggerDeliveriesResponse>('GET', `/agent/triggers/${trigger_id}/deliveries`))
        .deliveries
    const retry = () =>
      retryDeliveries(intake, {
        signal: new AbortController().signal,
        onFault: (error) => assert.fail(String(error)),
      })
    const cancel = (run_id: string | undefined) => owner.json('POST', `/agent/runs/${run_id}/cancel`)

    test('many triggers of one person take no turns of somebody else’s', async () => {
      const { db } = face().store
      const mine = await create()
      const other = await face().other.json<Made>('POST', '/agent/triggers', {
        ...{ name: 'O', verification: 'github', prompt: 'x', ...IDLE },
      })
      await sql`insert into triggers select (jsonb_populate_record(t, jsonb_build_object('trigger_id', gen_random_uuid()))).*
        from triggers t, generate_series(1, 80) where t.trigger_id = ${mine.trigger_id}::uuid`.execute(db)
      await sql`insert into trigger_deliveries (delivery_id, trigger_id, outcome, headers, payload)
        select gen_random_uuid(), trigger_id, 'waiting', '{}', 'null' from triggers`.execute(db)
      for (let looks = 0; looks < 6; looks += 1) {
        const found = await findWaiting(db)
        assert(found.some(({ trigger_id }) => trigger_id === other.trigger_id))
      }
      await sql`delete from triggers`.execute(db)
    })

    test('a delivery that meets a full quota waits, and becomes a run once there is room, once', async () => {
      const trigger = await create()
      const first = await post(trigger, { n: 1 })
      assert.equal(first.said.outcome, 'run_started')
      const second = await post(trigger, { n: 2 }, 'two')
      assert.deepEqual([second.status, second.said.outcome], [202, 'waiting'])
      assert.match(second.said.reason ?? '', /RUNYARD_MAX_OPEN_RUNS/)
      const again = await post(trigger, { n: 2 }, 'two')
      assert.deepEqual([again.said.outcome, again.said.first_outcome], ['duplicate', 'waiting'])
      assert.deepEqual(await retry(), [])
      await cancel(first.said.run_id)
      const both = await Promise.all([retry(), retry()])
      assert.deepEqual(
        both.flat().map(({ delivery }) => delivery.delivery_id),
        [second.said.delivery_id],
      )
      const [done] = await deliveriesOf(trigger)
      assert.deepEqual([done?.outcome, done?.reason], ['run_started', undefined])
      assert.equal((await owner.get(done?.run_id ?? '')).prompt, 'Look at 2.')
      await cancel(done?.run_id)
    })

    test('what waits is handled in the order in which it came, and nothing that comes later overtakes it', async () => {
      const trigger = await create()
      const open = [await post(trigger, { n: 1 })].map(({ said }) => said.run_id)
      for (const n of [2, 3]) assert.equal((await post(trigger, { n })).said.outcome, 'waiting')
      await cancel(open[0])
      assert.equal((await post(trigger, { n: 4 })).said.outcome, 'waiting')
      const prompts: string[] = []
      for (let round = 0; round < 3; round += 1) {
        const [done, ...others] = await retry()
        assert.deepEqual(others, [])
        prompts.push((await owner.get(done?.run_id ?? '')).prompt ?? '')
        await cancel(done?.run_id ?? undefined)
      }
      assert.deepEqual(prompts, ['Look at 2.', 'Look at 3.', 'Look at 4.'])
    })

    test('one that waited a day is given up and says why, and the sender may send it again', async () => {
      const trigger = await create()
      const first = await post(trigger, { n: 1 })
      await post(trigger, { n: 2 }, 'old')
      await sql`update trigger_deliveries set received_at = received_at - interval '25 hours'
        where outcome = 'waiting'`.execute(face().store.db)
      assert.deepEqual(await retry(), [])
      const [given_up] = await deliveriesOf(trigger)
      assert.equal(given_up?.outcome, 'failed')
      assert.match(given_up?.reason ?? '', /^It was tried again for a day\. .*RUNYARD_MAX_OPEN_RUNS/)
      await cancel(first.said.run_id)
      const again = await post(trigger, { n: 2 }, 'old')
      assert.deepEqual(
        [again.status, again.said.outcome, again.said.delivery_id],
        [202, 'run_started', given_up?.delivery_id],
      )
      assert.equal((await post(trigger, { n: 2 }, 'old')).said.outcome, 'duplicate')
      await cancel(again.said.run_id)
    })

    test('no more waits for a trigger than may: a further one is answered 429 and taken when it comes again', async () => {
      const trigger = await create()
      const first = await post(trigger, { n: 1 })
      await sql`insert into trigger_deliveries (delivery_id, trigger_id, outcome, headers, payload)
        select gen_random_uuid(), ${trigger.trigger_id}::uuid, 'waiting', '{}', '{}' from generate_series(1, 500)`.execute(
        face().store.db,
      )
      const refused = await post(trigger, { n: 2 }, 'further')
      assert.deepEqual([refused.status, refused.retry_after], [429, '60'])
      await sql`delete from trigger_deliveries where outcome = 'waiting'`.execute(face().store.db)
      await cancel(first.said.run_id)
      const again = await post(trigger, { n: 2 }, 'further')
      assert.equal(again.said.outcome, 'run_started')
      await cancel(again.said.run_id)
    })

    test('what waits for a trigger that is paused is given up and says so', async () => {
      const trigger = await create()
      const first = await post(trigger, { n: 1 })
      await post(trigger, { n: 2 })
      await owner.json('POST', `/agent/triggers/${trigger.trigger_id}/pause`)
      await cancel(first.said.run_id)
      assert.deepEqual(await retry(), [])
      const [given_up] = await deliveriesOf(trigger)
      assert.match(given_up?.reason ?? '', /^The trigger was paused/)
    })
  },
  () => ({ RUNYARD_MAX_OPEN_RUNS: '1', RUNYARD_SECRET_KEY: SECRET_KEY }),
)
