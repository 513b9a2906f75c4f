/** Who may use a secret of the team: everybody, until it has grants. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import type { NewApiKey } from '../src/contract/api-key.ts'
import type { AuditEntry } from '../src/contract/audit-log.ts'
import type { AgentIdentity } from '../src/contract/identity.ts'
import type { Secret } from '../src/contract/secret.ts'
import { NOBODY, onEitherService, SLOTS } from './support/each-service.ts'
import { apiOf, shell } from './support/service.ts'
import { printed } from './support/traces.ts'

type Body = Record<string, unknown>
type Api = ReturnType<typeof apiOf>
type User = { api: Api; uid: string }

const IDLE = { worker_host: NOBODY }
const RUNBOOK = { harness: { type: 'runbook' } }

onEitherService('grants of secrets', (service) => {
  let named: User
  let stranger: User
  before(async () => {
    const newUser = async (name: string): Promise<User> => {
      const body = { name, new_user: true }
      const { api_key, principal } = await service().admin.json<NewApiKey>('POST', '/api-keys', body)
      return { api: apiOf({ base_url: service().base_url, api_key }), uid: principal.uid }
    }
    named = await newUser('Ann')
    stranger = await newUser('Bob')
  })
  const grant = (name: string, ...principal_ids: string[]) =>
    service().admin.json<{ restricted: boolean }>('PUT', '/agent/grants', {
      ...{ resource_type: 'secret', resource_id: name, principal_ids },
    })
  /** One of the team, for the named one alone. */
  const makeSecret = async (more: Body = {}): Promise<string> => {
    const name = `S_${randomUUID().replaceAll('-', '')}`
    await service().admin.json('PUT', `/agent/secrets/${name}`, { value: 'the value of it', ...more })
    await grant(name, named.uid)
    return name
  }
  const makeEnvironment = async (...secrets: string[]): Promise<string> => {
    const body = { name: randomUUID(), secrets }
    return (await service().admin.json<{ uid: string }>('POST', '/agent/environments', body)).uid
  }
  const refused = async (answer: Promise<Response>, name: string): Promise<void> => {
    const said = (await (await answer).json()) as { detail?: string; error_code?: string }
    assert.equal(said.error_code, 'not_authorized', JSON.stringify(said))
    assert.match(said.detail ?? '', new RegExp(`grant for the secret ${name}`))
  }

  test('it is set and deleted by who is named, and shown to all', async () => {
    const { admin, viewer } = service()
    const name = await makeSecret()
    const path = `/agent/secrets/${name}`
    const value = { value: 'another value' }
    for (const api of [viewer, stranger.api])
      assert.equal((await api.json<Secret>('GET', path)).restricted, true)
    await refused(stranger.api.call('PUT', path, value), name)
    await refused(stranger.api.call('DELETE', path), name)
    assert.equal((await named.api.json<Secret>('PUT', path, value)).version, 2)
    // A personal one of this name is another secret.
    const own = await stranger.api.json<Secret>('PUT', `${path}?scope=User`, value)
    assert.equal(own.restricted, false)
    // Deleted, its name stays theirs: environments name it still.
    await named.api.json('DELETE', path)
    await refused(stranger.api.call('PUT', path, value), name)
    assert.equal((await grant(name)).restricted, false)
    assert.equal((await stranger.api.json<Secret>('PUT', path, value)).restricted, false)
    for (const resource_id of ['NO_SUCH_SECRET', 'no name']) {
      const unknown = { resource_type: 'secret', resource_id, principal_ids: [] }
      assert.equal((await admin.call('PUT', '/agent/grants', unknown)).status, 404)
    }
    const put = { resource_type: 'secret', resource_id: name, principal_ids: [stranger.uid] }
    assert.equal((await stranger.api.call('PUT', '/agent/grants', put)).status, 403)
  })

  test('environments name it, and are changed while they do, by who is named', async () => {
    const name = await makeSecret()
    const config = (secrets?: string[]) => ({ name: randomUUID(), ...(secrets ? { secrets } : {}) })
    await refused(stranger.api.call('POST', '/agent/environments', config([name])), name)
    const made = await named.api.json<{ uid: string }>('POST', '/agent/environments', config([name]))
    const path = `/agent/environments/${made.uid}`
    await refused(stranger.api.call('PUT', path, config()), name)
    await refused(stranger.api.call('DELETE', path), name)
    assert.equal((await stranger.api.call('GET', path)).status, 200)
    await named.api.json('PUT', path, config())
    await refused(stranger.api.call('PUT', path, config([name])), name)
    await stranger.api.json('PUT', path, config())
    await service().admin.json('PUT', path, config([name]))
    await named.api.json('DELETE', path)
  })

  test('runs, messages and runs below in an environment that names it are of who is named', async () => {
    const { admin } = service()
    const name = await makeSecret()
    const environment_id = await makeEnvironment(name)
    const config = { ...RUNBOOK, environment_id }
    const body = { prompt: shell(`test "$${name}" = 'the value of it' && echo had it`), config }
    await refused(stranger.api.call('POST', '/agent/runs', body), name)
    for (const api of [named.api, admin]) {
      const run_id = await api.create(body)
      assert.equal((await api.ended(run_id)).state, 'SUCCEEDED')
      assert.equal(printed(await api.events(run_id)), 'had it\n')
    }
    const run_id = await named.api.create({ prompt: 'x', config: { ...config, ...IDLE } })
    await refused(stranger.api.call('POST', `/agent/runs/${run_id}/followups`, { message: 'x' }), name)
    const approval = `/agent/runs/${run_id}/approvals/none`
    await refused(stranger.api.call('POST', approval, { decision: 'allow_once' }), name)
    await refused(stranger.api.call('POST', '/agent/runs', { prompt: 'x', parent_run_id: run_id }), name)
    await named.api.json('POST', `/agent/runs/${run_id}/followups`, { message: 'x' })
    await named.api.create({ prompt: 'x', parent_run_id: run_id })

    // A personal run has what its owner calls by this name.
    const value = { value: 'the value of it' }
    await stranger.api.json('PUT', `/agent/secrets/${name}?scope=User`, value)
    const own = await stranger.api.create({ ...body, team: false })
    assert.equal((await stranger.api.ended(own)).state, 'SUCCEEDED')
    await refused(stranger.api.call('POST', '/agent/runs', body), name)
  })

  test('an identity has what it is granted, for all who may use it', async () => {
    const { admin } = service()
    const name = await makeSecret()
    const environment_id = await makeEnvironment(name)
    const { uid } = await stranger.api.json<AgentIdentity>('POST', '/agent/identities', { name: 'Deployer' })
    const body = {
      prompt: shell(`echo "\${#${name}}"`),
      agent_identity_uid: uid,
      config: { ...RUNBOOK, environment_id },
    }
    await refused(stranger.api.call('POST', '/agent/runs', body), name)
    await refused(stranger.api.call('PUT', `/agent/identities/${uid}`, { environment_id }), name)
    await grant(name, named.uid, uid)
    await stranger.api.json('PUT', `/agent/identities/${uid}`, { environment_id })
    const run_id = await stranger.api.create(body)
    assert.equal((await admin.ended(run_id)).state, 'SUCCEEDED')
    await stranger.api.json('POST', `/agent/runs/${run_id}/followups`, { message: shell('echo again') })
    const again = await admin.until(
      run_id,
      ({ state, execution }) => state === 'SUCCEEDED' && execution === 2,
    )
    assert.equal(again.execution, 2)
  })

  test('a run has it no more when the grant is gone before a worker takes it', async () => {
    const { admin } = service()
    const name = await makeSecret()
    const environment_id = await makeEnvironment(name)
    const busy = await Promise.all(
      Array.from({ length: SLOTS }, () => admin.create({ prompt: shell('sleep 600'), config: RUNBOOK })),
    )
    await Promise.all(busy.map((run_id) => admin.until(run_id, ({ state }) => state === 'INPROGRESS')))
    const waiting = await named.api.create({ prompt: shell('true'), config: { ...RUNBOOK, environment_id } })
    await grant(name, stranger.uid)
    for (const run_id of busy) await admin.json('POST', `/agent/runs/${run_id}/cancel`, {})
    const { state, status_message } = await admin.ended(waiting)
    assert.deepEqual([state, status_message?.error_code], ['FAILED', 'resource_not_found'])
    assert.match(status_message?.message ?? '', new RegExp(`cannot have: ${name}`))
  })

  test('what no run could have is refused before', async () => {
    const { admin } = service()
    const name = `S_${randomUUID().replaceAll('-', '')}`
    const path = '/agent/environments'
    const absent = async (answer: Promise<Response>, detail: RegExp): Promise<void> => {
      const said = (await (await answer).json()) as { detail?: string; error_code?: string }
      assert.equal(said.error_code, 'invalid_request', JSON.stringify(said))
      assert.match(said.detail ?? '', detail)
    }
    const config = (secrets: string[]) => ({ name: randomUUID(), secrets })
    const value = { value: 'the value of it' }
    // One that is somebody else's own looks like none.
    const nowhere = new RegExp(`^secrets: neither the team nor you have a secret ${name}\\.`)
    await absent(stranger.api.call('POST', path, config([name])), nowhere)
    await named.api.json('PUT', `/agent/secrets/${name}?scope=User`, value)
    await absent(stranger.api.call('POST', path, config([name])), nowhere)
    const { uid } = await named.api.json<{ uid: string }>('POST', path, config([name]))
    const other = await stranger.api.json<{ uid: string }>('POST', path, config([]))
    await absent(stranger.api.call('PUT', `${path}/${other.uid}`, config([name])), nowhere)
    // What is named already stays.
    await stranger.api.json('PUT', `${path}/${uid}`, config([name]))

    const cannot = new RegExp(`^config\\.environment_id: .* secrets that this run cannot have: ${name}\\.$`)
    const body = { prompt: shell('true'), config: { ...RUNBOOK, environment_id: uid } }
    for (const api of [stranger.api, named.api]) await absent(api.call('POST', '/agent/runs', body), cannot)
    const schedule = { name, cron_schedule: '0 0 1 1 *', prompt: 'x', agent_config: body.config }
    await absent(
      named.api.call('POST', '/agent/schedules', schedule),
      new RegExp(`^agent_config\\.environment_id: .* cannot have: ${name}`),
    )
    const personal = await named.api.create({ ...body, team: false })
    assert.equal((await named.api.ended(personal)).state, 'SUCCEEDED')
    await admin.json('PUT', `/agent/secrets/${name}`, value)
    assert.equal((await admin.ended(await stranger.api.create(body))).state, 'SUCCEEDED')
    // An admin's word is for the admin: an identity has what it is granted.
    await grant(name, named.uid)
    const bot = await admin.json<AgentIdentity>('POST', '/agent/identities', { name: 'Bot' })
    await absent(admin.call('POST', '/agent/runs', { ...body, agent_identity_uid: bot.uid }), cannot)
    await admin.json('DELETE', `/agent/secrets/${name}`)
    await absent(admin.call('POST', '/agent/runs', body), cannot)
  })

  test('a trigger answers with it for who is named', async () => {
    const name = await makeSecret({ value: 'a-token-of-git', git: { host: 'github.com' } })
    const trigger = (secret: string) => ({
      ...{ name: randomUUID(), verification: 'github', secret: 'a-good-token', prompt: 'x' },
      reply: { secret },
    })
    await refused(stranger.api.call('POST', '/agent/triggers', trigger(name)), name)
    assert.equal((await named.api.call('POST', '/agent/triggers', trigger(name))).status, 201)
  })

  test('links that were issued, and secrets that a run was given, by name', async () => {
    const { admin, other } = service()
    const read = async (query = ''): Promise<AuditEntry[]> =>
      (await admin.json<{ entries: AuditEntry[] }>('GET', `/audit-log?limit=500&${query}`)).entries
    await admin.json('PUT', '/agent/secrets/DEPLOY_KEY', { value: 'value of the secret' })
    const environment_id = await makeEnvironment('DEPLOY_KEY')
    const run_id = await other.create({ prompt: shell('echo hello'), config: { environment_id } })
    await other.ended(run_id)
    await admin.call('GET', `/agent/runs/${run_id}/transcript`)
    const links = await read(`action=getTranscript&target=${run_id}`)
    assert.deepEqual(
      links.map(({ status, detail }) => [status, detail]),
      [[302, 'a link was issued']],
    )
    const used = await read(`action=useSecrets&target=${run_id}`)
    const { executor } = await other.get(run_id)
    assert.deepEqual(
      used.map(({ via, principal_id, detail }) => [via, principal_id, detail]),
      [['worker', executor.uid, 'DEPLOY_KEY']],
    )
    assert.doesNotMatch(JSON.stringify(await read()), /value of the secret/)
  })
})
