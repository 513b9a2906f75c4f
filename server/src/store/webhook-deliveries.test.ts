/** Which deliveries are taken, and which wait. */
import assert from 'node:assert/strict'
import { before, beforeEach, test } from 'node:test'
import { sql } from 'kysely'
import { v7 as uuidv7 } from 'uuid'
import { onEitherDatabase } from '../../test/support/databases.ts'
import { addPrincipal, addRun, cancel } from '../../test/support/stored.ts'
import { SUMMARY_MAX, WEBHOOK_EVENTS, type WebhookFormat } from '../contract/webhook.ts'
import { createPrincipalWithKey } from './api-keys.ts'
import type { Db } from './db.ts'
import {
  LETTER_TAKEN_MS,
  listDeliveries,
  markDelivered,
  markFailed,
  removeOldDeliveries,
  requeueDelivery,
  takeDeliveries,
  viewEvent,
} from './webhook-deliveries.ts'
import { insertWebhook, updateWebhook, type WebhookContent } from './webhooks.ts'

const HOUR_MS = 3_600_000

onEitherDatabase('deliveries', (open) => {
  let db: Db
  let principal_id: string
  before(async () => {
    db = (await open()).db
    principal_id = await addPrincipal(db)
  })
  beforeEach(() => sql`delete from webhooks`.execute(db))

  const addWebhook = async (
    creator_id = principal_id,
    format: WebhookFormat = 'runyard',
  ): Promise<string> => {
    const webhook_id = uuidv7()
    await insertWebhook(db, {
      ...{ webhook_id, creator_id, scope: 'Team', url: 'https://example.com/', events: [...WEBHOOK_EVENTS] },
      ...{ format, description: null, enabled: true, sealed: Buffer.from('x') },
    })
    return webhook_id
  }
  const take = async (limit = 32) =>
    (await takeDeliveries(db, { limit, limit_each: 4, busy: new Map() })) ?? []
  const typesTaken = async () => (await take()).map(({ event_type }) => event_type)
  const fail = (due: Awaited<ReturnType<typeof take>>[number]) =>
    markFailed(db, due, { response_status: 500, error: 'x', pause_ms: HOUR_MS, is_gone: false })

  test('what is told of a run is of the moment, cut, and of what it has changed and opened', async () => {
    await addWebhook()
    const run_id = await addRun(db, principal_id)
    const long = '😀'.repeat(SUMMARY_MAX)
    await sql`insert into events (run_id, sequence, type, data) values
      (${run_id}::uuid, 12, 'message.assistant', ${JSON.stringify({ message_id: 'm', text: long })}::jsonb),
      (${run_id}::uuid, 13, 'run.state', ${JSON.stringify({
        state: 'BLOCKED',
        status_message: { message: 'Which one?', waits_for: 'answer' },
      })}::jsonb),
      (${run_id}::uuid, 14, 'message.assistant', ${JSON.stringify({ message_id: 'n', text: 'Later.' })}::jsonb)`.execute(
      db,
    )
    const artifact_uid = uuidv7()
    await sql`insert into artifacts (artifact_uid, run_id, artifact_type, filename, filepath, mime_type, size_bytes, sha256, blob_key)
      values (${artifact_uid}::uuid, ${run_id}::uuid, 'DIFF', 'x', 'x', 'x', 1, 'x', 'x')`.execute(db)
    await sql`insert into diffs (artifact_uid, run_id, turn, files_changed, additions, deletions, repositories, files, notes)
      values (${artifact_uid}::uuid, ${run_id}::uuid, 1, 2, 12, 3, '[]', '[]', '[]')`.execute(db)
    for (const [directory, pull_request] of [
      ['app', 7],
      ['lib', null],
    ] as const)
      await sql`insert into pushes (artifact_uid, run_id, directory, repository, branch, commit, url, pull_request)
        values (${uuidv7()}::uuid, ${run_id}::uuid, ${directory}, 'acme/app', 'b', 'c', 'https://git.example/7',
          ${pull_request}::int)`.execute(db)
    await sql`update webhook_deliveries set sequence = 13, state = 'BLOCKED', event_type = 'run.blocked'
      where run_id = ${run_id}::uuid`.execute(db)
    const [due] = await take()
    const { data } = viewEvent(due ?? assert.fail(), 'https://runs.example')
    assert.deepEqual(
      [data.link, data.message, data.waits_for],
      [`https://runs.example/sessions/${run_id}`, 'Which one?', 'answer'],
    )
    // No half of a character at the cut.
    assert.equal(data.result, `${'😀'.repeat(SUMMARY_MAX / 2 - 1)}…`)
    assert.deepEqual(data.changes, { files_changed: 2, additions: 12, deletions: 3 })
    assert.deepEqual(data.pull_requests, [
      { url: 'https://git.example/7', number: 7, repository: 'acme/app' },
    ])
  })

  test('a person with many webhooks gets one share of what is sent at once', async () => {
    const [many, few] = [await addPrincipal(db), await addPrincipal(db)]
    const webhooks: string[] = []
    for (let count = 0; count < 20; count += 1) webhooks.push(await addWebhook(many))
    await addRun(db, principal_id)
    const late = await addWebhook(few)
    await addRun(db, principal_id)
    const first = (await take(2)).map(({ webhook_id }) => webhook_id)
    assert.equal(first.length, 2)
    assert(first.includes(late), 'Whoever has one webhook is not behind twenty of somebody else.')
    const busy = new Map(webhooks.slice(0, 10).map((webhook_id) => [webhook_id, 1]))
    const more = (await takeDeliveries(db, { limit: 32, limit_each: 4, busy })) ?? []
    const own = more.filter(({ webhook_id }) => webhooks.includes(webhook_id))
    assert.equal(own.length, 16 - 10)
    await sql`delete from webhooks`.execute(db)
  })

  test('letters have limits of their own, so that a slow mail server keeps nothing else waiting', async () => {
    const people = [await addPrincipal(db), await addPrincipal(db), await addPrincipal(db)]
    const letters: string[] = []
    for (const person of people)
      for (let count = 0; count < 6; count += 1) letters.push(await addWebhook(person, 'email'))
    await addRun(db, principal_id)
    await sql`update webhook_deliveries set next_attempt_at = next_attempt_at - interval '1 hour'`.execute(db)
    const requests = [await addWebhook(people[0]), await addWebhook(people[1])]
    await addRun(db, principal_id)
    const first = await take(40)
    const ofKind = (format: WebhookFormat) => first.filter((due) => due.format === format)
    assert.deepEqual([ofKind('email').length, ofKind('runyard').length], [8, 2])
    const busy = new Map(ofKind('email').map(({ webhook_id }) => [webhook_id, 1]))
    await addRun(db, principal_id)
    const more = (await takeDeliveries(db, { limit: 32, limit_each: 4, busy })) ?? []
    assert.deepEqual(more.map(({ webhook_id }) => webhook_id).sort(), requests.sort())
  })

  test('a letter names who gave the webhook its address, not who changed something else', async () => {
    const webhook_id = await addWebhook(principal_id, 'email')
    const setBy = async (principal_id: string, change: Partial<WebhookContent>) =>
      (await updateWebhook(db, webhook_id, { principal_id }, { ...content, ...change }))?.set_up_by
    const events = [...WEBHOOK_EVENTS]
    const content = {
      url: 'https://example.com/',
      events,
      format: 'email',
      description: null,
      enabled: true,
    } as const
    const add = async (name: string) =>
      (await createPrincipalWithKey(db, { name, role: 'member', max_running: 1 })).principal_id
    const [eve, bob, cleo] = [await add('Eve'), await add('Bob'), await add('Cleo')]
    const url = 'mailto:boss@example.com'
    assert.equal(await setBy(bob, { url }), 'Bob')
    assert.equal(await setBy(cleo, { url, description: 'x' }), 'Bob')
    await addRun(db, principal_id)
    assert.equal((await take())[0]?.set_up_by, 'Bob')
    assert.equal(await setBy(cleo, { url, enabled: false }), 'Bob')
    assert.equal(await setBy(eve, { url }), 'Eve')
  })

  test('a letter is taken for longer than it may take', async () => {
    for (const [format, seconds] of [
      ['runyard', 60],
      ['email', LETTER_TAKEN_MS / 1_000],
    ] as const) {
      await sql`delete from webhooks`.execute(db)
      const webhook_id = await addWebhook(principal_id, format)
      await addRun(db, principal_id)
      assert.equal((await take()).length, 1)
      const later = (interval: number) =>
        sql`update webhook_deliveries set next_attempt_at = next_attempt_at - ${interval}::int * interval '1 second'
          where webhook_id = ${webhook_id}::uuid`.execute(db)
      await later(seconds - 30)
      assert.equal((await take()).length, 0)
      await later(30)
      assert.equal((await take()).length, 1)
    }
  })

  test('those of webhooks that fail come after all others, however long they have waited', async () => {
    const failing = [await addWebhook(), await addWebhook(), await addWebhook()]
    await addRun(db, principal_id)
    await addRun(db, principal_id)
    for (const due of await take(3)) await fail(due)
    await sql`update webhooks set failing_since = clock_timestamp()`.execute(db)
    const well = await addWebhook()
    await addRun(db, principal_id)
    const [first] = await take(1)
    assert.equal(first?.webhook_id, well)
    const rest = (await take()).map(({ webhook_id }) => webhook_id)
    assert.deepEqual(rest.toSorted(), failing.sort())
  })

  test('a delivery that a dead process had taken is taken by another, and the first can no longer settle it', async () => {
    const webhook_id = await addWebhook()
    await addRun(db, principal_id)
    const [first] = await take()
    assert(first)
    assert.deepEqual(await take(), [])
    // A minute later.
    await sql`update webhook_deliveries set next_attempt_at = next_attempt_at - interval '61 seconds'`.execute(
      db,
    )
    const [second] = await take()
    assert.deepEqual([second?.delivery_id, second?.attempts], [first.delivery_id, first.attempts + 1])
    await markDelivered(db, first, 200)
    const [listed] = (await listDeliveries(db, webhook_id, {})).deliveries
    assert.equal(listed?.status, 'pending')
  })

  test('what comes after one that failed is due with it, and goes after it', async () => {
    const webhook_id = await addWebhook()
    const run_id = await addRun(db, principal_id)
    const [created] = await take()
    assert(created)
    await fail(created)
    await cancel(db, run_id, principal_id)
    const waiting = (await listDeliveries(db, webhook_id, {})).deliveries
    assert.deepEqual(
      waiting.map(({ event_type }) => event_type),
      ['run.cancelled', 'run.created'],
    )
    assert.deepEqual(waiting[0]?.next_attempt_at, waiting[1]?.next_attempt_at)
    assert.deepEqual(await typesTaken(), [])
    await requeueDelivery(db, webhook_id, created.delivery_id)
    const [again] = await take()
    assert.equal(again?.delivery_id, created.delivery_id)
    await markDelivered(db, again, 200)
    assert.deepEqual(await typesTaken(), ['run.cancelled'])
  })

  test('what was written before one failed waits with it, too', async () => {
    await addWebhook()
    const run_id = await addRun(db, principal_id)
    await cancel(db, run_id, principal_id)
    const [created, ...more] = await take()
    assert(created && more.length === 0)
    await fail(created)
    const { rows } = await sql`select 1 from webhook_deliveries
      where status = 'pending' and next_attempt_at <= clock_timestamp()`.execute(db)
    assert.deepEqual(rows, [])
  })

  test('a webhook is disabled by failures of five days, not by two that are far apart', async () => {
    const webhook_id = await addWebhook()
    const run_ids = [await addRun(db, principal_id), await addRun(db, principal_id)]
    const failAgain = async (days_since: number, days_failing: number): Promise<string | null> => {
      await sql`update webhooks set failing_since = clock_timestamp() - ${days_failing}::int * interval '1 day',
        failed_at = clock_timestamp() - ${days_since}::int * interval '1 day'`.execute(db)
      await sql`update webhook_deliveries set next_attempt_at = clock_timestamp()`.execute(db)
      const [due] = await take(1)
      assert(due)
      return fail(due)
    }
    assert.equal(await failAgain(3, 6), null)
    assert.equal(await failAgain(1, 4), null)
    assert.match((await failAgain(1, 6)) ?? '', /five days/)
    assert.equal((await listDeliveries(db, webhook_id, {})).deliveries.length, run_ids.length)
    assert.deepEqual(await take(), [])
  })

  test('one that is sent again is tried as a new one is', async () => {
    const webhook_id = await addWebhook()
    await addRun(db, principal_id)
    const tries: number[] = []
    for (let time = 0; time < 3; time += 1) {
      await sql`update webhook_deliveries set next_attempt_at = clock_timestamp()`.execute(db)
      const [due] = await take()
      assert(due)
      tries.push(due.tries)
      await fail(due)
    }
    const [{ delivery_id } = assert.fail()] = (await listDeliveries(db, webhook_id, {})).deliveries
    await requeueDelivery(db, webhook_id, delivery_id)
    const [again] = await take()
    assert.deepEqual([...tries, again?.tries, again?.attempts], [1, 2, 3, 1, 4])
  })

  test('of webhooks there are not more than runs can bear', async () => {
    for (let made = 0; made < 50; made += 1) await addWebhook()
    await assert.rejects(addWebhook(), /There are 50 webhooks/)
  })

  test('those of whoever is disabled are not kept for ever', async () => {
    const gone = await addPrincipal(db)
    const webhook_id = await addWebhook(gone)
    await addRun(db, principal_id)
    await sql`update principals set disabled = true where principal_id = ${gone}::uuid`.execute(db)
    assert.deepEqual(await typesTaken(), [])
    await sql`update webhook_deliveries set queued_at = queued_at - interval '25 hours'`.execute(db)
    await removeOldDeliveries(db)
    const [delivery] = (await listDeliveries(db, webhook_id, {})).deliveries
    assert.deepEqual([delivery?.status, delivery?.next_attempt_at], ['failed', null])
    assert.match(delivery?.error ?? '', /is disabled/)
  })
})
