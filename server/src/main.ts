/** The roles of the service. The only file that knows every room; the command line calls these. */
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import pino, { type Logger } from 'pino'
import { openDiskBlobs } from './blobs/disk.ts'
import { type Config, readConfig } from './config.ts'
import { AppError } from './contract/error.ts'
import { lockDataDir, readSecretKey } from './data-dir.ts'
import { createLoop } from './harness/loop.ts'
import { openModels } from './harness/models.ts'
import { runbook } from './harness/runbook.ts'
import { createApp } from './http/app.ts'
import type { HttpSettings, Readiness } from './http/context.ts'
import { chooseBackend } from './sandbox/choose.ts'
import type { SandboxBackend } from './sandbox/sandbox.ts'
import {
  createPrincipalWithKey,
  findActor,
  type KeyListing,
  listKeys,
  type Role,
  revokeKey,
} from './store/api-keys.ts'
import { openPglite, openPostgres, type Store } from './store/db.ts'
import { loseAllWorkers, readInstallation } from './store/leases.ts'
import { migrate, pendingMigrations } from './store/migrate.ts'
import { deriveKey } from './store/vault.ts'
import { Watch } from './store/watch.ts'
import { countLiveWorkers } from './store/workers.ts'
import type { WardenArguments } from './warden-process.ts'
import { startBeats } from './worker/beat.ts'
import { recoverRuns, startSweep } from './worker/sweep.ts'
import { spawnWarden } from './worker/warden.ts'
import { startWorker, type WorkerHandle, type WorkerOptions } from './worker/worker.ts'

export type { Config } from './config.ts'
export { readConfig } from './config.ts'
export { AppError } from './contract/error.ts'

/** What a role is told by the command line; everything else comes from the environment. */
export interface RoleOptions {
  config?: Config
  port?: number
  host?: string
  data_dir?: string
  sandbox?: Config['sandbox']
  pool?: string
  tls?: { cert_file: string; key_file: string }
}

export interface DevService {
  /** With `/api/v1`. */
  base_url: string
  api_key: string
  web_url: string
  sandbox: string
  /** What isolates runs, and what is weak about it, in one sentence. */
  sandbox_description: string
  database: string
  /** Runs get their grace, then everything is closed. */
  stop(): Promise<void>
}

const WARDEN = fileURLToPath(new URL('./warden-process.ts', import.meta.url))

function configure(options: RoleOptions): Config {
  const config = options.config ?? readConfig()
  return {
    ...config,
    ...(options.port === undefined ? {} : { port: options.port }),
    ...(options.host === undefined ? {} : { host: options.host }),
    ...(options.data_dir === undefined ? {} : { data_dir: options.data_dir }),
    ...(options.sandbox === undefined ? {} : { sandbox: options.sandbox }),
    ...(options.pool === undefined ? {} : { pool: options.pool }),
  }
}

/** Logs are JSON lines on standard error: standard output belongs to the command. */
const openLog = (config: Config, role: string): Logger =>
  pino({ level: config.log_level ?? 'info', base: { role } }, pino.destination({ dest: 2, sync: true }))

/**
 * Everything in one process on the embedded database: API, page, worker. One a data directory. `api_key` is the one of
 * the last start where `known_key` still is good, else a new admin key.
 */
export async function startDev(options: RoleOptions & { known_key?: string } = {}): Promise<DevService> {
  const config = configure(options)
  const log = openLog({ ...config, log_level: config.log_level ?? 'warn' }, 'dev')
  const lock = lockDataDir(config.data_dir)
  const closers: Array<() => Promise<void> | void> = [() => lock.release()]
  const stop = closeAll(closers)
  try {
    const store = await openPglite(join(config.data_dir, 'db'))
    closers.unshift(() => store.close())
    await migrate(store.db)
    // The lock proves that no other process lives.
    await loseAllWorkers(store.db)
    const watch = new Watch(store)
    await watch.start()
    closers.unshift(() => watch.close())
    await recoverRuns(store, watch, log)
    const worker = await work({
      config: {
        ...config,
        egress: config.egress ?? 'open',
        local_repos: config.local_repos ?? process.cwd(),
      },
      store,
      watch,
      log,
      embedded: true,
    })
    closers.unshift(() => worker.stop())
    const { app, public_url } = await listen({ config, store, watch, log, backend: worker.backend })
    closers.unshift(() => app.close())
    const known =
      options.known_key && (await findActor(store.db, options.known_key)) ? options.known_key : null
    const api_key = known ?? (await createPrincipalWithKey(store.db, { name: 'dev', role: 'admin' })).api_key
    return {
      base_url: `${public_url()}/api/v1`,
      api_key,
      web_url: `${public_url()}/`,
      sandbox: worker.backend.name,
      sandbox_description: worker.backend.description,
      database: 'pglite',
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The API on PostgreSQL; starts even while the database is away and says so in `/readyz`. */
export async function startServe(
  options: RoleOptions = {},
): Promise<{ base_url: string; stop(): Promise<void> }> {
  const config = configure(options)
  const log = openLog(config, 'serve')
  const store = openPostgres({ url: requireDatabase(config, 'serve'), application_name: 'runyard-serve' })
  const watch = new Watch(store)
  await watch.start()
  const stopSweep = startSweep(store, watch, log)
  const closers = [stopSweep, () => watch.close(), () => store.close()]
  const stop = closeAll(closers)
  try {
    const { app, public_url } = await listen({
      config,
      store,
      watch,
      log,
      ...(options.tls ? { tls: options.tls } : {}),
    })
    closers.unshift(() => app.close())
    return { base_url: `${public_url()}/api/v1`, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** A worker on PostgreSQL: claims runs of its pool and executes them. */
export async function startWorkerRole(
  options: RoleOptions = {},
): Promise<{ pool: string; sandbox: string; sandbox_description: string; stop(): Promise<void> }> {
  const config = configure(options)
  const log = openLog(config, 'worker')
  const store = openPostgres({ url: requireDatabase(config, 'worker'), application_name: 'runyard-worker' })
  const watch = new Watch(store)
  const closers: Array<() => Promise<void> | void> = [() => watch.close(), () => store.close()]
  const stop = closeAll(closers)
  try {
    await requireMigrated(store)
    await watch.start()
    closers.unshift(startSweep(store, watch, log))
    const worker = await work({ config, store, watch, log, embedded: false })
    closers.unshift(() => worker.stop())
    return {
      pool: config.pool,
      sandbox: worker.backend.name,
      sandbox_description: worker.backend.description,
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Brings the database up to date; the names of the migrations that ran. */
export const migrateDatabase = (options: RoleOptions = {}): Promise<string[]> =>
  withStore(options, (store) => migrate(store.db))

export const createKey = (
  options: RoleOptions & { name: string; role: Role },
): Promise<{ api_key: string; key_id: string }> =>
  withMigratedStore(options, (store) => createPrincipalWithKey(store.db, options))

export const readKeys = (options: RoleOptions = {}): Promise<KeyListing[]> =>
  withMigratedStore(options, (store) => listKeys(store.db))

/** False when there is no such key or it was revoked before. */
export const revoke = (options: RoleOptions & { key_id: string }): Promise<boolean> =>
  withMigratedStore(options, (store) => revokeKey(store.db, options.key_id))

/** The database of a one-off command: DATABASE_URL, else the embedded one when nobody uses it. */
async function withStore<T>(options: RoleOptions, use: (store: Store) => Promise<T>): Promise<T> {
  const config = configure(options)
  if (config.database_url) {
    const store = openPostgres({ url: config.database_url, max: 2 })
    return use(store).finally(() => store.close())
  }
  const lock = lockDataDir(config.data_dir)
  try {
    const store = await openPglite(join(config.data_dir, 'db'))
    return await use(store).finally(() => store.close())
  } finally {
    lock.release()
  }
}

const withMigratedStore = <T>(options: RoleOptions, use: (store: Store) => Promise<T>): Promise<T> =>
  withStore(options, async (store) => {
    if (store.kind === 'pglite') await migrate(store.db)
    else await requireMigrated(store)
    return use(store)
  })

function requireDatabase(config: Config, role: string): string {
  if (config.database_url) return config.database_url
  throw new AppError(
    'invalid_request',
    `\`runyard ${role}\` needs PostgreSQL: set DATABASE_URL. Without it, \`runyard dev\` runs everything embedded.`,
  )
}

async function requireMigrated(store: Store): Promise<void> {
  const pending = await pendingMigrations(store.db)
  if (pending > 0)
    throw new AppError('conflict', 'The database is not migrated: run `runyard migrate` first.')
}

/** Closes in order, once, each however the one before ended. */
function closeAll(closers: Array<() => Promise<void> | void>): () => Promise<void> {
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

interface WorkOptions {
  config: Config
  store: Store
  watch: Watch
  log: Logger
  embedded: boolean
}

/** Works, one life after the other, until stopped: a worker that was declared lost comes back under a new id. */
async function work({ config, store, watch, log, embedded }: WorkOptions) {
  const installation_id = await readInstallation(store.db)
  const { data_dir } = config
  const { backend, reason } = await chooseBackend({
    data_dir,
    installation_id,
    ...(config.sandbox ? { requested: config.sandbox } : {}),
    ...(config.default_image ? { default_image: config.default_image } : {}),
    logger: log,
  })
  log.info({ sandbox: backend.name, reason, ...backend.capabilities }, backend.description)
  if (!embedded && backend.capabilities.limits === 'weak' && !config.allow_weak_limits) {
    throw new AppError(
      'operation_not_supported',
      'Memory and process limits are weak here (no cgroups to write to). Set RUNYARD_ALLOW_WEAK_LIMITS=1 to work all the same.',
    )
  }
  const models = openModels(config.models)
  const loop = createLoop(models)
  const wardenArguments: WardenArguments = {
    backend: backend.name,
    data_dir,
    installation_id,
    deadline: !embedded,
  }
  const warden_argv = [WARDEN, JSON.stringify(wardenArguments)]
  const openWarden: WorkerOptions['openWarden'] = (worker_id, onLost) => {
    if (config.database_url && !embedded) {
      return startBeats({ database_url: config.database_url, worker_id, warden_argv, onLost })
    }
    const warden = spawnWarden(warden_argv)
    warden.died.catch((error: Error) => onLost(error.message))
    return warden
  }
  const context = {
    store,
    watch,
    blobs: openDiskBlobs(join(data_dir, 'blobs')),
    backend,
    harnesses: new Map([loop, runbook].map((harness) => [harness.name, harness])),
    default_harness: models.configured ? loop.name : runbook.name,
    log,
    settings: {
      pool: config.pool,
      host_id: `${hostname()}:${data_dir}`,
      slots: config.slots,
      grace_ms: config.grace_ms,
      max_idle: config.max_idle,
      seal_key: deriveKey(readSecretKey(data_dir, config.secret_key), 'sealed-values'),
      egress: config.egress ?? 'none',
      ...(config.local_repos ? { local_repos: config.local_repos } : {}),
    },
  }
  const readModels = async () => ({
    models: await models.list(),
    ...(models.default_model ? { default_model_id: models.default_model } : {}),
  })

  let stopped = false
  let life: WorkerHandle = await startWorker(context, { readModels, openWarden })
  const lives = (async () => {
    while (!stopped) {
      await life.lost
      if (stopped) return
      if (embedded) await recoverRuns(store, watch, log)
      life = await startWorker(context, { readModels, openWarden })
    }
  })()
  lives.catch((error) => log.fatal({ err: error }, 'The worker could not start again.'))
  return {
    backend,
    async stop() {
      stopped = true
      await life.stop()
    },
  }
}

interface ListenOptions {
  config: Config
  store: Store
  watch: Watch
  log: Logger
  /** The worker of this process, when it has one. */
  backend?: SandboxBackend
  tls?: { cert_file: string; key_file: string }
}

async function listen(options: ListenOptions): Promise<{ app: FastifyInstance; public_url: () => string }> {
  const { config, store, watch, backend, tls } = options
  const scheme = tls ? 'https' : 'http'
  let port = config.port
  const public_url = () =>
    config.public_url ??
    `${scheme}://${/^(0\.0\.0\.0|::)$/.test(config.host) ? 'localhost' : config.host}:${port}`
  const settings: HttpSettings = {
    get public_url() {
      return public_url()
    },
    allowed_hosts: config.allowed_hosts,
    secret_key: readSecretKey(config.data_dir, config.secret_key),
    trust_proxy: config.trust_proxy,
    version: config.version,
    log_level: config.log_level ?? 'warn',
    default_pool: config.pool,
    ...(tls ? { tls: { cert: readFileSync(tls.cert_file), key: readFileSync(tls.key_file) } } : {}),
  }
  if (!isLoopback(config.host) && !tls && !config.trust_proxy) {
    options.log.warn(
      { host: config.host },
      'Listening beyond this machine without TLS: keys travel in the clear.',
    )
  }
  const app = createApp({
    store,
    watch,
    blobs: openDiskBlobs(join(config.data_dir, 'blobs')),
    settings,
    readiness: () => readiness(store, backend),
  })
  try {
    await app.listen({ host: config.host, port: config.port })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error
    throw new AppError(
      'conflict',
      `Port ${config.port} is taken. Choose another with --port, or 0 for any free one.`,
    )
  }
  const address = app.server.address()
  if (typeof address === 'object' && address) port = address.port
  return { app, public_url }
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || host.startsWith('127.')

async function readiness(store: Store, backend: SandboxBackend | undefined): Promise<Readiness> {
  const database = { kind: store.kind, reachable: false, migrated: false }
  let live_workers = 0
  try {
    database.migrated = (await pendingMigrations(store.db)) === 0
    database.reachable = true
    if (database.migrated) live_workers = await countLiveWorkers(store.db)
  } catch {
    // What is false says what is wrong; the log of the database has the rest.
  }
  return {
    ready: database.reachable && database.migrated,
    database,
    live_workers,
    ...(backend
      ? { sandbox: { backend: backend.name, description: backend.description, ...backend.capabilities } }
      : {}),
  }
}
