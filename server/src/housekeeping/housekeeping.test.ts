import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { onEitherDatabase } from '../../test/support/databases.ts'
import { temporaryDirectory } from '../../test/support/leftovers.ts'
import { addPrincipal, addRun } from '../../test/support/stored.ts'
import { type Blobs, BlobsFull } from '../blobs/blobs.ts'
import { openDiskBlobs } from '../blobs/disk.ts'
import type { Store } from '../store/db.ts'
import { eraseRuns } from '../store/deleted-runs.ts'
import { readInstallation } from '../store/installation.ts'
import { takeTurn } from '../store/purge.ts'
import type { Retention } from '../store/retention.ts'
import { writeNote } from './deletion-notes.ts'
import { Housekeeping } from './housekeeping.ts'

const FOREVER: Retention = { run: null, workspace: null, artifact: null }

onEitherDatabase('housekeeping', (open) => {
  let store: Store
  let blobs: Blobs
  let who: string
  before(async () => {
    store = await open()
    who = await addPrincipal(store.db)
    blobs = openDiskBlobs(temporaryDirectory('blobs'))
  })
  const said: string[] = []
  const log = {
    info: (_: object, message: string) => void said.push(message),
    warn: (_: object, message: string) => void said.push(message),
  }
  const keep = (retention: Partial<Retention> = {}, more: { blobs?: Blobs } = {}) =>
    new Housekeeping({ store, blobs, log, retention: { ...FOREVER, ...retention }, ...more }).look()

  /** A run that ended so many days ago, with an event and files; what its files are called. */
  async function add(
    days: number,
    { state = 'SUCCEEDED', ...more }: { state?: string } & Parameters<typeof addRun>[2] = {},
  ) {
    const run_id = await addRun(store.db, who, more)
    const then = sql`clock_timestamp() - ${days}::int * interval '1 day'`
    const [artifact, snapshot, index] = ['artifacts/a', 'snapshots/s', 'indexes/s'].map(
      (rest) => `runs/${run_id}/${rest}`,
    ) as [string, string, string]
    await blobs.put(artifact, Buffer.from('a'))
    await blobs.put(snapshot, Buffer.from('s'))
    await blobs.put(index, Buffer.from('i'))
    await sql`
      insert into artifacts (artifact_uid, run_id, artifact_type, filename, filepath, mime_type, size_bytes, sha256, blob_key, created_at)
      select gen_random_uuid(), ${run_id}::uuid, 'FILE', 'a', 'a', 'x/y', 1, 'x', ${artifact}, ${then}`.execute(
      store.db,
    )
    await sql`
      insert into snapshots (snapshot_id, run_id, attempt, execution, last_execution, turn, sequence, folders, commits,
        attachments_written, backend, sandbox_id, blob_key, index_blob_key, size_bytes, expanded_bytes, entries, sha256, created_at)
      select gen_random_uuid(), ${run_id}::uuid, 0, 0, 0, 1, 0, '{}', '{}', '{}', 'host', 'x', ${snapshot}, ${index}, 1, 1, 1, 'x', ${then}`.execute(
      store.db,
    )
    await sql`update runs set state = ${state}, updated_at = ${then}, created_at = ${then} where run_id = ${run_id}`.execute(
      store.db,
    )
    return { run_id, artifact, snapshot, index }
  }
  type Added = Awaited<ReturnType<typeof add>>
  /** Which parts of a run are there. */
  async function left({ run_id, artifact, snapshot, index }: Added): Promise<string> {
    const has = async (key: string) => {
      const stream = await blobs.get(key)
      stream?.destroy()
      return stream !== null
    }
    const rows = async (table: string) => {
      const { rows } = await sql`select 1 from ${sql.table(table)} where run_id = ${run_id}`.execute(store.db)
      return rows.length > 0
    }
    const parts: Record<string, boolean> = {
      run: await rows('runs'),
      log: await rows('events'),
      artifact: await rows('artifacts'),
      'its file': await has(artifact),
      workspace: await rows('snapshots'),
      'its archive': await has(snapshot),
      'its index': await has(index),
    }
    return Object.entries(parts)
      .filter(([, is_left]) => is_left)
      .map(([name]) => name)
      .join(', ')
  }
  const ALL = 'run, log, artifact, its file, workspace, its archive, its index'
  const erase = (run_id: string) =>
    store.db
      .transaction()
      .execute((trx) => eraseRuns(trx, [run_id], { deleted_by: who, audit: { via: 'http' } }))
  async function environment(retention: object): Promise<string> {
    const uid = randomUUID().replaceAll('-', '').slice(0, 22)
    await sql`insert into environments (uid, name, config, creator_id, scope)
      values (${uid}, ${uid}, ${JSON.stringify({ name: uid, retention })}::jsonb, ${who}::uuid, 'Team')`.execute(
      store.db,
    )
    return uid
  }

  test('each kind goes after its own days, and only what nobody works on', async () => {
    const [old, middle, young] = [await add(40), await add(20), await add(2)]
    const queued = await add(40, { state: 'QUEUED' })
    const blocked = await add(40, { state: 'BLOCKED' })
    const held = await add(40)
    await sql`update runs set worker_id = gen_random_uuid() where run_id = ${held.run_id}`.execute(store.db)
    await keep({ run: 100, workspace: 100, artifact: 100 })
    for (const one of [old, middle, young, queued, blocked, held]) assert.equal(await left(one), ALL)
    await keep({ run: 30, workspace: 10, artifact: 15 })
    assert.equal(await left(old), '')
    assert.equal(await left(blocked), '')
    assert.equal(await left(middle), 'run, log')
    for (const one of [young, queued, held]) assert.equal(await left(one), ALL)
    await keep({ workspace: 1 })
    assert.equal(await left(young), 'run, log, artifact, its file')
    const { rows } = await sql<{ via: string; detail: string; principal_id: string | null }>`
      select via, detail, principal_id from audit_log where action = 'deleteRun' and target = ${old.run_id}`.execute(
      store.db,
    )
    assert.deepEqual(rows, [
      { via: 'service', detail: 'Not changed for 30 days, which is its retention.', principal_id: null },
    ])
    const usage = await sql<{ runs: number }>`
      select count(*)::int as runs from deleted_usage where state = 'CANCELLED'`.execute(store.db)
    assert.equal(usage.rows[0]?.runs, 1, 'A blocked run that is deleted waits for nobody.')
  })

  test('an environment has less time than the installation, never more', async () => {
    const short = await environment({ run_days: 5 })
    const long = await environment({ run_days: 500, artifact_days: 5 })
    const of = async (environment_id: string | null) => add(10, { environment_id })
    const [shorter, longer, none] = [await of(short), await of(long), await of(null)]
    await keep()
    assert.equal(await left(shorter), '')
    assert.equal(await left(longer), 'run, log, workspace, its archive, its index')
    assert.equal(await left(none), ALL)
    await keep({ run: 8 })
    assert.deepEqual([await left(longer), await left(none)], ['', ''])
  })

  test('a run waits for those below it', async () => {
    const root = await add(40)
    const below = { parent_run_id: root.run_id, root_run_id: root.run_id, ancestor_run_ids: [root.run_id] }
    const child = await add(20, below)
    const other = await add(40, below)
    await keep({ run: 30 })
    assert.deepEqual([await left(root), await left(child), await left(other)], [ALL, ALL, ''])
    await keep({ run: 10 })
    assert.deepEqual([await left(root), await left(child)], ['', ''])
  })

  test('a restored backup brings no deleted run back, in whatever state it was', async () => {
    const gone = await add(1)
    const before = await sql<{ row: object }>`
      select to_jsonb(r) as row from runs r where run_id = ${gone.run_id}`.execute(store.db)
    await erase(gone.run_id)
    await keep()
    assert.equal(await left(gone), '')
    // As an older database has it: the run at work, and nothing of the deletion.
    await sql`insert into runs select * from jsonb_populate_record(null::runs,
      ${JSON.stringify(before.rows[0]?.row)}::jsonb || '{"state": "INPROGRESS"}')`.execute(store.db)
    await sql`delete from deletion_notes`.execute(store.db)
    await sql`delete from deleted_runs where run_id = ${gone.run_id}`.execute(store.db)
    await keep()
    assert.equal(await left(gone), '')
    assert(said.some((message) => message.startsWith('A backup brought deleted runs back')))
    const listed = await sql`
      select deleted_by, noted, purged from deleted_runs where run_id = ${gone.run_id}`.execute(store.db)
    assert.deepEqual(listed.rows, [{ deleted_by: who, noted: true, purged: true }])
  })

  test('a list for each deletion becomes one for many, and none is lost', async () => {
    const installation_id = await readInstallation(store.db)
    const ids = Array.from({ length: 66 }, () => randomUUID())
    const deleted_at = new Date().toISOString()
    for (const run_id of ids)
      await writeNote(blobs, installation_id, [{ run_id, deleted_at, deleted_by: who, forked_from: null }])
    await keep()
    const lists = async () => (await Array.fromAsync(blobs.list('deleted'))).length
    assert((await lists()) < 66, `${await lists()} lists`)
    await sql`delete from deletion_notes`.execute(store.db)
    await sql`delete from deleted_runs where run_id = any(${ids}::uuid[])`.execute(store.db)
    await keep()
    const { rows } = await sql`select 1 from deleted_runs where run_id = any(${ids}::uuid[])`.execute(
      store.db,
    )
    assert.equal(rows.length, ids.length)
  })

  test('what is cut short goes on later; a full disk keeps no file', async () => {
    const gone = await add(1)
    await erase(gone.run_id)
    const full: Blobs = {
      ...{ get: (key) => blobs.get(key), list: (folder) => blobs.list(folder) },
      put: () => Promise.reject(new BlobsFull('No room.')),
      delete: (key) => blobs.delete(key),
    }
    await assert.rejects(keep({}, { blobs: full }), BlobsFull)
    assert.equal(await left(gone), '', 'Its list could not be written, its files are gone.')
    const again = await add(1)
    await erase(again.run_id)
    const away: Blobs = { ...full, put: blobs.put.bind(blobs), delete: () => Promise.reject(new Error('x')) }
    await assert.rejects(keep({}, { blobs: away }), /x/)
    assert.equal(await left(again), 'its file, its archive, its index')
    await keep()
    assert.equal(await left(again), '')
    const { rows } = await sql`select 1 from deleted_runs where not noted or not purged`.execute(store.db)
    assert.deepEqual(rows, [])
  })

  test('a file that cannot be removed keeps no other, and what is no key of one is forgotten', async () => {
    const gone = await add(1)
    await erase(gone.run_id)
    const stuck = `runs/${gone.run_id}/artifacts/a`
    const broken = `runs/${gone.run_id}/artifacts/../../x`
    await sql`insert into removed_files (blob_key) values (${broken})`.execute(store.db)
    const partly: Blobs = {
      ...{ get: (key) => blobs.get(key), list: (folder) => blobs.list(folder) },
      put: (key, data) => blobs.put(key, data),
      delete: (key) => (key === stuck ? Promise.reject(new Error('stuck')) : blobs.delete(key)),
    }
    await assert.rejects(keep({}, { blobs: partly }), /stuck/)
    assert.equal(await left(gone), 'its file')
    const { rows } = await sql<{ blob_key: string }>`select blob_key from removed_files`.execute(store.db)
    assert.deepEqual(rows, [{ blob_key: stuck }])
    await keep()
    assert.equal(await left(gone), '')
  })

  test('one process at a time', async () => {
    const gone = await add(1)
    await erase(gone.run_id)
    const other = randomUUID()
    assert(await takeTurn(store.db, other))
    await keep()
    assert.equal(await left(gone), 'log, its file, its archive, its index')
    // Which was killed.
    await sql`update installation set purger_until = clock_timestamp() - interval '1 second'`.execute(
      store.db,
    )
    await keep()
    assert.equal(await left(gone), '')
  })
})
