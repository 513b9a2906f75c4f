/** Who did what, when and from where: writes, denials, links and secrets, and never a value. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuditEntry } from '../src/contract/audit-log.ts'
import type { RouteDefinition } from '../src/contract/route.ts'
import { type OperationId, ROUTES } from '../src/contract/routes.ts'
import { NOBODY } from './support/each-service.ts'
import { onFace } from './support/face.ts'
import { GOOD, onScene } from './support/good-requests.ts'

const IDLE = { config: { worker_host: NOBODY } }

onFace('the audit log', (service) => {
  const read = async (query = ''): Promise<AuditEntry[]> =>
    (await service().admin.json<{ entries: AuditEntry[] }>('GET', `/audit-log?limit=500&${query}`)).entries
  /** What is noted of requests with this id, oldest first. */
  const noted = async (request_id: string): Promise<AuditEntry[]> =>
    (await read()).filter((entry) => entry.request_id === request_id).reverse()
  const withId = (request_id: string) => ({ 'x-request-id': request_id })
  const brief = ({ action, target, status }: AuditEntry) => [action, target, status]

  test('a write is there when the next request asks, with who, what and from where', async () => {
    const { other } = service()
    const began = Date.now()
    const headers = withId('audit-write')
    const made = await other.call('POST', '/agent/runs', { prompt: 'Secret words.', ...IDLE }, headers)
    const { run_id } = (await made.json()) as { run_id: string }
    await other.call('POST', `/agent/runs/${run_id}/cancel`, {}, headers)
    await other.call('POST', `/agent/runs/${run_id}/cancel`, {}, headers)
    await other.call('PUT', '/agent/secrets/AUDITED', { value: 'a value of nobody' }, headers)
    const put = { resource_type: 'pool', resource_id: 'audited', principal_ids: [] }
    await service().admin.call('PUT', '/agent/grants', put, headers)
    // Reads are not noted.
    await other.call('GET', `/agent/runs/${run_id}`, undefined, headers)
    const entries = await noted('audit-write')
    assert.deepEqual(entries.map(brief), [
      ['createRun', run_id, 200],
      ['cancelRun', run_id, 200],
      ['cancelRun', run_id, 400],
      ['putSecret', 'AUDITED', 200],
      ['putGrants', 'audited', 200],
    ])
    const [first] = entries
    assert(first)
    const { creator } = await other.get(run_id)
    assert.equal(first.principal_id, creator.uid)
    assert.equal(first.principal_name, creator.display_name)
    assert.equal(first.role, 'member')
    assert.match(first.address ?? '', /^(127\.0\.0\.1|::1|::ffff:127\.0\.0\.1)$/)
    assert.match(first.key_id ?? '', /^[0-9a-f-]{36}$/)
    assert(
      Date.parse(first.occurred_at) >= began - 1_000 && Date.parse(first.occurred_at) <= Date.now() + 1_000,
    )
    assert.doesNotMatch(JSON.stringify(await read()), /Secret words|a value of nobody|"ry_/)
    // It is filtered by what it holds.
    const ids = entries.map(({ entry_id }) => entry_id)
    for (const [query, wanted] of [
      [`principal_id=${creator.uid}&action=cancelRun`, [ids[2], ids[1]]],
      [`target=${run_id}&action=createRun`, [ids[0]]],
      [`since=${entries[0]?.occurred_at}&target=AUDITED`, [ids[3]]],
      [`until=${entries[0]?.occurred_at}&target=AUDITED`, []],
    ] as const)
      assert.deepEqual(
        (await read(query)).map(({ entry_id }) => entry_id),
        wanted,
        query,
      )
  })

  test('denials are there, with who was denied', async () => {
    const { admin, other, viewer, as } = service()
    const run_id = await other.create({ prompt: 'x', team: false, ...IDLE })
    const headers = withId('audit-denial')
    await admin.call('GET', `/agent/runs/${run_id}`, undefined, headers)
    await viewer.call('POST', '/agent/runs', { prompt: 'x' }, headers)
    await other.call('GET', '/audit-log', undefined, headers)
    await as('ry_wrong').call('POST', `/agent/runs/${run_id}/cancel`, {}, headers)
    const entries = await noted('audit-denial')
    assert.deepEqual(
      entries.map((entry) => [...brief(entry), entry.role]),
      [
        ['getRun', run_id, 404, 'admin'],
        ['createRun', undefined, 403, 'viewer'],
        ['listAuditLog', undefined, 403, 'member'],
        ['cancelRun', run_id, 401, undefined],
      ],
    )
    assert.equal(entries[3]?.principal_id, undefined)
  })

  test('HEAD says and issues what GET does, and is noted as that', async () => {
    const { other, viewer, as } = service()
    const run_id = await other.create({ prompt: 'x', ...IDLE })
    const headers = withId('audit-head')
    // Looking at one's own work is no entry, by whatever operation.
    for (const rest of ['', '/diff', '/transcript', '/handoff/attachments', '/conversation', '/events'])
      assert((await other.call('GET', `/agent/runs/${run_id}${rest}`, undefined, headers)).status < 400)
    assert.deepEqual(await noted('audit-head'), [])
    const answer = await viewer.call('HEAD', `/agent/runs/${run_id}/transcript`, undefined, headers)
    assert.match(answer.headers.get('location') ?? '', /signature=/)
    // Asked for once more, it is no more.
    await viewer.call('GET', `/agent/runs/${run_id}/transcript`, undefined, headers)
    await viewer.call('HEAD', '/audit-log', undefined, headers)
    await as('ry_wrong').call('HEAD', `/agent/runs/${run_id}`, undefined, headers)
    await other.call('HEAD', '/agent/runs', undefined, headers)
    assert.deepEqual((await noted('audit-head')).map(brief), [
      ['getTranscript', run_id, 302],
      ['listAuditLog', undefined, 403],
      ['getRun', run_id, 401],
    ])
  })

  test('denials of one address do not fill it', async () => {
    const nobody = service().as('ry_wrong')
    const asked = Array.from({ length: 90 }, () =>
      nobody.call('GET', '/agent/models', undefined, withId('audit-flood')),
    )
    await Promise.all(asked)
    const entries = await noted('audit-flood')
    assert(entries.length > 30 && entries.length <= 60, `${entries.length} of 90`)
  })

  test('writes that are refused do not fill it', async () => {
    const { other } = service()
    const headers = withId('audit-refused')
    const broken = Array.from({ length: 90 }, () => other.call('POST', '/agent/runs', { prompt: 1 }, headers))
    await Promise.all(broken)
    const entries = await noted('audit-refused')
    assert(entries.length > 30 && entries.length <= 60, `${entries.length} of 90`)
    // What is done is noted all the same.
    const run_id = await other.create({ prompt: 'x', ...IDLE })
    assert.deepEqual((await read(`target=${run_id}`)).map(brief), [['createRun', run_id, 200]])
  })

  test('it comes in pages, newest first, that neither repeat nor skip', async () => {
    const { admin } = service()
    const all = (await read()).map(({ entry_id }) => entry_id)
    const paged: string[] = []
    for (let cursor = ''; ; ) {
      const { entries, page_info } = await admin.json<{
        entries: AuditEntry[]
        page_info: { has_next_page: boolean; next_cursor?: string }
      }>('GET', `/audit-log?limit=3${cursor}`)
      paged.push(...entries.map(({ entry_id }) => entry_id))
      if (!page_info.has_next_page) break
      cursor = `&cursor=${page_info.next_cursor}`
    }
    assert.deepEqual(paged, all)
    for (const query of ['cursor=WyJ4Il0', 'limit=0', 'since=yesterday', 'principal_id=Ada'])
      assert.equal((await admin.call('GET', `/audit-log?${query}`)).status, 400, query)
  })
})

onScene('what every write is about', (scene) => {
  for (const [id, { path, body }] of Object.entries(GOOD) as Array<
    [OperationId, { path?: string; body?: unknown }]
  >) {
    const { method, ...route }: RouteDefinition = ROUTES[id]
    if (method !== 'GET')
      test(id, async () => {
        const { admin } = scene().face
        const asked = scene().fill(path ?? route.path)
        const answer = await admin.call(method, asked, body, { 'x-request-id': `about-${id}` })
        assert(answer.ok, `${answer.status}`)
        const { entries } = await admin.json<{ entries: AuditEntry[] }>('GET', `/audit-log?action=${id}`)
        const entry = entries.find(({ request_id }) => request_id === `about-${id}`)
        const template = route.path.split('/')
        const ids = asked
          .replace(/\?.*/, '')
          .split('/')
          .filter((_, at) => template[at]?.startsWith('{'))
        if (route.target) {
          const answered = (await answer.json()) as Record<string, string>
          ids.push(answered[route.target.field] ?? 'missing')
        }
        // Each run that goes has an entry of its own.
        if (id === 'deleteRuns') {
          assert.deepEqual([entry?.target, entry?.detail], [undefined, 'a dry run: 0 runs'])
          return
        }
        // A sign-in link has no id: it is about the key.
        if (id === 'createSignInLink') ids.push(entry?.key_id ?? 'missing')
        assert(ids.length > 0, 'Nobody can tell what was written: the route needs a target.')
        assert.equal(entry?.target, ids.join(' '))
      })
  }
})
