/** No worker claims anything that its warden does not watch yet, and nothing runs on that it has to freeze. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { uptime } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { planStoredHeart } from '../src/control-plane/stored-heart.ts'
import {
  type ControlGroup,
  type ControlGroupParent,
  freezeControlGroup,
  joinFiles,
  listControlGroupParents,
  makeControlGroup,
  planControlGroup,
  removeControlGroup,
  thawControlGroup,
} from '../src/sandbox/control-group.ts'
import { runProgram } from '../src/sandbox/run-program.ts'
import { DEFAULT_LIMITS, type SandboxRef } from '../src/sandbox/sandbox.ts'
import { type Db, openPostgres, type Store } from '../src/store/db.ts'
import { migrate } from '../src/store/migrate.ts'
import { readLiveness } from '../src/store/transitions.ts'
import { registerWorker } from '../src/store/workers.ts'
import { startBeats } from '../src/worker/beat.ts'
import { runWarden } from '../src/worker/warden.ts'
import { until } from './support/cluster.ts'
import { createDatabase, stopTestServer } from './support/databases.ts'
import { whyNoDocker } from './support/machine.ts'
import { findPostgres } from './support/postgres-server.ts'
import { openBackend } from './support/sandbox-backends.ts'
import { temporaryDirectory } from './support/service.ts'
import { findProcesses } from './support/traces.ts'

const skip = findPostgres() || process.env.RUNYARD_TEST_POSTGRES ? false : 'PostgreSQL is not installed'

describe('a warden', { skip }, () => {
  let database: Awaited<ReturnType<typeof createDatabase>>
  let store: Store
  before(async () => {
    database = await createDatabase()
    store = openPostgres({ url: database.url })
    await migrate(store.db)
  })
  after(async () => {
    await store?.close()
    await database?.drop()
    await stopTestServer()
  })

  test('that is slow to start is waited for, while its worker beats', async () => {
    const directory = temporaryDirectory('warden')
    const go = join(directory, 'go')
    const slow = join(directory, 'slow-warden.mjs')
    writeFileSync(
      slow,
      `import { existsSync } from 'node:fs'
      process.stdin.resume().once('end', () => process.exit(0))
      const timer = setInterval(() => {
        if (!existsSync(${JSON.stringify(go)})) return
        clearInterval(timer)
        process.stdout.write('ready\\n')
      }, 20)`,
    )
    const worker_id = await register(store.db)
    let begun = false
    const opening = startBeats({
      heart: planStoredHeart(database.url),
      worker_id,
      warden_argv: [slow],
      onLost: () => {},
      onFault: () => {},
    }).then((beats) => {
      begun = true
      return beats
    })
    await until('a second beat', async () =>
      (await readLiveness(store.db)).beats.some(
        (worker) => worker.worker_id === worker_id && Number(worker.beat) > 1,
      ),
    )
    assert.deepEqual([begun, existsSync(go)], [false, false])
    writeFileSync(go, '')
    await (await opening).close()
  })

  test('that cannot start is no warden', async () => {
    const worker_id = await register(store.db)
    const opening = startBeats({
      heart: planStoredHeart(database.url),
      worker_id,
      warden_argv: ['-e', 'process.exit(3)'],
      onLost: () => {},
      onFault: () => {},
    })
    await assert.rejects(opening, /The warden ended with 3/)
  })
})

// Only there can a test stop a kill from reaching its processes: frozen from above, they do not take it.
const parent = listControlGroupParents().find(({ version }) => version === 1)
describe('a warden of a bubblewrap sandbox', {
  skip: parent ? false : 'no control groups of version 1',
}, () => {
  test('that is to end kills until nothing of it is left', async (t) => {
    // The shell that starts programs stays in the group that this process has now, whichever test of it came first.
    await runProgram(['true'])
    const outer = planControlGroup(parent as ControlGroupParent, `runyard-warden-${process.pid}`)
    makeControlGroup(outer, { ...DEFAULT_LIMITS, memory_bytes: 8 * 1024 ** 3, pids: 4096 })
    const enter = (group: ControlGroup) => {
      for (const file of joinFiles(group))
        writeFileSync(file.replace(/tasks$/, 'cgroup.procs'), String(process.pid))
    }
    // Groups are made below the one of who makes them.
    enter(outer)
    const backend = await openBackend('bubblewrap', {
      ...{ data_dir: temporaryDirectory('data'), installation_id: randomUUID() },
    }).finally(() => enter(parent as ControlGroupParent))
    t.after(() => removeControlGroup(outer))
    const { ref, exec } = await backend.create({
      ...{ run_id: randomUUID(), attempt: 1, limits: DEFAULT_LIMITS, egress: 'none', env: {} },
    })
    const marker = `612${Date.now()}`
    const sleep = exec({ command: `sleep ${marker}` })
    await until('the command', () => findProcesses(marker).length > 0)

    let kills = 0
    const counted = {
      kill: async (killed: SandboxRef) => {
        kills += 1
        await backend.kill(killed)
      },
    }
    const input = new PassThrough()
    let ended = false
    const warden = runWarden(counted, { input, output: new PassThrough() }, { deadline: false }).then(() => {
      ended = true
    })
    input.write(`${JSON.stringify({ watch: ref })}\n`)
    await freezeControlGroup(outer)
    try {
      input.end()
      await until('it has tried again', () => ended || kills > 1)
      assert.equal(ended, false, 'it went although the processes are there')
      assert(findProcesses(marker).length > 0)
    } finally {
      thawControlGroup(outer)
    }
    await warden
    assert.deepEqual(findProcesses(marker), [])
    await sleep.exit
    await backend.destroy(ref)
  })
})

test('a warden kills the others, and one after a while, where an engine never answers about that one', async () => {
  const [stuck, other] = ['stuck', 'other'].map((id) => ({ backend: 'docker', id, run_id: id, attempt: 1 }))
  const calls: string[] = []
  const backend = {
    freeze: (ref: SandboxRef) => {
      calls.push(`freeze ${ref.id}`)
      return ref.id === 'stuck' ? new Promise<void>(() => {}) : Promise.resolve()
    },
    thaw: async (ref: SandboxRef) => void calls.push(`thaw ${ref.id}`),
    kill: async (ref: SandboxRef) => void calls.push(`kill ${ref.id}`),
  }
  const input = new PassThrough()
  const warden = runWarden(backend, { input, output: new PassThrough() }, { deadline: true })
  input.write(`${JSON.stringify({ watch: stuck })}\n${JSON.stringify({ watch: other })}\n`)
  await until('it freezes', () => calls.includes('freeze other'))
  input.write(`${JSON.stringify({ stamp: uptime() })}\n`)
  await until('it thaws what it can', () => calls.includes('thaw other'))
  input.end()
  await warden
  assert.deepEqual(calls.slice(-2), ['kill other', 'kill stuck'])
})

describe('a warden of a Docker sandbox', { skip: whyNoDocker() }, () => {
  test('freezes one that was being started anew when it first tried to', async () => {
    const backend = await openBackend('docker', { data_dir: '/nowhere', installation_id: randomUUID() })
    const input = new PassThrough()
    const warden = runWarden(backend, { input, output: new PassThrough() }, { deadline: true })
    const tell = (line: object) => input.write(`${JSON.stringify(line)}\n`)
    const { ref } = await backend.create({
      ...{ run_id: randomUUID(), attempt: 1, limits: DEFAULT_LIMITS, egress: 'none', env: {} },
    })
    const name = execFileSync('docker', ['ps', '--filter', `name=${ref.id}`, '--format', '{{.Names}}'])
    const docker = (...words: string[]) =>
      execFileSync('docker', [...words, name.toString().trim()], { encoding: 'utf8' }).trim()
    try {
      tell({ watch: ref })
      docker('kill')
      // Longer than a worker may be silent.
      await delay(5_000)
      docker('start')
      await until('it is frozen', () => docker('inspect', '-f', '{{.State.Paused}}') === 'true')
      tell({ stamp: uptime() })
      await until('it is thawed', () => docker('inspect', '-f', '{{.State.Paused}}') === 'false')
    } finally {
      input.end()
      await warden
      await backend.destroy(ref)
    }
  })
})

async function register(db: Db): Promise<string> {
  const worker_id = randomUUID()
  await registerWorker(db, {
    worker_id,
    pool: 'default',
    host: 'h',
    version: '0.0.0',
    place: 'here',
    slots: 1,
    sandbox: 'host',
    models: { models: [] },
    lacking_agents: [],
  })
  return worker_id
}
