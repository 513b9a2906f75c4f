/** A run is done again as it was, but for what is asked otherwise, and by whom it may be. */
import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { isResting } from '../src/contract/state.ts'
import { type ModelServer, openModelServer } from './support/model-server.ts'
import { answerCalls } from './support/scripted-calls.ts'
import { addKeys } from './support/seed-keys.ts'
import { apiOf, shell, startService, type TestService } from './support/service.ts'
import { ofType, printed } from './support/traces.ts'

const SECRET = 'canary-of-a-replay-91f0'
const IDLE = { config: { worker_host: 'nobody' } }

describe('a replay', () => {
  let model: ModelServer
  let service: TestService
  let api: Record<'admin' | 'owner' | 'member' | 'viewer', ReturnType<typeof apiOf>>
  before(async () => {
    model = await openModelServer(answerCalls, { models: [{ id: 'scripted' }] })
    service = await startService({
      env: {
        ...{ OPENAI_API_KEY: 'a-key', OPENAI_BASE_URL: model.url },
        RUNYARD_DEFAULT_MODEL: 'openai/scripted',
      },
    })
    const role = 'member' as const
    const keys = await addKeys(service, {
      ...{ admin: { role: 'admin' }, viewer: { role: 'viewer' } },
      ...{ owner: { role }, member: { role } },
    })
    const as = (api_key: string) => apiOf({ ...service, api_key })
    api = {
      ...{ admin: as(keys.admin), viewer: as(keys.viewer) },
      ...{ owner: as(keys.owner), member: as(keys.member) },
    }
  })
  after(async () => {
    await service?.stop()
    await model?.close()
  })

  const refused = async (who: keyof typeof api, body: object) => {
    const response = await api[who].call('POST', '/agent/runs', body)
    const { error_code, detail } = (await response.json()) as { error_code: string; detail: string }
    return { status: response.status, error_code, detail }
  }

  test('has the prompt, the files and the settings of the earlier run, and is a run of its own', async () => {
    const file = { file_name: 'a.txt', mime_type: 'text/plain', data: btoa('what came') }
    const earlier = await api.owner.create({
      ...{ prompt: shell('cat attachments/*'), title: 'A title', metadata: { ticket: '42' }, priority: 7 },
      config: { harness: { type: 'runbook' }, name: 'reader', idle_timeout_minutes: 3 },
      ...{ budget: { max_duration_minutes: 5 }, attachments: [file] },
    })
    await api.owner.ended(earlier)
    const again = await api.member.ended(await api.member.create({ replay_of_run_id: earlier }))
    assert.equal(printed(await api.member.events(again.run_id)), 'what came')
    const before = await api.owner.get(earlier)
    assert.equal(before.replay_of_run_id, undefined)
    assert.equal(again.replay_of_run_id, earlier)
    const of = ({ prompt, title, metadata, agent_config }: typeof again) => [
      prompt,
      title,
      metadata,
      agent_config,
    ]
    assert.deepEqual(of(again), of(before))
    assert.notEqual(again.conversation_id, before.conversation_id)
    assert.notEqual(again.creator.uid, before.creator.uid)
    const { runs } = await api.owner.json<{ runs: Array<typeof again> }>('GET', '/agent/runs?limit=1')
    assert.equal(runs[0]?.replay_of_run_id, earlier)

    const otherwise = await api.member.ended(
      await api.member.create({
        ...{ replay_of_run_id: earlier, prompt: shell('cat attachments/*; echo more'), metadata: {} },
        ...{ config: { name: 'writer' }, attachments: [{ ...file, data: btoa('another ') }] },
      }),
    )
    assert.equal(printed(await api.member.events(otherwise.run_id)), 'another more\n')
    assert.deepEqual(
      [otherwise.title, otherwise.metadata, otherwise.agent_config],
      ['cat attachments/*; echo more', {}, { ...before.agent_config, name: 'writer' }],
    )
    const of_replay = await api.member.create({
      replay_of_run_id: otherwise.run_id,
      attachments: [],
      ...IDLE,
    })
    assert.equal((await api.member.get(of_replay)).prompt, otherwise.prompt)
  })

  test('has the budget of the earlier run', async () => {
    const ended = (run_id: string) => api.owner.until(run_id, ({ state }) => isResting(state))
    const request = { prompt: shell('sleep 600'), config: { harness: { type: 'runbook' } } }
    const earlier = await ended(
      await api.owner.create({ ...request, budget: { max_duration_minutes: 1 / 60 } }),
    )
    const again = await ended(await api.owner.create({ replay_of_run_id: earlier.run_id }))
    for (const { state, status_message } of [earlier, again])
      assert.deepEqual([state, status_message?.error_code], ['BLOCKED', 'budget_exceeded'])
  })

  test('has another skill, model or agent in place of the earlier one', async () => {
    const ask = async (body: object) => (await api.owner.get(await api.owner.create(body))).agent_config
    const earlier = await api.owner.create({
      skill: 'acme/site:notes',
      config: { ...IDLE.config, model_id: 'openai/one', harness: { type: 'codex', model_id: 'openai/two' } },
    })
    const replay_of_run_id = earlier
    assert.equal((await ask({ replay_of_run_id })).skill_spec, 'acme/site:notes')
    assert.equal((await ask({ replay_of_run_id, skill: 'acme/site:b' })).skill_spec, 'acme/site:b')
    const { skill_spec, skills } = await ask({ replay_of_run_id, config: { skills: ['acme/site:c'] } })
    assert.deepEqual([skill_spec, skills], ['acme/site:c', ['acme/site:c']])
    const model_id = 'openai/three'
    assert.deepEqual((await ask({ replay_of_run_id, config: { model_id } })).harness, {
      ...{ type: 'codex', model_id },
    })
    const other = await ask({ replay_of_run_id, config: { harness: { type: 'oz' } } })
    assert.deepEqual([other.model_id, other.harness], [undefined, { type: 'oz' }])
    // Fallbacks are for the harness that takes them.
    const fallback_model_ids = ['openai/four']
    const built_in = await api.owner.create({
      prompt: 'Hello.',
      config: { ...IDLE.config, fallback_model_ids },
    })
    assert.deepEqual((await ask({ replay_of_run_id: built_in })).fallback_model_ids, fallback_model_ids)
    const agent = { replay_of_run_id: built_in, config: { harness: { type: 'codex' } } }
    assert.equal((await ask(agent)).fallback_model_ids, undefined)
  })

  test('has the values of tool servers for whoever gave them, and for nobody else', async () => {
    const look = JSON.stringify([['bash', { command: 'cat /workspace/seen' }]])
    const serve = ['-c', 'printf %s "$TOKEN" | sha256sum > /workspace/seen; exit 1']
    const server = { command: 'sh', args: serve, env: { TOKEN: SECRET } }
    const earlier = await api.owner.create({ prompt: look, config: { mcp_servers: { seen: server } } })
    await api.owner.ended(earlier)
    const replay_of_run_id = earlier
    const again = await api.owner.ended(await api.owner.create({ replay_of_run_id }))
    const events = await api.owner.events(again.run_id)
    const [result] = ofType(events, 'tool.result')
    assert.match(result?.data.output ?? '', new RegExp(createHash('sha256').update(SECRET).digest('hex')))
    assert.equal(again.agent_config.mcp_servers?.seen?.env?.TOKEN, '***')
    assert(!JSON.stringify([again, events]).includes(SECRET))

    for (const who of ['member', 'admin'] as const) {
      const { status, error_code, detail } = await refused(who, { replay_of_run_id })
      assert.deepEqual([status, error_code], [403, 'not_authorized'])
      assert.match(detail, /^config\.mcp_servers\.seen: its values are of somebody else/)
      const stolen = { ...server, env: { TOKEN: '***' } }
      assert.equal(
        (await refused(who, { replay_of_run_id, config: { mcp_servers: { x: stolen } } })).status,
        403,
      )
    }
    const without = await api.member.create({ replay_of_run_id, config: { mcp_servers: {}, ...IDLE.config } })
    assert.deepEqual((await api.member.get(without)).agent_config.mcp_servers, {})
    // Not even its own run is a way for values to another command.
    const elsewhere = { ...server, args: ['-c', 'printenv'], env: { TOKEN: '***' } }
    const moved = await refused('owner', { replay_of_run_id, config: { mcp_servers: { seen: elsewhere } } })
    assert.deepEqual([moved.status, moved.error_code], [400, 'invalid_request'])
    // A replay of somebody else's that was given values is of who gave them.
    const own = { ...server, env: { TOKEN: 'another-value-of-a-member' } }
    const given = await api.member.create({
      ...{ replay_of_run_id, config: { mcp_servers: { seen: own }, ...IDLE.config } },
    })
    assert.equal((await refused('owner', { replay_of_run_id: given })).status, 403)
    assert((await api.member.create({ replay_of_run_id: given })) !== given)
  })

  test('of a personal run is personal, and for its owner only', async () => {
    const earlier = await api.owner.create({ prompt: 'x', team: false, ...IDLE })
    const again = await api.owner.create({ replay_of_run_id: earlier })
    assert.equal((await api.owner.get(again)).scope.type, 'User')
    assert.equal((await refused('owner', { replay_of_run_id: earlier, team: true })).status, 400)
    for (const who of ['member', 'admin'] as const)
      assert.deepEqual(await refused(who, { replay_of_run_id: earlier }), {
        ...{ status: 404, error_code: 'resource_not_found' },
        detail: 'replay_of_run_id: there is no run with this id.',
      })
  })

  test('is refused where a run like it would be', async () => {
    const earlier = await api.owner.create({ prompt: 'x', ...IDLE })
    assert.equal((await refused('viewer', { replay_of_run_id: earlier })).status, 403)
    assert.equal((await refused('owner', { replay_of_run_id: 'x' })).status, 400)
    assert.equal((await refused('owner', { replay_of_run_id: earlier, prompt: ' ' })).status, 400)
    const { uid } = await api.admin.json<{ uid: string }>('POST', '/agent/identities', { name: randomUUID() })
    const of_identity = await api.admin.create({ prompt: 'x', agent_identity_uid: uid, ...IDLE })
    const { status, detail } = await refused('member', { replay_of_run_id: of_identity })
    assert.deepEqual([status, detail.includes(uid)], [403, true])
  })

  test('is made once for each key', async () => {
    const body = { replay_of_run_id: await api.owner.create({ prompt: 'x', ...IDLE }) }
    const key = { 'idempotency-key': randomUUID() }
    const ids = [1, 2].map(async () => (await api.owner.call('POST', '/agent/runs', body, key)).json())
    const [first, second] = await Promise.all(ids)
    assert.deepEqual(first, second)
  })
})
