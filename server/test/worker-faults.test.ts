/** What a worker does when ending a run fails, one of its parts after the other. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, renameSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, afterEach, before, describe, test } from 'node:test'
import { sql } from 'kysely'
import { LOOP } from '../src/contract/harness-fields.ts'
import type { Harness } from '../src/harness/harness.ts'
import { runbook } from '../src/harness/runbook.ts'
import type { Sandbox, SandboxBackend } from '../src/sandbox/sandbox.ts'
import { SandboxFault } from '../src/sandbox/sandbox.ts'
import { openPostgres, type Store } from '../src/store/db.ts'
import { insertEnvironment } from '../src/store/environments.ts'
import { migrate } from '../src/store/migrate.ts'
import type { NewRun } from '../src/store/new-runs.ts'
import { randomText } from '../src/store/random-text.ts'
import { until } from './support/cluster.ts'
import { createDatabase, stopTestServer } from './support/databases.ts'
import { findPostgres } from './support/postgres-server.ts'
import { shell } from './support/service.ts'
import {
  addPrincipal,
  addRun,
  cancel,
  follow,
  interrupt,
  readStored,
  readWholeLog,
} from './support/stored.ts'
import { ofType, printed } from './support/traces.ts'
import { openTestWorker, type TestWorker, type TestWorkerOptions } from './support/worker.ts'

const skip = findPostgres() || process.env.RUNYARD_TEST_POSTGRES ? false : 'PostgreSQL is not installed'

describe('a worker', { skip }, () => {
  let database: Awaited<ReturnType<typeof createDatabase>>
  let store: Store
  const workers: TestWorker[] = []
  before(async () => {
    database = await createDatabase()
    store = openPostgres({ url: database.url })
    await migrate(store.db)
  })
  afterEach(async () => {
    for (const worker of workers.splice(0)) await worker.stop()
  })
  after(async () => {
    await store?.close()
    await database?.drop()
    await stopTestServer()
  })

  const start = async (options: Partial<TestWorkerOptions> = {}): Promise<TestWorker & { pool: string }> => {
    const pool = randomUUID()
    const worker = await openTestWorker({ store, pool, harnesses: [runbook], ...options })
    workers.push(worker)
    return { ...worker, pool }
  }
  const create = async (pool: string, prompt: string, request: object = {}) => {
    const principal_id = await addPrincipal(store.db)
    const run_id = await addRun(store.db, principal_id, { pool, prompt, request })
    return { run_id, principal_id }
  }
  const eventsOf = (run_id: string) => readWholeLog(store.db, run_id)
  const settled = (run_id: string) =>
    until('the run to be let go', async () => {
      const run = await readStored(store.db, run_id)
      return run.worker_id === null && !/QUEUED|CLAIMED|INPROGRESS/.test(run.state) && run
    })
  const statusOf = async (run_id: string) =>
    ofType(await eventsOf(run_id), 'run.state').at(-1)?.data.status_message

  test('that can record no end of a run keeps it no longer than that lasts', async () => {
    const worker = await start()
    // A fault that is not an outage, at everything that would end or give up the run.
    await sql`create function refuse() returns trigger language plpgsql as
      $$ begin raise exception 'refused by a test'; end $$`.execute(store.db)
    await sql`create trigger refuse before update on runs for each row
      when (old.state = 'INPROGRESS' and new.state <> 'INPROGRESS') execute function refuse()`.execute(
      store.db,
    )
    const { run_id } = await create(worker.pool, shell('echo done'))
    await until('the failure', () => worker.said(/Releasing the run failed/))
    const held = await readStored(store.db, run_id)
    assert.deepEqual([held.state, held.worker_id], ['INPROGRESS', worker.worker_id])
    await sql`drop trigger refuse on runs`.execute(store.db)
    const { state, attempt } = await settled(run_id)
    assert.deepEqual([state, attempt], ['SUCCEEDED', 2])
    assert.equal(printed(await eventsOf(run_id)), 'done\n')
  })

  /** The database refuses events whose data has `word`, as `raise` says. */
  const refuseEvents = async (word: string, raise: string): Promise<() => Promise<void>> => {
    await sql
      .raw(
        `create function refuse_event() returns trigger language plpgsql as $$ begin ${raise}; return new; end $$`,
      )
      .execute(store.db)
    await sql
      .raw(`create trigger refuse_event before insert on events for each row
        when (new.data::text like '%${word}%') execute function refuse_event()`)
      .execute(store.db)
    return async () => void (await sql`drop function refuse_event() cascade`.execute(store.db))
  }
  const isWhole = (events: Awaited<ReturnType<typeof eventsOf>>) =>
    assert.deepEqual(
      events.map(({ sequence }) => sequence),
      events.map((_, index) => index + 1),
    )

  test('ends a run whose event the database refuses for good, says which one, and does nothing more', async () => {
    const worker = await start()
    const restore = await refuseEvents(
      'poi+son',
      "raise exception 'refused by a test' using errcode = '22P05'",
    )
    const { run_id } = await create(
      worker.pool,
      `${shell('echo before')}\n${shell("echo 'poi''+son'")}\n${shell('echo after')}`,
    )
    const { state, attempt } = await settled(run_id)
    await restore()
    const events = await eventsOf(run_id)
    assert.deepEqual([state, attempt, printed(events)], ['ERROR', 1, 'before\n'])
    assert.match(
      (await statusOf(run_id))?.message ?? '',
      /log is incomplete: .* an event tool\.output of the call/,
    )
    assert.match(ofType(events, 'error')[0]?.data.message ?? '', /an event tool\.output of the call/)
    assert.ok(worker.said(/An event of a run could not be stored/))
    isWhole(events)
  })

  test('writes a batch that failed before any later one', async () => {
    const worker = await start()
    // What a sequence counts is not undone with the statement that failed.
    await sql`create sequence refusals`.execute(store.db)
    const restore = await refuseEvents(
      'one+ce',
      "if nextval('refusals') <= 2 then raise exception 'refused by a test'; end if",
    )
    const { run_id } = await create(
      worker.pool,
      `${shell("echo 'one''+ce'; echo next")}\n${shell('echo last')}`,
    )
    const { state, attempt } = await settled(run_id)
    await restore()
    const events = await eventsOf(run_id)
    assert.deepEqual([state, attempt, printed(events)], ['SUCCEEDED', 1, 'one+ce\nnext\nlast\n'])
    isWhole(events)
  })

  test('writes nothing more once something is missing that the log cannot say, and hands the run on', async () => {
    const worker = await start()
    const restore = await refuseEvents('do+ne', "raise exception 'refused by a test' using errcode = '22P05'")
    await sql`create function refuse_error() returns trigger language plpgsql as
      $$ begin raise exception 'refused by a test'; end $$`.execute(store.db)
    await sql`create trigger refuse_error before insert on events for each row when (new.type = 'error')
      execute function refuse_error()`.execute(store.db)
    const { run_id } = await create(worker.pool, shell("echo 'do''+ne'"))
    await until('the run to be handed on', async () => (await readStored(store.db, run_id)).attempt > 1)
    await restore()
    await sql`drop function refuse_error() cascade`.execute(store.db)
    assert.equal((await settled(run_id)).state, 'SUCCEEDED')
    const events = await eventsOf(run_id)
    assert.equal(printed(events), 'do+ne\n')
    isWhole(events)
  })

  test('executes a run that it holds and never heard of', async () => {
    const worker = await start()
    const elsewhere = randomUUID()
    const { run_id } = await create(elsewhere, shell('echo heard'))
    // The answer to this claim is lost.
    const claimed = await sql`select * from claim(${elsewhere}, ${worker.worker_id}::uuid, 1)`.execute(
      store.db,
    )
    assert.equal(claimed.rows.length, 1)
    assert.equal((await settled(run_id)).state, 'SUCCEEDED')
  })

  test('says why it cannot hear what callers want, once', async () => {
    const worker = await start()
    const failures = () =>
      worker.log.filter(({ message }) => /what callers want of runs/.test(message)).length
    await sql`alter table runs rename column interrupt_sequence to elsewhere`.execute(store.db)
    await until('the fault to be said', () => failures() > 0).finally(() =>
      sql`alter table runs rename column elsewhere to interrupt_sequence`.execute(store.db),
    )
    const { run_id } = await create(worker.pool, shell('echo done'))
    assert.equal((await settled(run_id)).state, 'SUCCEEDED')
    assert.equal(failures(), 1)
  })

  test('keeps a run until its processes are shown to be gone', async () => {
    let heal = () => {}
    const worker = await start({ onLog: (message) => void (/processes/.test(message) && heal()) })
    const { run_id } = await create(worker.pool, shell('until [ -e go ]; do sleep 0.1; done'))
    const records = join(worker.data_dir, 'sandboxes/bubblewrap', `${run_id}-1`)
    await until('the step', async () => ofType(await eventsOf(run_id), 'tool.call').length > 0)
    // The record of the sandbox cannot be read, so it cannot be told what to kill.
    const record =
      readdirSync(records)
        .filter((name) => name.endsWith('.json'))
        .sort()
        .at(-1) ?? ''
    const file = join(records, record)
    const saved = join(worker.data_dir, 'saved')
    renameSync(file, saved)
    mkdirSync(file)
    writeFileSync(join(records, 'workspace/go'), '')
    let held: Awaited<ReturnType<typeof readStored>> | undefined
    heal = () => {
      heal = () => {}
      readStored(store.db, run_id).then((run) => {
        held = run
        rmdirSync(file)
        renameSync(saved, file)
      })
    }
    assert.equal((await settled(run_id)).state, 'SUCCEEDED')
    assert.equal(held?.worker_id, worker.worker_id, 'It was released while its processes may have lived.')
  })

  test('removes a sandbox whose processes cannot be killed, and lets its run go then', async () => {
    let destroyed_while_held = false
    const deaf = (sandbox: Sandbox, run_id: string): Sandbox => ({
      ...sandbox,
      killAll: () => Promise.reject(new SandboxFault('refused by a test')),
      async destroy() {
        destroyed_while_held = (await readStored(store.db, run_id)).worker_id !== null
        await sandbox.destroy()
      },
    })
    const worker = await start({
      wrap: (backend) => ({
        ...methodsOf(backend),
        create: async (spec) => deaf(await backend.create(spec), spec.run_id),
      }),
    })
    const { run_id } = await create(worker.pool, shell('echo done'))
    assert.equal((await settled(run_id)).state, 'SUCCEEDED')
    assert.equal(destroyed_while_held, true)
  })

  test('gives the slots of cancelled runs to others while their workspaces are packed', async () => {
    const packed = Promise.withResolvers<void>()
    const held = new Set<string>()
    const slow = (sandbox: Sandbox, run_id: string): Sandbox => ({
      ...sandbox,
      async hold() {
        if (cancelled.includes(run_id)) {
          held.add(run_id)
          await packed.promise
        }
        return sandbox.hold()
      },
    })
    const worker = await start({
      wrap: (backend) => ({
        ...methodsOf(backend),
        create: async (spec) => slow(await backend.create(spec), spec.run_id),
      }),
    })
    const cancelled: string[] = []
    // As many as the worker has slots.
    for (let n = 0; n < 4; n += 1) {
      const { run_id, principal_id } = await create(worker.pool, shell('touch made; echo made; sleep 600'))
      cancelled.push(run_id)
      await until('the file', async () => printed(await eventsOf(run_id)) !== '')
      await cancel(store.db, run_id, principal_id)
    }
    await until('all to be packed', () => held.size === 4)
    const { run_id } = await create(worker.pool, shell('echo done'))
    assert.equal((await settled(run_id)).state, 'SUCCEEDED')
    assert.equal((await readStored(store.db, cancelled[0] ?? '')).worker_id, worker.worker_id)
    packed.resolve()
    for (const id of cancelled) assert.equal((await settled(id)).state, 'CANCELLED')
  })

  test('stops a run whose budget is spent at every turn from then on', async () => {
    const worker = await start()
    const budget = { max_duration_minutes: 1.5 / 60 }
    const { run_id, principal_id } = await create(worker.pool, shell('sleep 600'), { budget })
    await until('the step', async () => ofType(await eventsOf(run_id), 'tool.call').length > 0)
    await follow(store.db, run_id, principal_id, { message: shell('echo more; sleep 600') })
    assert.equal((await settled(run_id)).state, 'BLOCKED')
    assert.equal((await statusOf(run_id))?.error_code, 'budget_exceeded')
    // Nothing that was accepted is lost, and nothing of it is done.
    assert.equal(ofType(await eventsOf(run_id), 'followup.delivered').length, 1)
    assert.equal(printed(await eventsOf(run_id)), '')
    await follow(store.db, run_id, principal_id, { message: shell('echo more; sleep 600') })
    await until(
      'the next execution',
      async () => ofType(await eventsOf(run_id), 'attempt.started').length > 1,
    )
    assert.equal((await settled(run_id)).state, 'BLOCKED')
    assert.equal(printed(await eventsOf(run_id)), '')
  })

  /** A run whose workspace takes its time. */
  const createWithSetup = async (command: string, more: Partial<NewRun> = {}) => {
    const { pool } = await start()
    const principal_id = await addPrincipal(store.db)
    const environment_id = randomText(22)
    const config = { name: `slow ${environment_id}`, setup_commands: [command] }
    await insertEnvironment(store.db, { uid: environment_id, creator_id: principal_id, config, sealed: null })
    return { run_id: await addRun(store.db, principal_id, { pool, environment_id, ...more }), principal_id }
  }
  const inSetup = (run_id: string) =>
    until('the setup', async () =>
      ofType(await eventsOf(run_id), 'setup').some(({ data }) => data.phase === 'command'),
    )

  test('stops a setup that is interrupted', async () => {
    const { run_id, principal_id } = await createWithSetup('sleep 600')
    await inSetup(run_id)
    await interrupt(store.db, run_id, principal_id)
    assert.equal((await settled(run_id)).state, 'BLOCKED')
    assert.match((await statusOf(run_id))?.message ?? '', /^Interrupted\./)
  })

  test('sets up anew for a message that interrupted the setup', async () => {
    const { run_id, principal_id } = await createWithSetup('sleep 600', { prompt: shell('echo asked') })
    await inSetup(run_id)
    await sql`update environments set config = '{"name": "quick", "setup_commands": ["true"]}'`.execute(
      store.db,
    )
    await follow(store.db, run_id, principal_id, { message: shell('echo instead'), on_busy: 'interrupt' })
    const { state, lost_attempts } = await settled(run_id)
    assert.deepEqual([state, lost_attempts, printed(await eventsOf(run_id))], ['SUCCEEDED', 0, 'instead\n'])
  })

  test('counts the setup as time of the run, and stops it when that is spent', async () => {
    const request = { budget: { max_duration_minutes: 1.5 / 60 } }
    const { run_id } = await createWithSetup('sleep 600', { request })
    assert.equal((await settled(run_id)).state, 'BLOCKED')
    assert.equal((await statusOf(run_id))?.error_code, 'budget_exceeded')
  })

  /** Leaves an artifact, and takes away what commands need before the worker looks for it. */
  const wrecking = (wreck: () => void): Harness => ({
    traits: { ...LOOP, name: 'wrecking' },
    open: async ({ sandbox, emit }) => ({
      async turn() {
        await emit({ type: 'tool.call', data: { tool_call_id: 'make', name: 'make', input: {} } })
        await sandbox.writeFile('artifacts/made', 'something')
        await emit({ type: 'tool.result', data: { tool_call_id: 'make', is_error: false, exit_code: 0 } })
        wreck()
        // What stands ready for the next command would not miss what was taken away.
        await sandbox.killAll()
        return { state: 'SUCCEEDED' }
      },
      close: async () => {},
    }),
  })

  test('tries again when the sandbox fails under it while it collects artifacts', async () => {
    let filter = ''
    let heal = () => {}
    const worker = await start({
      harnesses: [wrecking(() => renameSync(filter, `${filter}.away`))],
      onLog: (message) => /what the turn made/.test(message) && heal(),
    })
    filter = join(worker.data_dir, 'sandboxes/bubblewrap/common/seccomp.bpf')
    heal = () => {
      heal = () => {}
      renameSync(`${filter}.away`, filter)
    }
    const { run_id } = await create(worker.pool, 'Make something.')
    assert.equal((await settled(run_id)).state, 'SUCCEEDED')
    assert.deepEqual(
      ofType(await eventsOf(run_id), 'artifact.created').map((event) => event.data.filename),
      ['made'],
    )
  })

  test('says so when artifacts cannot be collected: no success without them', async () => {
    let filter = ''
    const worker = await start({
      harnesses: [wrecking(() => renameSync(filter, `${filter}.away`))],
    })
    filter = join(worker.data_dir, 'sandboxes/bubblewrap/common/seccomp.bpf')
    const { run_id } = await create(worker.pool, 'Make something.')
    assert.equal((await settled(run_id)).state, 'ERROR')
    assert.equal((await statusOf(run_id))?.error_code, 'resource_unavailable')
  })
})

/** Its members as an object's own: a class's methods are not copied by a spread. */
function methodsOf(backend: SandboxBackend): SandboxBackend {
  return {
    name: backend.name,
    place: backend.place,
    capabilities: backend.capabilities,
    weaknesses: [],
    description: backend.description,
    create: (spec) => backend.create(spec),
    attach: (spec) => backend.attach(spec),
    list: () => backend.list(),
    freeze: async (ref) => backend.freeze?.(ref),
    thaw: async (ref) => backend.thaw?.(ref),
    kill: (ref) => backend.kill(ref),
    destroy: (ref) => backend.destroy(ref),
  }
}
