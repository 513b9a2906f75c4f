/**
 * Every operation of the contract × every kind of caller. A new operation without a row fails; what each row expects of a
 * writer and of a stranger is asked of things that are really there.
 */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { crc32 } from 'node:zlib'
import type { ApiKey } from '../src/contract/api-key.ts'
import type { AuditEntry } from '../src/contract/audit-log.ts'
import type { RouteDefinition } from '../src/contract/route.ts'
import { type OperationId, ROUTES } from '../src/contract/routes.ts'
import { toBase62 } from '../src/store/random-text.ts'
import { onFace } from './support/face.ts'
import { LONG } from './support/once.ts'
import { makeKeys } from './support/seed-keys.ts'
import type { apiOf } from './support/service.ts'

/** A pool that nobody serves: its runs stay QUEUED. */
const IDLE = { config: { worker_host: 'nobody' } }
const NOWHERE = '01980000-0000-7000-8000-000000000001'

const BODY = '0'.repeat(40)
/** Its checksum is right. */
const UNKNOWN = `ry_${BODY}${toBase62(crc32(BODY), 6)}`

type Api = ReturnType<typeof apiOf>
type Who = 'admin' | 'owner' | 'stranger' | 'viewer'
/** Those first whom most is denied: what nobody has changed is there for the next one. */
const CALLERS: readonly Who[] = ['viewer', 'stranger', 'admin', 'owner']

interface Asked {
  path?: string
  body?: unknown
}

/** `owner` is a member, and what is personal is the owner's. */
interface Made {
  owner: Api
  admin: Api
  /** For addresses of the service. */
  fetch: typeof fetch
}

interface Row {
  /** Makes what the operation is about. */
  ask: (made: Made) => Promise<Asked> | Asked
  /** What each caller is answered. */
  viewer: number
  stranger: number
  owner: number
  admin: number
}

const same = (status: number): Omit<Row, 'ask'> => ({
  viewer: status,
  stranger: status,
  owner: status,
  admin: status,
})
/** What is for all but viewers. */
const writing = (status: number): Omit<Row, 'ask'> => ({ ...same(status), viewer: 403 })
const own = (status: number, to_others = 404): Omit<Row, 'ask'> => ({
  viewer: to_others,
  stranger: to_others,
  owner: status,
  admin: to_others,
})
/** The same, for what viewers never may. */
const ownWrite = (status: number): Omit<Row, 'ask'> => ({ ...own(status), viewer: 403 })

const run = ({ owner }: { owner: Api }): Promise<string> =>
  owner.create({ prompt: 'x', team: false, ...IDLE })
const ofRun = (rest: string, body?: unknown) => async (made: { owner: Api }) => ({
  path: `/agent/runs/${await run(made)}${rest}`,
  ...(body === undefined ? {} : { body }),
})
const ofConversation = (rest: string, body?: unknown) => async (made: { owner: Api }) => ({
  path: `/agent/conversations/${await run(made)}${rest}`,
  ...(body === undefined ? {} : { body }),
})
let number = 0
const name = (): string => `made${++number}`
const environment = async ({ owner }: { owner: Api }): Promise<string> =>
  (await owner.json<{ uid: string }>('POST', '/agent/environments', { name: name() })).uid
const identity = async ({ owner }: { owner: Api }): Promise<string> =>
  (await owner.json<{ uid: string }>('POST', '/agent/identities', { name: name() })).uid
/** A further key of the owner's. */
const key = async ({ owner, admin }: { owner: Api; admin: Api }): Promise<string> => {
  const { api_keys } = await owner.json<{ api_keys: Array<{ principal: { uid: string } }> }>(
    'GET',
    '/api-keys',
  )
  const body = { name: name(), principal_id: api_keys[0]?.principal.uid }
  return (await admin.json<{ key_id: string }>('POST', '/api-keys', body)).key_id
}
const person = async ({ admin }: { admin: Api }): Promise<string> => {
  const body = { name: name(), new_user: true }
  return (await admin.json<{ principal: { uid: string } }>('POST', '/api-keys', body)).principal.uid
}
const secret = async ({ owner }: { owner: Api }): Promise<Asked> => {
  const path = `/agent/secrets/${name()}?scope=User`
  await owner.json('PUT', path, { value: 'a good value' })
  return { path }
}

const YEARLY = { name: 's', cron_schedule: '0 0 1 1 *', prompt: 'x', enabled: true }
/** A personal one. */
const ofSchedule =
  (rest = '', body?: unknown) =>
  async (made: { owner: Api }) => {
    const { id } = await made.owner.json<{ id: string }>('POST', '/agent/schedules', {
      ...YEARLY,
      team: false,
    })
    return { path: `/agent/schedules/${id}${rest}`, ...(body === undefined ? {} : { body }) }
  }
const TARGET = { url: 'https://receiver.invalid/' }
/** A personal one, with a delivery. */
const ofWebhook =
  (rest = '', body?: unknown) =>
  async (made: { owner: Api }) => {
    const { webhook_id } = await made.owner.json<{ webhook_id: string }>('POST', '/agent/webhooks', {
      ...TARGET,
      team: false,
    })
    const path = `/agent/webhooks/${webhook_id}`
    await run(made)
    const { deliveries } = await made.owner.json<{ deliveries: Array<{ delivery_id: string }> }>(
      'GET',
      `${path}/deliveries`,
    )
    const filled = rest.replace('{delivery}', deliveries[0]?.delivery_id ?? 'none')
    return { path: path + filled, ...(body === undefined ? {} : { body }) }
  }

const TOKEN = 'a-good-token'
const POSTED = {
  name: 't',
  verification: 'gitlab',
  secret: TOKEN,
  prompt: 'x',
  enabled: true,
  agent_config: IDLE.config,
}
/** A personal one, with a delivery. */
const ofTrigger =
  (rest = '', body?: unknown) =>
  async (made: Pick<Made, 'owner' | 'fetch'>) => {
    const { trigger_id, url } = await made.owner.json<{ trigger_id: string; url: string }>(
      'POST',
      '/agent/triggers',
      { ...POSTED, team: false },
    )
    const answer = await made.fetch(url, { method: 'POST', headers: { 'x-gitlab-token': TOKEN }, body: '{}' })
    const { delivery_id } = (await answer.json()) as { delivery_id: string }
    const path = `/agent/triggers/${trigger_id}${rest.replace('{delivery}', delivery_id)}`
    return { path, ...(body === undefined ? {} : { body }) }
  }

const FILES = { attachments: [{ file_name: 'a.txt', mime_type: 'text/plain' }] }

const ROWS: Record<OperationId, Row> = {
  listTriggers: { ask: () => ({}), ...same(200) },
  createTrigger: { ask: () => ({ body: POSTED }), ...writing(201) },
  getTrigger: { ask: ofTrigger(), ...own(200) },
  updateTrigger: { ask: ofTrigger('', POSTED), ...ownWrite(200) },
  pauseTrigger: { ask: ofTrigger('/pause', {}), ...ownWrite(200) },
  resumeTrigger: { ask: ofTrigger('/resume', {}), ...ownWrite(200) },
  deleteTrigger: { ask: ofTrigger(), ...ownWrite(200) },
  tryTrigger: { ask: ofTrigger('/try', {}), ...ownWrite(200) },
  listTriggerDeliveries: { ask: ofTrigger('/deliveries'), ...own(200) },
  replayTriggerDelivery: { ask: ofTrigger('/deliveries/{delivery}/replay', {}), ...ownWrite(202) },
  listSchedules: { ask: () => ({}), ...same(200) },
  createSchedule: { ask: () => ({ body: YEARLY }), ...writing(201) },
  getSchedule: { ask: ofSchedule(), ...own(200) },
  updateSchedule: { ask: ofSchedule('', YEARLY), ...ownWrite(200) },
  pauseSchedule: { ask: ofSchedule('/pause', {}), ...ownWrite(200) },
  resumeSchedule: { ask: ofSchedule('/resume', {}), ...ownWrite(200) },
  listScheduleTimes: {
    ask: () => ({ path: '/agent/schedule-times?cron_schedule=0%209%20*%20*%20*' }),
    ...same(200),
  },
  runSchedule: { ask: ofSchedule('/run', {}), ...ownWrite(200) },
  deleteSchedule: { ask: ofSchedule(), ...ownWrite(200) },
  listFirings: { ask: ofSchedule('/firings'), ...own(200) },
  listWebhooks: { ask: () => ({}), ...same(200) },
  createWebhook: { ask: () => ({ body: TARGET }), ...writing(201) },
  getWebhook: { ask: ofWebhook(), ...own(200) },
  updateWebhook: { ask: ofWebhook('', TARGET), ...ownWrite(200) },
  deleteWebhook: { ask: ofWebhook(), ...ownWrite(200) },
  rotateWebhookSecret: { ask: ofWebhook('/rotate-secret', {}), ...ownWrite(200) },
  testWebhook: { ask: ofWebhook('/test', {}), ...ownWrite(200) },
  listWebhookDeliveries: { ask: ofWebhook('/deliveries'), ...own(200) },
  redeliverWebhook: { ask: ofWebhook('/deliveries/{delivery}/redeliver', {}), ...ownWrite(202) },
  createRun: { ask: () => ({ body: { prompt: 'x', ...IDLE } }), ...writing(200) },
  runAgent: { ask: () => ({ body: { prompt: 'x', ...IDLE } }), ...writing(200) },
  listRuns: { ask: () => ({}), ...same(200) },
  getRun: { ask: ofRun(''), ...own(200) },
  submitFollowup: { ask: ofRun('/followups', { message: 'x' }), ...ownWrite(200) },
  prepareRunAttachments: { ask: ofRun('/attachments/prepare', FILES), ...ownWrite(201) },
  prepareConversationAttachments: {
    ask: async (made) => ({
      path: `/agent/conversations/${await run(made)}/attachments/prepare`,
      body: FILES,
    }),
    ...ownWrite(201),
  },
  cancelRun: { ask: ofRun('/cancel', {}), ...ownWrite(200) },
  updateRun: { ask: ofRun('', { title: 'Renamed' }), ...ownWrite(200) },
  deleteRun: { ask: ofRun('?cancel=true'), ...ownWrite(200) },
  // What others may not see they do not count: run-deletion.test.ts.
  deleteRuns: { ask: () => ({ body: { q: 'nowhere', dry_run: true } }), ...writing(200) },
  // It is queued; who may not see the run is not told so.
  archiveRun: { ask: ofRun('/archive', {}), ...ownWrite(409) },
  unarchiveRun: { ask: ofRun('/unarchive', {}), ...ownWrite(200) },
  // There is no turn, and nothing waits; who may not see the run is not told so.
  interruptRun: { ask: ofRun('/interrupt', {}), ...ownWrite(409) },
  answerApproval: { ask: ofRun('/approvals/none', { decision: 'deny' }), ...ownWrite(404) },
  listEvents: { ask: ofRun('/events'), ...own(200) },
  streamEvents: {
    ask: async (made) => {
      const run_id = await run(made)
      await made.owner.json('POST', `/agent/runs/${run_id}/cancel`, {})
      return { path: `/agent/events/stream?run_ids=${run_id}` }
    },
    ...own(200),
  },
  getRunConversation: { ask: ofRun('/conversation'), ...own(200) },
  getRunDiff: { ask: ofRun('/diff'), ...own(200) },
  listPullRequests: { ask: ofRun('/pull-requests'), ...own(200) },
  getRunTimeline: { ask: ofRun('/timeline'), ...own(200) },
  getHarnessUsage: { ask: ofRun('/harness-usage'), ...own(200) },
  // That of a run which has one: run-reports.test.ts.
  findRunByReference: {
    ask: () => ({ path: '/agent/run-by-external-reference?url=https://example.com/nowhere' }),
    ...same(404),
  },
  getEgressRanges: { ask: () => ({}), ...same(200) },
  // It has opened none; who may not see the run is not told so.
  mergePullRequest: { ask: ofRun('/merge', {}), ...ownWrite(404) },
  getConversation: { ask: ofConversation(''), ...own(200) },
  submitConversationFollowup: { ask: ofConversation('/followups', { message: 'x' }), ...ownWrite(200) },
  interruptConversation: { ask: ofConversation('/interrupt', {}), ...ownWrite(409) },
  getConversationTranscript: { ask: ofConversation('/transcript'), ...own(302) },
  // Those of a run that has some: conversations.test.ts.
  downloadConversationScreenshot: {
    ask: ofConversation(`/screenshots/${NOWHERE}/download`),
    ...same(404),
  },
  // Of a personal run these say as little as of none.
  checkConversationRedirect: { ask: ofConversation('/redirect'), ...same(200) },
  checkSessionRedirect: {
    ask: async (made) => ({ path: `/agent/sessions/${await run(made)}/redirect` }),
    ...same(200),
  },
  getTranscript: { ask: ofRun('/transcript'), ...own(302) },
  listHandoffAttachments: { ask: ofRun('/handoff/attachments'), ...own(200) },
  // It keeps no workspace; who may not see the run is not told so.
  listWorkspaceFiles: { ask: ofRun('/files'), ...own(404) },
  getWorkspaceFile: { ask: ofRun('/file?path=x'), ...own(404) },
  // Those of a run that has some: existence.test.ts.
  getArtifact: { ask: () => ({ path: `/agent/artifacts/${NOWHERE}` }), ...same(404) },
  downloadArtifact: { ask: () => ({ path: `/agent/artifacts/${NOWHERE}/download` }), ...same(404) },
  listSkills: { ask: () => ({}), ...same(200) },
  listModels: { ask: () => ({}), ...same(200) },
  listEnvironments: { ask: () => ({}), ...same(200) },
  createEnvironment: { ask: () => ({ body: { name: name() } }), ...writing(201) },
  getEnvironment: {
    ask: async (made) => ({ path: `/agent/environments/${await environment(made)}` }),
    ...same(200),
  },
  updateEnvironment: {
    ask: async (made) => ({ path: `/agent/environments/${await environment(made)}`, body: { name: name() } }),
    ...writing(200),
  },
  deleteEnvironment: {
    ask: async (made) => ({ path: `/agent/environments/${await environment(made)}` }),
    ...writing(200),
  },
  listSecrets: { ask: () => ({}), ...same(200) },
  putSecret: {
    ask: () => ({ path: `/agent/secrets/${name()}`, body: { value: 'a good value' } }),
    ...writing(200),
  },
  // Personal ones: everybody asks for the own one, so that of the owner is not there for others.
  getSecret: { ask: secret, ...own(200) },
  deleteSecret: { ask: secret, ...ownWrite(200) },
  createApiKey: { ask: () => ({ body: { name: name() } }), ...same(403), admin: 201 },
  listApiKeys: { ask: () => ({}), ...same(200) },
  rotateApiKey: {
    ask: async (made) => ({ path: `/api-keys/${await key(made)}/rotate`, body: {} }),
    ...own(201),
    admin: 201,
  },
  revokeApiKey: { ask: async (made) => ({ path: `/api-keys/${await key(made)}` }), ...own(200), admin: 200 },
  getUsage: { ask: () => ({}), ...same(200) },
  createShareLink: { ask: ofRun('/share-links', {}), ...ownWrite(201) },
  listShareLinks: { ask: ofRun('/share-links'), ...own(200) },
  revokeShareLink: {
    ask: async (made) => {
      const path = `/agent/runs/${await run(made)}/share-links`
      const { share_link_id } = await made.owner.json<{ share_link_id: string }>('POST', path, {})
      return { path: `${path}/${share_link_id}` }
    },
    ...ownWrite(200),
  },
  listPrincipals: { ask: () => ({}), ...same(403), admin: 200 },
  disablePrincipal: {
    ask: async (made) => ({ path: `/principals/${await person(made)}/disable`, body: {} }),
    ...same(403),
    admin: 200,
  },
  enablePrincipal: {
    ask: async (made) => ({ path: `/principals/${await person(made)}/enable`, body: {} }),
    ...same(403),
    admin: 200,
  },
  createSignInLink: { ask: () => ({ body: {} }), ...same(201) },
  createAgentIdentity: { ask: () => ({ body: { name: name() } }), ...writing(201) },
  listAgentIdentities: { ask: () => ({}), ...same(200) },
  getAgentIdentity: {
    ask: async (made) => ({ path: `/agent/identities/${await identity(made)}` }),
    ...same(200),
  },
  updateAgentIdentity: {
    ask: async (made) => ({ path: `/agent/identities/${await identity(made)}`, body: { prompt: 'x' } }),
    ...own(200, 403),
    admin: 200,
  },
  deleteAgentIdentity: {
    ask: async (made) => ({ path: `/agent/identities/${await identity(made)}` }),
    ...own(200, 403),
    admin: 200,
  },
  listPools: { ask: () => ({}), ...same(200) },
  listWorkers: { ask: () => ({}), ...same(200) },
  getQueue: { ask: () => ({}), ...same(200) },
  listRepositories: { ask: () => ({}), ...writing(200) },
  listBranches: {
    ask: () => ({ path: '/agent/repositories/branches?repository=acme/site' }),
    ...writing(200),
  },
  listSettings: { ask: () => ({}), ...same(403), admin: 200 },
  getGrants: { ask: () => ({ path: '/agent/grants?resource_type=pool&resource_id=x' }), ...same(200) },
  putGrants: {
    ask: async (made) => ({
      body: { resource_type: 'identity', resource_id: await identity(made), principal_ids: [] },
    }),
    ...own(200, 403),
    admin: 200,
  },
  listAuditLog: { ask: () => ({}), ...same(403), admin: 200 },
}

onFace(
  'who may do what',
  (face) => {
    let keys: Record<Who | 'revoked' | 'expired' | 'leaver', string>
    /** What the page sends with each request. */
    let page: Record<string, string>
    const cookies = { admin: '', leaver: '' }
    before(async () => {
      const { store, fetch, origin } = face()
      keys = await makeKeys(store.db, {
        admin: { role: 'admin' },
        owner: { role: 'member' },
        stranger: { role: 'member' },
        viewer: { role: 'viewer' },
        revoked: { role: 'admin', revoked: true },
        expired: { role: 'admin', expires_at: new Date(Date.now() - 1) },
        leaver: { role: 'admin' },
      })
      page = { 'x-runyard-page': '1', origin }
      for (const who of ['admin', 'leaver'] as const) {
        const headers = { ...page, authorization: `Bearer ${keys[who]}` }
        const answer = await fetch(`${origin}/web/session`, { method: 'POST', headers })
        assert.equal(answer.status, 200)
        cookies[who] = answer.headers.getSetCookie()[0]?.split(';')[0] ?? ''
      }
      const { api_keys } = await as('admin').json<{ api_keys: ApiKey[] }>('GET', '/api-keys')
      const leaving = api_keys.find(({ name }) => name === 'leaver')
      await as('admin').json('DELETE', `/api-keys/${leaving?.key_id}`)
    })
    const as = (who: keyof typeof keys): Api => face().as(keys[who])

    for (const [id, { ask, ...statuses }] of Object.entries(ROWS) as Array<[OperationId, Row]>) {
      const route: RouteDefinition = ROUTES[id]
      test(id, async () => {
        const made = { owner: as('owner'), admin: as('admin'), fetch: face().fetch }
        const answered: Record<string, number> = {}
        let asked: Asked | undefined
        for (const who of CALLERS) {
          asked ??= await ask(made)
          const { path = route.path, body } = asked
          const answer = await as(who).call(route.method, path, body)
          if (answer.ok && route.method !== 'GET') asked = undefined
          const text = await answer.text()
          answered[who] = answer.status
          if (answer.status === 403) assert.match(text, /"error_code":"not_authorized"/)
        }
        assert.deepEqual(answered, statuses)
      })
    }

    test('the address is what the proxy added, not what the caller said before', async () => {
      const admin = as('admin')
      const headers = { 'x-forwarded-for': '203.0.113.9, 198.51.100.7', 'x-request-id': 'behind-proxy' }
      const put = { resource_type: 'pool', resource_id: 'proxied', principal_ids: [] }
      await admin.call('PUT', '/agent/grants', put, headers)
      const { entries } = await admin.json<{ entries: AuditEntry[] }>('GET', '/audit-log?target=proxied')
      assert.deepEqual(
        entries.map(({ request_id, address }) => [request_id, address]),
        [['behind-proxy', '198.51.100.7']],
      )
    })

    const BAD: Array<[string, () => Record<string, string>, number?]> = [
      ['no key', () => ({})],
      ['a malformed key', () => ({ authorization: 'Bearer ry_short' })],
      ['a key with a wrong letter', () => ({ authorization: `Bearer ${keys.admin.slice(0, -1)}_` })],
      ['a key that is not known', () => ({ authorization: `Bearer ${UNKNOWN}` })],
      ['another scheme', () => ({ authorization: `Basic ${keys.admin}` })],
      ['a revoked key', () => ({ authorization: `Bearer ${keys.revoked}` })],
      ['an expired key', () => ({ authorization: `Bearer ${keys.expired}` })],
      [
        'a cookie without the header of the page',
        () => ({ origin: page.origin ?? '', cookie: cookies.admin }),
      ],
      ['a made-up cookie', () => ({ ...page, cookie: `runyard_session=${'A'.repeat(43)}` })],
      ['the page, signed in by a key that was revoked since', () => ({ ...page, cookie: cookies.leaver })],
      ['another site', () => ({ ...page, origin: 'https://elsewhere.example', cookie: cookies.admin }), 403],
      ['a frame of no site', () => ({ ...page, origin: 'null', cookie: cookies.admin }), 403],
      [
        'another site that is of the same machine',
        () => ({ ...page, 'sec-fetch-site': 'same-site', cookie: cookies.admin }),
        403,
      ],
    ]
    const closed = (Object.entries(ROUTES) as Array<[OperationId, RouteDefinition]>).filter(
      ([, { is_public }]) => !is_public,
    )
    // All are behind the same door, which these show; the others are asked of every operation with `--long`.
    const WHOLE = ['no key', 'a key that is not known', 'a revoked key', 'an expired key']
    const one_a_method = closed.filter(
      ([id, { method }], at) =>
        id === 'streamEvents' || closed.findIndex(([, route]) => route.method === method) === at,
    )
    for (const [index, [kind, headers, status = 401]] of BAD.entries())
      test(`nothing is answered to ${kind}`, async () => {
        for (const [id, route] of WHOLE.includes(kind) || LONG ? closed : one_a_method) {
          const path = route.path.replace(/\{\w+\}/g, NOWHERE)
          const answer = await face().fetch(face().base_url + path, {
            method: route.method,
            redirect: 'manual',
            // Failures are limited for each address.
            headers: { ...headers(), 'x-forwarded-for': `192.0.2.${index + 1}` },
          })
          assert.equal(answer.status, status, `${id} (${index})`)
          if (status === 401) assert.equal(answer.headers.get('www-authenticate'), 'Bearer')
          await answer.body?.cancel()
        }
      })
  },
  () => ({ RUNYARD_TRUST_PROXY: '1' }),
)
