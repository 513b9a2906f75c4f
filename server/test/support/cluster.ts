import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import { readConfig, startServe, startWorkerRole } from '../../src/main.ts'
import { createPrincipalWithKey } from '../../src/store/api-keys.ts'
import { openPostgres, type Store } from '../../src/store/db.ts'
import { migrate } from '../../src/store/migrate.ts'
import { Watch } from '../../src/store/watch.ts'
import { shareGateway } from './companions.ts'
import { apiOf, enter, spawnRunyard, temporaryDirectory } from './service.ts'
import { SHARED_CACHE } from './shared-cache.ts'

export interface Role {
  pid: number
  log(): string
  signal(signal: NodeJS.Signals): void
  /** Sends the signal and waits for the process to end. */
  end(signal: NodeJS.Signals): Promise<void>
}

export interface WorkerRole extends Role {
  /** Of its present life. */
  worker_id(): string
}

export interface ServeRole extends Role {
  base_url: string
  api: ReturnType<typeof apiOf>
}

/** Runs in the tests' process, so it cannot be killed: `end` stops it in order, and refuses another signal than SIGTERM. */
export type InnerServe = Pick<ServeRole, 'base_url' | 'api' | 'log' | 'end'>

export interface Cluster {
  store: Store
  data_dir: string
  /** An admin's. */
  api_key: string
  /** The first API; its address and what calls it stand here, too. */
  first: ServeRole
  base_url: string
  api: ReturnType<typeof apiOf>
  /** One more API, listening when it resolves. */
  serve(env?: Record<string, string>): Promise<ServeRole>
  /** The same in this process. */
  innerServe(env?: Record<string, string>): Promise<InnerServe>
  /** One more worker of this pool, at work when it resolves. All share one data directory, so one place. `sandbox`: bubblewrap. */
  worker(pool: string, env?: Record<string, string> & { sandbox?: string }): Promise<WorkerRole>
  stop(): Promise<void>
}

/** `runyard serve` and any number of `runyard worker`, processes of their own, on this database, with `common` settings. */
export async function startCluster(
  database_url: string,
  common: Record<string, string> = {},
  options: { over_https?: boolean } = {},
): Promise<Cluster> {
  const data_dir = temporaryDirectory('cluster')
  const store = openPostgres({ url: database_url })
  await migrate(store.db)
  const { api_key } = await createPrincipalWithKey(store.db, { name: 'test', role: 'admin' })
  const settings = settingsOf(database_url, data_dir, common)
  const { serve, worker: besideDatabase, end, start } = openRoles(settings, api_key)
  const inner: InnerServe[] = []
  const first = await serve()
  const { api, base_url } = first
  /** Has no more than a pool key. */
  const overHttps: Cluster['worker'] = async (pool, { sandbox = 'bubblewrap', ...env } = {}) => {
    const key = await createPrincipalWithKey(store.db, { name: 'fleet', role: 'viewer', pool })
    const own = { RUNYARD_SERVER: base_url, RUNYARD_POOL_KEY: key.api_key, DATABASE_URL: '' }
    const role = await start(['worker', '--sandbox', sandbox], /Working for /, { ...own, ...env })
    return { ...role, worker_id: () => workerIn(role.log()) }
  }
  const worker = options.over_https ? overHttps : besideDatabase
  return {
    ...{ store, data_dir, api_key, first, base_url, api, serve, worker },
    async innerServe(env) {
      const role = await serveHere({ ...settings, ...env }, api_key)
      inner.push(role)
      return role
    },
    async stop() {
      await Promise.all([end(), ...inner.map((role) => role.end('SIGTERM'))])
      await store.close()
    },
  }
}

/** A worker in the tests' own process. */
export interface InnerWorker {
  log(): string
  worker_id(): string
  /** Lets it come to its end in order. */
  end(): Promise<void>
}

export interface InnerCluster extends Pick<Cluster, 'store' | 'data_dir' | 'api_key' | 'base_url' | 'api'> {
  /** One more worker of this pool, at work when it resolves. */
  worker(pool: string, env?: Record<string, string>): Promise<InnerWorker>
  /** Processes of their own, to be killed or held up. */
  outerServe: Cluster['serve']
  outerWorker: Cluster['worker']
  stop(): Promise<void>
}

/** Does what `startCluster` does in this process, with processes only for what a test kills or holds up. */
export async function startInnerCluster(
  database_url: string,
  common: Record<string, string> = {},
): Promise<InnerCluster> {
  const data_dir = temporaryDirectory('cluster')
  const settings = settingsOf(database_url, data_dir, common)
  const leave = enter(undefined)
  const store = openPostgres({ url: database_url })
  const watch = new Watch(store)
  const ends: Array<() => Promise<void>> = []
  const stop = async () => {
    try {
      await Promise.all(ends.map((end) => end()))
    } finally {
      await watch.close()
      await store.close()
      leave()
    }
  }
  const configOf = (env: Record<string, string> = {}) =>
    readConfig({ ...SHARED_CACHE, RUNYARD_WARM_SANDBOXES: '0', ...settings, ...env })
  try {
    await migrate(store.db)
    await watch.start()
    const { api_key } = await createPrincipalWithKey(store.db, { name: 'test', role: 'admin' })
    const { base_url, end } = await serveHere(settings, api_key)
    ends.push(() => end('SIGTERM'))
    const outer = openRoles(settings, api_key)
    ends.push(outer.end)
    const onRun: Watch['onRun'] = (run_id, listener) => watch.onRun(run_id, listener)
    return {
      ...{ store, data_dir, api_key, stop, base_url },
      api: apiOf({ base_url, api_key, store, onRun }),
      outerServe: outer.serve,
      outerWorker: outer.worker,
      async worker(pool, env) {
        let log = ''
        const write = (line: string) => {
          log += line
        }
        const shared = shareGateway((fields, message) =>
          write(`${JSON.stringify({ ...fields, msg: message })}\n`),
        )
        const role = await startWorkerRole({
          config: configOf(env),
          ...{ pool, sandbox: 'bubblewrap', log: { write } },
          companions: { gateway: shared.gateway },
        }).catch((error: unknown) => {
          shared.leave()
          throw error
        })
        let ended: Promise<void> | undefined
        const end = () => (ended ??= role.stop().finally(shared.leave))
        ends.push(end)
        return { log: () => log, worker_id: () => workerIn(log), end }
      },
    }
  } catch (error) {
    await stop()
    throw error
  }
}

async function serveHere(settings: Record<string, string>, api_key: string): Promise<InnerServe> {
  const leave = enter(undefined)
  let log = ''
  const write = (line: string) => {
    log += line
  }
  const config = readConfig({ ...SHARED_CACHE, ...settings })
  const { base_url, stop } = await startServe({ config, port: 0, log: { write } }).catch((error: unknown) => {
    leave()
    throw error
  })
  let ended: Promise<void> | undefined
  const end: Role['end'] = (signal) => {
    assert.equal(signal, 'SIGTERM')
    ended ??= stop().finally(leave)
    return ended
  }
  return { base_url, api: apiOf({ base_url, api_key }), log: () => log, end }
}

const settingsOf = (database_url: string, data_dir: string, common: Record<string, string>) => ({
  DATABASE_URL: database_url,
  RUNYARD_DATA_DIR: data_dir,
  RUNYARD_ALLOW_WEAK_LIMITS: '1',
  // Tests ask more than people do.
  RUNYARD_REQUESTS_PER_MINUTE: '0',
  RUNYARD_CREATES_PER_MINUTE: '0',
  ...common,
})

/** Starts roles as processes of their own. `end` lets all of them come to their end. */
function openRoles(settings: Record<string, string>, api_key: string) {
  const roles: Role[] = []
  const start = async (args: string[], ready: RegExp, env: Record<string, string> = {}) => {
    const role = await startRole(args, ready, { ...settings, ...env })
    roles.push(role)
    return role
  }
  const serve: Cluster['serve'] = async (env) => {
    const role = await start(['serve', '--port', '0'], /Listening on /, env)
    const base_url = /Listening on (\S+)/.exec(role.log())?.[1]
    assert(base_url)
    return { ...role, base_url, api: apiOf({ base_url, api_key }) }
  }
  const worker: Cluster['worker'] = async (pool, { sandbox = 'bubblewrap', ...env } = {}) => {
    const role = await start(['worker', '--pool', pool, '--sandbox', sandbox], /Working for /, env)
    return { ...role, worker_id: () => workerIn(role.log()) }
  }
  const end = async () => {
    for (const role of roles) role.signal('SIGCONT')
    await Promise.all(roles.map((role) => role.end('SIGTERM')))
  }
  return { serve, worker, end, start }
}

/** The id of a worker's present life, as its log has it. */
function workerIn(log: string): string {
  const [line = ''] = log.match(/"worker_id":"([0-9a-f-]+)"[^\n]*is at work/g)?.slice(-1) ?? []
  return /"worker_id":"([0-9a-f-]+)"/.exec(line)?.[1] ?? ''
}

async function startRole(args: string[], ready: RegExp, env: Record<string, string>): Promise<Role> {
  const child = spawnRunyard(args, env)
  const { pid } = child
  assert(pid)
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  // Nobody reads it, and a full pipe would stop the process.
  child.stdout?.resume()
  await until(`runyard ${args[0]} to be ready`, () => {
    assert(child.exitCode === null, `runyard ${args[0]} ended with ${child.exitCode}:\n${child.log()}`)
    return ready.test(child.log())
  })
  return {
    pid,
    log: child.log,
    signal: (signal) => void child.kill(signal),
    async end(signal) {
      child.kill(signal)
      await ended
    },
  }
}

/** Polls until `reached` says something true, and returns it. */
export async function until<T>(
  what: string,
  reached: () => T | Promise<T>,
  seconds = 150,
  every_ms?: number,
): Promise<Exclude<T, null | undefined | false>> {
  const began = Date.now()
  for (const deadline = began + seconds * 1000; ; ) {
    const value = await reached()
    if (value) return value as Exclude<T, null | undefined | false>
    if (Date.now() > deadline) throw new Error(`Waited in vain for ${what}.`)
    // Most of what is asked is an answer of the service, which costs time of the processor too.
    await wait(every_ms ?? Math.max(50, Math.min((Date.now() - began) / 10, 200)))
  }
}
