import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { onEitherDatabase } from '../../test/support/databases.ts'
import { temporaryDirectory } from '../../test/support/service.ts'
import { addPrincipal, addRun, addWorker, follow, holdRun } from '../../test/support/stored.ts'
import { openDiskBlobs } from '../blobs/disk.ts'
import { insertArtifact } from '../store/artifacts.ts'
import type { StoredAttachment } from '../store/attachments.ts'
import { openPostgres, type Store } from '../store/db.ts'
import { hashBody, once } from '../store/idempotency.ts'
import type { Lease } from '../store/leases.ts'
import { retireWorker } from '../store/workers.ts'
import { CleanUp } from './clean-up.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const NOTHING = { files: 0, bytes: 0 }

onEitherDatabase('clean-up', (open) => {
  let store: Store
  /** A database that does not answer. */
  const away = openPostgres({ url: 'postgres://nobody@127.0.0.1:1/none' })
  before(async () => {
    store = await open()
  })
  after(() => away.close())

  /** A folder of its own for blobs, and a clock of its own that is moved on. */
  function openCleanUp(root = temporaryDirectory('blobs')) {
    const blobs = openDiskBlobs(root)
    const said: Array<{ fields: object; message: string }> = []
    const say = (fields: object, message: string) => void said.push({ fields, message })
    const log = { info: say, warn: say, error: say }
    const database = { ...store }
    let now = Date.now() - MINUTE
    const start = () => new CleanUp({ store: database, blobs, log, audit_days: 400, now: () => now })
    let cleanUp = start()
    return {
      root,
      blobs,
      said,
      /** What was removed so far. */
      removed: () =>
        said.find(({ message }) => message.startsWith('Files that no run names'))?.fields ?? NOTHING,
      has: (key: string) => existsSync(join(root, key)),
      async put() {
        const key = `runs/${randomUUID()}/artifacts/${randomUUID()}`
        await blobs.put(key, Buffer.from('four'))
        return key
      },
      look: () => cleanUp.look(),
      /** Looks every minute for so long. */
      async pass(milliseconds: number) {
        for (const end = now + milliseconds; now < end; ) {
          now += MINUTE
          await cleanUp.look()
        }
      },
      /** Nobody looks: the machine is suspended, say. */
      sleep(milliseconds: number) {
        now += milliseconds
      },
      setDatabase: (other: Store) => Object.assign(database, { db: other.db, quick: other.quick }),
      restart() {
        cleanUp = start()
      },
    }
  }

  const attachment = (blob_key: string): StoredAttachment => ({
    attachment_id: randomUUID(),
    file_name: 'a.txt',
    mime_type: 'text/plain',
    size_bytes: 4,
    blob_key,
  })
  const keepArtifact = (lease: Lease, blob_key: string) =>
    insertArtifact(store.db, lease, {
      artifact_uid: randomUUID(),
      artifact_type: 'FILE',
      filename: 'a.txt',
      filepath: 'a.txt',
      mime_type: 'text/plain',
      size_bytes: 4,
      sha256: '',
      blob_key,
    })

  test('what no row names goes after a day, with what a killed put left and empty folders', async () => {
    const service = openCleanUp()
    await service.look()
    const lost = await service.put()
    const partial = `${await service.put()}.${randomUUID()}.partial`
    writeFileSync(join(service.root, partial), 'half')
    const lease = await holdRun(store.db)
    const [of_artifact, of_prompt, of_message] = [
      await service.put(),
      await service.put(),
      await service.put(),
    ]
    assert(await keepArtifact(lease, of_artifact))
    await addRun(store.db, lease.principal_id, { attachments: [attachment(of_prompt)] })
    await follow(store.db, lease.run_id, lease.principal_id, { attachments: [attachment(of_message)] })

    await service.pass(20 * MINUTE)
    assert(service.has(lost) && service.has(partial), 'they are young')
    service.sleep(24 * HOUR)
    await service.pass(20 * MINUTE)
    for (const key of [of_artifact, of_prompt, of_message]) assert(service.has(key), key)
    for (const key of [lost, partial]) assert(!service.has(key), key)
    assert.deepEqual(service.removed(), { files: 3, bytes: 12 })
    await service.pass(70 * MINUTE)
    assert(!service.has(lost.slice(0, 'runs/'.length + 36)), 'its folder')
    assert(service.has('runs'))
  })

  test('what cannot be removed keeps nothing else', async () => {
    const service = openCleanUp()
    await service.look()
    await sql`
      insert into idempotency_keys (principal_id, route, key, body_hash, status, response, created_at)
      values (gen_random_uuid(), 'POST /x', 'stuck', '', 201, '{}', clock_timestamp() - interval '25 hours')`.execute(
      store.db,
    )
    await sql`insert into audit_log (action, via, target, occurred_at)
      values ('createRun', 'worker', 'long ago', clock_timestamp() - interval '401 days')`.execute(store.db)
    await sql`create function refuse_removal() returns trigger language plpgsql as
      $$ begin raise exception 'refused by a test'; end $$`.execute(store.db)
    await sql`create trigger refuse_removal before delete on idempotency_keys for each row
      when (old.key = 'stuck') execute function refuse_removal()`.execute(store.db)
    const [stuck, lost] = [await service.put(), await service.put()].sort()
    assert(stuck && lost)
    const remove = service.blobs.delete
    service.blobs.delete = (key) =>
      key === stuck ? Promise.reject(new Error('refused by a test')) : remove(key)
    service.sleep(24 * HOUR)
    await service.pass(20 * MINUTE)
    await sql`drop function refuse_removal() cascade`.execute(store.db)
    assert.deepEqual([service.has(stuck), service.has(lost)], [true, false])
    const { rows } = await sql`select 1 from audit_log where target = 'long ago'`.execute(store.db)
    assert.deepEqual(rows, [])
  })

  test('more files than are asked for at once', async () => {
    const service = openCleanUp()
    await service.look()
    // As a put leaves them, without its waits for the disk.
    const keys = Array.from({ length: 1_100 }, () => `runs/${randomUUID()}/artifacts/${randomUUID()}`)
    for (const key of keys) {
      mkdirSync(dirname(join(service.root, key)), { recursive: true })
      writeFileSync(join(service.root, key), 'four')
    }
    const lease = await holdRun(store.db)
    const kept = keys.filter((_, n) => n % 100 === 0)
    for (const key of kept) assert(await keepArtifact(lease, key))
    service.sleep(25 * HOUR)
    await service.pass(15 * MINUTE)
    assert.deepEqual(
      keys.filter((key) => service.has(key)),
      kept,
    )
  })

  test('nothing goes while the database is away, nor until it has answered for ten minutes', async () => {
    const service = openCleanUp()
    await service.look()
    const [pending, lost] = [await service.put(), await service.put()]
    const lease = await holdRun(store.db)
    service.setDatabase(away)
    await service.pass(HOUR)
    service.sleep(24 * HOUR)
    await service.pass(10 * MINUTE)
    service.setDatabase(store)
    await service.pass(5 * MINUTE)
    assert(service.has(pending) && service.has(lost))
    // What a worker could not write for a day, it writes now.
    assert(await keepArtifact(lease, pending))
    await service.pass(10 * MINUTE)
    assert(service.has(pending) && !service.has(lost))
  })

  test('nothing goes when the database fails in the middle', async () => {
    const service = openCleanUp()
    await service.look()
    const lost = await service.put()
    service.sleep(25 * HOUR)
    await service.pass(10 * MINUTE)
    service.setDatabase({ ...store, db: away.db })
    await assert.rejects(service.pass(5 * MINUTE))
    assert(service.has(lost))
    service.setDatabase(store)
    await service.pass(70 * MINUTE)
    assert(!service.has(lost))
  })

  test('nothing goes where another installation keeps files too, before as well as after', async () => {
    const service = openCleanUp()
    await service.look()
    const lost = await service.put()
    const other = `owners/${randomUUID()}`
    await service.blobs.put(other, Buffer.from(JSON.stringify({ since: 0, cleaned_at: null })))
    service.sleep(25 * HOUR)
    await service.pass(70 * MINUTE)
    assert(service.has(lost))
    const told = service.said.filter(({ message }) => /Another installation/.test(message))
    assert.equal(told.length, 1)
    await service.blobs.delete(other)
    await service.pass(70 * MINUTE)
    assert(!service.has(lost))
  })

  test('what lay there before the installation came may be somebody else’s', async () => {
    const service = openCleanUp()
    mkdirSync(join(service.root, 'runs'))
    writeFileSync(join(service.root, 'runs/old'), '')
    service.sleep(2 * MINUTE)
    await service.look()
    service.sleep(25 * HOUR)
    await service.pass(20 * MINUTE)
    assert(service.has('runs/old'))
  })

  test('files are looked at once an hour, also by a process that starts meanwhile', async () => {
    const service = openCleanUp()
    await service.look()
    service.sleep(25 * HOUR)
    await service.pass(15 * MINUTE)
    // To this clock it is a day old.
    const lost = await service.put()
    service.restart()
    await service.pass(45 * MINUTE)
    assert(service.has(lost))
    await service.pass(15 * MINUTE)
    assert(!service.has(lost))
  })

  test('old idempotency keys and rows of old workers go at the first look, and every ten minutes', async () => {
    const service = openCleanUp()
    const principal_id = await addPrincipal(store.db)
    const addOld = async () => {
      const key = { principal_id, route: 'POST /x', key: randomUUID(), body_hash: hashBody(Buffer.alloc(0)) }
      await once(store.db, key, async () => ({ status: 201, body: {} }))
      const { worker_id } = await addWorker(store.db)
      await retireWorker(store.db, worker_id)
      const at = sql`clock_timestamp() - interval '25 hours'`
      await sql`update idempotency_keys set created_at = ${at} where key = ${key.key}`.execute(store.db)
      await sql`update workers set started_at = ${at} where worker_id = ${worker_id}`.execute(store.db)
      return async () => {
        const keys = await sql`select 1 from idempotency_keys where key = ${key.key}`.execute(store.db)
        const workers = await sql`select 1 from workers where worker_id = ${worker_id}`.execute(store.db)
        return keys.rows.length + workers.rows.length
      }
    }
    const left = await addOld()
    await service.look()
    assert.equal(await left(), 0)
    const later = await addOld()
    await service.pass(9 * MINUTE)
    assert.equal(await later(), 2)
    await service.pass(MINUTE)
    assert.equal(await later(), 0)
  })
})
