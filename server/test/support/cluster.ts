import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import { readConfig, startServe, startWorkerRole } from '../../src/main.ts'
import { createPrincipalWithKey } from '../../src/store/api-keys.ts'
import { openPostgres, type Store } from '../../src/store/db.ts'
import { migrate } from '../../src/store/migrate.ts'
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
  /** One more worker of this pool, at work when it resolves. All share one data directory, so one place. `sandbox`: bubblewrap. */
  worker(pool: string, env?: Record<string, string> & { sandbox?: string }): Promise<WorkerRole>
  stop(): Promise<void>
}

/** `runyard serve` and any number of `runyard worker`, processes of their own, on this database, with `common` settings. */
export async function startCluster(
  database_url: string,
  common: Record<string, string> = {},
): Promise<Cluster> {
  const data_dir = temporaryDirectory('cluster')
  const store = openPostgres({ url: database_url })
  await migrate(store.db)
  const { api_key } = await createPrincipalWithKey(store.db, { name: 'test', role: 'admin' })
  const roles: Role[] = []
  const start = async (args: string[], ready: RegExp, env: Record<string, string> = {}) => {
    const role = await startRole(args, ready, {
      DATABASE_URL: database_url,
      RUNYARD_DATA_DIR: data_dir,
      RUNYARD_ALLOW_WEAK_LIMITS: '1',
      // Tests ask more than people do.
      RUNYARD_REQUESTS_PER_MINUTE: '0',
      RUNYARD_CREATES_PER_MINUTE: '0',
      ...common,
      ...env,
    })
    roles.push(role)
    return role
  }
  const serve = async (env?: Record<string, string>): Promise<ServeRole> => {
    const role = await start(['serve', '--port', '0'], /Listening on /, env)
    const base_url = /Listening on (\S+)/.exec(role.log())?.[1]
    assert(base_url)
    return { ...role, base_url, api: apiOf({ base_url, api_key }) }
  }
  const first = await serve()
  const { api, base_url } = first
  return {
    store,
    data_dir,
    api_key,
    first,
    base_url,
    api,
    serve,
    async worker(pool, { sandbox = 'bubblewrap', ...env } = {}) {
      const role = await start(['worker', '--pool', pool, '--sandbox', sandbox], /Working for /, env)
      return { ...role, worker_id: () => workerIn(role.log()) }
    },
    async stop() {
      for (const role of roles) role.signal('SIGCONT')
      await Promise.all(roles.map((role) => role.end('SIGTERM')))
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
  /** One that is a process of its own, to be killed. */
  outerWorker(pool: string, env?: Record<string, string>): Promise<Role>
  stop(): Promise<void>
}

/** What `startCluster` is, in this process: for tests that neither kill a role, but for a worker, nor hold one up. */
export async function startInnerCluster(
  database_url: string,
  common: Record<string, string> = {},
): Promise<InnerCluster> {
  const data_dir = temporaryDirectory('cluster')
  const leave = enter(undefined)
  const store = openPostgres({ url: database_url })
  const ends: Array<() => Promise<void>> = []
  const stop = async () => {
    await Promise.all(ends.map((end) => end()))
    await store.close()
    leave()
  }
  const settingsOf = (env: Record<string, string> = {}) => ({
    ...{ RUNYARD_WARM_SANDBOXES: '0', DATABASE_URL: database_url, RUNYARD_DATA_DIR: data_dir },
    ...{ RUNYARD_ALLOW_WEAK_LIMITS: '1', RUNYARD_REQUESTS_PER_MINUTE: '0' },
    ...{ RUNYARD_CREATES_PER_MINUTE: '0', ...common, ...env },
  })
  const configOf = (env?: Record<string, string>) => readConfig({ ...SHARED_CACHE, ...settingsOf(env) })
  try {
    await migrate(store.db)
    const { api_key } = await createPrincipalWithKey(store.db, { name: 'test', role: 'admin' })
    const served = await startServe({ config: configOf(), port: 0, log: { write() {} } })
    ends.push(served.stop)
    return {
      ...{ store, data_dir, api_key, stop },
      base_url: served.base_url,
      api: apiOf({ base_url: served.base_url, api_key }),
      async outerWorker(pool, env) {
        const role = await startRole(
          ['worker', '--pool', pool, '--sandbox', 'bubblewrap'],
          /Working for /,
          settingsOf(env),
        )
        ends.push(() => role.end('SIGTERM'))
        return role
      },
      async worker(pool, env) {
        let log = ''
        const write = (line: string) => {
          log += line
        }
        const role = await startWorkerRole({
          config: configOf(env),
          pool,
          sandbox: 'bubblewrap',
          log: { write },
        })
        let ended: Promise<void> | undefined
        const end = () => (ended ??= role.stop())
        ends.push(end)
        return { log: () => log, worker_id: () => workerIn(log), end }
      },
    }
  } catch (error) {
    await stop()
    throw error
  }
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
