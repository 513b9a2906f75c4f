/** Triggers, from what is posted to a run. Runs wait in a pool that nobody serves: what they do is tested elsewhere. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import type { ListRunsResponse, RunItem } from '../src/contract/run.ts'
import type {
  HookAnswer,
  ListTriggerDeliveriesResponse,
  ListTriggersResponse,
  Trigger,
  TriggerDelivery,
  TriggerVerification,
  TryTriggerResponse,
} from '../src/contract/trigger.ts'
import { listAudit } from '../src/store/audit-log.ts'
import type { Store } from '../src/store/db.ts'
import { removeOldTriggerDeliveries } from '../src/store/trigger-deliveries.ts'
import { onFace } from './support/face.ts'
import { makeKeys } from './support/seed-keys.ts'
import type { apiOf } from './support/service.ts'
import { SIGN } from './support/sign-hook.ts'

type Api = ReturnType<typeof apiOf>
type Made = Trigger & { secret: string }
const IDLE = { agent_config: { worker_host: 'nobody' } }
const PULL = 'https://github.example/acme/site/pull/7'
const PUSHED = 'a'.repeat(40)

onFace(
  'triggers',
  (face) => {
    let store: Store
    let owner: Api
    let other: Api
    let viewer: Api
    before(async () => {
      store = face().store
      other = face().other
      viewer = face().viewer
      owner = face().as((await makeKeys(store.db, { owner: { role: 'member' } })).owner)
    })

    const create = (body: object, api = owner): Promise<Made> =>
      api.json<Made>('POST', '/agent/triggers', {
        ...{ name: 'T', verification: 'github', prompt: 'Look.', ...IDLE },
        ...body,
      })
    const send = (trigger: Pick<Trigger, 'url'>, body: string, headers: Record<string, string>) =>
      face().fetch(trigger.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
      })
    /** Posts it with a right signature. */
    async function post(
      trigger: Made,
      payload: object,
      { id = randomUUID(), ...headers }: { id?: string } & Record<string, string> = {},
    ): Promise<HookAnswer> {
      const body = JSON.stringify(payload)
      const signed = SIGN[trigger.verification]({ secret: trigger.secret, body, id })
      const answer = await send(trigger, body, { ...signed, ...headers })
      const text = await answer.text()
      assert([200, 202].includes(answer.status), `${answer.status} ${text}`)
      const said = JSON.parse(text) as HookAnswer
      assert.equal(answer.status, said.outcome === 'duplicate' ? 200 : 202)
      return said
    }
    const runOf = (api: Api, { run_id }: Pick<HookAnswer, 'run_id'>): Promise<RunItem> => {
      assert(run_id)
      return api.get(run_id)
    }
    const deliveriesOf = async ({ trigger_id }: Trigger, query = ''): Promise<TriggerDelivery[]> =>
      (
        await owner.json<ListTriggerDeliveriesResponse>(
          'GET',
          `/agent/triggers/${trigger_id}/deliveries${query}`,
        )
      ).deliveries
    const runsOf = async ({ trigger_id }: Trigger): Promise<RunItem[]> =>
      (await owner.json<ListRunsResponse>('GET', `/agent/runs?trigger_id=${trigger_id}`)).runs
    /** What the audit log says that a delivery did. */
    const notedOf = async ({ delivery_id }: HookAnswer) =>
      (await listAudit(store.db, { limit: 500 })).entries
        .filter(({ via, detail }) => via === 'service' && detail?.endsWith(`delivery ${delivery_id}`))
        .map(({ action, principal_id, target }) => [action, principal_id, target])
    const refusal = async (answer: Promise<Response>): Promise<[number, string]> => {
      const { status, detail } = (await (await answer).json()) as { status: number; detail: string }
      return [status, detail]
    }
    /** A run that has opened the pull request, as its worker notes it. */
    async function opened(api: Api, body: object = {}): Promise<string> {
      const run_id = await api.create({ prompt: 'x', config: IDLE.agent_config, ...body })
      await sql`
      insert into pushes (artifact_uid, run_id, directory, repository, branch, commit, url, pull_request)
      values (${randomUUID()}::uuid, ${run_id}::uuid, 'site', 'acme/site', ${`runyard/${run_id}`}, ${PUSHED}, ${PULL}, 7)`.execute(
        store.db,
      )
      return run_id
    }

    const SOURCES: Array<[TriggerVerification, string]> = [
      ['standard_webhooks', 'API'],
      ['github', 'GITHUB_WEBHOOK'],
      ['gitlab', 'GITLAB_WEBHOOK'],
      ['slack', 'SLACK'],
      ['linear', 'LINEAR'],
    ]
    for (const [verification, source] of SOURCES) {
      const payload = () => ({ webhookTimestamp: Date.now(), event_id: 'E1', text: 'hello' })

      test(`${verification}: what is signed rightly runs, and nothing else does`, async () => {
        const trigger = await create({ verification, prompt: 'It says {{payload.text}}.' })
        const sign = SIGN[verification]
        const body = JSON.stringify(payload())
        const { secret } = trigger
        const wrong = Buffer.from('another secret of theirs').toString('base64')
        const refused: Array<[string, Record<string, string>]> = [
          [body, {}],
          [body, sign({ secret: `whsec_${wrong}`, body, id: 'E1' })],
        ]
        // GitLab's token stands for nothing but its owner.
        if (verification !== 'gitlab')
          refused.push([body.replace('hello', 'hullo'), sign({ secret, body, id: 'E1' })])
        const stale = new Date(Date.now() - 301_000)
        if (verification === 'linear') {
          const old = JSON.stringify({ webhookTimestamp: stale.getTime() })
          refused.push(
            [old, sign({ secret, body: old, id: 'E1' })],
            ['{', sign({ secret, body: '{', id: 'E1' })],
          )
        }
        if (verification === 'slack' || verification === 'standard_webhooks')
          refused.push([body, sign({ secret, body, id: 'E1', sent_at: stale })])
        for (const [sent, headers] of refused)
          assert.deepEqual(await refusal(send(trigger, sent, headers)), [
            401,
            'The signature is not right, or too old.',
          ])
        assert.deepEqual(await deliveriesOf(trigger), [])
        const done = await post(trigger, payload(), { id: 'E1' })
        assert.equal(done.outcome, 'run_started')
        const run = await runOf(owner, done)
        assert.equal(run.prompt, 'It says hello.')
        assert.equal(run.source, source)
        assert.deepEqual(run.trigger, { trigger_id: trigger.trigger_id, delivery_id: done.delivery_id })
        const [delivery, ...more] = await deliveriesOf(trigger)
        assert.deepEqual([delivery?.sender_delivery_id, delivery?.run_id, more], ['E1', run.run_id, []])
        assert.deepEqual(await notedOf(done), [['createRun', trigger.updated_by.uid, run.run_id]])
      })
    }

    test('Slack is told that somebody is here, once it has signed', async () => {
      const trigger = await create({ verification: 'slack' })
      const body = JSON.stringify({ type: 'url_verification', challenge: 'c' })
      const answer = await send(trigger, body, SIGN.slack({ secret: trigger.secret, body, id: '' }))
      assert.deepEqual([answer.status, await answer.json()], [200, { challenge: 'c' }])
      assert.equal((await send(trigger, body, {})).status, 401)
      assert.deepEqual(await deliveriesOf(trigger), [])
    })

    test('a form of GitHub is read, its ping is not, and too many refusals are', async () => {
      const trigger = await create({ prompt: '{{payload.a}}' })
      const { secret } = trigger
      const body = new URLSearchParams({ payload: '{"a":"b & c"}' }).toString()
      const form = { 'content-type': 'application/x-www-form-urlencoded' }
      const answer = await send(trigger, body, { ...SIGN.github({ secret, body, id: '1' }), ...form })
      assert.equal((await runOf(owner, (await answer.json()) as HookAnswer)).prompt, 'b & c')
      assert.equal((await post(trigger, { zen: 'x' }, { 'x-github-event': 'ping' })).outcome, 'filtered')
      const from = { 'x-forwarded-for': '192.0.2.7' }
      const statuses = new Set<number>()
      for (let sent = 0; sent < 125; sent += 1) statuses.add((await send(trigger, '{}', from)).status)
      assert.deepEqual([...statuses], [401, 429])
      assert.equal((await post(trigger, { a: 'x' }, from)).outcome, 'run_started')
      const large = JSON.stringify({ a: 'x'.repeat(100_000) })
      const signed = { ...SIGN.github({ secret, body: large, id: '3' }), ...from }
      assert.equal((await send(trigger, large, signed)).status, 429)
      assert.equal((await send(trigger, large, SIGN.github({ secret, body: large, id: '3' }))).status, 202)
    })

    test('fields of the payload and headers are filled in, own ones alone, once', async () => {
      const trigger = await create({
        prompt:
          '{{payload.title}}|{{ payload.user.name }}|{{payload.labels.1}}|{{payload.labels}}|{{payload.n}}|{{payload.no.such}}|' +
          '{{payload.constructor.name}}|{{payload.labels.length}}|{{headers.X-Mine}}|{{headers.x-hub-signature-256}}|{{else.where}}',
        title: 'Issue {{payload.title}}',
        metadata: { from: 'hook' },
        ...{ budget: { max_tokens: 5 }, priority: 3, output_schema: { type: 'object' } },
      })
      assert.deepEqual([trigger.priority, trigger.output_schema], [3, { type: 'object' }])
      const payload = { title: 'A {{payload.n}}\nB', user: { name: 'Ann' }, labels: ['x', 'y'], n: 1.5 }
      const run = await runOf(owner, await post(trigger, payload, { 'x-mine': 'h' }))
      assert.equal(run.prompt, 'A {{payload.n}}\nB|Ann|y|["x","y"]|1.5|||2|h||{{else.where}}')
      assert.equal(run.title, 'Issue A {{payload.n}} B')
      assert.deepEqual(run.metadata, { from: 'hook' })
      const long = await create({ prompt: '{{payload.text}}'.repeat(50_000) })
      const cut = await runOf(owner, await post(long, { text: 'é'.repeat(600_000) }))
      assert.equal(cut.prompt, 'é'.repeat(512 * 1024))
      const nothing = await post(await create({ prompt: '{{payload.text}}' }), {})
      assert.deepEqual(
        [nothing.outcome, nothing.reason],
        ['failed', 'prompt: nothing is left of it once its fields are filled in.'],
      )
    })

    test('a filter lets through what it is true of, and says where it is wrong', async () => {
      const filter =
        'payload.action == "opened" && payload.number + 1 > 2 && headers["x-github-event"] == "issues"'
      const trigger = await create({ filter })
      assert.equal((await post(trigger, { action: 'opened', number: 2 })).outcome, 'run_started')
      const not = await post(trigger, { action: 'closed', number: 2 })
      assert.deepEqual([not.outcome, not.reason], ['filtered', 'The filter is not true of it.'])
      const without = await post(trigger, { action: 'opened' })
      assert.deepEqual(
        [without.outcome, without.reason],
        ['filtered', 'The filter could not be asked. line 1, column 39: No such key: number'],
      )
      const endless = await create({ filter: 'payload.text.matches("^(a+)+$")' })
      const late = await post(endless, { text: `${'a'.repeat(60)}!` })
      assert.deepEqual(
        [late.outcome, late.reason],
        ['filtered', 'The filter could not be asked. Checking it took longer than 1 s.'],
      )
      assert.equal((await runsOf(endless)).length, 0)
      // A text of 256 MiB, and an array of its letters: more than V8 allocates at once, with which it ends its process.
      const large = `["aaaaaaaaaaaaaaaa"]${'.map(x, x + x)'.repeat(24)}[0].split("").size() > 0`
      const refused = await post(await create({ filter: large }), {})
      assert.deepEqual(
        [refused.outcome, refused.reason],
        ['filtered', 'The filter could not be asked. It takes more memory than there is for it.'],
      )
      const ask = (text: string) =>
        refusal(
          owner.call('POST', '/agent/triggers', {
            name: 'T',
            verification: 'github',
            prompt: 'x',
            filter: text,
          }),
        )
      assert.deepEqual(await ask('payload.a ==\n  '), [
        400,
        'filter: line 1, column 13: Unexpected token: EOF',
      ])
      assert.deepEqual(await ask('true &&\n  body'), [
        400,
        'filter: line 2, column 3: Unknown variable: body',
      ])
      assert.deepEqual(await ask('"x"'), [400, 'filter: It must say true or false, and is of type string.'])
      const before = { name: 'T', verification: 'github', prompt: 'x', enabled: true, filter: '1' }
      const [status] = await refusal(owner.call('PUT', `/agent/triggers/${trigger.trigger_id}`, before))
      assert.equal(status, 400)
    })

    test('a filter is tried on what came, and nothing comes of it', async () => {
      const trigger = await create({ filter: 'payload.n == 1' })
      for (const n of [1, 2]) await post(trigger, { n }, { 'x-github-event': 'issues' })
      await post(trigger, { zen: 'x' }, { 'x-github-event': 'ping' })
      const path = `/agent/triggers/${trigger.trigger_id}`
      const before = await deliveriesOf(trigger)
      const tried = async (body: object) =>
        (await owner.json<TryTriggerResponse>('POST', `${path}/try`, body)).deliveries.map(
          ({ event, passes, reason }) => [event, passes, reason?.slice(0, 24)],
        )
      const ping = ['ping', false, 'GitHub asked whether any']
      const left_out = ['issues', false, 'The filter is not true o']
      const would_run = ['issues', true, undefined]
      assert.deepEqual(await tried({}), [ping, left_out, would_run])
      assert.deepEqual(await tried({ filter: 'payload.n == 2' }), [ping, would_run, left_out])
      assert.deepEqual(await tried({ filter: '' }), [ping, would_run, would_run])
      const unsure = ['issues', false, 'The filter could not be ']
      assert.deepEqual(await tried({ filter: 'payload.m == 2' }), [ping, unsure, unsure])
      const wrong = await owner.call('POST', `${path}/try`, { filter: 'payload.n ==' })
      assert.equal(wrong.status, 400)
      assert.match(await wrong.text(), /filter: line 1, column 13/)
      assert.equal((await viewer.call('POST', `${path}/try`, {})).status, 403)
      // What is not kept cannot be told.
      await sql`update trigger_deliveries set headers = '{}', payload = 'null'
        where trigger_id = ${trigger.trigger_id}::uuid and event = 'issues'`.execute(store.db)
      const unknown = ['issues', null, 'The body of this deliver']
      assert.deepEqual(await tried({}), [ping, unknown, unknown])
      assert.deepEqual(await deliveriesOf(trigger), before)
    })

    test('what the sender signed says what it is, whatever the headers beside it say', async () => {
      const comment = {
        action: 'created',
        issue: { number: 7 },
        comment: { body: 'x' },
        webhookTimestamp: Date.now(),
      }
      const called: Record<'github' | 'linear', [object, object]> = {
        github: [comment, { 'x-github-event': 'ping' }],
        linear: [{ ...comment, type: 'Comment' }, { 'linear-event': 'Issue' }],
      }
      for (const verification of ['github', 'linear'] as const) {
        const trigger = await create({
          verification,
          prompt: '{{headers.x-github-event}}{{headers.linear-event}}',
        })
        const [payload, headers] = called[verification]
        const first = await post(trigger, payload, { id: 'D1', ...headers })
        assert.equal(first.outcome, 'run_started')
        const event = verification === 'github' ? 'issue_comment' : 'Comment'
        assert.equal((await runOf(owner, first)).prompt, event)
        assert.equal((await deliveriesOf(trigger))[0]?.event, event)
        // Another id and another name make no other delivery of what was signed once.
        for (const id of ['D2', '', 'D1'])
          assert.equal((await post(trigger, payload, { id })).run_id, first.run_id)
        // And an id that was used by somebody keeps nothing else out.
        const next = await post(trigger, { ...payload, more: 1 }, { id: 'D1' })
        assert.equal(next.outcome, 'run_started')
        assert.equal((await runsOf(trigger)).length, 2)
      }
      // What somebody may send to the letter again is told apart by its id.
      const trigger = await create({})
      for (const payload of [
        { client_payload: {} },
        { inputs: null, workflow: 'w' },
        { action: 'rerequested' },
      ])
        for (const id of ['R1', 'R2', 'R1'].map((name) => `${name}${JSON.stringify(payload)}`))
          await post(trigger, payload, { id })
      assert.equal((await runsOf(trigger)).length, 6)
      const called_ping = await post(trigger, { action: 'opened' }, { 'x-github-event': 'ping' })
      assert.equal(called_ping.outcome, 'run_started')
    })

    test('what is signed anew is the same delivery: by another secret, at another time, with another length of its id', async () => {
      const trigger = await create({})
      const first = await post(trigger, { n: 1 }, { id: 'D1' })
      const secret = 'another-secret'
      const body = { name: 'T', verification: 'github', prompt: 'x', enabled: true, secret, ...IDLE }
      await owner.json('PUT', `/agent/triggers/${trigger.trigger_id}`, body)
      assert.equal((await post({ ...trigger, secret }, { n: 1 }, { id: 'D1' })).run_id, first.run_id)
      // Linear says the time of each try in what it signs.
      const linear = await create({ verification: 'linear' })
      const payload = { type: 'Issue', data: { id: '1' }, webhookTimestamp: Date.now() }
      const tried = await post(linear, payload, { id: 'L1' })
      const again = { ...payload, webhookTimestamp: payload.webhookTimestamp + 60_000 }
      assert.equal((await post(linear, again, { id: 'L1' })).run_id, tried.run_id)
      assert.equal((await post(linear, { ...again, data: { id: '2' } })).outcome, 'run_started')
      // Standard Webhooks puts dots between what it signs, so one signature may fit two readings of it.
      const standard = await create({ verification: 'standard_webhooks' })
      const seconds = String(Math.floor(Date.now() / 1000))
      const signed = SIGN.standard_webhooks({ secret: standard.secret, body: '{}', id: `m.${seconds}` })
      const form = { 'content-type': 'application/x-www-form-urlencoded', 'webhook-id': 'm' }
      assert.equal((await send(standard, `${seconds}.{}`, { ...signed, ...form })).status, 401)
      for (const letter of ['a', 'b'])
        assert.equal((await post(standard, { n: 1 }, { id: letter.repeat(300) })).outcome, 'run_started')
    })

    test('what comes again is a duplicate, by its id or else by its bytes', async () => {
      const trigger = await create({ verification: 'gitlab' })
      const first = await post(trigger, { n: 1 }, { id: 'D1' })
      const again = await post(trigger, { n: 2 }, { id: 'D1' })
      assert.deepEqual(again, {
        ...{ delivery_id: first.delivery_id, outcome: 'duplicate', first_outcome: 'run_started' },
        run_id: first.run_id,
      })
      const [bytes, same] = [
        await post(trigger, { n: 3 }, { id: '' }),
        await post(trigger, { n: 3 }, { id: '' }),
      ]
      assert.deepEqual([bytes.outcome, same.outcome], ['run_started', 'duplicate'])
      const deliveries = await deliveriesOf(trigger)
      assert.deepEqual(
        deliveries.map(({ duplicates }) => duplicates),
        [1, 1],
      )
      // Of another trigger it is new.
      assert.equal(
        (await post(await create({ verification: 'gitlab' }), { n: 1 }, { id: 'D1' })).outcome,
        'run_started',
      )
      const racing = await create({})
      const all = await Promise.all(Array.from({ length: 8 }, () => post(racing, { n: 1 }, { id: 'R' })))
      assert.equal(new Set(all.map(({ run_id }) => run_id)).size, 1)
      assert.deepEqual(all.filter(({ outcome }) => outcome === 'run_started').length, 1)
      assert.equal((await runsOf(racing)).length, 1)
    })

    test('a replay does what the trigger does by then, as a delivery of its own', async () => {
      const trigger = await create({ filter: 'payload.ok' })
      const path = `/agent/triggers/${trigger.trigger_id}`
      const lastOf = async () => {
        const { last_delivery } = await owner.json<Trigger>('GET', path)
        const { triggers } = await owner.json<ListTriggersResponse>('GET', '/agent/triggers?limit=200')
        const listed = triggers.find(({ trigger_id }) => trigger_id === trigger.trigger_id)
        assert.deepEqual(listed?.last_delivery, last_delivery)
        return last_delivery
      }
      assert.deepEqual([trigger.last_delivery, await lastOf()], [undefined, undefined])
      const first = await post(trigger, { ok: false, text: 'kept' })
      assert.equal(first.outcome, 'filtered')
      const [{ received_at } = { received_at: '' }] = await deliveriesOf(trigger)
      assert.deepEqual(await lastOf(), { received_at, outcome: 'filtered' })
      const changed = {
        name: 'T',
        verification: 'github',
        prompt: '{{payload.text}}',
        enabled: true,
        ...IDLE,
      }
      const updated = await owner.json<Trigger>('PUT', path, changed)
      assert.deepEqual([updated.filter, updated.prompt], [undefined, '{{payload.text}}'])
      const replay = (id: string, headers = {}) =>
        owner.call('POST', `${path}/deliveries/${id}/replay`, undefined, headers)
      const key = { 'idempotency-key': 'once' }
      const answer = await replay(first.delivery_id, key)
      const made = (await answer.json()) as TriggerDelivery
      assert.deepEqual(
        [answer.status, made.outcome, made.replay_of, made.sender_delivery_id],
        [202, 'run_started', first.delivery_id, null],
      )
      assert.equal((await owner.get(made.run_id ?? '')).prompt, 'kept')
      assert.deepEqual(await lastOf(), {
        ...{ received_at: made.received_at, outcome: 'run_started', run_id: made.run_id },
      })
      assert.deepEqual(await (await replay(first.delivery_id, key)).json(), made)
      assert.equal((await replay(first.delivery_id)).status, 202)
      assert.equal((await replay(randomUUID())).status, 404)
      assert.equal((await replay('x')).status, 404)
      assert.equal((await runsOf(trigger)).length, 2)
      const page = await owner.json<ListTriggerDeliveriesResponse>('GET', `${path}/deliveries?limit=2`)
      const { next_cursor } = page.page_info
      const rest = await deliveriesOf(trigger, `?limit=2&cursor=${next_cursor}`)
      assert.deepEqual(
        [page.deliveries.length, rest.map(({ delivery_id }) => delivery_id)],
        [2, [first.delivery_id]],
      )
      assert.equal((await deliveriesOf(trigger, '?outcome=filtered')).length, 1)
      await owner.json('POST', `${path}/pause`)
      assert.deepEqual(await refusal(replay(first.delivery_id)), [
        409,
        'The trigger is paused: resume it first.',
      ])
    })

    test('a paused trigger, a deleted one and one that never was are the same to who posts', async () => {
      const trigger = await create({})
      const { trigger_id, secret, url } = trigger
      const paused = await owner.json<Trigger>('POST', `/agent/triggers/${trigger_id}/pause`)
      assert.equal(paused.enabled, false)
      const headers = SIGN.github({ secret, body: '{}', id: '1' })
      const there = await refusal(send(trigger, '{}', headers))
      assert.deepEqual(there, [404, 'There is nothing at this path.'])
      const missing = new URL(`/hooks/${randomUUID()}`, url).href
      assert.deepEqual(await refusal(send({ url: missing }, '{}', headers)), there)
      await owner.json('POST', `/agent/triggers/${trigger_id}/resume`)
      assert.equal((await send(trigger, '{}', headers)).status, 202)
      assert.deepEqual(await owner.json('DELETE', `/agent/triggers/${trigger_id}`), { success: true })
      assert.deepEqual(await refusal(send(trigger, '{}', headers)), there)
      assert.equal((await runsOf(trigger)).length, 1)
      // Whoever saved it last must be there.
      const left = await create({}, other)
      await sql`update principals set disabled = true where principal_id = ${left.updated_by.uid}::uuid`.execute(
        store.db,
      )
      const own = SIGN.github({ secret: left.secret, body: '{}', id: '1' })
      assert.deepEqual(await refusal(send(left, '{}', own)), there)
      const shown = await owner.json<Trigger>('GET', `/agent/triggers/${left.trigger_id}`)
      assert.match(shown.stopped_reason ?? '', /^other, who saved the trigger last, is disabled/)
      await sql`update principals set disabled = false where principal_id = ${left.updated_by.uid}::uuid`.execute(
        store.db,
      )
      assert.equal((await send(left, '{}', own)).status, 202)
    })

    test('hostile bodies are refused in words, and nothing comes of them', async () => {
      const trigger = await create({})
      const deep = `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`
      const bodies: Array<[string, number, RegExp]> = [
        ['not JSON', 400, /not valid JSON/],
        ['', 400, /must be a JSON object or array/],
        ['3', 400, /must be a JSON object or array/],
        [deep, 400, /nested too deeply/],
        ['{"__proto__": {"a": 1}}', 400, /__proto__/],
        ['{"a": "\\u0000"}', 400, /NUL/],
        [JSON.stringify({ a: 'x'.repeat(3 * 1024 ** 2) }), 413, /too large/],
        [`[${'1,'.repeat(200_000)}1]`, 413, /too many fields/],
      ]
      for (const [body, status, detail] of bodies) {
        const headers = SIGN.github({ secret: trigger.secret, body, id: randomUUID() })
        const [answered, said] = await refusal(send(trigger, body, headers))
        assert.equal(answered, status, said)
        assert.match(said, detail)
      }
      assert.deepEqual(await deliveriesOf(trigger), [])
      const kind = await send(trigger, '{"constructor": {"prototype": 1}}', {
        ...SIGN.github({ secret: trigger.secret, body: '{"constructor": {"prototype": 1}}', id: '1' }),
        'content-type': 'text/plain',
      })
      assert.equal(kind.status, 202)
    })

    test('news of a pull request go to the run that opened it', async () => {
      const run_id = await opened(owner)
      const trigger = await create({ prompt: 'They say: {{payload.comment.body}}' })
      const comment = { comment: { body: 'Rename it.' } }
      const news: object[] = [
        { issue: { pull_request: { html_url: PULL } } },
        { pull_request: { html_url: PULL } },
        {
          check_run: { pull_requests: [{ number: 7 }] },
          repository: { html_url: 'https://github.example/acme/site' },
        },
        {
          workflow_run: { pull_requests: [{ number: 7 }] },
          repository: { html_url: 'https://github.example/acme/site' },
        },
      ]
      for (const payload of news) {
        const done = await post(trigger, { ...comment, ...payload })
        assert.deepEqual([done.outcome, done.run_id], ['followup_sent', run_id])
        assert.deepEqual(await notedOf(done), [['submitFollowup', trigger.updated_by.uid, run_id]])
      }
      const said = (await owner.events(run_id)).filter(({ type }) => type === 'followup.accepted')
      assert.equal(said.length, news.length)
      assert.equal((said[0]?.data as { message?: string } | undefined)?.message, 'They say: Rename it.')
      const elsewhere = { issue: { pull_request: { html_url: `${PULL}0` } } }
      assert.equal((await post(trigger, { ...comment, ...elsewhere })).outcome, 'run_started')
      const fresh = await create({ on_open_run: 'new_run' })
      assert.equal((await post(fresh, { ...comment, ...news[0] })).outcome, 'run_started')
      // An ended run goes on.
      await owner.json('POST', `/agent/runs/${run_id}/cancel`)
      assert.equal((await post(trigger, { ...comment, ...news[0], again: 1 })).run_id, run_id)
      assert.equal((await owner.get(run_id)).state, 'QUEUED')
      const gitlab = await create({ verification: 'gitlab' })
      await sql`update pushes set url = 'https://gitlab.example/a/b/-/merge_requests/7' where run_id = ${run_id}::uuid`.execute(
        store.db,
      )
      const note = { object_attributes: { url: 'https://gitlab.example/a/b/-/merge_requests/7#note_1' } }
      assert.equal((await post(gitlab, note)).run_id, run_id)
    })

    test('what tells of a push of our own is passed over, and that of somebody else is not', async () => {
      const run_id = await opened(owner)
      const trigger = await create({})
      const pull = (sha: string, sender: string, action = 'synchronize') => ({
        ...{ action, sender: { login: sender } },
        pull_request: { html_url: PULL, user: { login: 'bot' }, head: { sha, ref: `runyard/${run_id}` } },
      })
      const own = await post(trigger, pull(PUSHED, 'ann'))
      assert.deepEqual(
        [own.outcome, own.reason],
        ['filtered', `It is about a push of our own, by run ${run_id}.`],
      )
      assert.equal((await post(trigger, pull('b'.repeat(40), 'bot'))).outcome, 'filtered')
      assert.equal((await post(trigger, pull('b'.repeat(40), 'ann'))).outcome, 'followup_sent')
      assert.equal((await post(trigger, pull(PUSHED, 'bot', 'labeled'))).outcome, 'followup_sent')
      // Before the run has noted what it opened.
      await sql`delete from pushes where run_id = ${run_id}::uuid`.execute(store.db)
      assert.equal((await post(trigger, pull(PUSHED, 'bot', 'opened'))).outcome, 'filtered')
    })

    test('nobody reaches what he may not see by a trigger', async () => {
      const personal = await opened(owner, { team: false })
      const payload = { pull_request: { html_url: PULL } }
      const theirs = await create({}, other)
      const done = await post(theirs, payload)
      assert.notEqual(done.run_id, personal)
      const team = await create({})
      assert.notEqual((await post(team, payload)).run_id, personal)
      const own = await create({ team: false })
      assert.equal((await post(own, payload)).run_id, personal)
      assert.deepEqual(own.scope, { type: 'User', uid: own.created_by.uid })
      const path = `/agent/triggers/${own.trigger_id}`
      for (const [method, rest] of [
        ['GET', ''],
        ['DELETE', ''],
        ['POST', '/pause'],
        ['GET', '/deliveries'],
      ] as const)
        assert.equal((await other.call(method, path + rest)).status, 404)
      const namesOf = async (api: Api) =>
        (await api.json<ListTriggersResponse>('GET', '/agent/triggers')).triggers.map(
          ({ trigger_id }) => trigger_id,
        )
      assert((await namesOf(owner)).includes(own.trigger_id))
      for (const api of [other, viewer]) {
        const names = await namesOf(api)
        assert(names.includes(team.trigger_id) && !names.includes(own.trigger_id))
      }
      const denied = await viewer.call('POST', '/agent/triggers', {
        name: 'T',
        verification: 'github',
        prompt: 'x',
      })
      assert.equal(denied.status, 403)
    })

    test('the secret is said once and stays, and what cannot be one is refused', async () => {
      const key = { 'idempotency-key': 'create' }
      const body = { name: 'T', verification: 'github', prompt: 'x', ...IDLE }
      const ask = () => owner.call('POST', '/agent/triggers', body, key)
      const made = (await (await ask()).json()) as Made
      assert.match(made.secret, /^whsec_/)
      assert.deepEqual(await (await ask()).json(), made)
      const path = `/agent/triggers/${made.trigger_id}`
      assert.equal('secret' in (await owner.json<Trigger>('GET', path)), false)
      await owner.json('PUT', path, { ...body, enabled: true })
      assert.equal((await post(made, {})).outcome, 'run_started')
      await owner.json('PUT', path, { ...body, enabled: true, secret: 'chosen-by-me' })
      const repeated = await (await ask()).text()
      assert.match(repeated, /its secret is not shown again/)
      assert.doesNotMatch(repeated, /chosen-by-me/)
      assert.equal((await post({ ...made, secret: 'chosen-by-me' }, { n: 2 })).outcome, 'run_started')
      const stored = await sql<{ text: string }>`
      select string_agg(row_to_json(t)::text, '') || (select string_agg(row_to_json(d)::text, '') from trigger_deliveries d)
        || (select string_agg(response::text, '') from idempotency_keys) as text from triggers t`.execute(
        store.db,
      )
      assert(!stored.rows[0]?.text.includes(made.secret) && !stored.rows[0]?.text.includes('chosen-by-me'))
      const refused: Array<[object, RegExp]> = [
        [{ secret: 'short' }, /^secret: /],
        [{ secret: 'with a space in it' }, /^secret: /],
        [{ verification: 'standard_webhooks', secret: 'not-base64-at-all' }, /^secret: Standard Webhooks/],
        [{ verification: 'other' }, /^verification: /],
        [{ prompt: ' ' }, /^prompt: is required/],
        [
          { agent_config: { environment_id: 'none' } },
          /^agent_config\.environment_id: there is no environment/,
        ],
        [{ agent_uid: randomUUID() }, /^agent_uid: /],
        [{ on_open_run: 'x' }, /^on_open_run: /],
      ]
      for (const [field, detail] of refused) {
        const [, said] = await refusal(owner.call('POST', '/agent/triggers', { ...body, ...field }))
        assert.match(said, detail)
      }
    })

    test('what a run is refused for is kept, and old deliveries are removed', async () => {
      const environment = await owner.json<{ uid: string }>('POST', '/agent/environments', { name: 'gone' })
      const trigger = await create({ agent_config: { environment_id: 'gone' } })
      await owner.json('DELETE', `/agent/environments/${environment.uid}`)
      const done = await post(trigger, {}, { id: 'D' })
      assert.equal(done.outcome, 'failed')
      assert.match(done.reason ?? '', /^agent_config\.environment_id: there is no environment/)
      await sql`update trigger_deliveries set received_at = received_at - interval '29 days'`.execute(
        store.db,
      )
      await removeOldTriggerDeliveries(store.db)
      assert.equal((await deliveriesOf(trigger)).length, 1)
      await sql`update trigger_deliveries set received_at = received_at - interval '1 day'`.execute(store.db)
      await removeOldTriggerDeliveries(store.db)
      assert.deepEqual(await deliveriesOf(trigger), [])
    })
  },
  () => ({ RUNYARD_TRUST_PROXY: '1' }),
)
