/** What a run may have that is created below another over HTTP: at most what that one has. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { NewApiKey } from '../src/contract/api-key.ts'
import type { AgentIdentity } from '../src/contract/identity.ts'
import { NOBODY } from './support/each-service.ts'
import { onFace } from './support/face.ts'
import type { apiOf } from './support/service.ts'

type Body = Record<string, unknown>
type Api = ReturnType<typeof apiOf>

const IDLE = { worker_host: NOBODY }
const ASK = [{ tool: 'bash', pattern: 'git push*', action: 'ask' }]

onFace('limits of children', (service) => {
  const newUser = async (name: string): Promise<{ api: Api; uid: string }> => {
    const body = { name, new_user: true }
    const { api_key, principal } = await service().admin.json<NewApiKey>('POST', '/api-keys', body)
    return { api: service().as(api_key), uid: principal.uid }
  }
  const makeEnvironment = async (): Promise<{ uid: string; name: string }> => {
    const name = `site ${randomUUID()}`
    const made = await service().admin.json<{ uid: string }>('POST', '/agent/environments', { name })
    return { uid: made.uid, name }
  }
  const below = (api: Api, parent_run_id: string, body: Body = {}) =>
    api.call('POST', '/agent/runs', { prompt: 'x', parent_run_id, ...body })
  const made = async (answer: Promise<Response>) => {
    const said = await (await answer).text()
    return service().admin.get((JSON.parse(said) as { run_id: string }).run_id)
  }
  const refused = async (answer: Promise<Response>, detail: RegExp, status = 400): Promise<void> => {
    const said = (await (await answer).json()) as { detail?: string; status: number }
    assert.equal(said.status, status, said.detail)
    assert.match(said.detail ?? '', detail)
  }

  test('it is in the pool and the environment of its parent, and in no other', async () => {
    const { admin } = service()
    const [own, other] = [await makeEnvironment(), await makeEnvironment()]
    const parent = await admin.create({ prompt: 'x', config: { ...IDLE, environment_id: own.name } })
    for (const config of [{}, { ...IDLE, environment_id: own.name }, { environment_id: own.uid }]) {
      const { agent_config } = await made(below(admin, parent, { config }))
      assert.deepEqual([agent_config.worker_host, agent_config.environment_id], [NOBODY, own.uid])
    }
    await refused(
      below(admin, parent, { config: { worker_host: 'elsewhere' } }),
      /^config\.worker_host: the parent run is in the pool nobody/,
    )
    for (const environment_id of [other.name, other.uid, 'no such name'])
      await refused(
        below(admin, parent, { config: { environment_id } }),
        new RegExp(`^config\\.environment_id: the parent run is in the environment ${own.uid}`),
      )
    const bare = await admin.create({ prompt: 'x', config: IDLE })
    await refused(
      below(admin, bare, { config: { environment_id: own.uid } }),
      /^config\.environment_id: the parent run has no environment/,
    )
    // What a replay takes over is asked for, too.
    const elsewhere = await admin.create({ prompt: 'x', config: { worker_host: 'elsewhere' } })
    const replay = { parent_run_id: bare, replay_of_run_id: elsewhere }
    await refused(admin.call('POST', '/agent/runs', replay), /^config\.worker_host: /)
  })

  test('it has no secrets that the parent has not', async () => {
    const { admin } = service()
    const { uid } = await makeEnvironment()
    const parent = await admin.create({ prompt: 'x', config: { ...IDLE, environment_id: uid } })
    await refused(
      below(admin, parent, { team: false }),
      /^team: a personal run has secrets of its owner, which the parent run has not/,
    )
    const personal = await admin.create({ prompt: 'x', team: false, config: IDLE })
    await refused(below(admin, parent, { conversation_id: personal }), /^conversation_id: a personal run/)
  })

  test('who executes the parent executes it', async () => {
    const { admin, other } = service()
    const parent = await admin.create({ prompt: 'x', config: IDLE })
    await refused(below(other, parent), /^parent_run_id: the parent run is executed by /)
    const { uid } = await other.json<AgentIdentity>('POST', '/agent/identities', { name: 'Worker' })
    await refused(
      below(admin, parent, { agent_identity_uid: uid }),
      /^agent_identity_uid: the parent run is executed by /,
    )
  })

  test('below the run of an identity it is of that identity, for who may follow the run up', async () => {
    const { admin, other } = service()
    const [maker, named] = [await newUser('Ann'), await newUser('Bob')]
    const own = await makeEnvironment()
    const { uid } = await maker.api.json<AgentIdentity>('POST', '/agent/identities', {
      ...{ name: 'Builder', environment_id: own.uid, base_prompt: 'Be brief.' },
    })
    const parent = await maker.api.create({ prompt: 'x', agent_identity_uid: uid, config: IDLE })
    const other_place = await makeEnvironment()
    // Made before the identity had a default.
    await maker.api.json('PUT', `/agent/identities/${uid}`, { environment_id: other_place.uid })
    const child = await made(below(maker.api, parent))
    assert.deepEqual([child.executor.uid, child.creator.uid], [uid, maker.uid])
    assert.equal(child.agent_config.environment_id, own.uid)
    for (const api of [other, named.api]) {
      await refused(below(api, parent), /grant for the identity/, 403)
      await refused(
        api.call('POST', `/agent/runs/${parent}/followups`, { message: 'x' }),
        /grant for the identity/,
        403,
      )
    }
    const grant = (resource_type: string, resource_id: string, ...principal_ids: string[]) =>
      admin.json('PUT', '/agent/grants', { resource_type, resource_id, principal_ids })
    await grant('identity', uid, named.uid)
    assert.equal((await made(below(named.api, parent))).executor.uid, uid)
    await grant('environment', own.uid, maker.uid)
    await refused(below(named.api, parent), /grant for the environment/, 403)
    await maker.api.json('DELETE', `/agent/identities/${uid}`)
    await refused(
      below(maker.api, parent),
      /the identity that executes it was deleted, or the person is disabled/,
      409,
    )
  })

  test('a grant that was taken away ends children as it ends follow-ups', async () => {
    const { admin } = service()
    const [owner, stranger] = [await newUser('Cid'), await newUser('Dan')]
    const pool = `p-${randomUUID()}`
    const parent = await owner.api.create({ prompt: 'x', config: { worker_host: pool } })
    const put = { resource_type: 'pool', resource_id: pool }
    await admin.json('PUT', '/agent/grants', { ...put, principal_ids: [stranger.uid] })
    await refused(below(owner.api, parent), /grant for the pool/, 403)
    await admin.json('PUT', '/agent/grants', { ...put, principal_ids: [] })
    assert.equal((await made(below(owner.api, parent))).agent_config.worker_host, pool)
  })

  test('it has tool servers of its parent alone, with the same values', async () => {
    const { admin } = service()
    const files = { command: 'files', args: ['--all'], env: { TOKEN: 'a-value-of-files' } }
    const web = { url: 'https://tools.example/mcp?key=a', headers: { authorization: 'Bearer x' } }
    const parent = await admin.create({ prompt: 'x', config: { ...IDLE, mcp_servers: { files, web } } })
    const child = await made(below(admin, parent))
    assert.equal(child.agent_config.mcp_servers, undefined)
    for (const mcp_servers of [{}, { files }, { web, files }])
      assert.equal((await below(admin, parent, { config: { mcp_servers } })).status, 200)
    const others: Array<[Body, RegExp]> = [
      [
        { mine: files },
        /^config\.mcp_servers\.mine: the parent run has no such tool server; it has files, web/,
      ],
      [{ files: { ...files, args: [] } }, /^config\.mcp_servers\.files: the parent run has another/],
      [{ files: { ...files, env: { TOKEN: 'another' } } }, /^config\.mcp_servers\.files: /],
      [{ files: { ...files, env: { TOKEN: '***' } } }, /^config\.mcp_servers\.files: /],
      [{ web: { ...web, url: 'https://tools.example/mcp?key=b' } }, /^config\.mcp_servers\.web: /],
      [{ web: { ...web, headers: {} } }, /^config\.mcp_servers\.web: /],
    ]
    for (const [mcp_servers, detail] of others)
      await refused(below(admin, parent, { config: { mcp_servers } }), detail)
    const bare = await admin.create({ prompt: 'x', config: IDLE })
    await refused(below(admin, bare, { config: { mcp_servers: { files } } }), /has no tool servers/)
  })

  test('it has at most what is left of its parent’s budget', async () => {
    const { admin } = service()
    const budget = { max_tokens: 1_000, max_cost_usd: 2 }
    const parent = await admin.create({ prompt: 'x', budget, config: IDLE })
    await refused(
      below(admin, parent, { budget: { max_tokens: 1_001 } }),
      /^budget\.max_tokens: the parent run has 1000 left/,
    )
    const child = await made(below(admin, parent, { budget: { max_tokens: 400, max_duration_minutes: 5 } }))
    // What it was not given it has from its parent.
    const asked: Array<[Body, RegExp]> = [
      [{ max_tokens: 401 }, /^budget\.max_tokens: the parent run has 400 left/],
      [{ max_cost_usd: 2.5 }, /^budget\.max_cost_usd: the parent run has 2 left/],
      [{ max_duration_minutes: 6 }, /^budget\.max_duration_minutes: the parent run has 5 left/],
    ]
    for (const [more, detail] of asked) await refused(below(admin, child.run_id, { budget: more }), detail)
    // One that has none limits nothing.
    const free = await admin.create({ prompt: 'x', config: IDLE })
    assert.equal((await below(admin, free, { budget: { max_tokens: 5_000 } })).status, 200)
  })

  test('what its parent is held to it is held to, by whichever harness', async () => {
    const { admin } = service()
    const parent = await admin.create({ prompt: 'x', config: { ...IDLE, permissions: ASK } })
    for (const permissions of [undefined, []]) {
      const { agent_config } = await made(below(admin, parent, { config: { permissions } }))
      assert.deepEqual(agent_config.permissions, ASK)
    }
    const permissions = [{ tool: '*', action: 'allow' }]
    const child = await made(below(admin, parent, { config: { permissions } }))
    assert.deepEqual(child.agent_config.permissions, permissions)
    const harness = { type: 'runbook' }
    for (const [run_id, config] of [
      [parent, { harness }],
      [parent, { harness, permissions }],
      [child.run_id, { harness }],
    ] as const)
      await refused(below(admin, run_id, { config }), /^config\.permissions: the harness runbook/)
  })

  test('one that ended takes others below it, one that was cancelled takes none', async () => {
    const { admin, worker } = service()
    const ended = await admin.create({ prompt: 'x', config: { worker_host: worker.pool } })
    await worker.run(ended)
    assert.equal((await admin.get(ended)).state, 'SUCCEEDED')
    assert.equal((await below(admin, ended)).status, 200)
    const cancelled = await admin.create({ prompt: 'x', config: IDLE })
    await admin.json('POST', `/agent/runs/${cancelled}/cancel`, {})
    await refused(below(admin, cancelled), /^parent_run_id: the run was cancelled/)
  })
})
