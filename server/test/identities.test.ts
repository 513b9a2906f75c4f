/** Service accounts that execute runs, and grants: who may use an identity, a pool or an environment. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ApiKey, NewApiKey } from '../src/contract/api-key.ts'
import type { AgentIdentity, ListAgentIdentitiesResponse } from '../src/contract/identity.ts'
import { NOBODY } from './support/each-service.ts'
import { onFace } from './support/face.ts'
import type { apiOf } from './support/service.ts'

type Body = Record<string, unknown>
type Api = ReturnType<typeof apiOf>

const IDLE = { config: { worker_host: NOBODY } }
const RUNBOOK = { type: 'runbook' }

onFace('identities and grants', (service) => {
  const as = (api_key: string): Api => service().as(api_key)
  const makeIdentity = (api: Api, body: Body): Promise<AgentIdentity> =>
    api.json('POST', '/agent/identities', body)
  const makeEnvironment = async (api: Api, name: string): Promise<string> =>
    (await api.json<{ uid: string }>('POST', '/agent/environments', { name })).uid
  const grant = (resource_type: string, resource_id: string, ...principal_ids: string[]) =>
    service().admin.json<{ restricted: boolean; grants: Array<{ principal: { uid: string } }> }>(
      'PUT',
      '/agent/grants',
      { resource_type, resource_id, principal_ids },
    )
  const newUser = async (name: string): Promise<{ api: Api; uid: string }> => {
    const body = { name, new_user: true }
    const { api_key, principal } = await service().admin.json<NewApiKey>('POST', '/api-keys', body)
    return { api: as(api_key), uid: principal.uid }
  }
  const refused = async (answer: Response, status: number, text: RegExp): Promise<void> => {
    const said = await answer.text()
    assert.equal(answer.status, status, said)
    assert.match(said, text)
  }
  const create = (api: Api, body: Body) => api.call('POST', '/agent/runs', { prompt: 'x', ...body })

  test('an identity is made, listed, changed and deleted', async () => {
    const { admin, other } = service()
    const made = await makeIdentity(other, {
      name: 'Fixer',
      description: 'Fixes',
      skills: [],
      base_model: 'a/b',
    })
    assert.deepEqual(
      { ...made, uid: '', created_at: '', updated_at: '', creator: {} },
      {
        uid: '',
        name: 'Fixer',
        available: true,
        description: 'Fixes',
        base_model: 'a/b',
        skills: [],
        agent_type: 'CUSTOM',
        credential_strategy: 'EXECUTOR',
        on_behalf_of_enabled: false,
        default_runner_uid: '',
        secrets: [],
        memory: { attached_stores: [], auto_memory: { enabled: false } },
        creator: {},
        created_at: '',
        updated_at: '',
      },
    )
    const path = `/agent/identities/${made.uid}`
    const environment_id = await makeEnvironment(admin, 'of Fixer')
    const changed = await other.json<AgentIdentity>('PUT', path, {
      description: '',
      base_model: null,
      environment_id: 'of Fixer',
      skills: ['acme/app:fix'],
    })
    assert.equal(changed.environment_id, environment_id)
    assert.equal(changed.base_model, 'a/b')
    assert.equal('description' in changed, false)
    assert(changed.updated_at > made.updated_at)
    assert.deepEqual(await admin.json('GET', path), changed)
    const { agents } = await admin.json<{ agents: AgentIdentity[] }>('GET', '/agent/identities')
    assert.deepEqual(
      agents.find(({ uid }) => uid === made.uid),
      changed,
    )
    const gone = await other.json<AgentIdentity>('DELETE', path)
    assert.equal(gone.available, false)
    for (const [method, body] of [['GET'], ['DELETE'], ['PUT', { name: 'x' }]] as const)
      assert.equal((await other.call(method, path, body)).status, 404)
    await refused(
      await create(other, { agent_identity_uid: made.uid, ...IDLE }),
      400,
      /agent_identity_uid: there is no identity/,
    )
  })

  test('the list has pages, which repeat nothing and leave nothing out', async () => {
    const { admin } = service()
    for (const name of ['b', 'A', 'a', 'C', 'b']) await makeIdentity(admin, { name: `paged ${name}` })
    const whole = await admin.json<ListAgentIdentitiesResponse>('GET', '/agent/identities')
    assert.deepEqual(whole.page_info, { has_next_page: false })
    const paged: AgentIdentity[] = []
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const query = `?limit=2${cursor && `&cursor=${encodeURIComponent(cursor)}`}`
      const page: ListAgentIdentitiesResponse = await admin.json<ListAgentIdentitiesResponse>(
        'GET',
        `/agent/identities${query}`,
      )
      assert(page.agents.length === 2 || !page.page_info.has_next_page)
      paged.push(...page.agents)
      cursor = page.page_info.next_cursor
    }
    assert.deepEqual(paged, whole.agents)
    const names = whole.agents.map(({ name }) => name).filter((name) => name.startsWith('paged '))
    assert.deepEqual(
      names.map((name) => name.toLowerCase()),
      ['paged a', 'paged a', 'paged b', 'paged b', 'paged c'],
    )
    for (const query of ['limit=-1', 'limit=0', 'limit=501', 'limit=x', 'cursor=x', 'cursor=WzFd'])
      await refused(await admin.call('GET', `/agent/identities?${query}`), 400, /"detail":"(limit|cursor): /)
    const none = await admin.json<ListAgentIdentitiesResponse>('GET', '/agent/identities?factory_uid=f1')
    assert.deepEqual(none, { agents: [], page_info: { has_next_page: false } })
  })

  test('a long prompt is whole, and cut in the list', async () => {
    const { admin } = service()
    const prompt = 'é'.repeat(3_000)
    const made = await makeIdentity(admin, { name: 'Long', prompt })
    assert.equal(made.prompt, prompt)
    const { agents } = await admin.json<{ agents: AgentIdentity[] }>('GET', '/agent/identities')
    const listed = agents.find(({ uid }) => uid === made.uid)
    assert.deepEqual([listed?.prompt, listed?.prompt_truncated], [prompt.slice(0, 2_048), true])
    const kept = await admin.json<AgentIdentity>('PUT', `/agent/identities/${made.uid}`, { description: 'x' })
    assert.equal(kept.prompt, prompt)
    assert.equal('prompt_truncated' in kept, false)
  })

  test('what its runs could not have is refused, by name', async () => {
    const { admin } = service()
    const refusals: Array<[Body, number, RegExp]> = [
      [{ agent_type: 'REVIEW' }, 403, /agent_type: REVIEW/],
      [{ credential_strategy: 'CREATOR' }, 403, /credential_strategy/],
      [{ on_behalf_of_enabled: true }, 403, /on_behalf_of_enabled/],
      [{ default_runner_uid: 'r' }, 403, /default_runner_uid/],
      [{ factory_uid: 'f' }, 403, /factory_uid/],
      [{ secrets: [{ name: 'A' }] }, 403, /secrets of an identity/],
      [{ mcp_servers: { a: { command: 'x' } } }, 403, /mcp_servers of an identity/],
      [{ inference_providers: { aws: {} } }, 403, /inference_providers/],
      [{ harness_auth_secrets: { claude_auth_secret_name: 'A' } }, 403, /harness_auth_secrets/],
      [{ memory: { auto_memory: { enabled: true } } }, 403, /memory/],
      [{ harness: { type: 'nothing' } }, 400, /harness.type: this installation has no/],
      [{ harness: RUNBOOK, base_harness: 'oz' }, 400, /base_harness/],
      [{ harness: RUNBOOK, prompt: 'Be brief.' }, 400, /"prompt: the harness runbook/],
      [{ base_harness: 'claude', base_model: 'openai/x' }, 400, /"base_model: the harness claude calls/],
      [{ environment_id: 'not there' }, 400, /environment_id: there is no environment/],
      [{ worker_host: 'a b' }, 400, /worker_host/],
      [{ name: ' ' }, 400, /name/],
    ]
    const { uid } = await makeIdentity(admin, { name: 'Plain', memory: { auto_memory: { enabled: false } } })
    for (const [body, status, text] of refusals) {
      await refused(await admin.call('POST', '/agent/identities', { name: 'x', ...body }), status, text)
      await refused(await admin.call('PUT', `/agent/identities/${uid}`, body), status, text)
    }
  })

  test('a run is executed by the identity, with its defaults, for who asked', async () => {
    const { admin, other, worker } = service()
    const { uid } = await makeIdentity(admin, {
      name: 'Runner',
      prompt: 'Be brief.',
      worker_host: NOBODY,
    })
    await grant('identity', uid, (await newUser('nobody yet')).uid)
    await refused(await create(other, { agent_identity_uid: uid }), 403, /grant for the identity/)
    const { uid: member, api } = await newUser('Dora')
    await grant('identity', uid, member)
    const run_id = await api.create({ prompt: 'x', agent_identity_uid: uid })
    const run = await api.get(run_id)
    assert.deepEqual(run.executor, { uid, type: 'service_account', display_name: 'Runner' })
    assert.deepEqual(run.creator, { uid: member, type: 'user', display_name: 'Dora' })
    assert.equal(run.scope.type, 'Team')
    assert.equal(run.agent_config.worker_host, NOBODY)
    assert.equal(run.agent_config.base_prompt, 'Be brief.')
    // What its defaults ask for has to go with the harness that the run names.
    await refused(
      await create(api, { agent_identity_uid: uid, config: { harness: RUNBOOK } }),
      400,
      /config\.base_prompt: the harness runbook/,
    )
    const steps = await makeIdentity(admin, { name: 'Steps', harness: RUNBOOK, worker_host: NOBODY })
    const { agent_config } = await admin.get(
      await admin.create({ prompt: 'x', agent_identity_uid: steps.uid }),
    )
    assert.deepEqual(agent_config.harness, RUNBOOK)
    // What the run says itself wins.
    const own = await api.create({
      prompt: 'By an identity.',
      agent_identity_uid: uid,
      config: { worker_host: worker.pool, base_prompt: 'Be long.' },
    })
    await worker.run(own)
    const ended = await api.get(own)
    assert.deepEqual([ended.state, ended.agent_config.worker_host], ['SUCCEEDED', worker.pool])
    assert.equal(ended.agent_config.base_prompt, 'Be long.')
    // Found by both.
    for (const query of [`executor=${uid}`, `creator=${member}`]) {
      const { runs } = await admin.json<{ runs: Array<{ run_id: string }> }>('GET', `/agent/runs?${query}`)
      assert.deepEqual(runs.map((each) => each.run_id).sort(), [run_id, own].sort())
    }

    await refused(
      await create(api, { agent_identity_uid: uid, team: false }),
      400,
      /^.*team: runs of an identity/,
    )
    const personal = await api.create({ prompt: 'x', team: false, ...IDLE })
    for (const [place, why] of [
      [{ parent_run_id: personal }, /agent_identity_uid: the parent run is executed by /],
      [{ conversation_id: personal }, /agent_identity_uid: .*personal/],
    ] as const)
      await refused(await create(api, { agent_identity_uid: uid, ...place }), 400, why)

    // With a key of its own it needs to name nothing.
    const key = await admin.json<NewApiKey>('POST', '/api-keys', { name: 'k', agent_identity_uid: uid })
    assert.deepEqual(key.principal, { uid, type: 'service_account', display_name: 'Runner' })
    const itself = as(key.api_key)
    const direct = await itself.get(await itself.create({ prompt: 'x' }))
    assert.deepEqual([direct.creator.uid, direct.executor.uid], [uid, uid])
    assert.equal(direct.agent_config.base_prompt, 'Be brief.')
    await refused(await create(itself, { team: false }), 400, /team: runs of an identity/)

    // Deleted, its key stops, and its runs stay.
    await admin.json('DELETE', `/agent/identities/${uid}`)
    assert.equal((await itself.call('GET', '/agent/runs')).status, 401)
    assert.equal((await api.get(own)).executor.uid, uid)
    await refused(
      await api.call('POST', `/agent/runs/${own}/followups`, { message: 'x' }),
      409,
      /was deleted/,
    )
    const approval = `/agent/runs/${own}/approvals/none`
    await refused(await api.call('POST', approval, { decision: 'allow_once' }), 409, /was deleted/)
    const { api_keys } = await admin.json<{ api_keys: ApiKey[] }>('GET', `/api-keys?principal_id=${uid}`)
    assert.deepEqual(
      api_keys.map(({ active, revoked_at }) => [active, typeof revoked_at]),
      [[false, 'string']],
    )
  })

  test('an identity is for admins and who made it, until it is granted', async () => {
    const { admin, other } = service()
    const maker = await newUser('Eve')
    const { uid } = await makeIdentity(maker.api, { name: 'Eve’s', worker_host: NOBODY })
    const body = { agent_identity_uid: uid }
    for (const api of [admin, maker.api]) assert.equal((await create(api, body)).status, 200)
    await refused(await create(other, body), 403, /grant for the identity/)
    for (const [method, change] of [['PUT', { name: 'x' }], ['DELETE']] as const)
      await refused(await other.call(method, `/agent/identities/${uid}`, change), 403, /who made/)
    const put = { resource_type: 'identity', resource_id: uid, principal_ids: [(await newUser('Fay')).uid] }
    await refused(await other.call('PUT', '/agent/grants', put), 403, /who made/)
    assert.equal((await maker.api.call('PUT', '/agent/grants', put)).status, 200)
  })

  test('whoever may not use an identity tells it nothing in its runs either', async () => {
    const { admin, other } = service()
    const [maker, named] = [await newUser('Lou'), await newUser('Max')]
    const { uid } = await makeIdentity(maker.api, { name: 'Lou’s' })
    await grant('identity', uid, named.uid)
    const run_id = await maker.api.create({ prompt: 'x', agent_identity_uid: uid, ...IDLE })
    const tell = (api: Api) => api.call('POST', `/agent/runs/${run_id}/followups`, { message: 'x' })
    await refused(await tell(other), 403, /grant for the identity/)
    for (const api of [named.api, maker.api, admin]) assert.equal((await tell(api)).status, 200)
    const answer = (api: Api) =>
      api.call('POST', `/agent/runs/${run_id}/approvals/none`, { decision: 'allow_once' })
    await refused(await answer(other), 403, /grant for the identity/)
    await refused(await answer(named.api), 404, /no such approval/)
  })

  test('a pool with grants is for those who are named, and admins', async () => {
    const { admin, other } = service()
    const pool = 'gpu'
    const asked = { config: { worker_host: pool } }
    const [named, stranger] = [await newUser('Gil'), await newUser('Hal')]
    const before = await stranger.api.create({ prompt: 'x', ...asked })
    const { restricted, grants } = await grant('pool', pool, named.uid)
    assert.equal(restricted, true)
    assert.deepEqual(
      grants.map(({ principal }) => principal.uid),
      [named.uid],
    )
    for (const api of [admin, named.api]) assert.equal((await create(api, asked)).status, 200)
    await refused(await create(stranger.api, asked), 403, /"not_authorized".*|grant for the pool gpu/)
    await refused(
      await other.call('POST', `/agent/runs/${before}/followups`, { message: 'x' }),
      403,
      /the pool gpu/,
    )
    await named.api.json('POST', `/agent/runs/${before}/followups`, { message: 'x' })

    // An identity has its own grants, and who may use it has them with it.
    const { uid } = await makeIdentity(admin, { name: 'Gpu', worker_host: pool })
    await grant('identity', uid, stranger.uid)
    await refused(await create(stranger.api, { agent_identity_uid: uid }), 403, /the pool gpu/)
    await grant('pool', pool, named.uid, uid)
    const run_id = await stranger.api.create({ prompt: 'x', agent_identity_uid: uid })
    await stranger.api.json('POST', `/agent/runs/${run_id}/followups`, { message: 'x' })
    await refused(
      await other.call('POST', `/agent/runs/${run_id}/followups`, { message: 'x' }),
      403,
      /the pool gpu/,
    )

    assert.equal((await grant('pool', pool)).restricted, false)
    assert.equal((await create(stranger.api, asked)).status, 200)
  })

  test('an environment with grants is run in and changed by those who are named, and admins', async () => {
    const { admin, other } = service()
    const uid = await makeEnvironment(admin, 'production')
    const named = await newUser('Ida')
    const { grants } = await grant('environment', 'production', named.uid)
    assert.equal(grants.length, 1)
    const asked = { config: { environment_id: 'production', worker_host: NOBODY } }
    for (const api of [admin, named.api]) assert.equal((await create(api, asked)).status, 200)
    await refused(await create(other, asked), 403, new RegExp(`grant for the environment ${uid}`))
    const path = `/agent/environments/${uid}`
    const config = { name: 'production', setup_commands: ['env'] }
    await refused(await other.call('PUT', path, config), 403, /grant for the environment/)
    await refused(await other.call('DELETE', path), 403, /grant for the environment/)
    assert.equal((await named.api.call('PUT', path, config)).status, 200)
    assert.equal((await other.call('GET', path)).status, 200)
    assert.equal((await named.api.call('DELETE', path)).status, 200)
    const query = `/agent/grants?resource_type=environment&resource_id=${uid}`
    await refused(await admin.call('GET', query), 404, /no such environment/)
  })

  test('what was granted to an identity only stays restricted when that is deleted', async () => {
    const { admin, other } = service()
    const maker = await newUser('Kim')
    const { uid } = await makeIdentity(maker.api, { name: 'Kim’s' })
    const environment_id = await makeEnvironment(admin, 'of one identity')
    await grant('environment', environment_id, uid)
    const asked = { config: { environment_id, worker_host: NOBODY } }
    await refused(await create(maker.api, asked), 403, /grant for the environment/)
    // Who made it may delete it, and would be let in by that.
    await maker.api.json('DELETE', `/agent/identities/${uid}`)
    for (const api of [maker.api, other])
      await refused(await create(api, asked), 403, /grant for the environment/)
    // The list as it is can be written again, with more in it or without the one that is gone.
    for (const ids of [[uid, maker.uid], [maker.uid]])
      assert.deepEqual(
        (await grant('environment', environment_id, ...ids)).grants
          .map(({ principal }) => principal.uid)
          .sort(),
        [...ids].sort(),
      )
    const put = { resource_type: 'environment', resource_id: environment_id, principal_ids: [uid] }
    await refused(await admin.call('PUT', '/agent/grants', put), 400, /nobody with the id/)
  })

  test('nobody gives an identity defaults that neither may use', async () => {
    const { admin } = service()
    const [maker, named] = [await newUser('Ned'), await newUser('Ora')]
    await grant('pool', 'guarded', named.uid)
    const environment_id = await makeEnvironment(admin, 'guarded')
    await grant('environment', environment_id, named.uid)
    const { uid } = await makeIdentity(maker.api, { name: 'Ned’s', prompt: 'Be brief.' })
    // An admin who uses the identity would run there what its maker says.
    for (const [body, text] of [
      [{ worker_host: 'guarded' }, /grant for the pool guarded/],
      [{ environment_id: 'guarded' }, /grant for the environment/],
    ] as const) {
      await refused(await maker.api.call('POST', '/agent/identities', { name: 'x', ...body }), 403, text)
      await refused(await maker.api.call('PUT', `/agent/identities/${uid}`, body), 403, text)
      for (const api of [named.api, admin]) await makeIdentity(api, { name: 'y', ...body })
    }
    await grant('pool', 'guarded', named.uid, uid)
    await maker.api.json('PUT', `/agent/identities/${uid}`, { worker_host: 'guarded' })
    // What it has already stays, and the rest can be changed.
    await grant('pool', 'guarded', named.uid)
    await maker.api.json('PUT', `/agent/identities/${uid}`, { description: 'x' })
    await refused(await create(maker.api, { agent_identity_uid: uid }), 403, /grant for the pool guarded/)
  })

  test('grants are given by admins, to those who are there', async () => {
    const { admin, other } = service()
    const nobody = '01980000-0000-7000-8000-000000000001'
    const put = (api: Api, body: Body) => api.call('PUT', '/agent/grants', body)
    const pool = { resource_type: 'pool', resource_id: 'p' }
    await refused(await put(other, { ...pool, principal_ids: [] }), 403, /Only admins/)
    await refused(await put(admin, { ...pool, principal_ids: [nobody] }), 400, /nobody with the id/)
    await refused(await put(admin, { ...pool, principal_ids: ['Ada'] }), 400, /principal_ids/)
    await refused(
      await put(admin, { ...pool, resource_type: 'model', principal_ids: [] }),
      400,
      /resource_type/,
    )
    for (const resource_type of ['identity', 'environment'])
      await refused(
        await put(admin, { resource_type, resource_id: nobody, principal_ids: [] }),
        404,
        new RegExp(`no such ${resource_type}`),
      )
    await refused(await admin.call('GET', '/agent/grants?resource_type=pool'), 400, /resource_id/)
    // No run can be in such a pool, so this would keep nobody out.
    for (const resource_id of [' gpu', 'gpu ', 'g pu', 'gpu,cpu', 'g'.repeat(129)])
      await refused(await put(admin, { ...pool, resource_id, principal_ids: [] }), 400, /resource_id: .*pool/)
  })
})
