/** What every answer is sent with: pages, data, errors, streams, and what never got as far as a route. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ERRORS } from '../src/contract/error.ts'
import type { RouteDefinition } from '../src/contract/route.ts'
import { type OperationId, ROUTES } from '../src/contract/routes.ts'
import { type ModelServer, openModelServer } from './support/model-server.ts'
import { exchange, formatRequest, type RawAnswer } from './support/raw-http.ts'
import { apiOf, shell, startService, type TestService } from './support/service.ts'

const IDLE = { config: { worker_host: 'nobody' } }
const RUNBOOK = { config: { harness: { type: 'runbook' } } }
const YEARLY = { name: 's', cron_schedule: '0 0 1 1 *', prompt: 'x' }
const POSTED = {
  ...{ name: 't', verification: 'gitlab', secret: 'a-good-token', prompt: 'x' },
  agent_config: { worker_host: 'nobody' },
}
const NOWHERE = '01900000-0000-7000-8000-000000000000'

interface Case {
  name: string
  status: number
  method?: string
  /** `{run}`, `{busy}`, `{artifact}`, `{environment}`, `{spare}` and `{schedule}` stand for ids of things that are there. */
  path: string
  headers?: Record<string, string>
  body?: string
  key?: false
}

const operation = (id: OperationId): RouteDefinition => ROUTES[id]
/** Of each operation a good request; a new operation without one fails the first test. */
const GOOD: Record<OperationId, { path?: string; body?: unknown }> = {
  createRun: { body: { prompt: 'x', ...IDLE } },
  runAgent: { body: { prompt: 'x', ...IDLE } },
  listRuns: {},
  getRun: { path: '/agent/runs/{run}' },
  submitFollowup: { path: '/agent/runs/{busy}/followups', body: { message: 'x' } },
  cancelRun: { path: '/agent/runs/{cancelled}/cancel', body: {} },
  answerApproval: {
    path: '/agent/runs/{waiting}/approvals/{approval}',
    body: { decision: 'deny' },
  },
  interruptRun: { path: '/agent/runs/{busy}/interrupt', body: {} },
  listEvents: { path: '/agent/runs/{run}/events' },
  streamEvents: { path: '/agent/events/stream?run_ids={cancelled}' },
  getRunConversation: { path: '/agent/runs/{run}/conversation' },
  getRunDiff: { path: '/agent/runs/{run}/diff' },
  getConversation: { path: '/agent/conversations/{run}' },
  checkConversationRedirect: { path: '/agent/conversations/{run}/redirect' },
  checkSessionRedirect: { path: '/agent/sessions/{run}/redirect' },
  listHandoffAttachments: { path: '/agent/runs/{run}/handoff/attachments' },
  getTranscript: { path: '/agent/runs/{run}/transcript' },
  getArtifact: { path: '/agent/artifacts/{artifact}' },
  listSkills: {},
  listModels: {},
  createApiKey: { body: { name: 'k' } },
  listApiKeys: {},
  rotateApiKey: { path: '/api-keys/{key}/rotate', body: {} },
  revokeApiKey: { path: '/api-keys/{spare_key}' },
  createAgentIdentity: { body: { name: 'i' } },
  listAgentIdentities: {},
  getAgentIdentity: { path: '/agent/identities/{identity}' },
  updateAgentIdentity: { path: '/agent/identities/{identity}', body: { description: 'changed' } },
  deleteAgentIdentity: { path: '/agent/identities/{spare_identity}' },
  getGrants: { path: '/agent/grants?resource_type=pool&resource_id=p' },
  putGrants: { body: { resource_type: 'pool', resource_id: 'p', principal_ids: [] } },
  listAuditLog: {},
  listEnvironments: {},
  createEnvironment: { body: { name: 'e' } },
  getEnvironment: { path: '/agent/environments/{environment}' },
  listSecrets: {},
  putSecret: { path: '/agent/secrets/GOOD', body: { value: 'a good value' } },
  getSecret: { path: '/agent/secrets/GOOD' },
  deleteSecret: { path: '/agent/secrets/GOOD' },
  updateEnvironment: { path: '/agent/environments/{environment}', body: { name: 'changed' } },
  deleteEnvironment: { path: '/agent/environments/{spare}' },
  listSchedules: {},
  createSchedule: { body: YEARLY },
  getSchedule: { path: '/agent/schedules/{schedule}' },
  updateSchedule: { path: '/agent/schedules/{schedule}', body: { ...YEARLY, enabled: true } },
  pauseSchedule: { path: '/agent/schedules/{schedule}/pause' },
  resumeSchedule: { path: '/agent/schedules/{schedule}/resume', body: {} },
  listFirings: { path: '/agent/schedules/{schedule}/firings' },
  deleteSchedule: { path: '/agent/schedules/{schedule}' },
  createTrigger: { body: POSTED },
  listTriggers: {},
  getTrigger: { path: '/agent/triggers/{trigger}' },
  updateTrigger: { path: '/agent/triggers/{trigger}', body: { ...POSTED, enabled: true } },
  pauseTrigger: { path: '/agent/triggers/{trigger}/pause' },
  resumeTrigger: { path: '/agent/triggers/{trigger}/resume', body: {} },
  listTriggerDeliveries: { path: '/agent/triggers/{trigger}/deliveries' },
  replayTriggerDelivery: { path: '/agent/triggers/{trigger}/deliveries/{received}/replay', body: {} },
  deleteTrigger: { path: '/agent/triggers/{spare_trigger}' },
  createWebhook: { body: { url: 'https://receiver.invalid/' } },
  listWebhooks: {},
  getWebhook: { path: '/agent/webhooks/{webhook}' },
  updateWebhook: { path: '/agent/webhooks/{webhook}', body: { url: 'https://receiver.invalid/' } },
  deleteWebhook: { path: '/agent/webhooks/{spare_webhook}' },
  rotateWebhookSecret: { path: '/agent/webhooks/{webhook}/rotate-secret', body: {} },
  listWebhookDeliveries: { path: '/agent/webhooks/{webhook}/deliveries' },
  redeliverWebhook: { path: '/agent/webhooks/{webhook}/deliveries/{delivery}/redeliver', body: {} },
}
const ids = Object.keys(ROUTES) as OperationId[]
const api = (path: string): string => `/api/v1${path}`
const nowhere = (path: string): string => api(path.replace(/\{\w+\}/g, NOWHERE))
const json = (body: unknown): Pick<Case, 'body' | 'headers'> =>
  body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }

const ANSWERS: Case[] = [
  ...ids.map((id) => {
    const { method, path, status } = operation(id)
    const good = GOOD[id]
    return { name: id, status, method, path: api(good.path ?? path), ...json(good.body) }
  }),
  ...ids.map((id) => {
    const { method, path, is_public } = operation(id)
    const status = is_public ? 200 : 401
    return { name: `${id} without a key`, status, method, path: nowhere(path), key: false as const }
  }),
  ...ids
    // What it creates is not there before.
    .filter((id) => operation(id).params && operation(id).method !== 'PUT' && !operation(id).is_public)
    .map((id) => {
      const { method, path } = operation(id)
      return { name: `${id} of nothing`, status: 404, method, path: nowhere(path), ...json(GOOD[id].body) }
    }),
  ...ids
    .filter((id) => operation(id).method === 'POST' || operation(id).method === 'PUT')
    .map((id) => {
      const { path, method } = operation(id)
      const headers = { 'content-type': 'application/json' }
      return {
        name: `${id} with a broken body`,
        status: 400,
        method,
        path: nowhere(path),
        body: '{',
        headers,
      }
    }),
  ...[...new Set(ids.map((id) => operation(id).path))].map((path) => ({
    name: `no TRACE at ${path}`,
    status: 405,
    method: 'TRACE',
    path: nowhere(path),
  })),
  {
    name: 'an event stream',
    status: 200,
    path: api('/agent/runs/{run}/events'),
    headers: { accept: 'text/event-stream' },
  },
  { name: 'HEAD of a list', status: 200, method: 'HEAD', path: api('/agent/runs') },
  { name: 'OPTIONS', status: 405, method: 'OPTIONS', path: api('/agent/runs') },
  { name: 'a method that takes a body', status: 405, method: 'QUERY', path: api('/agent/runs') },
  { name: 'a method of others', status: 405, method: 'PROPFIND', path: api('/agent/runs') },
  { name: 'the description', status: 200, path: api('/openapi.json'), key: false },
  { name: 'liveness', status: 200, path: '/healthz', key: false },
  { name: 'readiness', status: 200, path: '/readyz', key: false },
  { name: 'an unknown path', status: 404, path: '/nothing', key: false },
  { name: 'an unknown operation', status: 404, path: api('/nothing') },
  { name: 'an unknown method there', status: 404, method: 'DELETE', path: '/nothing', key: false },
  { name: 'the root', status: 302, path: '/', key: false },
  { name: 'an unsigned download', status: 404, path: `/downloads/artifacts/${NOWHERE}`, key: false },
  {
    name: 'an unsigned transcript',
    status: 404,
    path: `/downloads/transcripts/${NOWHERE}.jsonl`,
    key: false,
  },
  { name: 'an unsigned workspace', status: 404, path: `/downloads/snapshots/${NOWHERE}`, key: false },
  { name: 'a session without access', status: 401, path: `/sessions/${NOWHERE}/run`, key: false },
  { name: 'its events', status: 401, path: `/sessions/${NOWHERE}/events`, key: false },
  { name: 'a session that is not opened', status: 403, method: 'POST', path: `/sessions/${NOWHERE}/access` },
  {
    name: 'a delivery',
    status: 202,
    method: 'POST',
    path: '/hooks/{trigger}',
    headers: { 'x-gitlab-token': POSTED.secret },
    body: '[]',
    key: false,
  },
  {
    name: 'an unsigned delivery',
    status: 401,
    method: 'POST',
    path: '/hooks/{trigger}',
    body: '{}',
    key: false,
  },
  {
    name: 'a delivery to nobody',
    status: 404,
    method: 'POST',
    path: `/hooks/${NOWHERE}`,
    body: '{}',
    key: false,
  },
  { name: 'a missing file of the pages', status: 404, path: '/assets/no.js', key: false },
  { name: 'a path that cannot be decoded', status: 400, path: '/%zz', key: false },
  { name: 'a part of a path that is too long', status: 414, path: api(`/agent/runs/${'x'.repeat(2000)}`) },
  {
    name: 'a stranger’s Host',
    status: 400,
    path: '/docs',
    headers: { host: 'elsewhere.example' },
    key: false,
  },
  {
    name: 'a body that is no JSON',
    status: 415,
    method: 'POST',
    path: api('/agent/runs'),
    headers: { 'content-type': 'text/plain' },
    body: 'x',
  },
]

const PAGES: Case[] = [
  '/docs',
  '/docs/api',
  '/docs/errors',
  ...Object.keys(ERRORS).map((code) => `/docs/errors/${code}`),
  '/sessions/{run}',
  `/sessions/${NOWHERE}`,
].map((path) => ({ name: path, status: 200, path, key: false }))
const MISSING_PAGES: Case[] = ['/docs/errors/no-such-code', '/sessions/x'].map((path) => ({
  name: path,
  status: 404,
  path,
  key: false,
}))
const FILES: Case[] = [
  '/assets/theme.css',
  '/assets/mark.svg',
  '/assets/session/session.js',
  '/assets/swagger-ui/swagger-ui.css',
].map((path) => ({ name: path, status: 200, path, key: false }))

const UNPARSABLE: Array<[string, number, string]> = [
  ['garbage', 400, '\x00 garbage\r\n\r\n'],
  ['a header without a colon', 400, 'GET / HTTP/1.1\r\nHost: localhost\r\nnonsense\r\n\r\n'],
  [
    'headers that are too large',
    431,
    `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(70_000)}\r\n\r\n`,
  ],
]

describe('the headers of', () => {
  let service: TestService
  let model: ModelServer
  const words: Record<string, string> = {}

  before(async () => {
    model = await openModelServer([{ calls: [{ name: 'bash', arguments: { command: 'true' } }] }])
    service = await startService({ env: { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'a-key' } })
    const made = apiOf(service)
    for (const name of ['webhook', 'spare_webhook']) {
      const target = { url: 'https://receiver.invalid/' }
      words[name] = (await made.json<{ webhook_id: string }>('POST', '/agent/webhooks', target)).webhook_id
    }
    for (const name of ['trigger', 'spare_trigger'])
      words[name] = (await made.json<{ trigger_id: string }>('POST', '/agent/triggers', POSTED)).trigger_id
    const posted = await fetch(new URL(`/hooks/${words.trigger}`, service.base_url), {
      ...{ method: 'POST', body: '{}', headers: { 'x-gitlab-token': POSTED.secret } },
    })
    words.received = ((await posted.json()) as { delivery_id: string }).delivery_id
    const run_id = await made.create({ prompt: shell('echo x > artifacts/x'), ...RUNBOOK })
    const { deliveries } = await made.json<{ deliveries: Array<{ delivery_id: string }> }>(
      'GET',
      `/agent/webhooks/${words.webhook}/deliveries`,
    )
    words.delivery = String(deliveries[0]?.delivery_id)
    words.run = run_id
    const busy = await made.create({ prompt: shell('sleep 600'), ...RUNBOOK })
    const permissions = [{ tool: 'bash', action: 'ask' }]
    words.waiting = await made.create({ prompt: 'Begin.', config: { permissions } })
    words.busy = busy
    words.cancelled = await made.create({ prompt: 'x', ...IDLE })
    for (const name of ['environment', 'spare'])
      words[name] = (await made.json<{ uid: string }>('POST', '/agent/environments', { name })).uid
    words.schedule = (await made.json<{ id: string }>('POST', '/agent/schedules', YEARLY)).id
    for (const name of ['identity', 'spare_identity'])
      words[name] = (await made.json<{ uid: string }>('POST', '/agent/identities', { name })).uid
    for (const name of ['key', 'spare_key'])
      words[name] = (await made.json<{ key_id: string }>('POST', '/api-keys', { name })).key_id
    const [artifact] = (await made.ended(run_id)).artifacts
    words.artifact = String(artifact && 'artifact_uid' in artifact.data && artifact.data.artifact_uid)
    await made.until(busy, (run) => run.state === 'INPROGRESS')
    const { status_message } = await made.until(words.waiting, (run) => run.state === 'BLOCKED')
    words.approval = String(status_message?.approval?.approval_id)
  })
  after(async () => {
    await service?.stop()
    await model?.close()
  })

  const ask = async ({ method = 'GET', path, headers = {}, body, key }: Case): Promise<RawAnswer> => {
    const answer = await exchange(
      service.base_url,
      formatRequest({
        method,
        path: path.replace(/\{(\w+)\}/g, (whole, word: string) => words[word] ?? whole),
        headers: [
          ...(key === false ? [] : [['Authorization', `Bearer ${service.api_key}`] as const]),
          ...Object.entries(headers),
        ],
        ...(body === undefined ? {} : { body }),
      }),
    )
    assert(answer, 'There was no answer.')
    return answer
  }

  /** Nothing may be kept by a proxy or a browser, taken for another type, framed, or say where the reader came from. */
  function assertPrivate({ headers }: RawAnswer): void {
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    assert.equal(headers.get('referrer-policy'), 'no-referrer')
    assert.equal(headers.get('content-security-policy'), "default-src 'none'; frame-ancestors 'none'")
    assert.match(headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/)
  }

  describe('data and errors', () => {
    for (const asked of ANSWERS) {
      test(`${asked.name}: ${asked.status}`, async () => {
        const answer = await ask(asked)
        assert.equal(answer.status, asked.status, answer.body)
        assertPrivate(answer)
      })
    }
  })

  describe('what is no request', () => {
    for (const [name, status, bytes] of UNPARSABLE) {
      test(name, async () => {
        const answer = await exchange(service.base_url, Buffer.from(bytes, 'latin1'))
        assert(answer)
        assert.equal(answer.status, status)
        assertPrivate(answer)
      })
    }
  })

  describe('pages and their files', () => {
    for (const asked of [...PAGES, ...MISSING_PAGES, ...FILES]) {
      test(`${asked.name}: ${asked.status}`, async () => {
        const { status, headers } = await ask(asked)
        assert.equal(status, asked.status)
        // They hold no data, so they may be kept, and are asked for again each time.
        assert.equal(headers.get('cache-control'), 'no-cache')
        assert.equal(headers.get('x-content-type-options'), 'nosniff')
        assert.equal(headers.get('referrer-policy'), 'no-referrer')
        assert.equal(headers.get('cross-origin-opener-policy'), 'same-origin')
        assert.equal(headers.get('cross-origin-resource-policy'), 'same-origin')
        const policy = headers.get('content-security-policy') ?? ''
        assert.match(policy, /^default-src 'none'; /)
        assert.match(policy, /frame-ancestors 'none'/)
        assert.doesNotMatch(policy, /unsafe|\*/)
      })
    }
  })
})
