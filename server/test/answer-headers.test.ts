/** What every answer is sent with: pages, data, errors, streams, and what never got as far as a route. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { ERRORS } from '../src/contract/error.ts'
import type { RouteDefinition } from '../src/contract/route.ts'
import { type OperationId, ROUTES } from '../src/contract/routes.ts'
import { GOOD, onScene, POSTED } from './support/good-requests.ts'
import { exchange, formatRequest, type RawAnswer } from './support/raw-http.ts'

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
      const [query = ''] = /\?.*$/.exec(GOOD[id].path ?? '') ?? []
      return {
        name: `${id} of nothing`,
        status: 404,
        method,
        path: nowhere(path) + query,
        ...json(GOOD[id].body),
      }
    }),
  ...ids
    .filter((id) => operation(id).method === 'POST' || operation(id).method === 'PUT')
    .map((id) => {
      const { path, method } = operation(id)
      const headers = { 'content-type': 'application/json' }
      return {
        name: `${id} with a broken body`,
        // Its body may be large: whether there is such a run is asked before it is read.
        status: /^submit(Conversation)?Followup$/.test(id) ? 404 : 400,
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
  ...[
    '/healthz',
    '/readyz',
    '/metrics',
    '/docs',
    '/api/v1/openapi.json',
    `/downloads/artifacts/${NOWHERE}`,
  ].map((path) => ({ name: `POST of ${path}`, status: 405, method: 'POST', path, key: false })),
  { name: 'GET of a trigger’s address', status: 405, path: '/hooks/{trigger}', key: false },
  { name: 'an unknown path', status: 404, path: '/nothing', key: false },
  { name: 'an unknown operation', status: 404, path: api('/nothing') },
  { name: 'an unknown method there', status: 404, method: 'DELETE', path: '/nothing', key: false },
  { name: 'an unsigned download', status: 404, path: `/downloads/artifacts/${NOWHERE}`, key: false },
  {
    name: 'an unsigned transcript',
    status: 404,
    path: `/downloads/transcripts/${NOWHERE}.jsonl`,
    key: false,
  },
  { name: 'an unsigned workspace', status: 404, path: `/downloads/snapshots/${NOWHERE}`, key: false },
  {
    name: 'nobody signed in',
    status: 401,
    path: '/web/session',
    headers: { 'x-runyard-page': '1' },
    key: false,
  },
  { name: 'signing in from elsewhere', status: 401, method: 'POST', path: '/web/session', key: false },
  { name: 'a visit from elsewhere', status: 401, method: 'POST', path: '/web/visits', key: false },
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
  '/',
  '/new',
  '/sign-in',
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
/** Of addresses that nobody can read, a browser gets a page as well. */
const UNREADABLE_PAGES: Case[] = ['/%E0%A4%A', '/sessions/%', `/environments/${'x'.repeat(2_000)}`].map(
  (path) => ({
    name: path.slice(0, 40),
    ...{ status: 400, path, key: false, headers: { accept: 'text/html' } },
  }),
)
const FILES: Case[] = [
  '/assets/theme.css',
  '/assets/mark.svg',
  '/assets/docs/api.js',
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

onScene('the headers of', (scene) => {
  let base_url: string
  before(async () => {
    base_url = await scene().face.listen()
  })

  const ask = async ({ method = 'GET', path, headers = {}, body, key }: Case): Promise<RawAnswer> => {
    const answer = await exchange(
      base_url,
      formatRequest({
        method,
        path: scene().fill(path),
        headers: [
          ...(key === false ? [] : [['Authorization', `Bearer ${scene().face.keys.admin}`] as const]),
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
        const answer = await exchange(base_url, Buffer.from(bytes, 'latin1'))
        assert(answer)
        assert.equal(answer.status, status)
        assertPrivate(answer)
      })
    }
  })

  describe('pages and their files', () => {
    for (const asked of [...PAGES, ...MISSING_PAGES, ...UNREADABLE_PAGES, ...FILES]) {
      test(`${asked.name}: ${asked.status}`, async () => {
        const { status, headers } = await ask(asked)
        assert.equal(status, asked.status)
        assert.doesNotMatch(headers.get('content-type') ?? '', /json/)
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
