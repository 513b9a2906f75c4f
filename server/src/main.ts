/**
 * The roles of the service; the command line calls these. With work.ts and listen.ts the only files that know every room. What one role
 * or command alone needs is loaded by that one.
 */
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import pino, { type Logger } from 'pino'
import { type Config, readConfig } from './config.ts'
import { AppError } from './contract/error.ts'
import type { ListModelsResponse } from './contract/model.ts'
import type { Keys } from './control.ts'
import { closeTree, explainDataDir, lockDataDir, prepareDataDir } from './data-dir.ts'
import { persistWith, readFirstState, reportDatabase, waitForDatabase } from './database-wait.ts'
import type { Diagnosis } from './doctor.ts'
import { startCleanUp } from './housekeeping/clean-up.ts'
import { startHousekeeping } from './housekeeping/housekeeping.ts'
import { recoverRuns, startSweep } from './housekeeping/sweep.ts'
import type { LogStream } from './http/context.ts'
import type { InstallableAgent } from './installed-agents.ts'
import { keyOfDev, keysOf, linkOfDev, offerKeys, useKeys } from './keys.ts'
import { openBlobs } from './open-blobs.ts'
import type { Resealed } from './reseal.ts'
import { fingerprintsOf, readKeyring } from './secret-keys.ts'
import { withFlag } from './settings-in-force.ts'
import { startSchedules } from './start-schedules.ts'
import { type ConnectionLimits, ORDINARY, PATIENT } from './store/connection-limits.ts'
import { databaseError, readDatabaseState, requireFit, toOperatorError } from './store/database-state.ts'
import { openPostgres, type Store } from './store/db.ts'
import { isUnavailable } from './store/faults.ts'
import { readInstallation, settleSecret } from './store/installation.ts'
import { migrate } from './store/migrate.ts'
import { Watch } from './store/watch.ts'
import { loseAllWorkers } from './store/workers.ts'
import { openTls, type TlsFiles } from './tls-files.ts'
import { logBlocks } from './watchdog/event-loop.ts'
import { startGitHubReplies, startWebhooks } from './webhooks.ts'
import type { Companions } from './work.ts'
import { isBelow } from './worker/local-repository.ts'

export type { Config } from './config.ts'
export { readConfig } from './config.ts'
export { AppError } from './contract/error.ts'
export type { Keys } from './control.ts'
export { isServed } from './control.ts'
export type { Diagnosis } from './doctor.ts'
export type { Resealed } from './reseal.ts'
export type { KeyListing, NewKey } from './store/api-keys.ts'

/** What a role is told by the command line; everything else comes from the environment. */
export interface RoleOptions {
  /** Default: what `env` says. */
  config?: Config
  /** The settings, whose paths are relative to `directory`. Default: the process's own. */
  env?: NodeJS.ProcessEnv
  directory?: string
  port?: number
  host?: string
  data_dir?: string
  sandbox?: Config['sandbox']
  pool?: string
  /** For a worker over HTTPS. */
  server?: string
  pool_key?: string
  pool_key_file?: string
  tls?: TlsFiles
  /** Ends a start that waits; it then throws the signal's reason. */
  signal?: AbortSignal
  /** Hears what a worker waits for before it can start. */
  onWait?: (missing: string) => void
  /** Takes the log's lines; default: standard error. */
  log?: LogStream
}

/** Only for processes that are not the command: workers of tests share a gateway. */
export interface WorkerOptions extends RoleOptions {
  companions?: Pick<Companions, 'gateway'>
}

/** Only for tests: they open the database themselves, and read its tables. */
export interface DevOptions extends RoleOptions {
  companions?: Companions
  /** The key of the last start. */
  known_key?: string
  /** Opens another database than the embedded one in the data directory. The service migrates and closes it. */
  openStore?: () => Promise<Store>
}

export interface DevService {
  /** With `/api/v1`. */
  base_url: string
  api_key: string
  web_url: string
  /** Signs a browser in with `api_key`: once, and within 60 s of this start. */
  sign_in_url: string
  sandbox: string
  /** What isolates runs, and what is weak about it, in one sentence. */
  sandbox_description: string
  /** A provider of models is set up, whether it answers or not. */
  has_models: boolean
  /** What runs may name now; `null` when it cannot be told. */
  listModels(): Promise<ListModelsResponse | null>
  /** Calls back whenever the run may have changed. Returns how to stop. */
  onRun(run_id: string, listener: () => void): () => void
  database: string
  /** Runs get their grace, then everything is closed. */
  stop(): Promise<void>
}

const CLOSE_MS = 1_500
type Closer = () => Promise<void> | void

function configure(options: RoleOptions): Config {
  const { env = process.env, directory } = options
  // A command inside another program leaves that as it is.
  if (env === process.env) {
    // Before anything is written: nothing the service makes is for other users of the machine.
    process.umask(0o077)
    // The settings are the process's own, and so are the libraries'.
    if (!options.config) dropEmptyVariables()
  }
  const given = options.config ?? readConfig(env, directory)
  const flags = {
    RUNYARD_PORT: options.port,
    RUNYARD_HOST: options.host,
    RUNYARD_DATA_DIR: options.data_dir === given.data_dir ? undefined : options.data_dir,
    RUNYARD_SANDBOX: options.sandbox,
    RUNYARD_POOL: options.pool,
    RUNYARD_SERVER: options.server,
    RUNYARD_POOL_KEY_FILE: options.pool_key_file,
  }
  const config = {
    ...given,
    settings: Object.entries(flags).reduce(
      (settings, [name, value]) => (value === undefined ? settings : withFlag(settings, name, String(value))),
      given.settings,
    ),
    ...(options.port === undefined ? {} : { port: options.port }),
    ...(options.host === undefined ? {} : { host: options.host }),
    ...(options.data_dir === undefined ? {} : { data_dir: options.data_dir }),
    ...(options.sandbox === undefined ? {} : { sandbox: options.sandbox }),
    ...(options.pool === undefined ? {} : { pool: options.pool }),
    ...(options.server === undefined ? {} : { server: options.server }),
    ...(options.pool_key === undefined ? {} : { pool_key: options.pool_key }),
    ...(options.pool_key_file === undefined ? {} : { pool_key_file: options.pool_key_file }),
  }
  const { local_repos, data_dir } = config
  if (local_repos && isBelow(local_repos, resolve(data_dir)))
    throw new AppError(
      'invalid_request',
      `RUNYARD_LOCAL_REPOS: ${local_repos} lies in the data directory, and nothing there is opened as a repository.`,
    )
  return config
}

/** What empty variables are for `readConfig` they are for libraries that read some by themselves: the SDKs of models fail on them. */
function dropEmptyVariables(): void {
  for (const [name, value] of Object.entries(process.env)) if (!value?.trim()) delete process.env[name]
}

/** Logs are JSON lines on standard error: standard output belongs to the command. */
const openLog = (config: Config, role: string, stream?: LogStream): Logger =>
  pino(
    { level: config.log_level ?? 'info', base: { role } },
    stream ?? pino.destination({ dest: 2, sync: true }),
  )

/**
 * Everything in one process on the embedded database: API, page, worker. One a data directory. `api_key` is the one of
 * the last start where `known_key` still is good, else a new admin key of the same principal.
 */
export async function startDev(options: DevOptions = {}): Promise<DevService> {
  const config = configure(options)
  const log = openLog({ ...config, log_level: config.log_level ?? 'warn' }, 'dev', options.log)
  // Before anything is opened: what is wrong with the files is said at once.
  const tls = options.tls && openTls(options.tls, log)
  const lock = lockDataDir(config.data_dir)
  const closers: Closer[] = [() => lock.release()]
  const stop = closeAll(closers)
  try {
    const { blobs, unlimited, state } = await openBlobs(config)
    const store = await (options.openStore?.() ?? openDataDir(config))
    closers.unshift(() => store.close())
    await migrate(store.db)
    await settleSecret(store.db, fingerprintsOf(config))
    closers.unshift(await offerKeys(config.data_dir, store, log))
    // The lock proves that no other process lives.
    await loseAllWorkers(store.db)
    const watch = new Watch(store)
    await watch.start()
    closers.unshift(() => watch.close())
    await recoverRuns(store, watch, log)
    closers.unshift(
      startCleanUp({ store, blobs: unlimited, log, audit_days: config.audit_days }),
      startHousekeeping({ store, blobs: unlimited, watch, log, retention: config.retention }),
    )
    const [{ work }, { openStoredPlane }, { listen }, { signInUrl }] = await Promise.all([
      import('./work.ts'),
      import('./open-control-plane.ts'),
      import('./listen.ts'),
      import('./http/routes/sign-in-links.ts'),
    ])
    const local_repos = config.local_repos ?? process.cwd()
    const worker = await work({
      config: {
        ...config,
        egress: config.egress ?? 'open',
        local_repos,
      },
      plane: openStoredPlane({ config, store, blobs, watch, embedded: true }),
      readInstallation: () => readInstallation(store.quick),
      recover: () => recoverRuns(store, watch, log),
      log,
      embedded: true,
      // The database is in this process.
      persist: (step) => step(),
      ...(options.companions ? { companions: options.companions } : {}),
    })
    closers.unshift(() => worker.stop())
    closers.unshift(startSchedules({ config, store, blobs, watch, log }))
    const { app, public_url } = await listen({
      ...{ store, blobs, blobs_state: state, watch, log },
      config: { ...config, local_repos },
      // One person's own machine.
      request_maxima: { requests_per_minute: 0, creates_per_minute: 0 },
      backend: worker.backend,
      ...(tls ? { tls } : {}),
      ...(options.log ? { log_stream: options.log } : {}),
    })
    closers.unshift(
      () => app.close(),
      startWebhooks(config, { store, watch, log, public_url }),
      startGitHubReplies(config, { store, watch, log, public_url }),
      logBlocks(log),
    )
    const { api_key, key_id } = await keyOfDev(store.db, options.known_key)
    return {
      base_url: `${public_url()}/api/v1`,
      api_key,
      web_url: `${public_url()}/`,
      sign_in_url: signInUrl(public_url(), await linkOfDev(store.db, key_id)),
      sandbox: worker.backend.name,
      sandbox_description: worker.backend.description,
      has_models: worker.has_models,
      database: store.kind,
      // Not over the network: this process need not trust its own certificate.
      listModels: async () => {
        const url = '/api/v1/agent/models'
        const answer = await app.inject({ url, headers: { authorization: `Bearer ${api_key}` } })
        return answer.statusCode === 200 ? answer.json<ListModelsResponse>() : null
      },
      onRun: (run_id, listener) => watch.onRun(run_id, listener),
      stop: () => {
        worker.drain()
        return stop()
      },
    }
  } catch (error) {
    await stop()
    throw explainDataDir(error, config.data_dir)
  }
}

/**
 * The API on PostgreSQL; starts even while the database is away or not migrated, and says so: `missing`, `/readyz`, the log.
 * What waiting cannot change, a wrong password for example, ends the start.
 */
export async function startServe(
  options: RoleOptions = {},
): Promise<{ base_url: string; missing: string | null; stop(): Promise<void> }> {
  const config = configure(options)
  const log = openLog(config, 'serve', options.log)
  const tls = options.tls && openTls(options.tls, log)
  const store = openPostgres({ url: requireDatabase(config, 'serve'), application_name: 'runyard-serve' })
  const watch = new Watch(store)
  const closers: Closer[] = [() => watch.close(), () => store.close()].map(inTime)
  const stop = closeAll(closers)
  try {
    prepareDataDir(config.data_dir)
    const { blobs, unlimited, state } = await openBlobs(config)
    const { reason, detail } = await readFirstState(store)
    // Where the database has gone meanwhile, `/readyz` compares them later.
    if (reason === null)
      await settleSecret(store.quick, fingerprintsOf(config)).catch((error: unknown) => {
        if (!isUnavailable(error)) throw error
      })
    await watch.start()
    const report = reportDatabase(store, log, reason)
    closers.unshift(
      inTime(startSweep(store, watch, log, report.look)),
      inTime(startCleanUp({ store, blobs: unlimited, log, audit_days: config.audit_days })),
      inTime(startHousekeeping({ store, blobs: unlimited, watch, log, retention: config.retention })),
      inTime(startSchedules({ config, store, blobs, watch, log })),
      () => report.stop(),
    )
    const { listen } = await import('./listen.ts')
    const { app, public_url } = await listen({
      config,
      store,
      blobs,
      blobs_state: state,
      watch,
      log,
      request_maxima: { requests_per_minute: 600, creates_per_minute: 60 },
      ...(tls ? { tls } : {}),
      ...(options.log ? { log_stream: options.log } : {}),
    })
    closers.unshift(
      () => app.close(),
      inTime(startWebhooks(config, { store, watch, log, public_url })),
      inTime(startGitHubReplies(config, { store, watch, log, public_url })),
      logBlocks(log),
    )
    return { base_url: `${public_url()}/api/v1`, missing: reason === null ? null : detail, stop }
  } catch (error) {
    await stop()
    throw explainDataDir(toOperatorError(error, store), config.data_dir)
  }
}

/** A worker on PostgreSQL: claims runs of its pool and executes them. Waits for a database that is away or not migrated. */
export async function startWorkerRole(
  options: WorkerOptions = {},
): Promise<{ pool: string; sandbox: string; sandbox_description: string; stop(): Promise<void> }> {
  const config = configure(options)
  const log = openLog(config, 'worker', options.log)
  if (config.server !== undefined) {
    const { startRemoteWorker } = await import('./remote-plane.ts')
    return startRemoteWorker(config, options, log)
  }
  const store = openPostgres({ url: requireDatabase(config, 'worker'), application_name: 'runyard-worker' })
  const watch = new Watch(store)
  const closers: Closer[] = [() => watch.close(), () => store.close()].map(inTime)
  const stop = closeAll(closers)
  try {
    prepareDataDir(config.data_dir)
    const { blobs, unlimited } = await openBlobs(config)
    const waiting = {
      say: options.onWait ?? ((missing: string) => log.warn(missing)),
      signal: options.signal,
    }
    await waitForDatabase(store, waiting)
    const persist = persistWith(store, waiting)
    await persist(() => settleSecret(store.quick, fingerprintsOf(config)))
    await watch.start()
    const report = reportDatabase(store, log, null)
    closers.unshift(
      inTime(startSweep(store, watch, log, report.look)),
      inTime(startCleanUp({ store, blobs: unlimited, log, audit_days: config.audit_days })),
      () => report.stop(),
    )
    const [{ work }, { openStoredPlane }] = await Promise.all([
      import('./work.ts'),
      import('./open-control-plane.ts'),
    ])
    const worker = await work({
      ...{ config, log, persist },
      plane: openStoredPlane({ config, store, blobs, watch, embedded: false }),
      readInstallation: () => readInstallation(store.quick),
      embedded: false,
      ...(options.companions ? { companions: options.companions } : {}),
    })
    closers.unshift(() => worker.stop(), logBlocks(log))
    return {
      pool: config.pool,
      sandbox: worker.backend.name,
      sandbox_description: worker.backend.description,
      stop: () => {
        worker.drain()
        return stop()
      },
    }
  } catch (error) {
    await stop()
    throw explainDataDir(toOperatorError(error, store), config.data_dir)
  }
}

/** Brings the database up to date; the names of the migrations that ran. */
export const migrateDatabase = (options: RoleOptions = {}): Promise<string[]> =>
  withStore(options, (store) => migrate(store.db), PATIENT)

/** Lets a command use the keys, at the database or through the running `dev` that has it open. */
export const withKeys = <T>(options: RoleOptions, use: (keys: Keys) => Promise<T>): Promise<T> =>
  useKeys(
    configure(options).data_dir,
    () => withMigratedStore(options, (store) => use(keysOf(store.db))),
    use,
  )

/** What this machine and its settings offer, as it is found out. */
export async function* examine(options: RoleOptions): AsyncGenerator<Diagnosis> {
  const { diagnose } = await import('./doctor.ts')
  yield* diagnose(() => configure(options))
}

/** The programs of agents on this machine. */
export async function openAgents(options: RoleOptions) {
  const { agentsFolder, installAgent, listInstalled } = await import('./installed-agents.ts')
  const config = configure(options)
  return {
    list: () => listInstalled(config),
    async install(name: InstallableAgent) {
      return { ...(await installAgent(config, name)), folder: agentsFolder(config) }
    },
  }
}

/** Seals with the current secret key whatever is sealed with another. */
export const rotateSecretKey = (options: RoleOptions): Promise<Resealed> =>
  withMigratedStore(
    options,
    async ({ db }) => {
      const config = configure(options)
      await settleSecret(db, fingerprintsOf(config))
      const { resealAll } = await import('./reseal.ts')
      return resealAll(db, readKeyring(config))
    },
    PATIENT,
  )

/** The database of a one-off command: DATABASE_URL, else the embedded one when nobody uses it. */
async function withStore<T>(
  options: RoleOptions,
  use: (store: Store) => Promise<T>,
  limits: ConnectionLimits = ORDINARY,
): Promise<T> {
  const config = configure(options)
  if (config.database_url) {
    const store = openPostgres({ url: config.database_url, max: 2, limits })
    try {
      await requireFit(store)
      return await use(store)
    } catch (error) {
      throw toOperatorError(error, store)
    } finally {
      await store.close()
    }
  }
  const lock = lockDataDir(config.data_dir)
  try {
    const store = await openDataDir(config)
    return await use(store).finally(() => store.close())
  } catch (error) {
    throw explainDataDir(error, config.data_dir)
  } finally {
    lock.release()
  }
}

const withMigratedStore = <T>(
  options: RoleOptions,
  use: (store: Store) => Promise<T>,
  limits?: ConnectionLimits,
): Promise<T> =>
  withStore(
    options,
    async (store) => {
      if (store.kind === 'pglite') await migrate(store.db)
      else await requireMigrated(store)
      return use(store)
    },
    limits,
  )

/** The caller holds the lock of the data directory. */
async function openDataDir({ data_dir, cache_dir }: Config): Promise<Store> {
  const { openEmbedded } = await import('./store/embedded.ts')
  const directory = join(data_dir, 'db')
  const store = await openEmbedded(directory, cache_dir)
  closeTree(directory)
  return store
}

function requireDatabase(config: Config, role: string): string {
  if (config.database_url) return config.database_url
  throw new AppError(
    'invalid_request',
    `\`runyard ${role}\` needs PostgreSQL: set DATABASE_URL. Without it, \`runyard dev\` runs everything embedded${role === 'worker' ? ', and --server with a pool key makes a worker over HTTPS' : ''}.`,
  )
}

async function requireMigrated(store: Store): Promise<void> {
  const { reason, detail } = await readDatabaseState(store)
  if (reason !== null) throw databaseError(detail, false)
}

/** A database that does not answer must not keep a process that was told to stop. */
const inTime = (close: () => Promise<void>) => (): Promise<void> =>
  Promise.race([close(), wait(CLOSE_MS, undefined, { ref: false })])

/** Closes in order, once, each however the one before ended. */
function closeAll(closers: Closer[]): () => Promise<void> {
  let closing: Promise<void> | null = null
  return () => {
    closing ??= (async () => {
      let failure: unknown
      for (const close of closers) {
        try {
          await close()
        } catch (error) {
          failure ??= error
        }
      }
      if (failure) throw failure
    })()
    return closing
  }
}
