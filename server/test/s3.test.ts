/** `serve` and `worker` on machines of their own: nothing is shared but PostgreSQL and a store that speaks S3. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { sql } from 'kysely'
import type { Blobs } from '../src/blobs/blobs.ts'
import { openS3Blobs } from '../src/blobs/s3.ts'
import { createS3Client } from '../src/blobs/s3-client.ts'
import type { ArtifactResponse } from '../src/contract/artifact.ts'
import type { RunDiff } from '../src/contract/diff.ts'
import { CleanUp } from '../src/housekeeping/clean-up.ts'
import { type InnerCluster, startInnerCluster, until } from './support/cluster.ts'
import { createDatabase, stopTestServer } from './support/databases.ts'
import { git } from './support/git.ts'
import { openModelServer } from './support/model-server.ts'
import { LONG, onlyLong } from './support/once.ts'
import { findPostgres } from './support/postgres-server.ts'
import { missingS3, type S3Server, startS3 } from './support/s3-server.ts'
import { answerCalls } from './support/scripted-calls.ts'
import { shell, spawnRunyard, temporaryDirectory } from './support/service.ts'
import { startSilentProxy } from './support/silent-proxy.ts'
import { assertWhole, findProcesses, ofType, printed } from './support/traces.ts'

const LARGE_BYTES = 20_000_000
const MINUTE = 60_000
const missing =
  findPostgres() || process.env.RUNYARD_TEST_POSTGRES ? missingS3() : 'PostgreSQL is not installed'

describe('files on S3', { skip: missing }, () => {
  const repositories = temporaryDirectory('repositories')
  const of_worker = temporaryDirectory('worker')
  let s3: S3Server
  let blobs: Blobs
  let database: Awaited<ReturnType<typeof createDatabase>>
  let cluster: InnerCluster
  before(async () => {
    const repository = join(repositories, 'repo')
    execFileSync('git', ['init', '--quiet', '--initial-branch=main', repository])
    writeFileSync(join(repository, 'README.md'), 'one\n')
    git(repository, 'add', '--all')
    git(repository, 'commit', '--quiet', '-m', 'base')
    s3 = await startS3()
    const place = s3.place('of/this/')
    blobs = openS3Blobs(createS3Client(place), place)
    database = await createDatabase()
    cluster = await startInnerCluster(database.url, {
      ...s3.environment('of/this'),
      RUNYARD_SECRET_KEY: 'the same on each machine, and long enough',
      RUNYARD_LOCAL_REPOS: repositories,
    })
    // Without snapshots, so that what is there can be counted.
    await cluster.worker('default', { RUNYARD_DATA_DIR: of_worker, RUNYARD_MAX_SNAPSHOT_MB: '0' })
  })
  after(async () => {
    await cluster?.stop()
    await database?.drop()
    await s3?.stop()
    await stopTestServer()
  })

  const keysIn = async (folder: string): Promise<string[]> =>
    (await Array.fromAsync(blobs.list(folder))).map(({ key }) => key)
  const download = async (url: string): Promise<Buffer> => {
    const answer = await fetch(url)
    assert.equal(answer.status, 200)
    return Buffer.from(await answer.arrayBuffer())
  }

  test('come in, go out and are cleaned up without a shared disk', async () => {
    const { api, store, data_dir } = cluster
    // What is older than its note may be another installation's, and stays.
    await until('the note of the installation', async () => (await keysIn('owners')).length > 0)

    const environment = { name: randomUUID(), repositories: [{ local_path: join(repositories, 'repo') }] }
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', environment)
    const run_id = await api.create({
      config: { environment_id: uid },
      prompt: shell(
        [
          'cd /workspace; cat attachments/in.txt > artifacts/out.txt; echo two >> repo/README.md',
          `head -c ${LARGE_BYTES} /dev/zero | tr '\\0' x > artifacts/large.bin`,
        ].join('\n'),
      ),
      attachments: [
        { file_name: 'in.txt', mime_type: 'text/plain', data: Buffer.from('brought\n').toString('base64') },
      ],
    })
    const run = await api.ended(run_id, 60)
    assert.equal(run.state, 'SUCCEEDED', run.status_message?.message)

    const files: Record<string, Buffer> = {}
    for (const { data } of run.artifacts) {
      assert('artifact_uid' in data && data.artifact_uid)
      const { data: file } = await api.json<ArtifactResponse>('GET', `/agent/artifacts/${data.artifact_uid}`)
      const bytes = await download(file.download_url)
      assert.equal(createHash('sha256').update(bytes).digest('hex'), file.sha256)
      files[file.filepath] = bytes
    }
    assert.deepEqual(Object.keys(files).sort(), ['changes-1.patch', 'large.bin', 'out.txt'])
    assert.equal(files['out.txt']?.toString(), 'brought\n')
    assert.equal(files['large.bin']?.length, LARGE_BYTES)
    const diff = await api.json<RunDiff>('GET', `/agent/runs/${run_id}/diff`)
    assert.match((await download(diff.patch?.data.download_url ?? '')).toString(), /^\+two$/m)

    assert.equal((await keysIn('runs')).length, 4)
    for (const directory of [data_dir, of_worker]) assert(!existsSync(join(directory, 'blobs')), directory)

    const [kept = ''] = (await keysIn('runs')).filter((key) => key.includes('/attachments/'))
    const lost = `runs/${run_id}/artifacts/${randomUUID()}`
    await blobs.put(lost, Buffer.from('of a killed process'))
    await sql`delete from artifacts where run_id = ${run_id}`.execute(store.db)
    let now = Date.now() + 25 * 60 * MINUTE
    const cleanUp = new CleanUp({ store, blobs, log: console, audit_days: 400, now: () => now })
    for (let minute = 0; minute < 15; minute += 1) {
      now += MINUTE
      await cleanUp.look()
    }
    assert.deepEqual(await keysIn('runs'), [kept])
    const attached = await blobs.get(kept)
    assert.equal(attached && (await text(attached)), 'brought\n')
  })

  test('keep a workspace for a worker on another machine, when the first one is killed', async () => {
    const { api, store } = cluster
    const pool = 'moving'
    const every = { RUNYARD_SNAPSHOT_SECONDS: '1' }
    const first = await cluster.outerWorker(pool, { RUNYARD_DATA_DIR: temporaryDirectory('first'), ...every })
    const environment = { name: randomUUID(), repositories: [{ local_path: join(repositories, 'repo') }] }
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', environment)
    const marker = `8${Date.now()}`
    const run_id = await api.create({
      config: { environment_id: uid, worker_host: pool },
      prompt: [
        shell('echo two >> README.md; echo kept > ~/state'),
        shell(`echo three >> README.md; sleep ${marker}; echo four >> README.md`),
      ].join('\n'),
    })
    const kept = () =>
      sql<{ sequence: number; blob_key: string }>`
        select sequence, blob_key from snapshots where run_id = ${run_id}`.execute(store.db)
    const stepOf = async () => ofType(await api.events(run_id), 'tool.call')[1]?.sequence ?? Infinity
    await until('a snapshot of the second step', async () => {
      const second = await stepOf()
      return (await kept()).rows.some(({ sequence }) => sequence >= second)
    })
    await first.end('SIGKILL')
    await until('the processes to die', () => findProcesses(marker).length === 0)
    const second = await cluster.worker(pool, { RUNYARD_DATA_DIR: temporaryDirectory('second'), ...every })
    await until('the step', () => findProcesses(marker).length > 0)
    await api.json('POST', `/agent/runs/${run_id}/interrupt`)
    await api.until(run_id, (run) => run.state === 'BLOCKED' && !run.is_sandbox_running)
    await second.end()

    await cluster.worker(pool, { RUNYARD_DATA_DIR: temporaryDirectory('third') })
    const before = (await api.events(run_id)).length
    await api.json('POST', `/agent/runs/${run_id}/followups`, {
      message: shell('cat README.md ~/state; echo five >> README.md'),
    })
    const run = await api.ended(run_id, 90)
    assert.deepEqual([run.state, run.attempt], ['SUCCEEDED', 3], run.status_message?.message)
    const events = await api.events(run_id)
    assertWhole(events)
    assert.equal(printed(events.slice(before)), 'one\ntwo\nthree\nthree\nkept\n')
    const restores = ofType(events, 'setup').flatMap(({ data }) => data.workspace ?? [])
    assert.deepEqual(
      restores.map(({ turn, calls_after }) => [turn, calls_after]),
      [
        [1, 1],
        [1, 0],
      ],
    )
    assert.equal(
      ofType(events, 'setup').filter(({ data }) => data.phase === 'clone').length,
      2,
      'Once: begun, done.',
    )
    const diff = await api.json<RunDiff>('GET', `/agent/runs/${run_id}/diff`)
    assert.deepEqual(
      diff.files.map(({ path, additions }) => [path, additions]),
      [['README.md', 4]],
    )
    const { rows } = await kept()
    assert.deepEqual(
      (await keysIn('runs')).filter((key) => key.includes(`${run_id}/snapshots`)).toSorted(),
      rows.map(({ blob_key }) => blob_key).toSorted(),
    )
    assert.equal(rows.length, 2, 'Of each turn one.')
  })

  // An interrupt in a call; and s3-faults.long.ts has what else a store can do.
  onlyLong('on their way to a storage that is silent keep no agent from being stopped', async () => {
    const { api } = cluster
    const pool = 'silent'
    const proxy = await startSilentProxy(s3.endpoint)
    await using model = await openModelServer(answerCalls, { models: [{ id: 'scripted' }] })
    try {
      const worker = await cluster.worker(pool, {
        ...{ AWS_ENDPOINT_URL_S3: new URL(proxy.url).origin, RUNYARD_DATA_DIR: temporaryDirectory(pool) },
        ...{ OPENAI_API_KEY: 'a-key', OPENAI_BASE_URL: model.url, RUNYARD_DEFAULT_MODEL: 'openai/scripted' },
      })
      const arrived = Promise.withResolvers<void>()
      proxy.when(/^PUT \S+\/artifacts\//, () => {
        arrived.resolve()
        return 'silence'
      })
      const run_id = await api.create({
        prompt: JSON.stringify([
          ['bash', { command: 'echo a report > r.txt' }],
          ['attach_artifact', { path: 'r.txt' }],
        ]),
        config: { worker_host: pool, harness: { type: 'oz' } },
      })
      await arrived.promise
      await api.json('POST', `/agent/runs/${run_id}/interrupt`)
      await api.until(run_id, ({ state }) => state === 'BLOCKED')
      const [, result] = ofType(await api.events(run_id), 'tool.result')
      // Else the storage is asked again, the file is there, and the agent hears that.
      assert.match(result?.data.output ?? '', /^interrupted: /)
      await worker.end()
    } finally {
      proxy.close()
    }
  })

  test('that cannot be kept end the start with one line', async () => {
    // Both read their settings the same way.
    for (const command of LONG ? [['serve', '--port', '0'], ['worker']] : [['worker']]) {
      const child = spawnRunyard(command, {
        DATABASE_URL: database.url,
        RUNYARD_DATA_DIR: temporaryDirectory('refused'),
        ...s3.environment('of/this'),
        RUNYARD_BLOBS: 's3://not-there',
      })
      child.stdout?.resume()
      const code = await new Promise((resolve) => child.once('close', resolve))
      assert.equal(code, 2, child.log())
      const lines = child.log().trim().split('\n')
      assert.match(lines.at(-1) ?? '', /RUNYARD_BLOBS: There is no bucket "not-there" at http/)
      assert.equal(lines.length, 1, child.log())
    }
  })

  test('are missed in /readyz where they cannot be reached, which stays green', async () => {
    const read = async () => {
      const answer = await fetch(new URL('/readyz', cluster.base_url))
      const { ready, files } = (await answer.json()) as { ready: boolean; files: object }
      return { status: answer.status, ready, files }
    }
    const green = { status: 200, ready: true }
    assert.deepEqual(await read(), { ...green, files: { kind: 's3', reachable: true } })
    await s3.stop()
    const away = { ...green, files: { kind: 's3', reachable: false } }
    await until('a look at the store', async () => JSON.stringify(await read()) === JSON.stringify(away), 20)
  })
})
