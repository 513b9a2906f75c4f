import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ListRunsResponse } from '../src/contract/run.ts'
import type {
  ListFiringsResponse,
  ListSchedulesResponse,
  ScheduledAgentItem,
  ScheduleFiring,
} from '../src/contract/schedule.ts'
import { until } from './support/cluster.ts'
import { NOBODY, onEitherService } from './support/each-service.ts'
import { shell } from './support/service.ts'

const YEARLY = { name: 'Yearly', cron_schedule: '0 9 1 1 *', prompt: 'Do it.' }
const EACH_SECOND = { name: 'Often', cron_schedule: '* * * * * *' }
const NO_WORKER = { config: { worker_host: NOBODY } }
const IDLE = { agent_config: { worker_host: NOBODY } }

onEitherService('schedules', (service) => {
  const create = (body: object): Promise<ScheduledAgentItem> =>
    service().admin.json<ScheduledAgentItem>('POST', '/agent/schedules', { ...YEARLY, ...body })
  const firingsOf = async (id: string, query = '?limit=500') =>
    (await service().admin.json<ListFiringsResponse>('GET', `/agent/schedules/${id}/firings${query}`)).firings
  const runsOf = async (id: string) =>
    (await service().admin.json<ListRunsResponse>('GET', `/agent/runs?limit=500&schedule_id=${id}`)).runs
  const refusal = async (answer: Promise<Response>): Promise<[number, string]> => {
    const { status, detail } = (await (await answer).json()) as { status: number; detail: string }
    return [status, detail]
  }

  test('the answer to a write has the next three times, in the time zone that was asked for', async () => {
    const made = await create({ time_zone: 'Europe/Berlin', cron_schedule: '0 9 * * 1-5' })
    assert.deepEqual([made.overlap, made.catch_up, made.enabled], ['skip', 'latest', true])
    assert.equal(made.next_runs.length, 3)
    for (const time of made.next_runs) {
      const there = {
        timeZone: 'Europe/Berlin',
        weekday: 'short',
        hour: 'numeric',
        hourCycle: 'h23',
      } as const
      assert.match(new Date(time).toLocaleString('en-GB', there), /^(Mon|Tue|Wed|Thu|Fri),? 09$/)
    }
    assert.equal(made.history.next_run, made.next_runs[0])
    const paused = await create({ enabled: false })
    assert.deepEqual([paused.enabled, paused.next_runs, paused.history.next_run], [false, [], null])
    assert.equal((await create({})).time_zone, 'UTC')
  })

  test('the next times of an expression are told before there is a schedule', async () => {
    const { admin } = service()
    const path = (cron: string, zone = 'Asia/Tokyo') =>
      `/agent/schedule-times?cron_schedule=${encodeURIComponent(cron)}&time_zone=${zone}`
    const { next_runs } = await admin.json<{ next_runs: string[] }>('GET', path('0 9 1 1 *'))
    const made = await create({ time_zone: 'Asia/Tokyo' })
    assert.deepEqual(next_runs, made.next_runs)
    for (const [cron, zone, says] of [
      ['daily', 'UTC', /^cron_schedule: must have five fields/],
      ['0 9 * * *', 'Berlin', /^time_zone: must be/],
      ['0 0 30 2 *', 'UTC', /^cron_schedule: /],
    ] as const) {
      const [status, detail] = await refusal(admin.call('GET', path(cron, zone)))
      assert.deepEqual([status, says.test(detail)], [400, true], detail)
    }
    await admin.json('DELETE', `/agent/schedules/${made.id}`)
  })

  test('one that runs, runs: its runs execute and are found by it', async () => {
    const { admin } = service()
    const agent_config = { harness: { type: 'runbook' } }
    const { id } = await create({ ...EACH_SECOND, prompt: shell('echo hello'), agent_config })
    const runs = await until('two runs to succeed', async () => {
      const found = (await runsOf(id)).filter((run) => run.state === 'SUCCEEDED')
      return found.length >= 2 && found
    })
    for (const run of runs) {
      assert.equal(run.source, 'SCHEDULED_AGENT')
      assert.equal(run.schedule?.schedule_id, id)
    }
    const { history, updated_at, created_at } = await admin.json<ScheduledAgentItem>(
      'POST',
      `/agent/schedules/${id}/pause`,
    )
    assert(history.last_ran !== null && updated_at > created_at)
    const firings = await firingsOf(id)
    const made = firings.flatMap((firing) => (firing.run_id ? [firing.run_id] : []))
    assert.deepEqual(made.sort(), (await runsOf(id)).map((run) => run.run_id).sort())
    assert.equal(new Set(firings.map((firing) => firing.due_at)).size, firings.length)
    // They outlive it.
    assert.deepEqual(await admin.json('DELETE', `/agent/schedules/${id}`), { success: true })
    assert.equal((await admin.call('GET', `/agent/schedules/${id}/firings`)).status, 404)
    assert.equal((await runsOf(id)).length, made.length)
    assert.equal((await admin.get(made[0] ?? '')).schedule?.schedule_name, 'Often')
  })

  test('while a run of it waits, the next times are skipped, and it goes on after that', async () => {
    const { admin } = service()
    const { id } = await create({ ...EACH_SECOND, ...IDLE })
    const skipped = await until('a time that is skipped', async () =>
      (await firingsOf(id)).find((firing) => firing.outcome === 'skipped'),
    )
    const [run, ...more] = await runsOf(id)
    assert.equal(more.length, 0)
    assert.equal(skipped.reason, `An earlier run was not over: ${run?.run_id}.`)
    await admin.json('POST', `/agent/runs/${run?.run_id}/cancel`)
    await until('another run', async () => (await runsOf(id)).length === 2)
    await admin.json('DELETE', `/agent/schedules/${id}`)
  })

  test('with cancel, the earlier run ends for the next one', async () => {
    const { admin } = service()
    const agent_config = { harness: { type: 'runbook' } }
    const { id } = await create({
      ...{ name: 'Fresh', cron_schedule: '*/5 * * * * *', overlap: 'cancel' },
      ...{ prompt: shell('sleep 600'), agent_config },
    })
    const cancelled = await until('a run that is cancelled', async () =>
      (await runsOf(id)).find((run) => run.state === 'CANCELLED'),
    )
    assert.match(cancelled.status_message?.message ?? '', /Cancelled by its schedule/)
    await admin.json('DELETE', `/agent/schedules/${id}`)
    const ended = await admin.ended(cancelled.run_id)
    assert.equal(ended.is_sandbox_running, false)
    for (const run of await runsOf(id))
      if (run.state !== 'CANCELLED') await admin.json('POST', `/agent/runs/${run.run_id}/cancel`)
  })

  test('paused, it creates nothing; resumed, it makes up for nothing', async () => {
    const { admin } = service()
    const { id } = await create({ ...EACH_SECOND, ...IDLE, overlap: 'allow' })
    await until('a run', async () => (await runsOf(id)).length > 0)
    const paused = await admin.json<ScheduledAgentItem>('POST', `/agent/schedules/${id}/pause`)
    assert.deepEqual(await admin.json('POST', `/agent/schedules/${id}/pause`), paused)
    const before = await firingsOf(id)
    // Another one shows that time passes.
    const other = await create({ ...EACH_SECOND, ...IDLE, overlap: 'allow' })
    await until('others', async () => (await runsOf(other.id)).length > 2)
    assert.deepEqual(await firingsOf(id), before)
    const resumed = await admin.json<ScheduledAgentItem>('POST', `/agent/schedules/${id}/resume`)
    const resumed_at = Date.parse(resumed.updated_at)
    assert(Date.parse(resumed.history.next_run ?? '') >= resumed_at)
    await until('it to go on', async () => (await firingsOf(id)).length > before.length)
    for (const firing of (await firingsOf(id)).slice(0, -before.length))
      assert(Date.parse(firing.due_at) >= resumed_at)
    for (const one of [id, other.id]) await admin.json('DELETE', `/agent/schedules/${one}`)
  })

  test('asked for, it runs at once beside its times, paused or not, and its history says who asked', async () => {
    const { admin, other } = service()
    const { id, history, created_by } = await create({ ...IDLE, time_zone: 'UTC' })
    const run = () => admin.json<ScheduleFiring>('POST', `/agent/schedules/${id}/run`)
    const once = async () => {
      const headers = { 'idempotency-key': 'once' }
      const answer = await other.call('POST', `/agent/schedules/${id}/run`, undefined, headers)
      return (await answer.json()) as ScheduleFiring
    }
    const first = await once()
    assert.deepEqual(await once(), first)
    assert.equal(first.outcome, 'created')
    const [made, ...more] = await runsOf(id)
    assert.deepEqual([made?.run_id, more.length], [first.run_id, 0])
    // As the one who saved it, whoever asks.
    assert.equal(made?.creator.uid, created_by.uid)
    assert.notEqual(first.asked_by?.uid, created_by.uid)
    const skipped = await run()
    assert.deepEqual(
      [skipped.outcome, skipped.run_id, skipped.reason, skipped.asked_by?.uid],
      ['skipped', undefined, `An earlier run was not over: ${first.run_id}.`, created_by.uid],
    )
    assert.deepEqual(await firingsOf(id), [skipped, first])
    const after = await admin.json<ScheduledAgentItem>('POST', `/agent/schedules/${id}/pause`)
    assert.equal(after.history.last_ran, first.fired_at)
    await admin.json('POST', `/agent/runs/${first.run_id}/cancel`)
    assert.equal((await run()).outcome, 'created')
    const paused = await admin.json<ScheduledAgentItem>('GET', `/agent/schedules/${id}`)
    assert.deepEqual([paused.enabled, paused.history.next_run], [false, null])
    const resumed = await admin.json<ScheduledAgentItem>('POST', `/agent/schedules/${id}/resume`)
    assert.equal(resumed.history.next_run, history.next_run)
    await admin.json('DELETE', `/agent/schedules/${id}`)
    assert.equal((await admin.call('POST', `/agent/schedules/${id}/run`)).status, 404)
  })

  test('asked for, what its run is refused for is answered, and nothing is kept of it', async () => {
    const { admin } = service()
    await admin.json('POST', '/agent/environments', { name: 'soon-gone' })
    const { id } = await create({ agent_config: { environment_id: 'soon-gone' } })
    await admin.json('DELETE', '/agent/environments/soon-gone')
    const [status, detail] = await refusal(admin.call('POST', `/agent/schedules/${id}/run`))
    assert.deepEqual([status, /agent_config\.environment_id/.test(detail)], [400, true], detail)
    assert.deepEqual(await firingsOf(id), [])
    await admin.json('DELETE', `/agent/schedules/${id}`)
  })

  test('an identity may execute its runs, and whoever saved it has the rights of their keys at each', async () => {
    const { admin, other } = service()
    const { uid } = await other.json<{ uid: string }>('POST', '/agent/identities', { name: 'Nightly' })
    const grant = (principal_ids: string[]) =>
      admin.json('PUT', '/agent/grants', { resource_type: 'pool', resource_id: NOBODY, principal_ids })
    // Not to the identity, and not to the admin: who needs none.
    await grant([(await other.get(await other.create({ prompt: 'x', ...NO_WORKER }))).creator.uid])
    const made = await create({ ...EACH_SECOND, ...IDLE, agent_uid: uid, overlap: 'allow' })
    assert.equal(made.agent_uid, uid)
    const run = await until('a run', async () => (await runsOf(made.id))[0])
    assert.deepEqual([run.executor.uid, run.creator.uid], [uid, made.created_by.uid])
    await admin.json('DELETE', `/agent/schedules/${made.id}`)
    const refused = await other.call('POST', '/agent/schedules', { ...YEARLY, ...IDLE, agent_uid: uid })
    assert.match((await refusal(Promise.resolve(refused)))[1], /needs a grant for the pool nobody/)
    const personal = { ...YEARLY, team: false, agent_uid: uid }
    assert.equal((await other.call('POST', '/agent/schedules', personal)).status, 400)
    await grant([])
  })

  test('what its runs cannot be is refused when it is written', async () => {
    const { admin } = service()
    const cases: Array<[object, number, RegExp]> = [
      [{ cron_schedule: '@daily' }, 400, /^cron_schedule: must have five fields/],
      [{ cron_schedule: '0 0 30 2 *' }, 400, /^cron_schedule: is never due/],
      [{ cron_schedule: '61 * * * *' }, 400, /^cron_schedule: cannot be read/],
      [{ time_zone: 'Mars/Olympus' }, 400, /^time_zone: /],
      [{ name: ' ' }, 400, /^name: /],
      [{ name: 'a\nb' }, 400, /^name: must have no control characters/],
      [{ overlap: 'wait' }, 400, /^overlap: /],
      [{ prompt: ' ' }, 400, /^prompt: is required unless agent_config\.skill_spec/],
      [{ prompt: 'x'.repeat(1024 ** 2 + 1) }, 413, /^prompt: is over 1 MiB/],
      [{ metadata: { 'a b': 'c' } }, 400, /^metadata/],
      [{ mode: 'plan' }, 403, /does not offer mode: plan/],
      [{ agent_uid: 'someone' }, 400, /^agent_uid: there is no identity/],
      [{ title: 'x'.repeat(513) }, 413, /^title: is over 512/],
      [{ priority: 101 }, 400, /^priority: /],
      [{ budget: { max_tokens: 0 } }, 400, /^budget\.max_tokens: /],
      [{ output_schema: { type: 'nothing' } }, 400, /^output_schema: is no JSON Schema/],
      [{ output_schema: {}, agent_config: { harness: { type: 'runbook' } } }, 400, /output_schema/],
      [{ agent_config: { environment_id: 'nowhere' } }, 400, /^agent_config\.environment_id: there is no/],
      [
        { agent_config: { harness: { type: 'none' } } },
        400,
        /^agent_config\.harness\.type: this installation/,
      ],
      [{ agent_config: { computer_use_enabled: true } }, 403, /does not offer agent_config\.computer_use/],
    ]
    const { id } = await create({})
    for (const [body, status, detail] of cases)
      for (const [method, path] of [
        ['POST', '/agent/schedules'],
        ['PUT', `/agent/schedules/${id}`],
      ] as const) {
        const [seen, why] = await refusal(admin.call(method, path, { ...YEARLY, enabled: true, ...body }))
        assert.equal(seen, status, `${method} ${JSON.stringify(body).slice(0, 99)}: ${why}`)
        assert.match(why, detail)
      }
    const [status, why] = await refusal(admin.call('PUT', `/agent/schedules/${id}`, YEARLY))
    assert.deepEqual([status, /^enabled: /.test(why)], [400, true])
  })

  test('its runs have its title and its budget, which a PUT takes away by null alone', async () => {
    const { admin, other } = service()
    const asked = {
      ...{ title: 'Each second', priority: 7, budget: { max_duration_minutes: 1 / 60 } },
      output_schema: { type: 'object' },
    }
    const fieldsOf = ({ title, priority, budget, output_schema }: ScheduledAgentItem) => ({
      ...{ title, priority, budget, output_schema },
    })
    const { id, ...idle } = await create({ ...asked, ...IDLE })
    assert.deepEqual(fieldsOf({ id, ...idle }), asked)
    const path = `/agent/schedules/${id}`
    const put = async (body: object) =>
      fieldsOf(await other.json<ScheduledAgentItem>('PUT', path, { ...YEARLY, enabled: false, ...body }))
    // Clients of the wire format do not know them.
    assert.deepEqual(await put({ prompt: 'Other.' }), asked)
    assert.deepEqual(await put({ priority: -7, output_schema: null }), {
      ...asked,
      ...{ priority: -7, output_schema: undefined },
    })
    // What stays is checked as what is said is: nothing counts the tokens of a runbook.
    const runbook = { harness: { type: 'runbook' } }
    await put({ output_schema: asked.output_schema })
    const [status, why] = await refusal(
      admin.call('PUT', path, { ...YEARLY, enabled: false, agent_config: runbook }),
    )
    assert.deepEqual([status, /output_schema/.test(why)], [400, true])
    const gone = { title: null, priority: null, budget: null, output_schema: null }
    assert.deepEqual(Object.values(await put(gone)), [undefined, undefined, undefined, undefined])

    const { output_schema: _, ...kept } = asked
    const often = await create({
      ...{ ...EACH_SECOND, ...kept, overlap: 'skip', prompt: shell('sleep 600'), agent_config: runbook },
    })
    const run = await until('a run that is stopped', async () =>
      (await runsOf(often.id)).find(({ state }) => state === 'BLOCKED'),
    )
    await admin.json('DELETE', `/agent/schedules/${often.id}`)
    assert.deepEqual([run.title, run.status_message?.error_code], ['Each second', 'budget_exceeded'])
    for (const { run_id, state } of await runsOf(often.id))
      if (state !== 'CANCELLED') await admin.json('POST', `/agent/runs/${run_id}/cancel`)
  })

  test('a PUT replaces it, and keeps what it cannot know', async () => {
    const { admin, other } = service()
    const made = await create({
      ...{ time_zone: 'Asia/Tokyo', overlap: 'allow', catch_up: 'skip', metadata: { a: 'b' } },
      agent_config: {
        mcp_servers: { tracker: { url: 'https://tracker.example/?key=k', headers: { 'x-key': 'first' } } },
      },
    })
    const servers = made.agent_config.mcp_servers
    const shown = { tracker: { url: 'https://tracker.example/?***', headers: { 'x-key': '***' } } }
    assert.deepEqual(servers, shown)
    const path = `/agent/schedules/${made.id}`
    const kept = await other.json<ScheduledAgentItem>('PUT', path, {
      ...{ name: 'Renamed', cron_schedule: made.cron_schedule, prompt: 'Other.', enabled: true },
      agent_config: { mcp_servers: servers },
    })
    assert.deepEqual([kept.time_zone, kept.overlap, kept.catch_up], ['Asia/Tokyo', 'allow', 'skip'])
    assert.deepEqual([kept.metadata, kept.prompt, kept.agent_config.mcp_servers], [{}, 'Other.', shown])
    assert.deepEqual(kept.next_runs, made.next_runs)
    assert.deepEqual([kept.created_by, kept.updated_by === made.updated_by], [made.created_by, false])
    assert.notEqual(kept.updated_by.uid, made.created_by.uid)
    const put = (mcp_servers: object) =>
      refusal(admin.call('PUT', path, { ...YEARLY, enabled: true, agent_config: { mcp_servers } }))
    assert.deepEqual(await put({ tracker: { ...shown.tracker, headers: { 'x-other': '***' } } }), [
      400,
      'agent_config.mcp_servers.tracker.headers.x-other: "***" keeps the value it has, and it has none yet.',
    ])
    const [status, why] = await put({ tracker: { url: 'https://elsewhere.example/?***' } })
    assert.equal(status, 400)
    assert.match(why, /the address of a tool server was changed/)
    // Nobody has values that they cannot read sent to a place of their own.
    for (const url of [
      'https://elsewhere.example/',
      'https://tracker.example:8443/',
      'http://tracker.example/',
    ])
      assert.match(
        (await put({ tracker: { url, headers: { 'x-key': '***' } } }))[1],
        /^agent_config\.mcp_servers\.tracker\.headers\.x-key: the address of this tool server was changed/,
      )
    const local = { command: 'tracker', args: ['serve'], env: { KEY: 'first' } }
    const writes = { ...YEARLY, enabled: false }
    await admin.json('PUT', path, { ...writes, agent_config: { mcp_servers: { local } } })
    const hidden = { ...local, env: { KEY: '***' } }
    await other.json('PUT', path, { ...writes, agent_config: { mcp_servers: { local: hidden } } })
    for (const changed of [{ command: 'env' }, { args: ['serve', '--verbose'] }])
      assert.match(
        (await put({ local: { ...hidden, ...changed } }))[1],
        /^agent_config\.mcp_servers\.local\.env\.KEY: the command of this tool server was changed/,
      )
    const bare = await admin.json<ScheduledAgentItem>('PUT', path, { ...YEARLY, enabled: false })
    assert.deepEqual([bare.agent_config, bare.next_runs], [{}, []])
  })

  test('personal ones are their owner’s, those of the team everybody’s, and viewers only read', async () => {
    const { admin, other, viewer } = service()
    const shared = await create({ ...IDLE })
    const personal = await create({ ...EACH_SECOND, ...IDLE, team: false })
    assert.deepEqual(personal.scope, { type: 'User', uid: personal.created_by.uid })
    const run = await until('its run', async () => (await runsOf(personal.id))[0])
    assert.equal(run.scope.type, 'User')
    for (const stranger of [other, viewer]) {
      assert.equal((await stranger.call('GET', `/agent/schedules/${personal.id}`)).status, 404)
      assert.equal((await stranger.call('GET', `/agent/schedules/${personal.id}/firings`)).status, 404)
      const { schedules } = await stranger.json<ListSchedulesResponse>('GET', '/agent/schedules')
      const ids = schedules.map(({ id }) => id)
      assert.deepEqual([ids.includes(shared.id), ids.includes(personal.id)], [true, false])
      const { runs } = await stranger.json<ListRunsResponse>('GET', `/agent/runs?schedule_id=${personal.id}`)
      assert.deepEqual(runs, [])
    }
    const writes = [
      ['PUT', '', { ...YEARLY, enabled: true }],
      ['POST', '/pause', undefined],
      ['POST', '/resume', {}],
      ['DELETE', '', undefined],
    ] as const
    for (const [method, below, body] of writes) {
      const path = (id: string) => `/agent/schedules/${id}${below}`
      assert.equal((await other.call(method, path(personal.id), body)).status, 404)
      assert.equal((await viewer.call(method, path(shared.id), body)).status, 403)
      assert.equal((await other.call(method, path(shared.id), body)).status, 200)
    }
    assert.equal((await viewer.call('POST', '/agent/schedules', YEARLY)).status, 403)
    await admin.json('DELETE', `/agent/schedules/${personal.id}`)
  })

  test('a create, a pause and a resume that are repeated happen once', async () => {
    const { admin } = service()
    const post = (path: string, key: string, body: object = {}) =>
      admin.call('POST', path, body, { 'idempotency-key': key })
    const key = `key-${Date.now()}`
    const first = await post('/agent/schedules', key, YEARLY)
    assert.equal(first.status, 201)
    const again = await post('/agent/schedules', key, YEARLY)
    assert.deepEqual([again.status, again.headers.get('idempotent-replayed')], [201, 'true'])
    const made = (await first.json()) as ScheduledAgentItem
    assert.deepEqual(await again.json(), made)
    const path = `/agent/schedules/${made.id}`
    const paused = await (await post(`${path}/pause`, key)).json()
    await admin.json('POST', `${path}/resume`)
    assert.deepEqual(await (await post(`${path}/pause`, key)).json(), paused)
    assert.equal((await admin.json<ScheduledAgentItem>('GET', path)).enabled, true)
  })

  test('lists and histories come in pages', async () => {
    const { admin } = service()
    const { id } = await create({ ...EACH_SECOND, ...IDLE })
    await until('three firings', async () => (await firingsOf(id)).length >= 3)
    await admin.json('POST', `/agent/schedules/${id}/pause`)
    const read = async <T>(path: string, items: (page: never) => T[]): Promise<T[]> => {
      const all: T[] = []
      for (let cursor = ''; ; ) {
        const page = await admin.json<{ page_info: { next_cursor?: string } }>(
          'GET',
          `${path}?limit=1${cursor && `&cursor=${cursor}`}`,
        )
        all.push(...items(page as never))
        if (!page.page_info.next_cursor) return all
        cursor = page.page_info.next_cursor
      }
    }
    const firings = await read(`/agent/schedules/${id}/firings`, (page: ListFiringsResponse) => page.firings)
    assert.deepEqual(firings, await firingsOf(id))
    const schedules = await read('/agent/schedules', (page: ListSchedulesResponse) => page.schedules)
    const whole = await admin.json<ListSchedulesResponse>('GET', '/agent/schedules')
    assert.deepEqual(schedules, whole.schedules)
    assert.deepEqual(whole.page_info, { has_next_page: false })
    for (const path of ['/agent/schedules', `/agent/schedules/${id}/firings`])
      for (const query of ['cursor=x', 'limit=0'])
        assert.equal((await admin.call('GET', `${path}?${query}`)).status, 400)
    assert.equal((await admin.call('GET', '/agent/schedules/not-an-id')).status, 404)
  })
})
