/** A thousand runs and fifty killed workers leave nothing on the machine but what was asked to be kept. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash, randomInt } from 'node:crypto'
import { chmodSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { readInstallation } from '../src/store/installation.ts'
import { type Cluster, startCluster, until, type WorkerRole } from './support/cluster.ts'
import { createDatabase, stopTestServer } from './support/databases.ts'
import { findPostgres } from './support/postgres-server.ts'
import type { BackendName } from './support/sandbox-backends.ts'
import { TEST_IMAGE } from './support/sandbox-backends.ts'
import { shell, temporaryDirectory } from './support/service.ts'
import { assertWhole, childrenOf, findProcesses } from './support/traces.ts'

const skip = findPostgres() || process.env.RUNYARD_TEST_POSTGRES ? false : 'PostgreSQL is not installed'
const POOL = 'reaped'
/** Seconds that no other process of the machine sleeps for. */
const marker = `9${Date.now()}`
const STEPS = [
  'echo quick',
  'sleep 0.3; echo slow > file',
  `(sleep ${marker} &) ; echo left something`,
  `setsid sleep ${marker} >/dev/null 2>&1 & mkfifo pipe; mkdir -p a/b; ln -s /etc a/b/link; echo files`,
  'curl -sS -m 2 https://nowhere.invalid 2>&1 || true',
]

describe('what a thousand runs and fifty killed workers leave', { skip }, () => {
  after(() => stopTestServer())
  soak('bubblewrap', { runs: 1_000, kills: 50 })
  soak('docker', { runs: 150, kills: 10 })
})

function soak(sandbox: BackendName, { runs, kills }: { runs: number; kills: number }): void {
  test(`on ${sandbox}: ${runs} runs, ${kills} killed`, { timeout: 3_000_000 }, async (t) => {
    const database = await createDatabase()
    const temporary = temporaryDirectory('soak')
    // As that of any machine, so that the gateway takes it.
    chmodSync(temporary, 0o1777)
    const cluster = await startCluster(database.url, {
      ...{ TMPDIR: temporary, RUNYARD_MAX_IDLE_SANDBOXES: '3', RUNYARD_DEFAULT_IMAGE: TEST_IMAGE },
      RUNYARD_SLOTS: '4',
    })
    t.after(async () => {
      await cluster.stop()
      await database.drop()
    })
    const installation_id = await readInstallation(cluster.store.db)

    const { uid: environment_id } = await cluster.api.json<{ uid: string }>('POST', '/agent/environments', {
      name: `soak-${sandbox}`,
      egress: 'allowlist',
    })
    const workers = [await start(cluster, sandbox), await start(cluster, sandbox)]
    const run_ids = await createRuns(cluster, runs, environment_id)
    for (let killed = 0; killed < kills; killed += 1) {
      await wait(randomInt(200, 1_500))
      const [victim] = workers.splice(randomInt(workers.length), 1)
      assert(victim)
      // Now and then as the kernel does it when memory is short: all of its processes at once.
      const others = killed % 5 === 0 ? childrenOf(victim.pid) : []
      for (const pid of [victim.pid, ...others]) process.kill(pid, 'SIGKILL')
      workers.push(await start(cluster, sandbox))
    }
    const states = new Map<string, number>()
    for (const run_id of run_ids) {
      const { state } = await cluster.api.ended(run_id, 1_500)
      states.set(state, (states.get(state) ?? 0) + 1)
    }
    t.diagnostic(
      `${sandbox}: ${JSON.stringify(Object.fromEntries(states))} of ${runs}, ${kills} workers killed`,
    )
    assert.deepEqual([...states], [['SUCCEEDED', runs]])
    for (const run_id of run_ids.slice(0, 50)) assertWhole(await cluster.api.events(run_id))

    // Idle workspaces go a minute after their runs, at the reaper's next look.
    const left = () => sandboxesOf(sandbox, cluster, installation_id)
    await until('the last sandbox to go', () => left().length === 0, 200, 1_000).catch(() => {})
    await Promise.all(workers.map((worker) => worker.end('SIGTERM')))
    assert.deepEqual(sandboxesOf(sandbox, cluster, installation_id), [])
    assert.deepEqual([temporary, cluster.data_dir, marker].flatMap(findProcesses), [], 'processes')
    if (sandbox === 'bubblewrap') assert.deepEqual(controlGroupsOf(cluster), [], 'control groups')
    assert.deepEqual(readdirSync(temporary), [], 'temporary files')
    const mounts = readFileSync('/proc/mounts', 'utf8')
    assert(!mounts.includes(cluster.data_dir), 'mounts')
    const uids = join(cluster.data_dir, 'sandboxes', 'bubblewrap', 'uids')
    if (sandbox === 'bubblewrap') assert.deepEqual(readdirSync(uids), [], 'users')
  })
}

const start = (cluster: Cluster, sandbox: BackendName): Promise<WorkerRole> =>
  cluster.worker(POOL, { sandbox })

async function createRuns(cluster: Cluster, count: number, environment_id: string): Promise<string[]> {
  const run_ids: string[] = []
  for (let made = 0; made < count; made += 1)
    run_ids.push(
      await cluster.api.create({
        prompt: [STEPS[made % STEPS.length], 'echo end'].map((step) => shell(step ?? '')).join('\n'),
        config: {
          worker_host: POOL,
          idle_timeout_minutes: 1,
          ...(made % STEPS.length === 4 ? { environment_id } : {}),
        },
      }),
    )
  return run_ids
}

/** What there is on disk, or on the engine, of this installation. */
function sandboxesOf(sandbox: BackendName, { data_dir }: Cluster, installation_id: string): string[] {
  if (sandbox === 'bubblewrap')
    return readdirSync(join(data_dir, 'sandboxes', 'bubblewrap')).filter(
      (name) => !['common', 'place', 'uids'].includes(name),
    )
  const filter = ['--filter', `label=runyard.installation=${installation_id}`]
  return [
    ['ps', '-a', '-q'],
    ['volume', 'ls', '-q'],
  ].flatMap((words) =>
    spawnSync('docker', [...words, ...filter])
      .stdout.toString()
      .split('\n')
      .filter(Boolean),
  )
}

/** As the backend names them. */
function controlGroupsOf({ data_dir }: Cluster): string[] {
  const root = realpathSync(join(data_dir, 'sandboxes', 'bubblewrap'))
  const place = readFileSync(join(root, 'place'), 'utf8').trim()
  const tag = createHash('sha256').update(`bubblewrap:${place} ${root}`).digest('hex').slice(0, 12)
  const { stdout } = spawnSync('find', ['/sys/fs/cgroup', '-type', 'd', '-name', `runyard-${tag}-*`])
  return stdout.toString().split('\n').filter(Boolean)
}
