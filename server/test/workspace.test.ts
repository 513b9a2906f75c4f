/** What goes into a workspace and what is kept of it: attachments, artifacts, idle sandboxes. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { sql } from 'kysely'
import { readDiskSpace } from '../src/blobs/disk-space.ts'
import {
  findControlGroupParent,
  listControlGroups,
  nameOfControlGroup,
} from '../src/sandbox/control-group.ts'
import { openHost } from '../src/sandbox/host.ts'
import { DEFAULT_LIMITS, type SandboxBackend } from '../src/sandbox/sandbox.ts'
import { readInstallation } from '../src/store/installation.ts'
import { createDiskGuard } from '../src/worker/disk-guard.ts'
import { reapSandboxes } from '../src/worker/reap.ts'
import { exportId } from '../src/worker/repository-export.ts'
import { type InnerCluster, type InnerWorker, startInnerCluster, until } from './support/cluster.ts'
import { createDatabase, stopTestServer } from './support/databases.ts'
import { LONG } from './support/once.ts'
import { planeOf } from './support/plane.ts'
import { findPostgres } from './support/postgres-server.ts'
import { openBackend } from './support/sandbox-backends.ts'
import { shell } from './support/service.ts'
import { assertWhole, ofType, printed } from './support/traces.ts'

const skip = findPostgres() || process.env.RUNYARD_TEST_POSTGRES ? false : 'PostgreSQL is not installed'

/** The first bytes of a picture. */
const PNG_BASE64 = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1Pe'

describe('a workspace', { skip }, () => {
  let database: Awaited<ReturnType<typeof createDatabase>>
  let cluster: InnerCluster
  let backend: SandboxBackend
  before(async () => {
    database = await createDatabase()
    cluster = await startInnerCluster(database.url)
    await cluster.worker('default')
    const { data_dir, store } = cluster
    backend = await openBackend('bubblewrap', {
      data_dir,
      installation_id: await readInstallation(store.db),
    })
  })
  after(async () => {
    await cluster?.stop()
    await database?.drop()
    await stopTestServer()
  })

  const followUp = (run_id: string, body: object) =>
    cluster.api.json('POST', `/agent/runs/${run_id}/followups`, body)
  const runShell = async (command: string): Promise<string> => {
    const run_id = await cluster.api.create({ prompt: shell(command) })
    await cluster.api.ended(run_id)
    return run_id
  }
  const attachment = (file_name: string, text: string) => ({
    file_name,
    mime_type: 'text/plain',
    data: Buffer.from(text).toString('base64'),
  })

  test('holds the attachments of the prompt and of follow-ups', async () => {
    const { api } = cluster
    const run_id = await api.create({
      prompt: shell('cat attachments/a.txt "attachments/b c.bin" | od -An -c | tr -d " \\n"; echo'),
      attachments: [attachment('a.txt', 'A\n'), attachment('b c.bin', '\u0000ü')],
    })
    await api.ended(run_id)
    await followUp(run_id, {
      message: shell('cat /workspace/attachments/a.txt attachments/d.txt'),
      attachments: [attachment('d.txt', 'D\n')],
    })
    const run = await api.ended(run_id)
    const events = await api.events(run_id)
    assert.equal(run.state, 'SUCCEEDED')
    assert.equal(printed(events), 'A\\n\\0303274\nA\nD\n')
    assert.deepEqual(
      ofType(events, 'message.user').map(({ data }) => data.attachments?.map(({ path }) => path)),
      [['attachments/a.txt', 'attachments/b c.bin'], ['attachments/d.txt']],
    )
  })

  test('keeps what the agent made of an attachment, and both of two with one name', async () => {
    const { api } = cluster
    const run_id = await api.create({
      prompt: shell('echo edited > attachments/a.txt'),
      attachments: [attachment('a.txt', 'first\n')],
    })
    await api.ended(run_id)
    await followUp(run_id, {
      message: shell('cat attachments/a.txt attachments/a-2.txt; ls attachments'),
      attachments: [attachment('a.txt', 'second\n')],
    })
    await api.ended(run_id)
    const events = await api.events(run_id)
    assert.equal(printed(events), 'edited\nsecond\na-2.txt\na.txt\n')
    assert.deepEqual(
      ofType(events, 'message.user').map(({ data }) => data.attachments?.map(({ path }) => path)),
      [['attachments/a.txt'], ['attachments/a-2.txt']],
    )
  })

  test('holds two attachments of one name that is as long as a name may be', async () => {
    const { api } = cluster
    const names = [
      [`${'漢'.repeat(84)}.md`, `${'漢'.repeat(83)}-2.md`],
      [`x.${'é'.repeat(126)}a`, `x.${'é'.repeat(125)}-2`],
    ]
    // What comes after the last dot may be long as well: the store's tests have more of these.
    for (const [first = '', second = ''] of LONG ? names : names.slice(0, 1)) {
      const attachments = [attachment(first, 'first\n')]
      const run_id = await api.create({ prompt: shell('cat attachments/*'), attachments })
      await api.ended(run_id)
      await followUp(run_id, {
        message: shell(`cat attachments/${second}; ls attachments | wc -l`),
        attachments: [attachment(first, 'second\n')],
      })
      const run = await api.ended(run_id)
      assert.equal(run.state, 'SUCCEEDED', run.status_message?.message)
      assert.equal(printed(await api.events(run_id)), 'first\nsecond\n2\n')
    }
  })

  test('gives its artifacts: files only, changed ones anew and unchanged ones once', async () => {
    const { api } = cluster
    const run_id = await runShell(
      [
        'cd "$RUNYARD_ARTIFACTS_DIR" && mkdir -p a/b && mkfifo pipe',
        'echo report > report.md; echo deep > a/b/deep.txt; printf "\\211PNG" > not.png; : > empty',
        `echo ${PNG_BASE64} | base64 -d > shot.png`,
        'ln -s /etc/passwd link.txt; ln -s /etc dir; ln -s report.md inner; touch "$(printf "new\\nline")"',
      ].join('\n'),
    )
    const kept = async () =>
      ofType(await api.events(run_id), 'artifact.created').map(({ data }) => [
        data.filepath,
        data.artifact_type,
        data.mime_type,
        data.size_bytes,
      ])
    const first = [
      ['a/b/deep.txt', 'FILE', 'text/plain', 5],
      ['empty', 'FILE', 'text/plain', 0],
      ['not.png', 'FILE', 'text/plain', 4],
      ['report.md', 'FILE', 'text/markdown', 7],
      ['shot.png', 'SCREENSHOT', 'image/png', 33],
    ]
    assert.deepEqual(await kept(), first)

    await followUp(run_id, { message: shell('echo changed > artifacts/report.md') })
    const run = await api.ended(run_id)
    assert.deepEqual(await kept(), [...first, ['report.md', 'FILE', 'text/markdown', 8]])
    assert.equal(run.artifacts.length, 6)
    assertWhole(await api.events(run_id))
    const downloaded = await Promise.all(
      run.artifacts.map(({ data }) => download('artifact_uid' in data ? data.artifact_uid : undefined)),
    )
    const png = Buffer.from(PNG_BASE64, 'base64').toString()
    assert.deepEqual(downloaded, ['deep\n', '', '\ufffdPNG', 'report\n', png, 'changed\n'])
  })

  async function download(uid: string | undefined): Promise<string> {
    const { data } = await cluster.api.json<{ data: { download_url: string } }>(
      'GET',
      `/agent/artifacts/${uid}`,
    )
    const answer = await fetch(data.download_url)
    assert.equal(answer.status, 200)
    return answer.text()
  }

  /** What a worker does every half minute, at the time `now` says. */
  async function reap(
    max_idle: number,
    now?: () => number,
    min_free_percent = 0,
    former_backends: SandboxBackend[] = [],
  ): Promise<void> {
    const { store } = cluster
    const readSpace = async () => ({ data: await readDiskSpace(cluster.data_dir), sandboxes: null })
    const disk = createDiskGuard({ readSpace, min_free_percent, log: console })
    const services = { plane: planeOf(store), worker_id: randomUUID(), backend, disk, log: console }
    await reapSandboxes({ ...services, settings: { max_idle } }, former_backends, now)
  }
  const expire = (run_id: string) =>
    sql`update sandboxes set idle_until = clock_timestamp() where run_id = ${run_id}`.execute(
      cluster.store.db,
    )
  const workspaceOf = (run_id: string, attempt = 1) =>
    join(cluster.data_dir, 'sandboxes/bubblewrap', `${run_id}-${attempt}`)

  test('is kept for follow-ups until its idle time is over, then as a snapshot, and said to be gone after that', async () => {
    const { api } = cluster
    const run_id = await runShell('echo kept > file')
    await followUp(run_id, { message: shell('cat file') })
    await api.ended(run_id)
    assert.equal(printed(await api.events(run_id)), 'kept\n')

    await expire(run_id)
    await reap(100)
    assert(!existsSync(workspaceOf(run_id)))
    await followUp(run_id, { message: shell('cat file') })
    assert.equal((await api.ended(run_id)).state, 'SUCCEEDED')

    await expire(run_id)
    await reap(100)
    await sql`delete from snapshots where run_id = ${run_id}`.execute(cluster.store.db)
    await followUp(run_id, { message: shell('[ -e file ] || echo fresh') })
    assert.equal((await api.ended(run_id)).state, 'SUCCEEDED')
    const events = await api.events(run_id)
    assert.equal(printed(events), 'kept\nkept\nfresh\n')
    const restored = ofType(events, 'setup').filter(({ data }) => data.phase === 'restore')
    assert.equal(restored.length, 3)
    for (const [at, said] of [/as it was left/, /as it was kept at/, /a fresh workspace/].entries())
      assert.match(restored[at]?.data.name ?? '', said)
  })

  test('is kept for longer when its run failed, as its environment says', async () => {
    const { api, store } = cluster
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
      name: 'kept when it failed',
      failure_session_retention_minutes: 90,
    })
    const minutes = async (command: string): Promise<number> => {
      const run_id = await api.create({
        prompt: shell(command),
        config: { environment_id: uid, idle_timeout_minutes: 5 },
      })
      await api.ended(run_id)
      const { rows } = await sql<{ minutes: number }>`
        select round(extract(epoch from s.idle_until - r.finished_at) / 60)::int as minutes
        from sandboxes s join runs r using (run_id) where run_id = ${run_id}`.execute(store.db)
      return rows[0]?.minutes ?? 0
    }
    assert.equal(await minutes('true'), 5)
    assert.equal(await minutes('exit 7'), 90)
  })

  test('is removed, the least recently used first, when there are too many idle ones', async () => {
    await reap(0)
    const [older, newer] = [await runShell('true'), await runShell('true')]
    await reap(1)
    assert.deepEqual([existsSync(workspaceOf(older)), existsSync(workspaceOf(newer))], [false, true])
  })

  test('is removed before its time while the disk has too little room', async () => {
    const [older, newer] = [await runShell('true'), await runShell('true')]
    await reap(100, undefined, 100)
    assert.deepEqual([existsSync(workspaceOf(older)), existsSync(workspaceOf(newer))], [false, false])
  })

  test('is removed though another kind of sandbox is used by now', async () => {
    const { store, data_dir } = cluster
    const former = await openHost({ data_dir, installation_id: await readInstallation(store.db) })
    const run_id = await runShell('true')
    const spec = { run_id, attempt: 2, limits: DEFAULT_LIMITS, egress: 'open', env: {} } as const
    const { ref } = await former.create(spec)
    await sql`
      update sandboxes set attempt = 2, place = ${former.place}, ref = ${JSON.stringify(ref)}::jsonb
      where run_id = ${run_id}`.execute(store.db)
    await expire(run_id)
    await reap(100)
    assert.equal((await former.list()).length, 1)
    const away: SandboxBackend = Object.create(former, {
      place: { value: 'elsewhere' },
      list: { value: () => Promise.reject(new Error('refused by a test')) },
    })
    // One that cannot be looked at comes first.
    await reap(100, undefined, 0, [away, former])
    assert.deepEqual(await former.list(), [])
  })

  test('is left alone while its run is at work or waits', async () => {
    const { api } = cluster
    const run_id = await api.create({
      prompt: shell('touch here; until [ -e go ]; do sleep 0.1; done; echo went'),
    })
    await until('the step', () => existsSync(join(workspaceOf(run_id), 'workspace/here')))
    await expire(run_id)
    const openExport = (attempt: number) =>
      backend.create({
        run_id: exportId(run_id, attempt),
        attempt,
        limits: DEFAULT_LIMITS,
        egress: 'none',
        env: {},
      })
    await openExport(1)
    await openExport(2)
    await reap(0, () => Date.now() + 3_600_000)
    const left = (await backend.list()).filter(({ ref }) => ref.run_id.startsWith(`${run_id}.`))
    assert.deepEqual(
      left.map(({ ref }) => ref.attempt),
      [1],
      'An export lives as long as the attempt that began it holds the run.',
    )
    writeFileSync(join(workspaceOf(run_id), 'workspace/go'), '')
    assert.equal((await api.ended(run_id)).state, 'SUCCEEDED')
    assert.equal(printed(await api.events(run_id)), 'went\n')
    await reap(100, () => Date.now() + 61_000)
    assert((await backend.list()).every(({ ref }) => !ref.run_id.startsWith(`${run_id}.`)))
  })

  test('has no control group while nobody executes its run, also when its worker was killed', async (context) => {
    const parent = findControlGroupParent()
    if (!parent) return context.skip('this machine has none to write to')
    const run_id = await runShell('true')
    const groups = () =>
      listControlGroups(parent, 'runyard-').filter((group) => nameOfControlGroup(group).includes(run_id))
    assert.deepEqual(groups(), [])
    // As a worker has it that is killed now.
    await backend.attach({ run_id, attempt: 1, limits: DEFAULT_LIMITS, egress: 'none', env: {} })
    assert.equal(groups().length, 1)
    await reap(100)
    assert.deepEqual(groups(), [])
    assert(existsSync(workspaceOf(run_id)))
  })

  test('is removed too when its run ended away from its worker', async () => {
    const { store } = cluster
    const run_id = await runShell('true')
    await sql`update sandboxes set idle_until = null where run_id = ${run_id}`.execute(store.db)
    await reap(100)
    assert(existsSync(workspaceOf(run_id)))
    await sql`update runs set updated_at = updated_at - interval '11 minutes' where run_id = ${run_id}`.execute(
      store.db,
    )
    await reap(100)
    assert(!existsSync(workspaceOf(run_id)))
  })

  test('without a row is an orphan, once it is old enough not to be on its way', async () => {
    const run_id = randomUUID()
    const spec = { run_id, attempt: 1, limits: DEFAULT_LIMITS, egress: 'none', env: {} } as const
    await backend.create(spec)
    await reap(100)
    assert(existsSync(workspaceOf(run_id)))
    await reap(100, () => Date.now() + 61_000)
    assert(!existsSync(workspaceOf(run_id)))
  })

  /** Of the last two tests: it removes what the tests before look at. */
  const FEW = { RUNYARD_MAX_IDLE_SANDBOXES: '1', RUNYARD_SLOTS: '2' }
  let few: InnerWorker | undefined

  test('does not begin without an attachment that its agent was told of', async () => {
    const { api, data_dir } = cluster
    const pool = 'few'
    const run_id = await api.create({
      prompt: shell('echo never'),
      attachments: [attachment('a.txt', 'gone\n')],
      config: { worker_host: pool },
    })
    rmSync(join(data_dir, 'blobs/runs', run_id, 'attachments'), { recursive: true })
    few = await cluster.worker(pool, FEW)
    const run = await api.ended(run_id)
    assert.deepEqual([run.state, run.status_message?.error_code], ['ERROR', 'resource_unavailable'])
    assert.match(run.status_message?.message ?? '', /"a\.txt" is not in the service's storage/)
    assert.equal(printed(await api.events(run_id)), '')
  })

  test('is removed by the worker itself when many short runs leave more than may be kept', async () => {
    const { api, data_dir } = cluster
    await reap(0)
    const worker = few ?? (await cluster.worker('few', FEW))
    const ids = await Promise.all(
      Array.from({ length: 9 }, () => api.create({ prompt: shell('true'), config: { worker_host: 'few' } })),
    )
    await Promise.all(ids.map((run_id) => api.ended(run_id)))
    const left = () =>
      readdirSync(join(data_dir, 'sandboxes/bubblewrap')).filter((name) => ids.includes(name.slice(0, 36)))
    await until('most of them to be removed', () => left().length <= 4, 20)
    await worker.end()
  })
})
