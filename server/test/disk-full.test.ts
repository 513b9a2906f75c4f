/** A disk that really fills: the data directory on a small file system of its own. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import {
  appendFileSync,
  chownSync,
  copyFileSync,
  existsSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { LOOP } from '../src/contract/harness-fields.ts'
import { openPostgres } from '../src/store/db.ts'
import { type Cluster, type InnerCluster, startCluster, startInnerCluster, until } from './support/cluster.ts'
import { createMigrated, stopTestServer } from './support/databases.ts'
import { LONG } from './support/once.ts'
import { findPostgres } from './support/postgres-server.ts'
import { apiOf, shell, startService, type TestService, temporaryDirectory } from './support/service.ts'
import { addPrincipal, addRun, addWorker, readStored } from './support/stored.ts'
import { assertWhole, ofType, printed, workersOf } from './support/traces.ts'
import { openTestWorker } from './support/worker.ts'

const MiB = 1024 ** 2
const data_dir = temporaryDirectory('small-disk')
const mountSmall = (directory: string): boolean =>
  spawnSync('mount', ['-t', 'tmpfs', '-o', 'mode=700,size=600m', 'runyard-test', directory]).status === 0
/** Takes space without writing, which would cost as much as all else here. */
const takeSpace = (file: string, bytes: number): void => {
  execFileSync('fallocate', ['--length', String(bytes), file])
}
const skip = mountSmall(data_dir) ? false : 'no file system can be mounted here'

describe('a disk that fills', { skip }, () => {
  let service: TestService
  let api: ReturnType<typeof apiOf>
  before(async () => {
    service = await startService({ data_dir, embedded: true })
    api = apiOf(service)
  })
  after(async () => {
    await service?.stop()
    spawnSync('umount', ['--lazy', data_dir])
  })
  const free = () => statfsSync(data_dir).bavail * statfsSync(data_dir).bsize

  test('keeps runs waiting until there is room again', async () => {
    const ballast = join(data_dir, 'ballast')
    takeSpace(ballast, free() - 45 * MiB)
    const run_id = await api.create({ prompt: shell('echo went') })
    await until('the refusal to claim', () => /no run is claimed/.test(service.log()))
    assert.equal((await api.get(run_id)).state, 'QUEUED')
    rmSync(ballast)
    assert.equal((await api.ended(run_id)).state, 'SUCCEEDED')
    assert.match(service.log(), /The disk has room again/)
  })

  test('ends no run where that would make no room', async () => {
    const run_id = await api.create({ prompt: shell('until [ -e go ]; do sleep 0.2; done; echo went') })
    await api.until(run_id, ({ state }) => state === 'INPROGRESS')
    const ballast = join(data_dir, 'ballast')
    takeSpace(ballast, free() - 25 * MiB)
    await until('the guard to have decided', async () => {
      const decided = /not by what the runs of this worker hold/.test(service.log())
      return decided || (await api.get(run_id)).state !== 'INPROGRESS'
    })
    rmSync(ballast)
    // Not there any more where the run was ended for nothing.
    const workspace = join(data_dir, 'sandboxes/bubblewrap', `${run_id}-1`, 'workspace')
    assert(existsSync(workspace), (await api.get(run_id)).status_message?.message)
    writeFileSync(join(workspace, 'go'), '')
    assert.equal((await api.ended(run_id)).state, 'SUCCEEDED')
  })

  test('is what a create is refused with, not a database that is away', async () => {
    const ballast = join(data_dir, 'ballast')
    takeSpace(ballast, free() - 2 * MiB)
    // Whatever else is written meanwhile, it is full then.
    assert.throws(() => appendFileSync(ballast, Buffer.alloc(4 * MiB)), { code: 'ENOSPC' })
    const refused = await createLarge(api)
    rmSync(ballast)
    assert.deepEqual(refused, FULL)
    await api.create({ prompt: shell('true') })
  })

  test('is freed by ending the run that holds most of it; the others go on', async () => {
    const other = await api.create({ prompt: shell('until [ -e go ]; do sleep 0.2; done; echo went') })
    await api.until(other, ({ state }) => state === 'INPROGRESS')
    // Within its limit of 10 GiB. On a busy machine the disk is full before somebody looks, which must do no harm.
    const greedy = await api.create({
      prompt: shell('while head -c 4M /dev/zero >> big; do sleep 0.05; done; sleep 600'),
    })
    const { state, status_message } = await api.ended(greedy)
    assert.deepEqual([state, status_message?.error_code], ['ERROR', 'resource_unavailable'])
    assert.match(
      status_message?.message ?? '',
      /disk of the worker is nearly full, and of its runs this one held most/,
    )
    await until('the space', () => free() > 300 * MiB)
    writeFileSync(join(data_dir, 'sandboxes/bubblewrap', `${other}-1`, 'workspace/go'), '')
    assert.equal((await api.ended(other)).state, 'SUCCEEDED')
    assert.equal(printed(await api.events(other)), 'went\n')
  })
})

/** Too large for what the database has of free pages, and not to be compressed. */
const createLarge = async (api: ReturnType<typeof apiOf>): Promise<unknown[]> => {
  const prompt = shell(`: ${randomBytes(200_000).toString('hex')}`)
  const answer = await api.call('POST', '/agent/runs', { prompt })
  const { error_code, retryable, detail } = (await answer.json()) as Record<string, unknown>
  return [answer.status, error_code, retryable, detail]
}
const FULL = [
  503,
  'resource_unavailable',
  true,
  'The disk of the database is full: nothing new can be stored before somebody frees some space there.',
]

const noCluster = findPostgres() || process.env.RUNYARD_TEST_POSTGRES ? skip : 'PostgreSQL is not installed'

describe('a worker whose disk is full', { skip: noCluster }, () => {
  const small = temporaryDirectory('small-worker')
  let database: Awaited<ReturnType<typeof createMigrated>>
  let cluster: Cluster
  before(async () => {
    mountSmall(small)
    database = await createMigrated()
    cluster = await startCluster(database.url)
    // One installation, one key.
    copyFileSync(join(cluster.data_dir, 'secret-key'), join(small, 'secret-key'))
  })
  after(async () => {
    await cluster?.stop()
    spawnSync('umount', ['--lazy', small])
    await database?.drop()
    await stopTestServer()
  })
  const free = () => statfsSync(small).bavail * statfsSync(small).bsize
  const withoutDisk = async () => {
    const answer = await fetch(new URL('/readyz', cluster.base_url))
    return ((await answer.json()) as { workers_without_disk: number }).workers_without_disk
  }

  test('leaves its run to one that has room', async () => {
    const { api } = cluster
    const full = await cluster.worker('default', { RUNYARD_DATA_DIR: small })
    // Fills what is small, and is done where there is room. On a busy machine the disk is full before somebody looks.
    const command =
      'if [ "$(df -Pk . | tail -1 | awk \'{print $2}\')" -gt 1000000 ]; then echo done; else ' +
      'until [ -e go ]; do sleep 0.1; done; while head -c 4M /dev/zero >> big 2>/dev/null; do sleep 0.05; done; sleep 600; fi'
    const run_id = await api.create({ prompt: shell(command) })
    await until('the step', async () => (await api.get(run_id)).state === 'INPROGRESS')
    const other = await cluster.worker('default')
    writeFileSync(join(small, 'sandboxes/bubblewrap', `${run_id}-1`, 'workspace/go'), '')
    const run = await api.ended(run_id)
    const events = await api.events(run_id)
    assert.deepEqual([run.state, run.attempt, printed(events)], ['SUCCEEDED', 2, 'done\n'])
    assert.deepEqual(workersOf(events), [full.worker_id(), other.worker_id()])
    const handed = ofType(events, 'run.state').find(({ data }) => data.previous_state === 'INPROGRESS')
    assert.equal(handed?.data.status_message?.message, 'The disk of the worker is full.')
    assertWhole(events)
  })

  test('claims nothing, and says so', async () => {
    await until('room', () => free() > 300 * MiB)
    takeSpace(join(small, 'ballast'), free() - 20 * MiB)
    await until('readiness to say so', async () => (await withoutDisk()) === 1)
    rmSync(join(small, 'ballast'))
    await until('readiness to say that it is over', async () => (await withoutDisk()) === 0)
  })

  test('leaves a run that fails for want of disk to others as well', async () => {
    const store = openPostgres({ url: database.url })
    const data_dir = temporaryDirectory('small-process')
    mountSmall(data_dir)
    const pool = randomUUID()
    const worker = await openTestWorker({
      store,
      pool,
      data_dir,
      min_free_percent: 5,
      harnesses: [
        {
          traits: { ...LOOP, name: 'filling' },
          open: async ({ sandbox }) => ({
            async turn() {
              const { bavail, bsize } = statfsSync(data_dir)
              takeSpace(join(data_dir, 'ballast'), bavail * bsize)
              // Input that is known beforehand is a file, for which there is no room.
              const { exit } = sandbox.exec({ command: 'cat', stdin: Buffer.alloc(MiB) })
              return exit.then(() => ({ state: 'SUCCEEDED' }))
            },
            close: async () => {},
          }),
        },
      ],
    })
    try {
      // Another one, that has room and is busy.
      await addWorker(store.db, { pool })
      const run_id = await addRun(store.db, await addPrincipal(store.db), { pool })
      const run = await until('the run to be handed back', async () => {
        const stored = await readStored(store.db, run_id)
        return stored.attempt === 1 && stored.worker_id === null && stored
      })
      assert.deepEqual([run.state, run.lost_attempts], ['QUEUED', 1])
    } finally {
      rmSync(join(data_dir, 'ballast'), { force: true })
      await worker.stop()
      await store.close()
      spawnSync('umount', ['--lazy', data_dir])
    }
  })
})

// The embedded database says the same above.
const onPostgres: typeof describe | (() => void) = LONG ? describe : () => {}
onPostgres('a PostgreSQL whose disk is full', { skip: noCluster }, () => {
  const small = temporaryDirectory('small-tablespace')
  let database: Awaited<ReturnType<typeof createMigrated>>
  let cluster: InnerCluster
  const asAdmin = async (...statements: string[]) => {
    const url = new URL(database.url)
    url.pathname = '/postgres'
    const client = new pg.Client({ connectionString: url.href })
    await client.connect()
    const results = []
    for (const statement of statements) results.push(await client.query(statement))
    await client.end()
    return results
  }
  before(async () => {
    mountSmall(small)
    database = await createMigrated()
    const [told] = await asAdmin('show data_directory')
    const { uid, gid } = statSync(told?.rows[0].data_directory)
    chownSync(small, uid, gid)
    await asAdmin(
      `create tablespace small location '${small}'`,
      `alter database ${new URL(database.url).pathname.slice(1)} set tablespace small`,
    )
    cluster = await startInnerCluster(database.url)
  })
  after(async () => {
    await cluster?.stop()
    await database?.drop()
    await asAdmin('drop tablespace small')
    spawnSync('umount', ['--lazy', small])
    await stopTestServer()
  })

  test('is told as what it is', async () => {
    const ballast = join(small, 'ballast')
    const { bavail, bsize } = statfsSync(small)
    writeFileSync(ballast, Buffer.alloc(bavail * bsize))
    const refused = await createLarge(cluster.api)
    rmSync(ballast)
    assert.deepEqual(refused, FULL)
    await cluster.api.create({ prompt: shell('true') })
  })
})
