/** Requests that no honest client sends: each has its exact answer, and the service outlives them all. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { crc32 } from 'node:zlib'
import { ERRORS, type ErrorCode } from '../src/contract/error.ts'
import { toBase62 } from '../src/store/random-text.ts'
import { HOSTILE_BODIES } from './support/hostile-bodies.ts'
import type { HostileCase } from './support/hostile-case.ts'
import { HOSTILE_REQUESTS } from './support/hostile-requests.ts'
import { guardEventLoop } from './support/loop-guard.ts'
import { createComponentCheck } from './support/openapi.ts'
import { exchange, formatRequest, type RawAnswer } from './support/raw-http.ts'
import { makeKeys } from './support/seed-keys.ts'
import { apiOf, shell, startService, type TestService } from './support/service.ts'

const NOWHERE = '01900000-0000-7000-8000-000000000000'
/** Signs that something of the inside got out: a stack, SQL, a file of this machine. */
const INSIDE =
  /node_modules|\bat \S+ \(|\.ts\b|\bselect\b.*\bfrom\b|syntax error|pglite|kysely|ECONN|\/(work|tmp|home|root)\//i

const check = createComponentCheck()

describe('hostile requests', () => {
  guardEventLoop()
  let service: TestService
  let run_id = ''
  let viewer = ''
  let words: Record<string, string> = {}

  before(async () => {
    service = await startService()
    const keys = await makeKeys(service.store.db, {
      viewer: { role: 'viewer' },
      revoked: { role: 'admin', revoked: true },
      expired: { role: 'admin', expires_at: new Date(Date.now() - 1000) },
    })
    const { api_key } = service
    const typo = api_key.slice(0, -1) + (api_key.endsWith('a') ? 'b' : 'a')
    viewer = keys.viewer
    const api = apiOf(service)
    const body = { prompt: 'x', config: { worker_host: 'nobody' } }
    run_id = await api.create(body)
    await api.call('POST', '/agent/runs', { ...body, prompt: 'first' }, { 'idempotency-key': 'used' })
    words = {
      run: run_id,
      RUN: run_id.toUpperCase(),
      nowhere: NOWHERE,
      good: api_key,
      typo,
      // Well-formed, but nobody's.
      stranger: `ry_${'a'.repeat(40)}${toBase62(crc32('a'.repeat(40)), 6)}`,
      ...keys,
    }
  })
  after(() => service?.stop())

  const fill = (text: string): string =>
    text.replace(/\{(\w+)\}/g, (whole, word: string) => words[word] ?? whole)

  function assertProblem(
    answer: RawAnswer | null,
    expected: { status: number; code: ErrorCode; detail: string; instance: string; retryable?: boolean },
  ): void {
    assert(answer, 'There was no answer.')
    assert.doesNotMatch(answer.body, INSIDE)
    const { title } = ERRORS[expected.code]
    const problem = JSON.parse(answer.body) as { trace_id: string }
    const retryable = expected.retryable ?? false
    assert.deepEqual(
      { http: answer.status, ...problem },
      {
        http: expected.status,
        type: `${new URL(service.base_url).origin}/docs/errors/${expected.code}`,
        title,
        status: expected.status,
        error: `${title} (${expected.detail})`,
        detail: expected.detail,
        instance: expected.instance,
        retryable,
        trace_id: problem.trace_id,
        error_code: expected.code,
      },
    )
    assert.match(problem.trace_id, /^[0-9a-f-]{36}$/)
    assert.equal(answer.headers.get('x-request-id'), problem.trace_id)
    assert.equal(answer.headers.get('x-should-retry'), String(retryable))
    assert.equal(answer.headers.get('content-type'), 'application/problem+json; charset=utf-8')
    check('Error', problem)
  }

  const ask = async (hostile: HostileCase): Promise<void> => {
    const { method = 'GET', body } = hostile
    const path = (hostile.whole_path ? '' : '/api/v1') + fill(hostile.path)
    const given = (hostile.headers ?? []).map(([name, value]) => [name, fill(value)] as const)
    const key = hostile.key === 'viewer' ? viewer : service.api_key
    const is_text = typeof body === 'string' || body instanceof Uint8Array
    const sent = body === undefined || is_text ? body : fill(JSON.stringify(body))
    const has_type = given.some(([name]) => /^(content-type|x-nothing)$/i.test(name))
    const answer = await exchange(
      service.base_url,
      formatRequest({
        method,
        path,
        headers: [
          ...(hostile.key === null ? [] : [['Authorization', `Bearer ${key}`] as const]),
          ...(sent === undefined || has_type ? [] : [['Content-Type', 'application/json'] as const]),
          ...given,
        ],
        ...(sent === undefined ? {} : { body: sent }),
      }),
    )
    const { status, code, detail, retryable = false } = hostile
    const [instance = ''] = path.split('?')
    assertProblem(answer, { status, code, detail, instance, retryable })
    for (const [name, value] of Object.entries(hostile.answers ?? {})) {
      assert.equal(answer?.headers.get(name), value)
    }
  }

  describe('bodies', () => {
    for (const hostile of HOSTILE_BODIES) test(`${hostile.path}: ${hostile.name}`, () => ask(hostile))
  })
  describe('methods, paths, queries, headers and keys', () => {
    for (const hostile of HOSTILE_REQUESTS) test(hostile.name, () => ask(hostile))
  })

  describe('bytes', () => {
    const GET = 'GET /api/v1/agent/runs HTTP/1.1\r\nHost: localhost\r\n'
    const POST = 'POST /api/v1/agent/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'
    const authorized = (head: string) => `${head}Authorization: Bearer ${service.api_key}\r\n`
    const INVALID = 'The request is not valid HTTP.'
    const cases: Array<[string, () => string, string]> = [
      ['garbage', () => '\x00\x01\x02\x03 garbage \r\n\r\n', INVALID],
      ['a TLS hello', () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', INVALID],
      ['an unknown method', () => 'BREW /coffee HTTP/1.1\r\nHost: localhost\r\n\r\n', INVALID],
      ['a version of the future', () => 'GET / HTTP/9.9\r\nHost: localhost\r\n\r\n', INVALID],
      ['a header without a colon', () => `${GET}nonsense\r\n\r\n`, INVALID],
      ['a blank before the colon', () => `${GET}X-Bad : x\r\n\r\n`, INVALID],
      ['NUL in a header', () => `${GET}X-Bad: a\x00b\r\n\r\n`, INVALID],
      ['two lengths', () => `${authorized(POST)}Content-Length: 2\r\nContent-Length: 20\r\n\r\n{}`, INVALID],
      ['a negative length', () => `${authorized(POST)}Content-Length: -1\r\n\r\n{}`, INVALID],
      [
        'a length and chunks',
        () => `${authorized(POST)}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
        INVALID,
      ],
      [
        'an unknown transfer encoding',
        () => `${authorized(POST)}Transfer-Encoding: chunked, cow\r\n\r\n0\r\n\r\n`,
        INVALID,
      ],
      [
        'a chunk without a size',
        () => `${authorized(POST)}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`,
        INVALID,
      ],
    ]
    for (const [name, bytes, detail] of cases) {
      test(name, async () => {
        const answer = await exchange(service.base_url, Buffer.from(bytes(), 'latin1'))
        assertProblem(answer, { status: 400, code: 'invalid_request', detail, instance: '/' })
      })
    }
    const tooLarge = {
      status: 431,
      code: 'invalid_request',
      detail: 'The headers are too large.',
      instance: '/',
    } as const
    test('headers of 20 KiB', async () => {
      const headers = [['X-Large', 'x'.repeat(20_480)]] as const
      assertProblem(await exchange(service.base_url, formatRequest({ path: '/', headers })), tooLarge)
    })
    test('an address of 20 KiB', async () => {
      const request = formatRequest({ path: `/api/v1/agent/runs?q=${'x'.repeat(20_480)}` })
      assertProblem(await exchange(service.base_url, request), tooLarge)
    })
    test('no Host', async () => {
      const bytes = Buffer.from('GET /api/v1/agent/runs HTTP/1.1\r\nConnection: close\r\n\r\n')
      assertProblem(await exchange(service.base_url, bytes), {
        status: 400,
        code: 'invalid_request',
        detail: 'The Host header names another service than this one (RUNYARD_PUBLIC_URL).',
        instance: '/api/v1/agent/runs',
      })
    })
    test('an expectation', async () => {
      const request = `${GET}Authorization: Bearer ${service.api_key}\r\nExpect: the-unexpected\r\nConnection: close\r\n\r\n`
      assert.equal((await exchange(service.base_url, Buffer.from(request)))?.status, 200)
    })
    test('a method that has no answer body', async () => {
      const headers = [['Authorization', `Bearer ${service.api_key}`]] as const
      const request = formatRequest({ method: 'HEAD', path: '/api/v1/agent/run', headers })
      const answer = await exchange(service.base_url, request)
      assert.equal(answer?.status, 405)
      assert.equal(answer.headers.get('allow'), 'POST')
      assert.equal(answer.body, '')
    })
    test('HEAD of an endless stream', async () => {
      const headers = [
        ['Authorization', `Bearer ${service.api_key}`],
        ['Accept', 'text/event-stream'],
      ] as const
      const path = `/api/v1/agent/runs/${run_id}/events`
      const answer = await exchange(service.base_url, formatRequest({ method: 'HEAD', path, headers }))
      assert.equal(answer?.headers.get('content-type'), 'application/json; charset=utf-8')
    })
    test('hanging up in the middle of headers, body, chunks, answer and stream', async () => {
      const body = JSON.stringify({ prompt: 'x'.repeat(1000), config: { worker_host: 'nobody' } })
      const halves = [
        GET,
        `${authorized(POST)}Content-Length: 5000\r\n\r\n${body}`,
        `${authorized(POST)}Transfer-Encoding: chunked\r\n\r\nfff\r\n${body}`,
        `${authorized(GET)}\r\n`.repeat(50),
        `${authorized(GET.replace('/runs', `/runs/${run_id}/events`))}Accept: text/event-stream\r\n\r\n`,
      ]
      for (const half of halves) await exchange(service.base_url, Buffer.from(half), { hang_up: true })
    })
    test('a caller’s own request id, taken only when it is harmless', async () => {
      const api = apiOf(service)
      const of = async (id: string) =>
        (await api.call('GET', '/agent/runs?limit=0', undefined, { 'x-request-id': id })).headers.get(
          'x-request-id',
        )
      assert.equal(await of('caller-7'), 'caller-7')
      assert.notEqual(await of('<script>'), '<script>')
    })
  })

  test('the edges of what is allowed are allowed', async () => {
    const api = apiOf(service)
    const config = { worker_host: 'nobody' }
    const metadata = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`k${i}`, 'é'.repeat(128)]))
    const deep = JSON.parse('['.repeat(63) + ']'.repeat(63)) as unknown
    await api.create({ prompt: 'x'.repeat(1024 ** 2), title: 'x'.repeat(512), metadata, config, deep })
    await api.create({ skill: 'a:b', config, toString: 'x', constructor: { prototype: 1 } })
    const after = `after=${Number.MAX_SAFE_INTEGER}`
    const page = await api.json<{ events: unknown[] }>('GET', `/agent/runs/${run_id}/events?${after}`)
    assert.deepEqual(page.events, [])
    await api.json('GET', '/agent/runs?metadata[constructor]=x&constructor=x&toString=x')
    await api.json(
      'GET',
      `/agent/runs?created_after=2026-01-01T00:00:00%2B23:59&created_before=9999-12-31T23:59:59.999999%2B23:59`,
    )
  })

  // What no one catches fails the tests in its process, too.
  test('the same process still serves, and its log holds no fault', async () => {
    const api = apiOf(service)
    const run = await api.ended(await api.create({ prompt: shell('echo alive') }))
    assert.equal(run.state, 'SUCCEEDED')
    assert.doesNotMatch(service.log(), /unhandled|uncaught|"level":[56]0|MaxListeners| {4}at /i)
  })

  test('a flood of bad keys from an address is slowed, its good key is not', async () => {
    const bad = () => fetch(`${service.base_url}/agent/runs`, { headers: { authorization: 'Bearer x' } })
    let last = await bad()
    for (let tries = 0; last.status === 401 && tries < 200; tries += 1) last = await bad()
    assert.equal(last.status, 429)
    assert.match(last.headers.get('retry-after') ?? '', /^[1-9]\d?$/)
    assert.equal(last.headers.get('x-should-retry'), 'true')
    assert.equal((await apiOf(service).call('GET', '/agent/runs')).status, 200)
  })

  test('a connection that says nothing keeps nobody waiting', async () => {
    const { hostname, port } = new URL(service.base_url)
    const idle = connect({ host: hostname, port: Number(port) })
    await new Promise<void>((resolve) => idle.once('connect', resolve))
    idle.write('GET /api/v1/agent')
    assert.equal((await apiOf(service).call('GET', '/agent/runs')).status, 200)
    idle.destroy()
  })
})
