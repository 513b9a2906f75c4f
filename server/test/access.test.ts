/** What is repeated, inherited, hidden and handed out. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import type { z } from 'zod'
import type { ArtifactResponse } from '../src/contract/artifact.ts'
import type { Conversation } from '../src/contract/conversation.ts'
import type { ListRunsResponse, RunItem } from '../src/contract/run.ts'
import { NOBODY } from './support/each-service.ts'
import { onFace } from './support/face.ts'
import { readStored } from './support/stored.ts'

const IDLE = { config: { worker_host: NOBODY } }

onFace('access', (service) => {
  const list = (query: string, who: 'admin' | 'other' | 'viewer' = 'admin') =>
    service()[who].json<ListRunsResponse>('GET', `/agent/runs?limit=500&${query}`)
  const key = (value: string) => ({ 'idempotency-key': value })

  test('the same key and body: one run, the same answer', async () => {
    const { admin, other } = service()
    const body = { prompt: 'Once.', metadata: { wish: 'once' }, ...IDLE }
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => admin.call('POST', '/agent/runs', body, key('once'))),
    )
    const texts = new Set(await Promise.all(answers.map((answer) => answer.text())))
    assert.equal(texts.size, 1)
    assert.deepEqual(
      answers.map((answer) => answer.status).filter((status) => status !== 200),
      [],
    )
    const replayed = answers.filter((answer) => answer.headers.get('idempotent-replayed') === 'true')
    assert.equal(replayed.length, 11)
    assert.equal((await list('metadata[wish]=once')).runs.length, 1)

    const changed = await admin.call('POST', '/agent/runs', { ...body, title: 'Twice' }, key('once'))
    assert.equal(changed.status, 422)
    // The key belongs to its principal and its path.
    for (const answer of [
      await other.call('POST', '/agent/runs', body, key('once')),
      await admin.call('POST', '/agent/run', body, key('once')),
    ]) {
      assert.equal(answer.status, 200)
      assert.equal(answer.headers.get('idempotent-replayed'), null)
    }
    assert.equal((await list('metadata[wish]=once')).runs.length, 3)
  })

  test('a refused request leaves its key free', async () => {
    const { admin } = service()
    const refused = await admin.call('POST', '/agent/runs', { prompt: '' }, key('corrected'))
    assert.equal(refused.status, 400)
    const corrected = await admin.call('POST', '/agent/runs', { prompt: 'x', ...IDLE }, key('corrected'))
    assert.equal(corrected.status, 200)
  })

  test('follow-ups, cancels, interrupts and environments repeat safely too', async () => {
    const { admin, store, worker } = service()
    const run_id = await admin.create({ prompt: 'x', ...IDLE })
    const twice = async (path: string, body: object | undefined, status: number) => {
      const [first, second, changed] = [
        await admin.call('POST', path, body, key('again')),
        await admin.call('POST', path, body, key('again')),
        await admin.call('POST', path, { ...body, other: 1 }, key('again')),
      ]
      assert.deepEqual([first.status, second.status, changed.status], [status, status, 422])
      assert.equal(first.headers.get('idempotent-replayed'), null)
      assert.equal(second.headers.get('idempotent-replayed'), 'true')
      assert.equal(await first.text(), await second.text())
    }
    await twice(`/agent/runs/${run_id}/followups`, { message: 'x' }, 200)
    const accepted = (await admin.events(run_id)).filter((event) => event.type === 'followup.accepted')
    assert.equal(accepted.length, 1)
    await twice(`/agent/runs/${run_id}/cancel`, undefined, 200)
    const busy = await admin.create({ prompt: 'x', config: { worker_host: worker.pool } })
    await worker.start(busy)
    await twice(`/agent/runs/${busy}/interrupt`, undefined, 202)
    assert.notEqual((await readStored(store.db, busy)).interrupt_sequence, null)
    await admin.json('POST', `/agent/runs/${busy}/cancel`)
    await twice('/agent/environments', { name: 'again', variables: { TOKEN: 'hidden value' } }, 201)
    const { environments } = await admin.json<{ environments: Array<{ config: { name: string } }> }>(
      'GET',
      '/agent/environments',
    )
    assert.equal(environments.filter(({ config }) => config.name === 'again').length, 1)
    assert.doesNotMatch(JSON.stringify(environments), /hidden value/)

    // The same path may be written in other ways.
    const encoded = `/agent/runs/${run_id.replace('0', '%30')}/followups?x=1`
    const again = await admin.call('POST', encoded, { message: 'x' }, key('again'))
    assert.equal(again.headers.get('idempotent-replayed'), 'true')

    const answers = await Promise.all(
      Array.from({ length: 8 }, () =>
        admin.call('POST', `/agent/runs/${run_id}/followups`, { message: 'y' }, key('together')),
      ),
    )
    const ids = await Promise.all(answers.map(async (answer) => (await answer.json()) as object))
    assert.equal(new Set(ids.map((id) => JSON.stringify(id))).size, 1)
  })

  test('a child has its parent’s metadata, and is found below all that came before', async () => {
    const { admin } = service()
    const root = await admin.create({ prompt: 'x', metadata: { a: '1', b: '1' }, ...IDLE })
    const child = await admin.create({
      prompt: 'x',
      parent_run_id: root,
      metadata: { b: '2', c: '2' },
      ...IDLE,
    })
    const grandchild = await admin.create({ prompt: 'x', parent_run_id: child, ...IDLE })
    const run = await admin.get(grandchild)
    assert.deepEqual(run.metadata, { a: '1', b: '2', c: '2' })
    assert.deepEqual([run.parent_run_id, run.root_run_id, run.source], [child, root, 'ORCHESTRATION'])
    const below = async (run_id: string) =>
      (await list(`ancestor_run_id=${run_id}`)).runs.map((item) => item.run_id).sort()
    assert.deepEqual(await below(root), [child, grandchild].sort())
    assert.deepEqual(await below(child), [grandchild])
    assert.deepEqual(await below(grandchild), [])
    const many = Object.fromEntries(Array.from({ length: 18 }, (_, index) => [`k${index}`, 'x']))
    const full = await admin.call('POST', '/agent/runs', {
      prompt: 'x',
      parent_run_id: child,
      metadata: many,
    })
    assert.equal(full.status, 400)
  })

  test('of 104 creates below one run at once 100 are taken, as of those of agents', async () => {
    const { admin } = service()
    const root = await admin.create({ prompt: 'x', ...IDLE })
    const child = await admin.create({ prompt: 'x', parent_run_id: root, ...IDLE })
    const body = { prompt: 'x', parent_run_id: child, ...IDLE }
    const answers = await Promise.all(
      Array.from({ length: 103 }, () => admin.call('POST', '/agent/runs', body)),
    )
    const refused = answers.filter(({ ok }) => !ok)
    const said = await Promise.all(refused.map(async (answer) => (await answer.json()) as object))
    assert.deepEqual(
      said.map((problem) => ('detail' in problem ? problem.detail : null)),
      Array(4).fill('There are 100 runs below the first one of this tree, which is the most.'),
    )
  })

  test('a personal run is there for its owner only', async () => {
    const { admin, other, viewer } = service()
    const shared = await other.create({ prompt: 'x', metadata: { seen: 'by all' }, ...IDLE })
    const personal = await other.create({
      prompt: 'Secret.',
      team: false,
      metadata: { seen: 'by one' },
      ...IDLE,
    })
    const child = await other.create({ prompt: 'x', parent_run_id: personal, ...IDLE })
    const { scope, conversation_id, creator } = await other.get(personal)
    assert.deepEqual(scope, { type: 'User', uid: creator.uid })
    assert.deepEqual((await other.get(child)).scope.type, 'User')
    assert.equal((await admin.get(shared)).run_id, shared)

    const path = `/agent/runs/${personal}`
    for (const stranger of [admin, viewer]) {
      for (const below of ['', '/events', '/conversation', '/transcript']) {
        assert.equal((await stranger.call('GET', path + below)).status, 404)
      }
      const stream = await stranger.call('GET', `${path}/events`, undefined, { accept: 'text/event-stream' })
      assert.equal(stream.status, 404)
    }
    const writes: Array<[string, object]> = [
      [`${path}/followups`, { message: 'x' }],
      [`${path}/cancel`, {}],
      [`${path}/interrupt`, {}],
      ['/agent/runs', { prompt: 'x', parent_run_id: personal }],
      ['/agent/runs', { prompt: 'x', conversation_id }],
    ]
    for (const [where, body] of writes) assert.equal((await admin.call('POST', where, body)).status, 404)
    for (const query of [
      'metadata[seen]=by%20one',
      `ancestor_run_id=${personal}`,
      'q=Secret',
      `creator=${creator.uid}`,
    ]) {
      const found = await list(query)
      assert.deepEqual(
        found.runs.filter((run) => run.scope.type === 'User'),
        [],
      )
    }
    assert.equal((await list('q=Secret', 'other')).runs.length, 1)
    await other.json('POST', `${path}/cancel`)
  })

  test('a conversation tells nobody of the personal runs of others', async () => {
    const { admin, other } = service()
    const open = await admin.create({ prompt: 'Open words.', ...IDLE })
    const { conversation_id } = await admin.get(open)
    const hidden = await other.create({ prompt: 'Hidden words.', team: false, conversation_id, ...IDLE })
    const seen = await other.json<Conversation>('GET', `/agent/runs/${hidden}/conversation`)
    assert.deepEqual(seen.run_ids, [open, hidden])
    const told = await admin.json<Conversation>('GET', `/agent/runs/${open}/conversation`)
    assert.deepEqual(told.run_ids, [open])
    assert.doesNotMatch(JSON.stringify(told), /Hidden/)
  })

  test('what follows a personal run is personal, said or not', async () => {
    const { admin, other } = service()
    const conversation_id = await other.create({ prompt: 'Private words.', team: false, ...IDLE })
    const next = await other.create({ prompt: 'Thanks.', conversation_id, ...IDLE })
    assert.equal((await other.get(next)).scope.type, 'User')
    assert.equal((await admin.call('GET', `/agent/runs/${next}/conversation`)).status, 404)
    assert.equal((await admin.call('POST', `/agent/runs/${next}/followups`, { message: 'x' })).status, 404)
    // Wherever in the conversation the personal run stands; one of somebody else is not told of.
    const open = await admin.create({ prompt: 'Open words.', ...IDLE })
    await other.create({ prompt: 'Private words.', team: false, conversation_id: open, ...IDLE })
    const after = await other.create({ prompt: 'x', conversation_id: open, ...IDLE })
    assert.equal((await other.get(after)).scope.type, 'User')
    const shared = await admin.create({ prompt: 'x', conversation_id: open, team: true, ...IDLE })
    assert.equal((await other.get(shared)).scope.type, 'Team')

    for (const place of [{ conversation_id }, { conversation_id: open }, { parent_run_id: next }]) {
      const refused = await other.call('POST', '/agent/runs', { prompt: 'x', team: true, ...place, ...IDLE })
      assert.equal(refused.status, 400)
      assert.match(((await refused.json()) as { detail: string }).detail, /^team: .* personal/)
    }
  })

  test('the transcript is behind a link that works without a key', async () => {
    const { admin, fetch, worker } = service()
    const run_id = await admin.create({ prompt: 'x', config: { worker_host: worker.pool } })
    await worker.run(run_id)
    const redirect = await admin.call('GET', `/agent/runs/${run_id}/transcript`)
    assert.equal(redirect.status, 302)
    assert.equal(redirect.headers.get('cache-control'), 'no-store')
    const location = redirect.headers.get('location') ?? ''
    const download = await fetch(location)
    assert.equal(download.status, 200)
    assert.equal(download.headers.get('content-type'), 'application/jsonl; charset=utf-8')
    assertSafe(download.headers)
    const lines = (await download.text()).trimEnd().split('\n')
    assert.deepEqual(
      lines.map((line) => JSON.parse(line) as unknown),
      await admin.events(run_id),
    )
    await assertForgeryFails(fetch, location)
    const elsewhere = location.replace(run_id, await admin.create({ prompt: 'x', ...IDLE }))
    assert.equal((await fetch(elsewhere)).status, 404)
  })

  test('artifacts are behind links that work without a key', async () => {
    const { admin, fetch, viewer, worker } = service()
    const picture = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1Pe'
    const files = {
      'page.html': '<b>hi</b>',
      'drawing.png': '<svg onload="alert(1)"/>',
      // Shown as `photo exe.png` where the order of letters is obeyed.
      'photo \u202egnp.exe': 'x',
      'a";b%41.txt': 'x',
      "sub/it's ü.png": Buffer.from(picture, 'base64'),
    }
    const run_id = await admin.create({ prompt: 'x', config: { worker_host: worker.pool } })
    await worker.run(run_id, files)
    const run = await admin.get(run_id)
    const kept = run.artifacts.flatMap((artifact) => ('artifact_uid' in artifact.data ? [artifact.data] : []))
    const artifacts = await Promise.all(
      kept.map(({ artifact_uid }) =>
        viewer.json<z.infer<typeof ArtifactResponse>>('GET', `/agent/artifacts/${artifact_uid}`),
      ),
    )
    artifacts.sort((a, b) => (a.data.filepath < b.data.filepath ? -1 : 1))
    assert.deepEqual(
      artifacts.map(({ data }) => [data.filepath, data.content_type, data.size_bytes]),
      [
        ['a";b%41.txt', 'text/plain', 1],
        ['drawing.png', 'image/svg+xml', 24],
        ['page.html', 'text/html', 9],
        ['photo \u202egnp.exe', 'text/plain', 1],
        ["sub/it's ü.png", 'image/png', 33],
      ],
    )
    const downloads = await Promise.all(artifacts.map(({ data }) => fetch(data.download_url)))
    // Nothing that could act as a page is shown as one.
    const bytes = 'application/octet-stream'
    assert.deepEqual(
      downloads.map(({ headers }) => [headers.get('content-type'), headers.get('content-disposition')]),
      [
        [bytes, `attachment; filename="a\\";b%41.txt"; filename*=UTF-8''a%22%3Bb%2541.txt`],
        [bytes, 'attachment; filename=drawing.png'],
        [bytes, 'attachment; filename=page.html'],
        [bytes, 'attachment; filename="photo _gnp.exe"'],
        ['image/png', `inline; filename="it's ?.png"; filename*=UTF-8''it%27s%20%C3%BC.png`],
      ],
    )
    for (const [index, download] of downloads.entries()) {
      assertSafe(download.headers)
      const bytes = Buffer.from(await download.arrayBuffer())
      assert.equal(createHash('sha256').update(bytes).digest('hex'), artifacts[index]?.data.sha256)
    }
    await assertForgeryFails(fetch, artifacts[0]?.data.download_url ?? '')
    const nobody = await admin.call('GET', '/agent/artifacts/01900000-0000-7000-8000-000000000000')
    assert.equal(nobody.status, 404)
  })

  test('values of tool servers are never told again', async () => {
    const { admin } = service()
    const mcp_servers = {
      local: { command: 'serve', args: ['--fast'], env: { TOKEN: 'env-secret' } },
      far: {
        url: 'HTTPS://user-secret:pass-secret@tools.test/mcp?key=query-secret#hash-secret',
        headers: { Authorization: 'header-secret' },
      },
    }
    const run_id = await admin.create({
      prompt: 'x',
      metadata: { tools: 'yes' },
      config: { ...IDLE.config, mcp_servers },
    })
    const run = await admin.get(run_id)
    const shown: RunItem['agent_config']['mcp_servers'] = {
      local: { command: 'serve', args: ['--fast'], env: { TOKEN: '***' } },
      far: { url: 'https://***:***@tools.test/mcp?***#***', headers: { Authorization: '***' } },
    }
    assert.deepEqual(run.agent_config.mcp_servers, shown)
    const everything = [run, await list('metadata[tools]=yes'), await admin.events(run_id)]
    assert.doesNotMatch(JSON.stringify(everything), /-secret/)
  })

  test('models: none where no provider is configured', async () => {
    assert.deepEqual(await service().viewer.json('GET', '/agent/models'), {
      models: [],
      default_model_id: '',
    })
  })
})

function assertSafe(headers: Headers): void {
  assert.equal(headers.get('x-content-type-options'), 'nosniff')
  assert.equal(headers.get('cache-control'), 'no-store')
  assert.equal(headers.get('referrer-policy'), 'no-referrer')
  assert.match(headers.get('content-security-policy') ?? '', /^sandbox/)
}

/** A link cannot be prolonged, guessed or used without its signature. */
async function assertForgeryFails(ask: typeof fetch, link: string): Promise<void> {
  const longer = new URL(link)
  longer.searchParams.set('expires', String(Number(longer.searchParams.get('expires')) + 3600))
  const guessed = new URL(link)
  guessed.searchParams.set('signature', 'A'.repeat(43))
  for (const url of [longer, guessed, link.replace(/\?.*/, '')]) {
    const answer = await ask(url)
    assert.equal(answer.status, 404)
    assert.equal(answer.headers.get('content-type'), 'application/problem+json; charset=utf-8')
  }
}
