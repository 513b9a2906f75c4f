/** The published client of the wire format, unmodified, against the service: only its address and key are ours. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import OzAPI, {
  AuthenticationError,
  BadRequestError,
  ConflictError,
  NotFoundError,
  PermissionDeniedError,
  UnprocessableEntityError,
} from 'oz-agent-sdk'
import type { RunItem as OzRunItem, RunListParams } from 'oz-agent-sdk/resources/agent/runs.js'
import type { z } from 'zod'
import { setupPython } from '../../scripts/setup-python.ts'
import { Environment } from '../src/contract/environment.ts'
import { ErrorBody } from '../src/contract/error.ts'
import { HandoffAttachmentsResponse } from '../src/contract/handoff.ts'
import { AgentIdentity } from '../src/contract/identity.ts'
import { ListRunsResponse, RunItem } from '../src/contract/run.ts'
import { RunAgentResponse, RunFollowupResponse } from '../src/contract/run-request.ts'
import {
  DeleteScheduleResponse,
  ListSchedulesResponse,
  ScheduledAgentItem,
} from '../src/contract/schedule.ts'
import { LONG } from './support/once.ts'
import { createComponentCheck, readOpenApi } from './support/openapi.ts'
import { addKeys } from './support/seed-keys.ts'
import { shell, startService, type TestService } from './support/service.ts'

/** A pool that nobody serves: its runs stay QUEUED. */
const NOBODY = 'nobody'
const check = createComponentCheck()

/** Valid by zod, by `openapi.json`, and without a field that the contract does not know. */
function assertIs<T>(component: string, schema: z.ZodType<T>, value: unknown): T {
  check(component, value)
  const parsed = schema.parse(value)
  assert.deepEqual(value, parsed)
  return parsed
}

describe('oz-agent-sdk', () => {
  let service: TestService
  let oz: OzAPI
  let viewer: OzAPI
  let requests = 0

  before(async () => {
    service = await startService({ env: { RUNYARD_MIN_SCHEDULE_SECONDS: '1' } })
    const keys = await addKeys(service, { viewer: { role: 'viewer' } })
    oz = connect(service.api_key)
    viewer = connect(keys.viewer)
  })
  after(() => service.stop())

  const connect = (apiKey: string): OzAPI =>
    new OzAPI({
      baseURL: service.base_url,
      apiKey,
      fetch: (url, init) => {
        requests += 1
        return fetch(url, init)
      },
    })
  const waitFor = async (run_id: string, done: (run: OzRunItem) => boolean): Promise<OzRunItem> => {
    for (const deadline = Date.now() + 30_000; Date.now() < deadline; ) {
      const run = await oz.agent.runs.retrieve(run_id)
      if (done(run)) return run
      await wait(100)
    }
    throw new Error(`Waited in vain for run ${run_id}.`)
  }
  const ended = (run: OzRunItem): boolean => run.state === 'SUCCEEDED' && run.is_sandbox_running === false
  const refused = async (promise: Promise<unknown>, kind: new (...args: never[]) => Error) => {
    const before = requests
    const error = await promise.then(
      () => assert.fail('The call succeeded.'),
      (cause: unknown) => cause,
    )
    assert(error instanceof kind && error instanceof OzAPI.APIError, String(error))
    const problem = assertIs('Error', ErrorBody, error.error)
    assert.equal(problem.status, error.status)
    assert.equal(error.headers?.get('x-request-id'), problem.trace_id)
    assert.equal(error.headers?.get('x-should-retry'), 'false')
    assert.equal(requests, before + 1, 'The client was told not to retry.')
    return problem
  }

  test('creates, follows, continues and reads a run', async () => {
    const created = await oz.agent.run({
      prompt: `Greet.\n${shell('echo hello from the sandbox')}`,
      title: 'Greeting',
      config: { name: 'greeter', worker_host: 'default' },
    })
    const { run_id, task_id, state } = assertIs('RunAgentResponse', RunAgentResponse, created)
    assert.equal(task_id, run_id)
    assert.equal(state, 'QUEUED')

    const run = assertIs('RunItem', RunItem, await waitFor(run_id, ended))
    assert.equal(run.title, 'Greeting')
    assert.equal(run.agent_config.name, 'greeter')

    const followup = await oz.post(`/agent/runs/${run_id}/followups`, {
      body: { message: shell('cat note || echo note > note') },
    })
    const { outcome } = assertIs('RunFollowupResponse', RunFollowupResponse, followup)
    assert.equal(outcome, 'handoff_execution')
    const again = await waitFor(run_id, ended)
    assert.equal(assertIs('RunItem', RunItem, again).execution, 2)
  })

  test('the programs of docs/oz-clients.md do what they say', async (t) => {
    const root = new URL('../..', import.meta.url)
    const page = readFileSync(new URL('docs/oz-clients.md', root), 'utf8')
    const { PATH = '' } = process.env
    const env = {
      ...{ PATH, OZ_API_BASE_URL: service.base_url, WARP_BASE_URL: service.base_url },
      WARP_API_KEY: service.api_key,
    }
    const print = async (language: string, program: string, ...args: string[]) => {
      const programs = [...page.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?\\n)\`\`\``, 'g'))]
      for (const [, code = ''] of programs) {
        const { stdout } = await promisify(execFile)(program, [...args, code], { cwd: root, env })
        assert.match(stdout, /^SUCCEEDED http:\/\/\S+\n$/)
      }
      return programs.length
    }
    assert.equal(await print('js', process.execPath, '--input-type=module', '--eval'), 1)
    const python = setupPython()
    if ('python' in python) assert.equal(await print('python', python.python, '-c'), 2)
    else t.diagnostic(`Python: ${python.missing}`)
  })

  test('has a run executed by an identity', async () => {
    const identity = await oz.post('/agent/identities', { body: { name: 'Reviewer', worker_host: NOBODY } })
    const { uid } = assertIs('AgentIdentity', AgentIdentity, identity)
    // The types of this client do not know the field yet; those of its Python sister do.
    const body = { prompt: 'Later.', agent_identity_uid: uid }
    const { run_id } = RunAgentResponse.parse(await oz.post('/agent/runs', { body }))
    const { executor, creator } = RunItem.parse(await oz.agent.runs.retrieve(run_id))
    assert.deepEqual(executor, { uid, type: 'service_account', display_name: 'Reviewer' })
    assert.equal(creator.type, 'user')
    await oz.delete(`/agent/identities/${uid}`)
    await refused(oz.post('/agent/runs', { body }), BadRequestError)
  })

  test('creates at the older path, and without waiting for a worker', async () => {
    const created = await oz.post('/agent/runs', {
      body: { prompt: 'Later.', config: { worker_host: NOBODY } },
    })
    const { run_id, at_capacity } = assertIs('RunAgentResponse', RunAgentResponse, created)
    assert.equal(at_capacity, true)
    assert.equal((await oz.agent.runs.retrieve(run_id)).state, 'QUEUED')
  })

  test('cancels', async () => {
    const { run_id } = await oz.agent.run({ prompt: 'Never.', config: { worker_host: NOBODY } })
    assert.equal(await oz.agent.runs.cancel(run_id), run_id)
    assert.equal((await oz.agent.runs.retrieve(run_id)).state, 'CANCELLED')
    const problem = await refused(oz.agent.runs.cancel(run_id), BadRequestError)
    assert.equal(problem.detail, 'The run has already ended: it is CANCELLED.')
  })

  test('throws its typed errors, once each', async () => {
    const unknown = '01900000-0000-7000-8000-000000000000'
    await refused(oz.agent.run({}), BadRequestError)
    await refused(oz.agent.runs.list({ limit: 0 }), BadRequestError)
    await refused(connect('ry_wrong').agent.runs.list(), AuthenticationError)
    await refused(oz.agent.runs.retrieve(unknown), NotFoundError)
    await refused(oz.agent.runs.cancel(unknown), NotFoundError)
    await refused(viewer.agent.run({ prompt: 'x' }), PermissionDeniedError)
    const { run_id } = await oz.agent.run({ prompt: 'Stays.', config: { worker_host: NOBODY } })
    const key = { headers: { 'Idempotency-Key': 'typed-errors' } }
    await oz.agent.run({ prompt: 'One.', config: { worker_host: NOBODY } }, key)
    await refused(oz.agent.run({ prompt: 'Two.' }, key), UnprocessableEntityError)
    await oz.agent.runs.cancel(run_id)
    const busy = await oz.agent.run({ prompt: shell('sleep 60') })
    await waitFor(busy.run_id, (run) => run.state === 'INPROGRESS')
    const body = { message: 'Now?', on_busy: 'reject' }
    await refused(oz.post(`/agent/runs/${busy.run_id}/followups`, { body }), ConflictError)
    await oz.agent.runs.cancel(busy.run_id)
  })

  test('reads, replaces and deletes an environment, whose config has the shape the client knows', async () => {
    const body: OzAPI.CloudEnvironmentConfig = {
      name: 'of the client',
      description: null,
      github_repos: [{ owner: 'acme', repo: 'site' }],
      setup_commands: ['true'],
    }
    const made = assertIs('Environment', Environment, await oz.post('/agent/environments', { body }))
    assert.deepEqual(made.config, body)
    const place = `/agent/environments/${made.uid}`
    const changed = assertIs(
      'Environment',
      Environment,
      await oz.put(place, { body: { ...body, description: 'changed' } }),
    )
    assert.equal(changed.config.description, 'changed')
    const { run_id } = await oz.agent.run({
      prompt: 'x',
      config: { environment_id: 'of the client', worker_host: NOBODY },
    })
    assert.equal((await oz.agent.runs.retrieve(run_id)).agent_config?.environment_id, made.uid)
    const read = assertIs('Environment', Environment, await oz.get('/agent/environments/of%20the%20client'))
    assert.equal(read.last_task_created?.id, run_id)
    assert.deepEqual(assertIs('Environment', Environment, await oz.delete(place)), read)
    await refused(oz.get(place), NotFoundError)
    await refused(viewer.delete(place), PermissionDeniedError)
  })

  describe('lists', () => {
    const ids = { plain: '', parent: '', child: '', environment: '', artifact: '' }
    let environment_id = ''
    let creator = ''
    let middle = ''

    before(async () => {
      const create = async (body: OzAPI.AgentRunParams & Record<string, unknown>, headers = {}) => {
        const config = { worker_host: NOBODY, ...body.config }
        return (await oz.agent.run({ ...body, config }, { headers })).run_id
      }
      const environment = await oz.post<Environment>('/agent/environments', { body: { name: 'empty' } })
      environment_id = assertIs('Environment', Environment, environment).uid
      ids.artifact = await create({
        prompt: shell('mkdir -p artifacts && echo kept > artifacts/kept.txt'),
        config: { worker_host: 'default' },
      })
      ids.plain = await create({
        prompt: 'A prompt about 50% of_zebras.',
        title: 'Zulu',
        metadata: { automation_id: 'nightly-fix' },
      })
      ids.parent = await create({
        prompt: 'Parent.',
        title: 'Alpha',
        skill: 'acme/skills:deploy',
        config: { name: 'nightly', model_id: 'acme/large' },
        metadata: { team: 'red', 'build.id': '7' },
      })
      const made = await oz.agent.runs.retrieve(ids.parent)
      creator = made.creator?.uid ?? ''
      for (middle = made.created_at; new Date().toISOString() <= middle; );
      middle = new Date().toISOString()
      ids.child = await create({
        prompt: 'Child.',
        title: 'Mike',
        parent_run_id: ids.parent,
        metadata: { team: 'blue' },
      })
      ids.environment = await create(
        { prompt: 'In an environment.', title: 'Mike', config: { environment_id } },
        { 'X-Runyard-Source': 'CLI' },
      )
      await waitFor(ids.artifact, ended)
    })

    /** The Python client of the wire format has a method for it, and reads these fields (PyPI, 0.15.0). */
    test('the workspace that a run left', async () => {
      const answer = await oz.get(`/agent/runs/${ids.artifact}/handoff/attachments`)
      const { attachments } = assertIs('HandoffAttachmentsResponse', HandoffAttachmentsResponse, answer)
      const [attachment, ...more] = attachments
      assert(attachment && more.length === 0)
      const { attachment_id, filename, mime_type, download_url } = attachment
      assert.deepEqual([filename, mime_type], ['workspace.tar.zst', 'application/zstd'])
      assert(attachment_id)
      assert.equal((await fetch(download_url)).status, 200)
      await refused(viewer.get(`/agent/runs/${ids.artifact}/handoff/attachments`), PermissionDeniedError)
      const none = await oz.get(`/agent/runs/${ids.plain}/handoff/attachments`)
      assert.deepEqual(none, { attachments: [] })
    })

    /** Which of the five runs a query finds. */
    const find = async (query: RunListParams & Record<string, unknown>): Promise<string[]> => {
      const listed = await oz.agent.runs.list({ limit: 500, ...query } as RunListParams)
      const { runs } = assertIs('ListRunsResponse', ListRunsResponse, listed)
      const names = new Map(Object.entries(ids).map(([name, id]) => [id, name]))
      return runs.flatMap(({ run_id }) => names.get(run_id) ?? []).sort()
    }
    const shifted = (moment: string): string =>
      new Date(Date.parse(moment) + 2 * 3_600_000).toISOString().replace('Z', '+02:00')

    const all = ['artifact', 'child', 'environment', 'parent', 'plain']
    const without = (...names: string[]) => all.filter((name) => !names.includes(name))
    const cases: Array<[string, () => RunListParams & Record<string, unknown>, string[]]> = [
      ['nothing', () => ({}), all],
      ['state', () => ({ state: ['SUCCEEDED'] }), ['artifact']],
      ['state, repeated', () => ({ state: ['SUCCEEDED', 'QUEUED'] }), all],
      ['state, with commas', () => ({ state: 'FAILED,QUEUED,PENDING' }), without('artifact')],
      ['name', () => ({ name: 'nightly' }), ['parent']],
      ['part of a name', () => ({ name: 'night' }), []],
      ['model_id', () => ({ model_id: 'acme/large' }), ['parent']],
      ['creator', () => ({ creator }), all],
      ['another creator', () => ({ creator: 'someone' }), []],
      ['executor', () => ({ executor: creator }), all],
      ['another executor', () => ({ executor: ids.plain }), []],
      ['source', () => ({ source: 'CLI' }), ['environment']],
      ['source of a child', () => ({ source: 'ORCHESTRATION' }), ['child']],
      ['execution_location', () => ({ execution_location: 'REMOTE' }), all],
      ['the other location', () => ({ execution_location: 'LOCAL' }), []],
      ['created_after', () => ({ created_after: middle }), ['child', 'environment']],
      ['created_before', () => ({ created_before: middle }), without('child', 'environment')],
      ['an offset', () => ({ created_before: shifted(middle) }), without('child', 'environment')],
      ['updated_after', () => ({ updated_after: middle, state: ['QUEUED'] }), ['child', 'environment']],
      ['environment_id', () => ({ environment_id }), ['environment']],
      ['no environment', () => ({ environment_id: 'empty-environment' }), without('environment')],
      ['skill', () => ({ skill: 'acme/skills:deploy' }), ['parent']],
      ['skill_spec', () => ({ skill_spec: 'acme/skills:deploy' }), ['parent']],
      ['schedule_id', () => ({ schedule_id: 'daily' }), []],
      ['trigger_id', () => ({ trigger_id: '01900000-0000-7000-8000-000000000000' }), []],
      ['run_id_prefix', () => ({ run_id_prefix: ids.parent }), ['parent']],
      ['run_id_suffix', () => ({ run_id_suffix: ids.parent.slice(-8) }), ['parent']],
      ['ancestor_run_id', () => ({ ancestor_run_id: ids.parent }), ['child']],
      ['artifact_type', () => ({ artifact_type: 'FILE' }), ['artifact']],
      ['another artifact_type', () => ({ artifact_type: 'PLAN' }), []],
      ['reference_url', () => ({ reference_url: 'https://tickets.example/1' }), []],
      ['metadata', () => ({ 'metadata[team]': 'red' }), ['parent']],
      ['inherited metadata', () => ({ metadata: { 'build.id': '7' } }), ['child', 'parent']],
      ['two of metadata', () => ({ metadata: { 'build.id': '7', team: 'blue' } }), ['child']],
      ['q in the prompt', () => ({ q: 'ABOUT 50% of_z' }), ['plain']],
      ['q with wildcards', () => ({ q: '5_% of' }), []],
      ['q in the title', () => ({ q: 'mike' }), ['child', 'environment']],
      ['q in the skill', () => ({ q: 'skills:dep' }), ['parent']],
      ['several at once', () => ({ q: 'mike', source: 'CLI', state: ['QUEUED'] }), ['environment']],
      ['task_status', () => ({ task_status: 'complete' }), ['artifact']],
      ['automation_id', () => ({ automation_id: 'nightly-fix' }), ['plain']],
      ['factory_uid', () => ({ factory_uid: 'f' }), []],
      ['needs_attention', () => ({ needs_attention: true }), []],
      ['factory_only', () => ({ factory_only: true }), []],
      ['archived', () => ({ archived: 'true' }), []],
      ['all, archived or not', () => ({ archived: 'all' }), all],
      ['an unknown parameter', () => ({ colour: 'red' }), all],
    ]
    for (const [name, query, expected] of cases) {
      test(`by ${name}`, async () => assert.deepEqual(await find(query()), expected))
    }

    test('by every parameter that openapi.json names', () => {
      const named = readOpenApi().paths['/agent/runs']?.get?.parameters?.map(({ name }) => name) ?? []
      const used = cases.flatMap(([, query]) => Object.keys(query()).map((key) => key.replace(/\[.*/, '')))
      const paging = ['limit', 'cursor', 'sort_by', 'sort_order']
      assert.deepEqual(
        named.filter((name) => !used.includes(name) && !paging.includes(name)),
        [],
      )
    })

    // The order of each, run-list.test.ts shows; here that the client can go through pages.
    for (const sort_by of LONG ? ['updated_at', 'created_at', 'title', 'agent'] : ['updated_at', 'agent']) {
      for (const sort_order of ['asc', 'desc']) {
        test(`page by page to the end, ${sort_by} ${sort_order}`, async () => {
          const whole = await oz.agent.runs.list({ limit: 500, sort_by, sort_order } as RunListParams)
          const seen: OzRunItem[] = []
          let cursor: string | undefined
          do {
            const query = { limit: 2, sort_by, sort_order, ...(cursor ? { cursor } : {}) }
            const page = await oz.agent.runs.list(query as RunListParams)
            assertIs('ListRunsResponse', ListRunsResponse, page)
            assert.equal(page.page_info.has_next_page, page.page_info.next_cursor !== undefined)
            assert(page.runs.length === 2 || !page.page_info.has_next_page)
            seen.push(...page.runs)
            cursor = page.page_info.next_cursor
          } while (cursor)
          assert.deepEqual(
            seen.map((run) => run.run_id),
            whole.runs.map((run) => run.run_id),
          )
          assertSorted(seen, sort_by, sort_order)
        })
      }
    }

    test('a last page that is full says that it is the last', async () => {
      const { page_info, runs } = await oz.agent.runs.list({ limit: 2, q: 'mike' })
      assert.equal(runs.length, 2)
      assert.deepEqual(page_info, { has_next_page: false })
    })
  })

  describe('schedules', () => {
    const yearly = { name: 'Yearly review', cron_schedule: '0 9 1 1 *', prompt: 'Review.' }
    const isItem = (value: unknown) => assertIs('ScheduledAgentItem', ScheduledAgentItem, value)

    test('are created, read, changed, paused, resumed and deleted', async () => {
      const agent_config = { worker_host: NOBODY, model_id: 'acme/large' }
      const made = await oz.agent.schedules.create({ ...yearly, agent_config, enabled: true, team: true })
      const { id, created_by, scope } = isItem(made)
      assert.equal(made.enabled, true)
      assert.deepEqual(made.agent_config, agent_config)
      assert.deepEqual(scope, { type: 'Team' })
      assert.equal(created_by.type, 'user')
      const { last_ran, next_run } = made.history ?? {}
      assert.deepEqual([last_ran, next_run?.slice(4)], [null, '-01-01T09:00:00.000Z'])
      assert.deepEqual(await oz.agent.schedules.retrieve(id), made)
      const changed = await oz.agent.schedules.update(id, { ...yearly, name: 'Review', enabled: true })
      isItem(changed)
      assert.deepEqual([changed.name, changed.agent_config], ['Review', {}])
      const paused = await oz.agent.schedules.pause(id)
      isItem(paused)
      assert.deepEqual([paused.enabled, paused.history?.next_run], [false, null])
      const resumed = await oz.agent.schedules.resume(id)
      isItem(resumed)
      assert.deepEqual([resumed.enabled, resumed.history?.next_run], [true, next_run])
      const list = await oz.agent.schedules.list()
      assertIs('ListSchedulesResponse', ListSchedulesResponse, list)
      assert.deepEqual(list.schedules, [resumed])
      const gone = await oz.agent.schedules.delete(id)
      assert.deepEqual(assertIs('DeleteScheduleResponse', DeleteScheduleResponse, gone), { success: true })
      await refused(oz.agent.schedules.retrieve(id), NotFoundError)
      await refused(oz.agent.schedules.delete(id), NotFoundError)
    })

    test('refuse what cannot be, and viewers', async () => {
      await refused(oz.agent.schedules.create({ ...yearly, cron_schedule: 'daily' }), BadRequestError)
      await refused(viewer.agent.schedules.create(yearly), PermissionDeniedError)
      await refused(viewer.agent.schedules.pause('x'), PermissionDeniedError)
      assert.deepEqual((await viewer.agent.schedules.list()).schedules, [])
    })

    test('create runs that say so', async () => {
      const { id } = await oz.agent.schedules.create({
        ...{ name: 'Often', cron_schedule: '* * * * * *', prompt: 'x' },
        agent_config: { worker_host: NOBODY },
      })
      for (const deadline = Date.now() + 30_000; ; await wait(50)) {
        assert(Date.now() < deadline, 'The schedule created no run.')
        const { runs } = await oz.agent.runs.list({ schedule_id: id })
        if (!runs[0]) continue
        const run = assertIs('RunItem', RunItem, await oz.agent.runs.retrieve(runs[0].run_id))
        assert.equal(run.source, 'SCHEDULED_AGENT')
        const schedule = { schedule_id: id, schedule_name: 'Often', cron_schedule: '* * * * * *' }
        assert.deepEqual(run.schedule, schedule)
        break
      }
      assert.notEqual((await oz.agent.schedules.retrieve(id)).history?.last_ran, null)
      await oz.agent.schedules.delete(id)
    })
  })
})

function assertSorted(runs: OzRunItem[], sort_by: string, sort_order: string): void {
  const keyOf = (run: OzRunItem): string => {
    if (sort_by === 'title') return run.title
    if (sort_by === 'updated_at') return run.updated_at
    return run.created_at
  }
  if (sort_by === 'agent') {
    const first_without = runs.findIndex((run) => !run.agent_skill)
    assert(runs.slice(first_without).every((run) => !run.agent_skill))
    assert(first_without > 0)
    return
  }
  const keys = runs.map(keyOf)
  const sorted = keys.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  assert.deepEqual(keys, sort_order === 'asc' ? sorted : sorted.reverse())
}
