/** The files of a run's workspace, as each of its turns left them. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Runyard } from '@runyard/client'
import { sql } from 'kysely'
import type { WorkspaceFileResponse } from '../src/contract/workspace-file.ts'
import { until } from './support/cluster.ts'
import { apiOf, shell, startService, type TestService } from './support/service.ts'

describe('files of a workspace', () => {
  let service: TestService
  let api: ReturnType<typeof apiOf>
  let client: Runyard
  before(async () => {
    service = await startService({ env: { RUNYARD_SNAPSHOT_TURNS: '2', RUNYARD_GRACE_SECONDS: '0' } })
    api = apiOf(service)
    client = new Runyard({ baseURL: service.base_url, apiKey: service.api_key })
  })
  after(() => service?.stop())

  const ended = async (run_id: string): Promise<void> => {
    const { state, status_message } = await api.ended(run_id)
    assert.equal(state, 'SUCCEEDED', status_message?.message)
  }
  const create = async (command: string): Promise<string> => {
    const run_id = await api.create({ prompt: shell(command) })
    await ended(run_id)
    return run_id
  }
  const goOn = async (run_id: string, command: string): Promise<void> => {
    await api.json('POST', `/agent/runs/${run_id}/followups`, { message: shell(command) })
    await ended(run_id)
  }
  const namesOf = async (run_id: string, params: { path?: string; turn?: number } = {}) => {
    const names: string[] = []
    for await (const { name } of client.files.list(run_id, { ...params, limit: 2 })) names.push(name)
    // Each workspace has these.
    return names.filter((name) => !['artifacts', 'attachments'].includes(name))
  }
  const read = async (run_id: string, path: string, turn?: number): Promise<string> =>
    (await client.files.download(run_id, { path, turn })).text()
  const refused = async (path: string, status: number, said: RegExp): Promise<void> => {
    const answer = await api.call('GET', path)
    const { detail = '' } = (await answer.json()) as { detail?: string }
    assert.deepEqual([answer.status, said.test(detail)], [status, true], `${path}: ${detail}`)
  }
  const blobsOf = (run_id: string, kind: string): string[] => {
    const folder = join(service.data_dir, 'blobs/runs', run_id, kind)
    return existsSync(folder) ? readdirSync(folder).filter((name) => !name.endsWith('.partial')) : []
  }

  test('are listed folder by folder and read, as each turn that is kept left them', async () => {
    const run_id = await create(
      'mkdir -p src/lib; echo one > src/a.ts; echo b > b; ln -s ../../etc/passwd out',
    )
    await goOn(run_id, 'echo two > src/a.ts; rm b; echo c > c')
    assert.deepEqual(await namesOf(run_id), ['c', 'out', 'src'])
    assert.deepEqual(await namesOf(run_id, { turn: 1 }), ['b', 'out', 'src'])
    for (const path of ['src', '/workspace/src', './src/', 'src//.'])
      assert.deepEqual(await namesOf(run_id, { path }), ['a.ts', 'lib'], path)
    assert.deepEqual(await namesOf(run_id, { path: 'src/lib' }), [])
    assert.deepEqual([await read(run_id, 'src/a.ts'), await read(run_id, 'src/a.ts', 1)], ['two\n', 'one\n'])
    const first = await client.files.list(run_id, { path: 'out' })
    assert.deepEqual([first.turn, first.turns, first.path], [2, [1, 2], 'out'])
    assert.deepEqual(first.files, [
      { path: 'out', name: 'out', type: 'link', mode: '777', target: '../../etc/passwd' },
    ])
    const { type, size_bytes, mode } = await client.files.retrieve(run_id, { path: '/workspace/src/a.ts' })
    assert.deepEqual([type, size_bytes, mode], ['file', 4, '644'])

    // A turn that changes nothing leaves what it found; beyond two turns none is kept.
    await goOn(run_id, 'cat src/a.ts')
    assert.deepEqual((await client.files.list(run_id)).turns, [2, 3])
    assert.equal(await read(run_id, 'c', 3), 'c\n')
    await refused(`/agent/runs/${run_id}/files?turn=1`, 404, /turn 1 is not kept.*can be listed: 2, 3\.$/)
    assert.deepEqual(blobsOf(run_id, 'indexes'), blobsOf(run_id, 'snapshots'))

    const fork_id = (await client.runs.fork(run_id, { prompt: shell('echo mine > own') })).run_id
    await ended(fork_id)
    assert.deepEqual(await namesOf(fork_id), ['c', 'out', 'own', 'src'])

    // One that changes nothing shares what its source left, and keeps it when that goes.
    const idle_id = (await client.runs.fork(run_id, { prompt: shell('cat c') })).run_id
    await ended(idle_id)
    await client.runs.delete(run_id)
    await until('what is removed to be gone', async () => {
      const { rows } = await sql`select from removed_files`.execute(service.store.db)
      return rows.length === 0
    })
    assert.deepEqual(await namesOf(idle_id), ['c', 'out', 'src'])
    assert.equal(await read(idle_id, 'src/a.ts'), 'two\n')
  })

  test('are refused with what is wrong, and what helps', async () => {
    const run_id = await create('mkdir -p src; echo a > src/a; ln -s src/a link')
    const at = (path: string, query: string) => `/agent/runs/${run_id}/${path}?path=${query}`
    for (const path of ['files', 'file']) {
      await refused(at(path, '../etc/passwd'), 400, /path: must not lead up/)
      await refused(at(path, 'src/../../x'), 400, /path: must not lead up/)
      await refused(at(path, 'a%00b'), 400, /NUL/)
      await refused(at(path, '/etc/passwd'), 400, /path: must lie in \/workspace/)
      await refused(at(path, 'a'.repeat(8_193)), 400, /path: .*8192/)
      await refused(
        at(path, 'nothing/here'),
        404,
        /There is no nothing\/here in the workspace as turn 1 left it/,
      )
      await refused(at(path, 'src&turn=7'), 404, /No turn 7 of this run has ended.*can be listed: 1\./)
    }
    await refused(at('file', 'src'), 400, /src is a folder, not a file/)
    await refused(at('file', '/'), 400, /must lie in \/workspace/)
    await refused(at('file', '/workspace'), 400, /\/workspace is a folder/)
    await refused(at('file', 'link'), 400, /link is a link to src\/a\. Links are not followed/)
    await refused(at('files', 'src&cursor=bm90IG9uZQ'), 400, /cursor: is not one this service gave out/)
    const { page_info } = await client.files.list(run_id, { limit: 1 })
    await refused(
      at('files', `src&cursor=${page_info.next_cursor}`),
      400,
      /cursor: belongs to another folder/,
    )

    const bare = await create('true')
    await refused(`/agent/runs/${bare}/files`, 404, /Nothing had been changed in the workspace/)
    const open = await api.create({ prompt: shell('read _ < /dev/tcp/127.0.0.1/9 || sleep 60') })
    await refused(`/agent/runs/${open}/files`, 404, /No turn of this run has ended yet/)
    await api.json('POST', `/agent/runs/${open}/cancel`)
  })

  test('binary and large files come whole, as downloads that act as nothing', async () => {
    const run_id = await create(
      'head -c 30000000 /dev/urandom > large.bin; sha256sum < large.bin > sum; printf "<script>1</script>" > page.html; printf x > "$(printf \'caf\\351\')"',
    )
    const data = Buffer.from(await (await client.files.download(run_id, { path: 'large.bin' })).arrayBuffer())
    assert.equal(data.length, 30_000_000)
    assert((await read(run_id, 'sum')).startsWith(createHash('sha256').update(data).digest('hex')))
    const page = await fetch((await client.files.retrieve(run_id, { path: 'page.html' })).download_url)
    assert.equal(page.headers.get('content-type'), 'application/octet-stream')
    assert.match(page.headers.get('content-disposition') ?? '', /^attachment; filename=page\.html/)
    assert.match(page.headers.get('content-security-policy') ?? '', /sandbox/)
    await page.body?.cancel()
    assert.deepEqual((await namesOf(run_id))[0], 'caf\\xE9')
    assert.equal(await read(run_id, 'caf\\xE9'), 'x')
  })

  test('a link is good for one file alone, and only as it was signed', async () => {
    const run_id = await create('echo a > a; echo secret > b')
    const [a, b]: WorkspaceFileResponse[] = [
      await client.files.retrieve(run_id, { path: 'a' }),
      await client.files.retrieve(run_id, { path: 'b' }),
    ]
    assert(a && b)
    assert.equal(await (await fetch(b.download_url)).text(), 'secret\n')
    const other = new URL(a.download_url)
    other.pathname = new URL(b.download_url).pathname
    assert.equal((await fetch(other)).status, 404)
    for (const part of ['0-999999', '-1-5', 'x', '0-'])
      assert.equal((await fetch(a.download_url.replace(/\d+-\d+\//, `${part}/`))).status, 404, part)
  })

  test('a workspace that was kept before there were indexes says so', async () => {
    const run_id = await create('echo a > a')
    await sql`update snapshots set index_blob_key = null where run_id = ${run_id}`.execute(service.store.db)
    await refused(`/agent/runs/${run_id}/files`, 404, /was kept by an older version.*the next turn's files/)
    await goOn(run_id, 'echo b > b')
    assert.deepEqual(await namesOf(run_id), ['a', 'b'])
  })

  test('they go with their run, and nothing of them stays', async () => {
    const run_id = await create('echo a > a')
    assert.equal(blobsOf(run_id, 'indexes').length, 1)
    await client.runs.delete(run_id)
    assert.equal((await api.call('GET', `/agent/runs/${run_id}/files`)).status, 404)
    await until(
      'its files to be gone',
      () => blobsOf(run_id, 'indexes').length + blobsOf(run_id, 'snapshots').length === 0,
    )
  })
})
