/** What becomes of runs while their storage is away, refuses, or gives back something else. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { sql } from 'kysely'
import type { Blobs } from '../src/blobs/blobs.ts'
import { openS3Blobs } from '../src/blobs/s3.ts'
import { createS3Client } from '../src/blobs/s3-client.ts'
import type { RunEvent } from '../src/contract/event.ts'
import { type Cluster, startCluster, until, type WorkerRole } from './support/cluster.ts'
import { createDatabase, stopTestServer } from './support/databases.ts'
import { type FaultyProxy, startFaultyProxy } from './support/faulty-proxy.ts'
import { git } from './support/git.ts'
import { findPostgres } from './support/postgres-server.ts'
import { missingS3, type S3Server, startS3 } from './support/s3-server.ts'
import { shell, temporaryDirectory } from './support/service.ts'
import { assertWhole, findProcesses, ofType, printed } from './support/traces.ts'

const IS_ID = /^[0-9a-f-]{36}/
const REFUSAL = 'HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n'
const missing =
  findPostgres() || process.env.RUNYARD_TEST_POSTGRES ? missingS3() : 'PostgreSQL is not installed'

describe('a storage on S3 that fails', { skip: missing }, () => {
  const repositories = temporaryDirectory('repositories')
  let s3: S3Server
  let blobs: Blobs
  let proxy: FaultyProxy
  let database: Awaited<ReturnType<typeof createDatabase>>
  let cluster: Cluster
  let worker: WorkerRole
  before(async () => {
    const repository = join(repositories, 'repo')
    execFileSync('git', ['init', '--quiet', '--initial-branch=main', repository])
    writeFileSync(join(repository, 'README.md'), 'one\n')
    git(repository, 'add', '--all')
    git(repository, 'commit', '--quiet', '-m', 'base')
    s3 = await startS3()
    const direct = s3.place('of/this/')
    blobs = openS3Blobs(createS3Client(direct), direct)
    proxy = await startFaultyProxy(Number(new URL(s3.endpoint).port))
    database = await createDatabase()
    cluster = await startCluster(database.url, {
      ...s3.environment('of/this'),
      AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${proxy.port}`,
      RUNYARD_SECRET_KEY: 'the same on each machine, and long enough',
      RUNYARD_LOCAL_REPOS: repositories,
    })
    await move()
  })
  after(async () => {
    await cluster?.stop()
    await database?.drop()
    await proxy?.close()
    await s3?.stop()
    await stopTestServer()
  })

  /** A worker on another machine takes over. */
  const move = async () => {
    await worker?.end('SIGTERM')
    worker = await cluster.worker('default', { RUNYARD_DATA_DIR: temporaryDirectory('worker') })
  }
  const keysOf = async (run_id: string): Promise<string[]> =>
    (await Array.fromAsync(blobs.list(`runs/${run_id}`))).map(({ key }) => key)
  const refuse = () => proxy.answerWith(REFUSAL, 10_000)
  const answer = () => proxy.answerWith('', 0)
  const createIn = async (config: object, command: string): Promise<string> => {
    const { uid } = await cluster.api.json<{ uid: string }>('POST', '/agent/environments', {
      name: randomUUID(),
      ...config,
    })
    return cluster.api.create({ prompt: shell(command), config: { environment_id: uid } })
  }
  const goOn = async (run_id: string, command: string) => {
    const before = (await cluster.api.events(run_id)).length
    await cluster.api.json('POST', `/agent/runs/${run_id}/followups`, { message: shell(command) })
    const run = await cluster.api.ended(run_id, 90)
    const events = await cluster.api.events(run_id)
    assertWhole(events)
    return { run, events: events.slice(before) }
  }
  const errorsOf = (events: Awaited<ReturnType<Cluster['api']['events']>>) =>
    ofType(events, 'error').map(({ data }) => data.message)

  test('costs no run and says all that was not kept, and the next turn keeps it', async () => {
    const { api } = cluster
    const marker = `7${Date.now()}`
    const run_id = await createIn(
      { repositories: [{ local_path: join(repositories, 'repo') }] },
      `sleep ${marker}; for n in a b c; do echo $n > $RUNYARD_ARTIFACTS_DIR/$n.txt; done; echo two >> README.md`,
    )
    await until('the step', () => findProcesses(marker).length > 0)
    refuse()
    for (const pid of findProcesses(marker)) process.kill(pid)
    assert.equal((await api.ended(run_id, 90)).state, 'SUCCEEDED')
    const [artifacts = '', ...rest] = errorsOf(await api.events(run_id))
    for (const name of ['a.txt', 'b.txt', 'c.txt'])
      assert.match(artifacts, new RegExp(`${name}: The storage`))
    assert.deepEqual(
      rest.map((message) => message.split('.')[0]),
      ['The changes were not kept', 'The workspace was not kept'],
    )
    answer()
    const { run, events } = await goOn(run_id, 'true')
    const kept = run.artifacts.map(({ data }) => 'filename' in data && data.filename)
    assert.deepEqual(kept.sort(), ['a.txt', 'b.txt', 'c.txt', 'changes-2.patch'])
    assert.deepEqual(errorsOf(events), [])
    const { rows } = await sql<{ blob_key: string }>`
      select blob_key from snapshots where run_id = ${run_id}`.execute(cluster.store.db)
    assert.equal(rows.length, 1)
    assert.equal((await keysOf(run_id)).length, kept.length + rows.length, 'nothing is left of what failed')
  })

  test('that cannot be read ends the turn, and the workspace is there when it can be again', async () => {
    const { api } = cluster
    const run_id = await createIn({}, 'echo kept > file')
    assert.equal((await api.ended(run_id, 90)).state, 'SUCCEEDED')
    await move()
    refuse()
    const away = await goOn(run_id, 'cat file')
    const { error_code, retryable, message = '' } = away.run.status_message ?? {}
    assert.deepEqual([away.run.state, error_code, retryable], ['ERROR', 'resource_unavailable', true])
    assert.match(message, /^The workspace is kept and cannot be read/)
    // Accepted means stored.
    assert.match(JSON.stringify(ofType(away.events, 'message.user')), /cat file/)
    answer()
    const back = await goOn(run_id, 'cat file')
    assert.deepEqual([back.run.state, printed(back.events)], ['SUCCEEDED', 'kept\n'])
  })

  test('gives back something else, which is told, and the workspace is a fresh one', async () => {
    const { api } = cluster
    for (const spoil of [
      async (key: string) => blobs.delete(key),
      async (key: string, data: Buffer) => void (await blobs.put(key, data.subarray(0, data.length / 2))),
      async (key: string, data: Buffer) => void (await blobs.put(key, data.fill(0, data.length - 20))),
    ]) {
      const run_id = await createIn({}, 'head -c 100000 /dev/urandom > file')
      assert.equal((await api.ended(run_id, 90)).state, 'SUCCEEDED')
      await move()
      const [key = ''] = await keysOf(run_id)
      const stored = await blobs.get(key)
      assert(stored)
      await spoil(key, await buffer(stored))
      const { run, events } = await goOn(run_id, 'ls')
      assert.deepEqual([run.state, printed(events)], ['SUCCEEDED', 'artifacts\nattachments\n'])
      const [restored] = ofType(events, 'setup').filter(({ data }) => data.phase === 'restore')
      assert.match(restored?.data.name ?? '', /^a fresh workspace: .*, and the snapshot of it /)
    }
  })

  test('keeps no setup, and gives none back, without costing a run', async () => {
    const { api } = cluster
    const config = { name: randomUUID(), setup_commands: ['echo setup >> ~/made; sleep 2.1'] }
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', config)
    const phases = async (): Promise<string> => {
      const run_id = await api.create({ prompt: shell('cat ~/made'), config: { environment_id: uid } })
      assert.equal((await api.ended(run_id, 90)).state, 'SUCCEEDED')
      const events = await api.events(run_id)
      assert.equal(printed(events), 'setup\n')
      return [...new Set(ofType(events, 'setup').map(({ data }) => data.phase))].join(' ')
    }
    refuse()
    assert.equal(await phases(), 'sandbox command')
    answer()
    assert.equal(await phases(), 'sandbox command')
    assert.equal(await phases(), 'sandbox restore')
    refuse()
    assert.equal(await phases(), 'sandbox command')
    answer()
    assert.equal(await phases(), 'sandbox restore')
  })

  test('and a worker that is killed meanwhile leave a run that is whole', async () => {
    const { api } = cluster
    const data_dir = temporaryDirectory('killed')
    const replace = async (signal: NodeJS.Signals) => {
      await worker.end(signal)
      if (signal === 'SIGKILL') await proxy.comeBack()
      worker = await cluster.worker('default', { RUNYARD_DATA_DIR: data_dir })
    }
    const sandboxes = () =>
      readdirSync(join(data_dir, 'sandboxes/bubblewrap')).filter((name) => IS_ID.test(name))
    await replace('SIGTERM')

    // While it keeps what a setup left.
    const config = { name: randomUUID(), setup_commands: ['echo setup >> ~/made; sleep 2.1'] }
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', config)
    const setups = (events: RunEvent[]) =>
      ofType(events, 'setup').filter(({ data }) => data.phase === 'command' && data.status === 'finished')
    const run_id = await api.create({
      prompt: shell('cat ~/made; echo kept > file'),
      config: { environment_id: uid },
    })
    await until('setup', async () =>
      ofType(await api.events(run_id), 'setup').some(({ data }) => data.phase === 'command'),
    )
    await proxy.goAway()
    await until('the end of the setup', async () => setups(await api.events(run_id)).length > 0)
    await replace('SIGKILL')
    const run = await api.ended(run_id, 90)
    const first = await api.events(run_id)
    assertWhole(first)
    assert.deepEqual([run.state, run.attempt, printed(first)], ['SUCCEEDED', 2, 'setup\n'])
    assert.deepEqual(sandboxes(), [`${run_id}-2`])

    // While it restores a workspace.
    await worker.end('SIGTERM')
    rmSync(join(data_dir, 'sandboxes'), { recursive: true })
    await replace('SIGTERM')
    await proxy.goAway()
    await api.json('POST', `/agent/runs/${run_id}/followups`, {
      message: shell('cat file ~/made; echo more >> file'),
    })
    await until(
      'a sandbox',
      async () => ofType(await api.events(run_id), 'setup').length > ofType(first, 'setup').length,
    )
    const begun = sandboxes()
    await replace('SIGKILL')
    const second = await api.ended(run_id, 90)
    const events = (await api.events(run_id)).slice(first.length)
    assertWhole(await api.events(run_id))
    assert.deepEqual([second.state, second.attempt, printed(events)], ['SUCCEEDED', 4, 'kept\nsetup\n'])
    assert.deepEqual([begun, sandboxes()], [[`${run_id}-3`], [`${run_id}-4`]])

    // While it keeps one.
    await api.json('POST', `/agent/runs/${run_id}/followups`, {
      message: shell('echo third >> file; sleep 2'),
    })
    await until('step', async () => ofType(await api.events(run_id), 'tool.call').length === 3)
    await proxy.goAway()
    await until('result', async () => ofType(await api.events(run_id), 'tool.result').length === 3)
    await replace('SIGKILL')
    const third = await api.ended(run_id, 90)
    const { rows } = await sql<{
      blob_key: string
    }>`select blob_key from snapshots where run_id = ${run_id}`.execute(cluster.store.db)
    assertWhole(await api.events(run_id))
    assert.deepEqual([third.state, third.attempt], ['SUCCEEDED', 6])
    assert.deepEqual(
      await keysOf(run_id),
      rows.map(({ blob_key }) => blob_key),
    )
    const last = await goOn(run_id, 'cat file')
    assert.equal(printed(last.events), 'kept\nmore\nthird\n')
    assert.deepEqual(sandboxes(), [`${run_id}-4`])
  })
})
