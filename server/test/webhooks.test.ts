/** Webhooks, from the change of a run to a receiver that checks who sent it. */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { hostname } from 'node:os'
import { after, before, describe, test } from 'node:test'
import { Runyard } from '@runyard/client'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import type { Webhook, WebhookDelivery, WebhookTest, WebhookWithSecret } from '../src/contract/webhook.ts'
import { startCluster, startInnerCluster, until } from './support/cluster.ts'
import { createMigrated, stopTestServer } from './support/databases.ts'
import { findPostgres } from './support/postgres-server.ts'
import { addKeys, type KeySpec } from './support/seed-keys.ts'
import { apiOf, shell, startService, type TestService, temporaryDirectory } from './support/service.ts'
import {
  openWebhookReceiver,
  type ReceivedWebhook,
  type WebhookReceiver,
} from './support/webhook-receiver.ts'

type Api = ReturnType<typeof apiOf>
const NOBODY = { config: { worker_host: 'nobody' } }
const LIFE = ['run.created', 'run.started', 'run.succeeded']
const skip = findPostgres() || process.env.RUNYARD_TEST_POSTGRES ? false : 'PostgreSQL is not installed'
const KEYS: Record<'owner' | 'other' | 'viewer', KeySpec> = {
  owner: { role: 'member' },
  other: { role: 'member' },
  viewer: { role: 'viewer' },
}

const listen = (api: Api, url: string, more: object = {}) =>
  api.json<WebhookWithSecret>('POST', '/agent/webhooks', { url, ...more })
const deliveriesOf = async (api: Api, { webhook_id }: Pick<Webhook, 'webhook_id'>, query = '') =>
  (
    await api.json<{ deliveries: WebhookDelivery[] }>(
      'GET',
      `/agent/webhooks/${webhook_id}/deliveries${query}`,
    )
  ).deliveries

describe('webhooks', () => {
  const data_dir = temporaryDirectory('webhooks')
  let keys: Record<keyof typeof KEYS, string> | undefined
  let service: TestService
  let receiver: WebhookReceiver
  let owner: Api
  let other: Api
  let viewer: Api
  let answer: (received: ReceivedWebhook, response: ServerResponse) => void
  before(async () => {
    receiver = await openWebhookReceiver((received, response) => answer(received, response))
    await start()
  })
  const start = async () => {
    service = await startService({ data_dir, env: { RUNYARD_PRIVATE_HOSTS: receiver.host } })
    keys ??= await addKeys(service, KEYS)
    const as = (api_key: string) => apiOf({ ...service, api_key })
    owner = as(keys.owner)
    other = as(keys.other)
    viewer = as(keys.viewer)
  }
  after(async () => {
    await service?.stop()
    await receiver?.close()
  })
  const well = (_: ReceivedWebhook, response: ServerResponse): void => void response.end()
  const remove = ({ webhook_id }: Webhook) => owner.json('DELETE', `/agent/webhooks/${webhook_id}`)

  test('tell the life of a run in order, in a form that both libraries verify', async () => {
    answer = well
    const { secret, ...webhook } = await listen(owner, receiver.url, { description: 'Ours.' })
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{32}$/)
    assert.deepEqual([webhook.enabled, webhook.scope.type, webhook.events.length], [true, 'Team', 7])
    const run_id = await other.create({ prompt: shell('echo done') })
    await other.ended(run_id)
    await until('the last event', () => receiver.typesOf(run_id).length === 3)
    assert.deepEqual(receiver.typesOf(run_id), LIFE)
    const client = new Runyard({ apiKey: 'none', baseURL: service.base_url, webhookSecret: secret })
    const { title, creator } = await other.get(run_id)
    for (const { body, headers, event } of receiver.received) {
      assert.deepEqual(await client.webhooks.unwrap(body, headers), event)
      new StandardWebhook(secret).verify(body, headers as Record<string, string>)
      const { data } = event
      assert.deepEqual(
        [data.title, data.link, data.creator],
        [title, `${new URL(service.base_url).origin}/sessions/${run_id}`, creator],
      )
      assert.equal(event.data.source, 'API')
      assert.match(headers['user-agent'] ?? '', /^Runyard\//)
      assert.equal(headers['content-type'], 'application/json')
    }
    const last = receiver.received.at(-1)
    await assert.rejects(client.webhooks.unwrap(`${last?.body} `, last?.headers ?? {}))
    const told = await until('them to be known', async () => {
      const list = await deliveriesOf(viewer, webhook)
      return list.every(({ status }) => status === 'delivered') && list
    })
    assert.deepEqual(told.map(({ event }) => event.type).reverse(), LIFE)
    assert.deepEqual(
      told.map(({ attempts, response_status, error }) => [attempts, response_status, error]),
      LIFE.map(() => [1, 200, null]),
    )
    assert.deepEqual(
      told.map(({ delivery_id }) => delivery_id).reverse(),
      receiver.received.map(({ headers }) => headers['webhook-id']),
    )
    assert.equal(
      JSON.stringify([await viewer.json('GET', `/agent/webhooks/${webhook.webhook_id}`), told]).includes(
        secret,
      ),
      false,
    )
    await remove(webhook)
    assert.equal((await owner.call('GET', `/agent/webhooks/${webhook.webhook_id}`)).status, 404)
  })

  test('say why a run failed, also when it has gone on since', async () => {
    answer = (_, response) => void response.writeHead(500).end()
    const webhook = await listen(owner, receiver.url, { events: ['run.failed'] })
    const path = '/agent/environments'
    const setup = { name: 'of webhooks', setup_commands: ['exit 7'] }
    const { uid } = await owner.json<{ uid: string }>('POST', path, setup)
    const run_id = await owner.create({ prompt: shell('true'), config: { environment_id: uid } })
    assert.equal((await owner.ended(run_id)).status_message?.error_code, 'environment_setup_failed')
    await owner.json('PUT', `${path}/${uid}`, { name: setup.name })
    await owner.json('POST', `/agent/runs/${run_id}/followups`, { message: shell('true') })
    await until('it to go on', async () => (await owner.ended(run_id)).state === 'SUCCEEDED')
    answer = well
    const [failed] = await deliveriesOf(owner, webhook)
    await owner.json(
      'POST',
      `/agent/webhooks/${webhook.webhook_id}/deliveries/${failed?.delivery_id}/redeliver`,
    )
    await until('it to arrive', async () => (await deliveriesOf(owner, webhook))[0]?.status === 'delivered')
    const { title, link, creator, ...data } = failed?.event.data ?? assert.fail()
    assert.match(data.message ?? '', /exit 7/)
    assert.deepEqual(data, {
      ...{ run_id, state: 'FAILED', source: 'API', error_code: 'environment_setup_failed' },
      message: data.message,
    })
    assert.deepEqual(receiver.received.at(-1)?.event.data, { ...data, title, link, creator })
    await remove(webhook)
  })

  test('tell the title of a run, and what became of it once it has stopped', async () => {
    answer = well
    const webhook = await listen(owner, receiver.url, { events: ['run.created', 'run.succeeded'] })
    const title = 'A title of its own'
    const run_id = await owner.create({ prompt: shell('true'), title })
    await owner.ended(run_id)
    await until('both', () => receiver.typesOf(run_id).length === 2)
    const [created, ended] = receiver.received
      .filter(({ event }) => event.data.run_id === run_id)
      .map(({ event }) => event.data)
    assert.deepEqual([created?.title, ended?.title], [title, title])
    assert.deepEqual(Object.keys(created ?? {}).sort(), [
      'creator',
      'link',
      'run_id',
      'source',
      'state',
      'title',
    ])
    await remove(webhook)
  })

  test('are tried by somebody: one signed event, and what came back is told', async () => {
    const long = `<b>no</b>\u0007\u202e${'y'.repeat(5_000)}`
    answer = (_, response) => void response.writeHead(418).end(long)
    const webhook = await listen(owner, receiver.url, { events: ['run.failed'], enabled: false })
    const path = `/agent/webhooks/${webhook.webhook_id}`
    const post = async (key: string) =>
      (await (
        await other.call('POST', `${path}/test`, undefined, { 'idempotency-key': key })
      ).json()) as WebhookTest
    const before = receiver.received.length
    const failed = await post('first')
    assert.deepEqual(await post('first'), failed)
    assert.equal(receiver.received.length, before + 1)
    const { body, headers, event } = receiver.received.at(-1) ?? assert.fail()
    new StandardWebhook(webhook.secret).verify(body, headers as Record<string, string>)
    assert.deepEqual(
      [event.type, event.data.run_id, headers['webhook-id']],
      ['webhook.test', '00000000-0000-0000-0000-000000000000', failed.delivery.delivery_id],
    )
    assert.deepEqual(failed.delivery.event, event)
    assert.deepEqual(
      [failed.delivery.status, failed.delivery.response_status, failed.delivery.error],
      ['failed', 418, 'The receiver answered 418.'],
    )
    assert.equal(failed.response_body, `<b>no</b>${'y'.repeat(991)}`)
    answer = well
    const together = await Promise.all(
      [1, 2, 3].map(() => other.call('POST', `${path}/test`, undefined, { 'idempotency-key': 'second' })),
    )
    assert.equal(receiver.received.length, before + 2)
    for (const { status } of together) assert([200, 409].includes(status), String(status))
    const good = await post('second')
    assert.deepEqual([good.delivery.status, good.delivery.response_status], ['delivered', 200])
    assert.equal(good.response_body, '')
    assert(good.duration_ms >= 0)
    assert.deepEqual(await deliveriesOf(viewer, webhook), [good.delivery, failed.delivery])
    const { failing_since } = await owner.json<Webhook>('GET', path)
    assert.equal(failing_since, null)
    const again = await owner.call('POST', `${path}/deliveries/${good.delivery.delivery_id}/redeliver`)
    await owner.json('PUT', path, { url: 'https://receiver.invalid/', enabled: true })
    const resent = await owner.call('POST', `${path}/deliveries/${good.delivery.delivery_id}/redeliver`)
    assert.deepEqual([again.status, resent.status], [409, 404])
    const unheard = await post('third')
    assert.deepEqual([unheard.response_body, unheard.delivery.response_status], [null, null])
    assert.match(unheard.delivery.error ?? '', /no public address/)
    // Nobody is to be hammered by it.
    const answers: Response[] = []
    while (answers.at(-1)?.status !== 429 && answers.length < 7)
      answers.push(await other.call('POST', `${path}/test`))
    assert.equal(answers.at(-1)?.status, 429)
    assert.notEqual(answers.at(-1)?.headers.get('retry-after'), null)
    assert.equal((await viewer.call('POST', `${path}/test`)).status, 403)
    await remove(webhook)
  })

  test('that fail are tried again, under the same id, before what comes after them', async () => {
    let failures = 0
    const ids = new Set<string>()
    answer = ({ headers }, response) => {
      ids.add(String(headers['webhook-id']))
      failures += 1
      response.writeHead(failures <= 1 ? 503 : 204).end()
    }
    const webhook = await listen(owner, receiver.url, { events: ['run.created', 'run.cancelled'] })
    const run_id = await owner.create({ prompt: 'x', ...NOBODY })
    await until('the first try', () => failures > 0)
    await owner.json('POST', `/agent/runs/${run_id}/cancel`)
    const tried = await until('its failure to be known', async () =>
      (await deliveriesOf(owner, webhook, '?status=pending')).find(({ error }) => error !== null),
    )
    assert.equal(tried.response_status, 503)
    assert.match(tried.error ?? '', /answered 503/)
    assert.notEqual(
      (await owner.json<Webhook>('GET', `/agent/webhooks/${webhook.webhook_id}`)).failing_since,
      null,
    )
    await until('both', () => receiver.typesOf(run_id).includes('run.cancelled'), 120)
    assert.deepEqual(receiver.typesOf(run_id), ['run.created', 'run.created', 'run.cancelled'])
    assert.equal(ids.size, 2)
    await until('it to be well', async () => {
      const { failing_since } = await owner.json<Webhook>('GET', `/agent/webhooks/${webhook.webhook_id}`)
      return failing_since === null
    })
    await remove(webhook)
  })

  test('are signed with the secret before, too, for a day after it is changed', async () => {
    answer = well
    const first = await listen(owner, receiver.url)
    const second = await owner.json<WebhookWithSecret>(
      'POST',
      `/agent/webhooks/${first.webhook_id}/rotate-secret`,
      {},
    )
    assert.notEqual(first.secret, second.secret)
    const run_id = await owner.create({ prompt: 'x', ...NOBODY })
    await until('the event', () => receiver.typesOf(run_id).length === 1)
    const { body, headers } = receiver.received.at(-1) ?? assert.fail()
    for (const { secret } of [first, second])
      new StandardWebhook(secret).verify(body, headers as Record<string, string>)
    await remove(first)
  })

  test('the same key creates one webhook, and what is kept of the answer does not hold the secret', async () => {
    const create = async () => {
      const answered = await owner.call(
        'POST',
        '/agent/webhooks',
        { url: receiver.url, enabled: false },
        { 'idempotency-key': 'once' },
      )
      return {
        replayed: answered.headers.get('idempotent-replayed'),
        ...((await answered.json()) as WebhookWithSecret),
      }
    }
    const [first, again] = [await create(), await create()]
    assert.deepEqual([first.replayed, again.replayed], [null, 'true'])
    assert.deepEqual([again.webhook_id, again.secret], [first.webhook_id, first.secret])
    await remove(first)
    const gone = await owner.call(
      'POST',
      '/agent/webhooks',
      { url: receiver.url, enabled: false },
      { 'idempotency-key': 'once' },
    )
    assert.equal(gone.status, 409)
  })

  test('that nobody wants any more are disabled, and can be enabled and sent again', async () => {
    answer = (_, response) => void response.writeHead(410).end()
    const webhook = await listen(owner, receiver.url, { events: ['run.created'] })
    const run_id = await owner.create({ prompt: 'x', ...NOBODY })
    const path = `/agent/webhooks/${webhook.webhook_id}`
    const disabled = await until('it to be disabled', async () => {
      const now = await owner.json<Webhook>('GET', path)
      return !now.enabled && now
    })
    assert.match(disabled.disabled_reason ?? '', /410/)
    const [delivery] = await deliveriesOf(owner, webhook)
    const again = `${path}/deliveries/${delivery?.delivery_id}/redeliver`
    assert.equal((await owner.call('POST', again, {})).status, 409)
    // What happens meanwhile is not told.
    const unheard = await owner.create({ prompt: 'x', ...NOBODY })
    answer = well
    const enabled = await owner.json<Webhook>('PUT', path, { url: receiver.url, events: ['run.created'] })
    assert.deepEqual(
      [enabled.enabled, enabled.disabled_reason, enabled.failing_since],
      [true, undefined, null],
    )
    await until(
      'it to be tried again',
      async () => (await deliveriesOf(owner, webhook))[0]?.status === 'delivered',
      90,
    )
    const sent = await owner.call('POST', again, {})
    assert.equal(sent.status, 202)
    await until('it to come again', () => receiver.typesOf(run_id).length === 3)
    assert.deepEqual(receiver.typesOf(unheard), [])
    assert.equal((await viewer.call('POST', again, {})).status, 403)
    await remove(webhook)
  })

  test('go to public hosts alone, by TLS, and follow nobody elsewhere', async () => {
    answer = (_, response) => void response.writeHead(302, { location: `${receiver.url}&elsewhere` }).end()
    const targets: Array<[string, RegExp]> = [
      // Its name says nothing; what it leads to does.
      [`https://${hostname()}/`, /no public address/],
      [receiver.url, /redirect \(302\)/],
      ['https://receiver.invalid/', /no public address/],
    ]
    const webhooks = await Promise.all(
      targets.map(([url]) => listen(owner, url, { events: ['run.created'] })),
    )
    const run_id = await owner.create({ prompt: 'x', ...NOBODY })
    for (const [at, webhook] of webhooks.entries()) {
      const failed = await until(
        `${webhook.url} to be refused`,
        async () => (await deliveriesOf(owner, webhook)).find(({ error }) => error !== null),
        60,
      )
      assert.match(failed.error ?? '', targets[at]?.[1] ?? /^$/, webhook.url)
    }
    assert.equal(receiver.typesOf(run_id).length >= 1, true)
    for (const webhook of webhooks) await remove(webhook)
  })

  test('of a person tell of their runs, personal ones too, and those of the team of no personal run', async () => {
    answer = well
    const [mine, ours] = [
      await listen(owner, receiver.url, { team: false }),
      await listen(owner, `${receiver.url}&ours`),
    ]
    assert.deepEqual([mine.scope.type, ours.scope.type], ['User', 'Team'])
    const personal = await owner.create({ prompt: 'x', team: false, ...NOBODY })
    const shared = await other.create({ prompt: 'x', ...NOBODY })
    const own = await owner.create({ prompt: 'x', ...NOBODY })
    await until(
      'all',
      () => [personal, shared, own].map((run_id) => receiver.typesOf(run_id).length).join() === '1,1,2',
    )
    assert.deepEqual(
      (await deliveriesOf(owner, mine)).map(({ run_id }) => run_id).sort(),
      [personal, own].sort(),
    )
    assert.deepEqual(
      (await deliveriesOf(owner, ours)).map(({ run_id }) => run_id).sort(),
      [shared, own].sort(),
    )
    for (const [method, below] of [
      ['GET', ''],
      ['PUT', ''],
      ['DELETE', ''],
      ['GET', '/deliveries'],
      ['POST', '/rotate-secret'],
    ] as const) {
      const path = `/agent/webhooks/${mine.webhook_id}${below}`
      assert.equal(
        (await other.call(method, path, method === 'PUT' ? { url: receiver.url } : undefined)).status,
        404,
        method + below,
      )
    }
    const { webhooks } = await other.json<{ webhooks: Webhook[] }>('GET', '/agent/webhooks')
    assert.deepEqual(
      webhooks.map(({ webhook_id }) => webhook_id),
      [ours.webhook_id],
    )
    await remove(mine)
    await remove(ours)
  })

  test('to where nothing would ever be sent are refused at once', async () => {
    answer = well
    const { hostname } = new URL(receiver.url)
    const refused: Array<[string, RegExp]> = [
      ['https://127.0.0.1/', /without a name/],
      ['https://169.254.169.254/latest/meta-data/', /without a name/],
      ['https://10.0.0.7/', /without a name/],
      ['https://[::1]/', /without a name/],
      ['https://[::ffff:127.0.0.1]/', /without a name/],
      ['https://2130706433/', /without a name/],
      ['https://localhost:5432/', /port 5432/],
      ['https://localhost/', /no public address/],
      ['https://LOCALHOST./', /no public address/],
      ['https://metadata.localhost/', /no public address/],
      ['https://example.com:80443/', /url/],
      ['http://example.com/', /Only https/],
      // Another port than the one that is named.
      [`http://${hostname}:9/`, /Only https .* with this port/],
    ]
    const webhook = await listen(owner, 'https://example.com/')
    for (const [url, why] of refused)
      for (const [method, path] of [
        ['POST', '/agent/webhooks'],
        ['PUT', `/agent/webhooks/${webhook.webhook_id}`],
      ] as const) {
        const answered = await owner.call(method, path, { url })
        const { detail = '' } = (await answered.json()) as { detail?: string }
        assert.equal(answered.status, 400, url)
        assert.match(detail, /^url: /)
        assert.match(detail, why)
      }
    // The operator may have taken a host back: then the webhook can still be turned off, and not on again.
    const off = { url: 'https://10.0.0.7/', enabled: false }
    const path = `/agent/webhooks/${webhook.webhook_id}`
    assert.equal((await owner.call('PUT', path, off)).status, 200)
    assert.equal((await owner.call('PUT', path, { ...off, enabled: true })).status, 400)
    assert.equal(
      (await owner.call('PUT', `/agent/webhooks/${webhook.webhook_id}`, { url: receiver.url })).status,
      200,
    )
    await remove(webhook)
  })

  test('that cannot be are refused, and named', async () => {
    const bad: Array<[object, RegExp]> = [
      [{}, /url/],
      [{ url: 'nowhere' }, /url/],
      [{ url: 'ftp://example.com/' }, /url/],
      [{ url: 'https://user:word@example.com/' }, /url/],
      [{ url: `https://example.com/${'x'.repeat(3_000)}` }, /url/],
      [{ url: 'https://example.com/', events: [] }, /events/],
      [{ url: 'https://example.com/', events: ['run.exploded'] }, /events/],
      [{ url: 'https://example.com/', enabled: 'yes' }, /enabled/],
      [{ url: 'https://example.com/', description: 'x'.repeat(2_000) }, /description/],
    ]
    for (const [body, names] of bad) {
      const answered = await owner.call('POST', '/agent/webhooks', body)
      assert.equal(answered.status, 400)
      assert.match(await answered.text(), names)
    }
    for (const query of ['?cursor=x', '?limit=0', '?limit=501'])
      assert.equal((await owner.call('GET', `/agent/webhooks${query}`)).status, 400)
    assert.equal((await viewer.call('POST', '/agent/webhooks', { url: receiver.url })).status, 403)
  })

  test('pages show each once', async () => {
    const made = await Promise.all(
      Array.from({ length: 5 }, () => listen(owner, receiver.url, { enabled: false })),
    )
    const seen: string[] = []
    for (let cursor = ''; ; ) {
      const page = await owner.json<{
        webhooks: Webhook[]
        page_info: { has_next_page: boolean; next_cursor?: string }
      }>('GET', `/agent/webhooks?limit=2${cursor}`)
      seen.push(...page.webhooks.map(({ webhook_id }) => webhook_id))
      if (!page.page_info.has_next_page) break
      cursor = `&cursor=${page.page_info.next_cursor}`
    }
    assert.deepEqual(seen.toSorted(), made.map(({ webhook_id }) => webhook_id).sort())
    for (const webhook of made) await remove(webhook)
  })

  test('that were to be sent outlive the service, killed', { skip }, async (t) => {
    let is_up = false
    answer = (_, response) => void response.writeHead(is_up ? 200 : 500).end()
    const database = await createMigrated()
    const cluster = await startCluster(database.url, { RUNYARD_PRIVATE_HOSTS: receiver.host })
    t.after(async () => {
      await cluster.stop()
      await database.drop()
    })
    const webhook = await listen(cluster.api, receiver.url)
    const run_id = await cluster.api.create({ prompt: 'x', ...NOBODY })
    // One whose answer nobody noted is sent again after a minute.
    await until('a try to be noted', async () =>
      (await deliveriesOf(cluster.api, webhook)).some(({ error }) => error !== null),
    )
    await cluster.first.end('SIGKILL')
    is_up = true
    const { api } = await cluster.innerServe()
    await api.json('POST', `/agent/runs/${run_id}/cancel`)
    await until('both events', () => receiver.typesOf(run_id).includes('run.cancelled'), 150)
    assert.deepEqual([...new Set(receiver.typesOf(run_id))], ['run.created', 'run.cancelled'])
  })

  test('to a receiver that does not answer keep no service from stopping', async () => {
    const held: ServerResponse[] = []
    answer = (_, response) => void held.push(response)
    const webhook = await listen(owner, receiver.url)
    await owner.create({ prompt: 'x', ...NOBODY })
    await until('the request', () => held.length === 1)
    await service.stop()
    await start()
    await until('it to come again', () => held.length === 2)
    // The service before did not wait until it could say that there was no answer.
    const deliveries = await deliveriesOf(owner, webhook)
    assert.deepEqual(
      deliveries.map(({ status, attempts, error }) => [status, attempts, error]),
      [['pending', 2, null]],
    )
    held[1]?.end()
    await until('it to be known', async () => (await deliveriesOf(owner, webhook))[0]?.status === 'delivered')
  })
})

test('of several processes one sends, and of each run in order', { skip }, async () => {
  const receiver = await openWebhookReceiver()
  const database = await createMigrated()
  const cluster = await startInnerCluster(database.url, { RUNYARD_PRIVATE_HOSTS: receiver.host })
  try {
    const more = await cluster.outerServe()
    await cluster.worker('default')
    await listen(cluster.api, receiver.url)
    const apis = [cluster.api, more.api]
    const runs = await Promise.all(
      Array.from({ length: 20 }, (_, at) => (apis[at % 2] ?? cluster.api).create({ prompt: shell('true') })),
    )
    await until('all events', () => receiver.received.length >= runs.length * LIFE.length)
    for (const run_id of runs) assert.deepEqual(receiver.typesOf(run_id), LIFE)
    assert.equal(
      new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size,
      receiver.received.length,
    )
  } finally {
    await cluster.stop()
    await database.drop()
    await stopTestServer()
    await receiver.close()
  }
})
