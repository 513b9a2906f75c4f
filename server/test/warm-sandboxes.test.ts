/** Sandboxes made in advance: runs start in them, each in one of its own, and none stays behind. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmodSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { sql } from 'kysely'
import { openGateway } from '../src/gateway/open-gateway.ts'
import {
  collectExec,
  DEFAULT_LIMITS,
  type Sandbox,
  type SandboxBackend,
  SandboxFault,
  type SandboxSpec,
  type WarmSpec,
} from '../src/sandbox/sandbox.ts'
import type { Store } from '../src/store/db.ts'
import { releaseRun } from '../src/store/leases.ts'
import { recordSandbox } from '../src/store/sandboxes.ts'
import { loseAllWorkers, registerWorker } from '../src/store/workers.ts'
import { reapSandboxes } from '../src/worker/reap.ts'
import { WarmSandboxes } from '../src/worker/warm-sandboxes.ts'
import { until } from './support/cluster.ts'
import { openEmbedded } from './support/databases.ts'
import { installationOf, removeSandboxesBeside } from './support/docker-images.ts'
import { whyNoBubblewrap, whyNoDocker } from './support/machine.ts'
import { onlyLong } from './support/once.ts'
import { planeOf } from './support/plane.ts'
import { openBackend, TEST_IMAGE } from './support/sandbox-backends.ts'
import { apiOf, shell, startService, temporaryDirectory } from './support/service.ts'
import { holdRun } from './support/stored.ts'
import { ofType, printed } from './support/traces.ts'

const undocked = whyNoDocker()
const KIND = { limits: DEFAULT_LIMITS, egress: 'none', folders: ['artifacts'] } as const

const docker = (...words: string[]): string => spawnSync('docker', words).stdout.toString().trim()
const lines = (text: string): string[] => text.split('\n').filter(Boolean)

describe('containers made in advance', { skip: undocked }, () => {
  const data_dir = temporaryDirectory('warm')
  const installation_id = randomUUID()
  const OWN = `label=runyard.installation=${installation_id}`
  let backend: SandboxBackend
  before(async () => {
    backend = await openBackend('docker', { data_dir, installation_id })
  })
  after(async () => {
    for (const { ref } of await backend.list()) await backend.destroy(ref)
  })

  const makeWarm = async (name = randomUUID()) => {
    assert(backend.createWarm)
    return backend.createWarm(`${randomUUID()}.warm-${name}`, KIND)
  }
  const specOf = (run_id: string, attempt: number): SandboxSpec => ({
    ...{ ...KIND, run_id, attempt },
    env: { WORD: `for ${run_id} ${attempt}` },
  })
  const run = async (sandbox: Sandbox, command: string): Promise<string> =>
    (await collectExec(sandbox.exec({ command }))).stdout.toString().trim()
  const containers = (): string[] => lines(docker('ps', '-a', '--no-trunc', '-q', '--filter', OWN))
  const volumes = (): string[] => lines(docker('volume', 'ls', '-q', '--filter', OWN))

  /** As it is after two minutes. */
  const reap = (store: Store): Promise<unknown> => {
    const log = { info() {}, warn() {}, error() {} }
    const disk = { hasRoom: async () => true, watch: () => ({ close() {} }) }
    const settings = { max_idle: 9 }
    const services = { plane: planeOf(store), worker_id: randomUUID(), backend, disk, log, settings }
    return reapSandboxes(services, [], () => Date.now() + 120_000)
  }

  test('one is adopted once, is what a new one is, and is its run’s from then on', async () => {
    const warm = await makeWarm()
    const made = containers()
    const run_id = randomUUID()
    const sandbox = await warm.adopt(specOf(run_id, 1))
    assert(sandbox)
    assert.deepEqual(sandbox.ref, { ...warm.ref, attempt: 1 })
    assert.equal(
      await run(sandbox, 'echo "$WORD"; ls -a; [ $(id -u) -gt 1000 ] && [ -O . ] && echo own'),
      `for ${run_id} 1\n.\n..\nartifacts\nown`,
    )
    assert.deepEqual(containers(), made)
    assert.equal(await warm.adopt(specOf(randomUUID(), 1)), null)

    await warm.destroy()
    assert.deepEqual(
      (await backend.list()).map(({ ref }) => ref),
      [sandbox.ref],
    )
    await sandbox.writeFile('kept', 'word')
    const next = await backend.attach({ ...specOf(run_id, 2), run_id: warm.ref.run_id })
    assert(next)
    assert.equal(await run(next, 'cat kept; echo "$WORD"'), `wordfor ${run_id} 2`)
    await backend.destroy(sandbox.ref)
    assert.equal(await run(next, 'cat kept'), 'word')
    await next.destroy()
    assert.deepEqual([...containers(), ...volumes()], [])
  })

  test('one whose image has another meaning by now is not adopted', async () => {
    const image = `runyard-test:${randomUUID()}`
    docker('tag', TEST_IMAGE, image)
    assert(backend.createWarm)
    const warm = await backend.createWarm(`${randomUUID()}.warm-x`, { ...KIND, image })
    const other = docker('create', '--label', OWN.slice('label='.length), TEST_IMAGE, 'true')
    docker('commit', '--change', 'LABEL other=1', other, image)
    try {
      assert.equal(await warm.adopt({ ...specOf(randomUUID(), 1), image }), null)
    } finally {
      await warm.destroy()
      docker('rm', other)
      docker('rmi', image)
    }
    assert.deepEqual([...containers(), ...volumes()], [])
  })

  test('one that stopped, or is gone, is not adopted', async () => {
    for (const words of [['kill'], ['rm', '--force']]) {
      const warm = await makeWarm()
      docker(...words, `${warm.ref.id}.0`)
      assert.equal(await warm.adopt(specOf(randomUUID(), 1)), null)
      await warm.destroy()
    }
    assert.deepEqual([...containers(), ...volumes()], [])
  })

  test('a worker keeps one of each kind that is asked for, without anybody waiting', async () => {
    const log = { info() {}, warn() {}, error() {} }
    let now = 0
    const disk = { hasRoom: async () => true, watch: () => ({ close() {} }) }
    const gateway = openGateway('never started', log)
    const context = { backend, gateway, disk, log, settings: { warm: 1 } }
    const pool = new WarmSandboxes(context, randomUUID(), () => now)
    const other = { ...KIND, limits: { ...DEFAULT_LIMITS, pids: 64 } }
    assert.deepEqual([pool.take(KIND), pool.take(other)], [null, null])
    await until('two to be made', () => containers().length === 2, 60)
    const taken = await until('one to be had', () => pool.take(KIND), 60)
    assert.equal(docker('inspect', '-f', '{{.HostConfig.PidsLimit}}', `${taken.sandbox.ref.id}.0`), '256')
    await until('another one in its place', () => containers().length === 3, 60)
    await taken.sandbox.destroy()
    now += 31 * 60_000
    // One may be on its way.
    await pool.removeUnused()
    await until('all to be given up', () => containers().length === 0, 60)
    pool.take(KIND)
    await until('one more', () => containers().length === 1, 60)
    await pool.close()
    assert.equal(pool.take(KIND), null)
    assert.deepEqual([...containers(), ...volumes()], [])
  })

  test('one that is being made while all are renewed is removed, and another one made in its place', async () => {
    const log = { info() {}, warn() {}, error() {} }
    const disk = { hasRoom: async () => true, watch: () => ({ close() {} }) }
    const made: string[] = []
    const began = Promise.withResolvers<void>()
    const renewed = Promise.withResolvers<void>()
    const slow: SandboxBackend = Object.create(backend, {
      createWarm: {
        value: async (name: string, spec: WarmSpec) => {
          const warm = await backend.createWarm?.(name, spec)
          assert(warm)
          made.push(warm.ref.id)
          began.resolve()
          await renewed.promise
          return warm
        },
      },
    })
    const gateway = openGateway('never started', log)
    const pool = new WarmSandboxes({ backend: slow, gateway, disk, log, settings: { warm: 1 } }, randomUUID())
    pool.take(KIND)
    await began.promise
    await pool.renew()
    renewed.resolve()
    const taken = await until('one to be had', () => pool.take(KIND), 60)
    assert.deepEqual([made.indexOf(taken.sandbox.ref.id), containers().length], [1, 1])
    await taken.sandbox.destroy()
    await pool.close()
    assert.deepEqual([...containers(), ...volumes()], [])
  })

  test('those of a worker that lives stay, and those of one that is lost are removed', async () => {
    const store: Store = await openEmbedded()
    const worker_id = randomUUID()
    const registration = {
      pool: 'p',
      host: 'h',
      version: '0.0.0',
      place: backend.place,
      slots: 1,
      sandbox: 'docker',
      models: { models: [] },
      lacking_agents: [],
    }
    await registerWorker(store.db, { worker_id, ...registration })
    assert(backend.createWarm)
    const warm = await backend.createWarm(`${worker_id}.warm-1`, KIND)
    await reap(store)
    assert.equal(containers().length, 1)
    await loseAllWorkers(store.db)
    await reap(store)
    assert.deepEqual([...containers(), ...volumes()], [])
    await warm.destroy()
    await store.close()
  })

  test('what a run keeps in one outlives its container', async () => {
    const store: Store = await openEmbedded()
    const lease = await holdRun(store.db)
    const warm = await makeWarm()
    const { place } = backend
    const adopted = await warm.adopt(specOf(lease.run_id, lease.attempt))
    assert(adopted)
    await adopted.writeFile('kept', 'word')
    await recordSandbox(store.db, lease, { place, ref: adopted.ref, prepared: true, commits: {} })
    await releaseRun(store.db, lease)
    await sql`update runs set worker_id = null, state = 'SUCCEEDED' where run_id = ${lease.run_id}`.execute(
      store.db,
    )
    // As operators do after the machine started anew.
    docker('rm', '--force', `${warm.ref.id}.${lease.attempt}`)
    await reap(store)
    const next = await backend.attach({ ...specOf(lease.run_id, 2), run_id: warm.ref.run_id })
    assert(next)
    assert.equal(await run(next, 'cat kept'), 'word')
    await sql`delete from sandboxes`.execute(store.db)
    await reap(store)
    assert.deepEqual([...containers(), ...volumes()], [])
    await store.close()
  })

  test('runs start in them, follow-ups find their workspace, and nothing of a run is in another’s', async () => {
    const env = { RUNYARD_DEFAULT_IMAGE: TEST_IMAGE, RUNYARD_WARM_SANDBOXES: '1' }
    const service = await startService({ sandbox: 'docker', env })
    const api = apiOf(service)
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
      name: `warm ${randomUUID()}`,
      variables: { CANARY: 'canary-Wm3x9Lq2' },
    })
    const config = { environment_id: uid }
    const first = await api.create({ prompt: shell('echo one > file; ls'), config })
    await api.ended(first)
    const installation = installationOf(first)
    const warm = await until('one to be made', () => findWarm(installation), 60)
    assert(!docker('inspect', warm).includes('canary-'))
    const look = 'ls; echo "$CANARY" | wc -c; echo two > file; (exec 3<>/dev/tcp/127.0.0.1/3128) && echo way'
    const second = await api.create({ prompt: shell(look), config })
    assert.equal((await api.ended(second)).state, 'SUCCEEDED')
    assert.equal(printed(await api.events(second)), 'artifacts\nattachments\n16\nway\n')
    // It has the run's attempt in its name by now.
    assert.match(docker('inspect', '-f', '{{.Name}}', warm), /-0\.1$/)

    await api.json('POST', `/agent/runs/${second}/followups`, { message: shell('cat file') })
    await api.until(second, (run) => run.state === 'SUCCEEDED' && run.attempt === 2, 60)
    assert.match(printed(await api.events(second)), /two\n$/)
    const restored = ofType(await api.events(second), 'setup').filter(({ data }) => data.phase === 'restore')
    assert.match(restored[0]?.data.name ?? '', /as it was left/)
    await api.until(second, (run) => !run.is_sandbox_running, 60)
    await service.stop()
    assert.equal(findWarm(installation), undefined)
    removeSandboxesBeside(first)
  })

  // What it says is said of any image that is not there.
  onlyLong('one whose image is gone is removed, and the run says so', async () => {
    const image = `runyard-test:${randomUUID()}`
    docker('tag', TEST_IMAGE, image)
    const env = { RUNYARD_DEFAULT_IMAGE: TEST_IMAGE, RUNYARD_WARM_SANDBOXES: '1' }
    const service = await startService({ sandbox: 'docker', env })
    const api = apiOf(service)
    const environment = { name: `warm ${randomUUID()}`, docker_image: image }
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', environment)
    const config = { environment_id: uid }
    const first = await api.create({ prompt: shell('true'), config })
    assert.equal((await api.ended(first)).state, 'SUCCEEDED')
    const installation = installationOf(first)
    await until('one to be made', () => findWarm(installation), 60)
    docker('rmi', image)
    const second = await api.create({ prompt: shell('true'), config })
    const { state, status_message } = await api.ended(second)
    assert.deepEqual([state, status_message?.error_code], ['FAILED', 'environment_setup_failed'])
    await until('it to be removed', () => findWarm(installation) === undefined, 20)
    await service.stop()
    removeSandboxesBeside(first)
  })
})

/** A container of the installation that nobody has adopted. */
const findWarm = (installation: string): string | undefined => {
  const filter = ['--filter', `label=runyard.installation=${installation}`]
  return lines(docker('ps', ...filter, '--format', '{{.ID}} {{.Names}} {{.Label "runyard.run_id"}}'))
    .find((line) => / \S+-0\.0 .*\.warm-/.test(line))
    ?.split(' ')[0]
}

describe('bubblewrap sandboxes made in advance', { skip: whyNoBubblewrap() }, () => {
  let backend: SandboxBackend
  before(async () => {
    backend = await openBackend('bubblewrap', {
      data_dir: temporaryDirectory('warm'),
      installation_id: randomUUID(),
    })
  })
  const makeWarm = async (spec: WarmSpec = KIND) => {
    assert(backend.createWarm)
    return backend.createWarm(`${randomUUID()}.warm-1`, spec)
  }
  const specOf = (attempt: number, more: Partial<SandboxSpec> = {}): SandboxSpec => ({
    ...{ ...KIND, run_id: randomUUID(), attempt, env: { WORD: 'word' } },
    ...more,
  })
  const print = async (sandbox: Sandbox, command: string): Promise<string> =>
    (await collectExec(sandbox.exec({ command }))).stdout.toString().trim()
  const refs = async () => (await backend.list()).map(({ ref }) => ref)

  test('one is adopted once, is what a new one is, and is its run’s from then on', async () => {
    const warm = await makeWarm()
    const sandbox = await warm.adopt(specOf(1))
    assert(sandbox)
    assert.deepEqual(sandbox.ref, { ...warm.ref, attempt: 1 })
    assert.equal(await print(sandbox, 'echo "$WORD"; ls -a; id -u'), 'word\n.\n..\nartifacts\n1000')
    assert.equal(await warm.adopt(specOf(1)), null)
    await warm.destroy()
    assert.deepEqual(await refs(), [sandbox.ref])

    await sandbox.writeFile('kept', 'kept')
    const next = await backend.attach(specOf(2, { run_id: warm.ref.run_id }))
    assert(next)
    await backend.destroy(sandbox.ref)
    await assert.rejects(collectExec(sandbox.exec({ command: 'true' })), SandboxFault)
    assert.equal(await print(next, 'cat kept'), 'kept')
    await next.destroy()
    assert.deepEqual(await refs(), [])
  })

  test('one that was killed is adopted all the same, one that is gone is not', async () => {
    const killed = await makeWarm()
    await backend.kill(killed.ref)
    const sandbox = await killed.adopt(specOf(1))
    assert(sandbox)
    assert.equal(await print(sandbox, 'echo "$WORD"'), 'word')
    await sandbox.destroy()
    const gone = await makeWarm()
    await gone.destroy()
    assert.equal(await gone.adopt(specOf(1)), null)
    assert.deepEqual(await refs(), [])
  })

  test('one leads to where its run’s way out will be', async (t) => {
    if (!backend.capabilities.egress.includes('allowlist')) return t.skip('no socat')
    const place = temporaryDirectory('way')
    const socket = join(place, 'socket')
    const closing = new AbortController()
    const proxy = { socket, uid: null, closed: closing.signal }
    const warm = await makeWarm({ ...KIND, egress: 'allowlist', proxy })
    const server = createServer((connection) => connection.end('hello\n'))
    await new Promise<void>((resolve) => server.listen(socket, resolve))
    for (const path of [place, socket]) chmodSync(path, 0o777)
    const sandbox = await warm.adopt(specOf(1, { egress: 'allowlist', proxy }))
    assert(sandbox)
    const ask = 'cat < /dev/tcp/127.0.0.1/3128'
    assert.equal(await print(sandbox, ask), 'hello')
    assert.equal(await print(sandbox, `${ask}; echo "$http_proxy"`), 'hello\nhttp://127.0.0.1:3128')
    // One that has lost its way gets no other command.
    closing.abort()
    await assert.rejects(collectExec(sandbox.exec({ command: ask })), SandboxFault)
    await sandbox.destroy()
    server.close()
  })
})
