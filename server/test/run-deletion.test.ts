/** What is deleted is gone from every answer at once, and soon from the database and the storage. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import type { AuditEntry } from '../src/contract/audit-log.ts'
import type { ErrorBody } from '../src/contract/error.ts'
import type { ListRunsResponse, RunItem } from '../src/contract/run.ts'
import type { DeleteRunsResponse } from '../src/contract/run-deletion.ts'
import { RunState } from '../src/contract/state.ts'
import type { Usage } from '../src/contract/usage.ts'
import { Housekeeping } from '../src/housekeeping/housekeeping.ts'
import type { Db } from '../src/store/db.ts'
import { readInstallation } from '../src/store/installation.ts'
import { until } from './support/cluster.ts'
import { type Face, onFace } from './support/face.ts'
import { IDLE, POSTED } from './support/good-requests.ts'

const FOREVER = { run: null, workspace: null, artifact: null }

/** The tables with a row that has this text anywhere. */
async function tablesWith(db: Db, text: string): Promise<string[]> {
  const tables = await sql<{ name: string }>`
    select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`.execute(
    db,
  )
  const found: string[] = []
  for (const { name } of tables.rows) {
    const { rows } = await sql`
      select 1 from ${sql.table(name)} t where to_jsonb(t)::text like ${`%${text}%`} limit 1`.execute(db)
    if (rows.length > 0) found.push(name)
  }
  return found.sort()
}

onFace('deleted runs', (service) => {
  const idle = (more: object = {}): Promise<string> =>
    service().admin.create({ prompt: 'x', ...IDLE, ...more })
  const housekeeping = (face: Face, retention = FOREVER) =>
    new Housekeeping({
      ...face,
      retention,
      log: { info: () => {}, warn: (error: unknown) => assert.fail(String(error)) },
    })
  const ended = async (files: Record<string, string> = {}, more: object = {}): Promise<string> => {
    const { admin, worker } = service()
    const run_id = await admin.create({ prompt: 'x', config: { worker_host: worker.pool }, ...more })
    await worker.run(run_id, files)
    return run_id
  }
  const filesOf = async (run_id: string): Promise<string[]> => {
    const keys: string[] = []
    for await (const { key } of service().blobs.list(`runs/${run_id}`)) keys.push(key)
    return keys
  }
  const remove = (run_id: string, query = ''): Promise<Response> =>
    service().admin.call('DELETE', `/agent/runs/${run_id}${query}`)
  const removeMany = (body: object): Promise<DeleteRunsResponse> =>
    service().admin.json('POST', '/agent/runs/delete', body)
  const detailOf = async (answer: Response): Promise<string | undefined> =>
    ((await answer.json()) as ErrorBody).detail

  test('nothing of a deleted run is left but that it was deleted', async () => {
    const { admin, blobs, fetch, origin, store, watch, worker } = service()
    await admin.json('POST', '/agent/webhooks', { url: 'https://receiver.invalid/' })
    const trigger = await admin.json<{ trigger_id: string }>('POST', '/agent/triggers', {
      ...POSTED,
      agent_config: { worker_host: worker.pool },
      prompt: 'The words of {{payload.who}}',
    })
    const posted = await fetch(`${origin}/hooks/${trigger.trigger_id}`, {
      ...{ method: 'POST', headers: { 'x-gitlab-token': POSTED.secret } },
      body: JSON.stringify({ who: 'a sender whose words are private' }),
    })
    const { run_id } = (await posted.json()) as { run_id: string }
    const lease = await worker.start(run_id)
    await worker.print(lease, 'id', 'private output\n')
    const artifact = await worker.keep(lease, 'x.txt', 'x\n')
    await worker.end(lease)
    const message = 'Private, too.'
    await admin.json('POST', `/agent/runs/${run_id}/followups`, {
      message,
      attachments: [{ file_name: 'a.txt', mime_type: 'text/plain', data: 'eA==' }],
    })
    await admin.json('POST', `/agent/runs/${run_id}/cancel`)
    const share = `/agent/runs/${run_id}/share-links`
    await admin.json('POST', share, {})
    await admin.json('POST', `/agent/runs/${run_id}/attachments/prepare`, {
      attachments: [{ file_name: 'b.txt', mime_type: 'text/plain' }],
    })
    const transcript = await admin.call('GET', `/agent/runs/${run_id}/transcript`)
    const link = transcript.headers.get('location') ?? ''
    assert.equal((await filesOf(run_id)).length, 2)

    assert.deepEqual(await (await remove(run_id)).json(), { run_id, deleted: 1 })
    const { deliveries } = await admin.json<{ deliveries: object[] }>(
      'GET',
      `/agent/triggers/${trigger.trigger_id}/deliveries`,
    )
    assert.equal(deliveries.length, 1, 'That it came is known, so that it starts no other run.')
    for (const path of [`/agent/runs/${run_id}`, share, `/agent/artifacts/${artifact}`])
      assert.equal((await admin.call('GET', path)).status, 404, path)
    for (const rest of ['events', 'conversation', 'diff', 'timeline', 'transcript', 'handoff/attachments'])
      assert.equal((await admin.call('GET', `/agent/runs/${run_id}/${rest}`)).status, 404, rest)
    assert.doesNotMatch(await (await fetch(new URL(link, origin))).text(), /private/)
    const { runs } = await admin.json<ListRunsResponse>('GET', `/agent/runs?archived=all&q=${run_id}`)
    assert.deepEqual(runs, [])
    assert.equal((await remove(run_id)).status, 404, 'It is deleted already.')

    await housekeeping({ ...service(), watch }).look()
    assert.deepEqual(await filesOf(run_id), [])
    // The key under which its create would be repeated is kept for a day.
    const kept = await tablesWith(store.db, run_id)
    assert.deepEqual(
      kept.filter((table) => table !== 'idempotency_keys'),
      ['audit_log', 'deleted_runs'],
    )
    for (const words of ['a sender whose words', 'private output', message])
      assert.deepEqual(await tablesWith(store.db, words), [], words)
    const notes: string[] = []
    for await (const { key } of blobs.list(`deleted/${await readInstallation(store.db)}`)) notes.push(key)
    assert.equal(notes.length, 1)
  })

  test('children go with it, each with an entry of the audit log, and usage keeps its figures', async () => {
    const { admin, store, worker } = service()
    const root = await ended()
    const child = await ended({}, { parent_run_id: root })
    const beside = await ended()
    await sql`update runs set input_tokens = 7, inference_cost_usd = 0.5, run_time_ms = 2500 where run_id = ${child}`.execute(
      store.db,
    )
    await sql`insert into run_usage select ${child}, 'primary_agent', 'a/b', 7, 0, 3, 2, 0.5, 0, 0, 0`.execute(
      store.db,
    )
    const usage = () => admin.json<Usage>('GET', '/agent/usage')
    const { to: _, ...before } = await usage()
    const headers = { 'x-request-id': 'delete-a-tree' }
    const answer = await admin.call('DELETE', `/agent/runs/${root}`, undefined, headers)
    assert.deepEqual(await answer.json(), { run_id: root, deleted: 2 })
    const { to: __, ...after } = await usage()
    assert.deepEqual(after, before)
    assert(before.by_model.some(({ model_id, total_tokens }) => model_id === 'a/b' && total_tokens >= 7))
    const { entries } = await admin.json<{ entries: AuditEntry[] }>('GET', '/audit-log?action=deleteRun')
    const noted = entries.filter(({ request_id }) => request_id === 'delete-a-tree')
    assert.deepEqual(noted.map(({ target }) => target).sort(), [root, child].sort())
    for (const { principal_id, status, role } of noted)
      assert.deepEqual([principal_id, status, role], [(await admin.get(beside)).creator.uid, 200, 'admin'])
    assert.equal((await admin.call('GET', `/agent/runs/${child}`)).status, 404)
    assert.equal(worker.pool, (await admin.get(beside)).agent_config.worker_host)
  })

  test('who has not ended is refused, or cancelled first; its worker is waited for', async () => {
    const { admin, watch, worker } = service()
    const queued = await idle()
    const refused = await remove(queued)
    assert.equal(refused.status, 409)
    assert.match(
      (await detailOf(refused)) ?? '',
      /it is QUEUED\. Cancel it first, or delete with cancel=true/,
    )
    assert.equal((await remove(queued, '?cancel=true')).status, 200)

    const root = await ended()
    const child = await admin.create({
      ...{ prompt: 'x', parent_run_id: root, config: { worker_host: worker.pool } },
    })
    const lease = await worker.start(child)
    assert.match(
      (await detailOf(await remove(root))) ?? '',
      new RegExp(`Run ${child} below this one has not ended`),
    )
    const deleting = remove(root, '?cancel=true')
    await until('the child is cancelled', async () => (await admin.get(child)).state === 'CANCELLED')
    assert.match((await detailOf(await remove(root))) ?? '', /its worker has not let go of it yet/)
    await worker.release(lease)
    watch.touchRun(child)
    assert.deepEqual(await (await deleting).json(), { run_id: root, deleted: 2 })

    const blocked = await admin.create({ prompt: 'x', config: { worker_host: worker.pool } })
    await worker.ask(await worker.start(blocked))
    assert.match((await detailOf(await remove(blocked))) ?? '', /it is BLOCKED/)
    assert.equal((await remove(blocked, '?cancel=true')).status, 200)
    assert.equal((await remove(blocked, '?cancel=maybe')).status, 400)
  })

  test('its creator and admins delete a run, and nobody else', async () => {
    const { admin, other, viewer } = service()
    const of_admin = await idle()
    const denied = await other.call('DELETE', `/agent/runs/${of_admin}?cancel=true`)
    assert.equal(denied.status, 403)
    assert.match((await detailOf(denied)) ?? '', /Only the run’s creator or an admin/)
    assert.equal((await admin.get(of_admin)).state, 'QUEUED', 'Nothing was cancelled.')
    assert.equal((await viewer.call('DELETE', `/agent/runs/${of_admin}?cancel=true`)).status, 403)
    const own = await other.create({ prompt: 'x', ...IDLE })
    const below = await other.create({ prompt: 'x', parent_run_id: own, ...IDLE })
    assert.equal((await admin.call('DELETE', `/agent/runs/${own}?cancel=true`)).status, 200)
    assert.equal((await other.call('GET', `/agent/runs/${below}`)).status, 404)
    // What an identity executes its creator deletes, and so may what is below it, which the identity created.
    const { uid } = await other.json<{ uid: string }>('POST', '/agent/identities', { name: 'deletes' })
    const executed = await other.create({ prompt: 'x', agent_identity_uid: uid, ...IDLE })
    assert.equal((await other.call('DELETE', `/agent/runs/${executed}?cancel=true`)).status, 200)
    const personal = await other.create({ prompt: 'x', team: false, ...IDLE })
    assert.equal((await admin.call('DELETE', `/agent/runs/${personal}?cancel=true`)).status, 404)
    assert.equal((await other.call('DELETE', `/agent/runs/${personal}?cancel=true`)).status, 200)
    assert.equal((await admin.call('DELETE', '/agent/runs/none')).status, 404)
  })

  test('a fork goes on without the run it came from, and its files stay as long as it needs them', async () => {
    const { admin, blobs, store } = service()
    const source = await ended({ 'a.txt': 'a' })
    const fork = await idle()
    const [key = ''] = await filesOf(source)
    // As a fork names the workspace of its source.
    await sql`
      insert into snapshots (snapshot_id, run_id, attempt, execution, last_execution, turn, sequence, folders, commits,
        attachments_written, backend, sandbox_id, blob_key, size_bytes, expanded_bytes, entries, sha256)
      select gen_random_uuid(), ${fork}::uuid, 0, 0, 0, 1, 0, '{}', '{}', '{}', 'host', 'x', ${key}, 1, 1, 1, 'x'`.execute(
      store.db,
    )
    assert.equal((await remove(source)).status, 200)
    await housekeeping(service()).look()
    assert.deepEqual(await filesOf(source), [key])
    assert.equal((await admin.get(fork)).state, 'QUEUED')
    assert.equal((await remove(fork, '?cancel=true')).status, 200)
    await housekeeping(service()).look()
    assert.equal(await blobs.get(key), null)
  })

  test('who follows a run that is deleted hears the end of the stream', async () => {
    const { admin, worker, fetch, base_url, keys } = service()
    const run_id = await admin.create({ prompt: 'x', config: { worker_host: worker.pool } })
    const lease = await worker.start(run_id)
    const open = async (path: string) => {
      const answer = await fetch(`${base_url}${path}`, {
        headers: { authorization: `Bearer ${keys.admin}`, accept: 'text/event-stream' },
      })
      assert.equal(answer.status, 200)
      return answer
    }
    const streams = [
      await open(`/agent/runs/${run_id}/events?follow=true`),
      await open(`/agent/events/stream?run_ids=${run_id}`),
    ].map((answer) => answer.text())
    const deleting = remove(run_id, '?cancel=true')
    await until('the run is cancelled', async () => (await admin.get(run_id)).state === 'CANCELLED')
    await worker.release(lease)
    assert.equal((await deleting).status, 200)
    for (const text of await Promise.all(streams)) assert.match(text, /retry: 1000/)
  })

  test('by filter: counted first, what is open stays unless it is cancelled, and others’ stay', async () => {
    const { admin, other, worker } = service()
    const metadata = { lot: 'first' }
    const mine = [await ended({}, { metadata }), await ended({}, { metadata }), await ended({}, { metadata })]
    const child = await ended({}, { parent_run_id: mine[0], metadata: { lot: 'other' } })
    const open = await idle({ metadata })
    const personal = await other.create({ prompt: 'x', team: false, metadata, ...IDLE })
    const filter = { metadata }
    const counted = await removeMany({ ...filter, dry_run: true })
    assert.deepEqual(counted, { dry_run: true, count: 4, open: 1, has_more: true })
    // Another member's are not the member's to delete.
    const of_other = await other.json<DeleteRunsResponse>('POST', '/agent/runs/delete', {
      ...filter,
      dry_run: true,
    })
    assert.deepEqual([of_other.count, of_other.open], [0, 1])
    await admin.json('POST', `/agent/runs/${mine[1]}/archive`)
    const archived = await removeMany({ ...filter, archived: 'false', dry_run: true })
    assert.equal(archived.count, 3)

    assert.deepEqual(await removeMany(filter), { dry_run: false, count: 4, open: 1, has_more: false })
    for (const run_id of [...mine, child])
      assert.equal((await admin.call('GET', `/agent/runs/${run_id}`)).status, 404)
    assert.equal((await admin.get(open)).state, 'QUEUED')
    assert.equal((await other.get(personal)).state, 'QUEUED')
    // A tree with a run that is open stays as it is, and so do its other runs.
    const root = await ended({}, { metadata: { lot: 'second' } })
    const busy = await admin.create({
      prompt: 'x',
      parent_run_id: root,
      config: { worker_host: worker.pool },
    })
    const lease = await worker.start(busy)
    const second = { metadata: { lot: 'second' } }
    assert.deepEqual(await removeMany(second), { dry_run: false, count: 0, open: 2, has_more: false })
    const stopping = await removeMany({ ...second, cancel: true })
    assert.deepEqual(stopping, { dry_run: false, count: 0, open: 2, has_more: false })
    await worker.release(lease)
    assert.deepEqual(await removeMany({ ...second, cancel: true }), {
      ...{ dry_run: false, count: 2, open: 0, has_more: false },
    })
  })

  test('by filter: none is refused, and so is one that is misspelled', async () => {
    const { admin } = service()
    for (const [body, said] of [
      [{}, /There is no filter/],
      [{ cancel: true }, /There is no filter/],
      // Fields that leave no run out are none.
      [{ execution_location: 'REMOTE' }, /There is no filter/],
      [{ archived: 'all', metadata: {} }, /There is no filter/],
      [{ q: ' ' }, /There is no filter/],
      [{ state: RunState.options }, /There is no filter/],
      [{ needs_attention: false }, /needs_attention: must be true/],
      [{ factory_only: false, state: ['FAILED'] }, /factory_only: must be true/],
      [{ all: true, state: ['FAILED'] }, /all: is for no filter/],
      [{ created_befor: '2026-01-01T00:00:00Z' }, /created_befor/],
      [{ state: [] }, /state/],
      [{ environment_id: 'nowhere' }, /no environment with this name/],
    ] as const) {
      const answer = await admin.call('POST', '/agent/runs/delete', body)
      assert.equal(answer.status, 400, JSON.stringify(body))
      assert.match((await detailOf(answer)) ?? '', said)
    }
    const twice = { 'idempotency-key': 'delete-by-filter' }
    const run_id = await ended({}, { metadata: { lot: 'third' } })
    const body = { metadata: { lot: 'third' } }
    const first = await admin.call('POST', '/agent/runs/delete', body, twice)
    assert.equal(((await first.json()) as DeleteRunsResponse).count, 1)
    const again = await admin.call('POST', '/agent/runs/delete', body, twice)
    assert.equal(again.headers.get('idempotent-replayed'), 'true')
    assert.equal(((await again.json()) as DeleteRunsResponse).count, 1)
    assert.equal((await admin.call('GET', `/agent/runs/${run_id}`)).status, 404)
    const all = await removeMany({ all: true, dry_run: true })
    assert(all.count > 0)
  })

  test('an archived run is left out of lists until it is asked for, or goes on', async () => {
    const { admin, other, viewer } = service()
    const metadata = { lot: 'archive' }
    const run_id = await ended({}, { metadata })
    const list = async (query = '') =>
      (await admin.json<ListRunsResponse>('GET', `/agent/runs?metadata[lot]=archive${query}`)).runs.map(
        (run) => run.run_id,
      )
    const archive = (word: string, who = other) => who.json<RunItem>('POST', `/agent/runs/${run_id}/${word}`)
    const { archived_at, updated_at } = await archive('archive')
    assert(archived_at)
    assert.equal((await archive('archive')).updated_at, updated_at, 'Said twice, nothing changes.')
    assert.deepEqual(
      [await list(), await list('&archived=true'), await list('&archived=all')],
      [[], [run_id], [run_id]],
    )
    assert.equal((await archive('unarchive')).archived_at, undefined)
    assert.deepEqual([await list(), await list('&archived=true')], [[run_id], []])
    assert.equal((await viewer.call('POST', `/agent/runs/${run_id}/archive`)).status, 403)
    await archive('archive')
    await admin.json('POST', `/agent/runs/${run_id}/followups`, { message: 'Go on.' })
    assert.deepEqual(await list(), [run_id])
    const refused = await admin.call('POST', `/agent/runs/${run_id}/archive`)
    assert.equal(refused.status, 409)
    assert.match((await detailOf(refused)) ?? '', /it is QUEUED\. Archive it when it has/)
    assert.equal((await admin.call('POST', '/agent/runs/none/archive')).status, 404)
    await admin.json('POST', `/agent/runs/${run_id}/cancel`)
  })

  test('a run is renamed', async () => {
    const { admin, other } = service()
    const run_id = await idle()
    const rename = (title: unknown, who = admin) => who.call('PATCH', `/agent/runs/${run_id}`, { title })
    const answer = await rename('  Neuer Name 🐦 ', other)
    assert.equal(((await answer.json()) as RunItem).title, 'Neuer Name 🐦')
    assert.equal((await admin.get(run_id)).title, 'Neuer Name 🐦')
    for (const [title, status] of [
      ['', 400],
      [' ', 400],
      [7, 400],
      ['x'.repeat(10_000), 413],
    ] as const)
      assert.equal((await rename(title)).status, status, String(title).slice(0, 9))
    assert.equal((await admin.call('PATCH', `/agent/runs/${run_id}`, { state: 'x' })).status, 400)
    assert.equal((await admin.call('PATCH', '/agent/runs/none', { title: 'x' })).status, 404)
    await admin.json('POST', `/agent/runs/${run_id}/cancel`)
    assert.equal((await remove(run_id)).status, 200)
  })
})
