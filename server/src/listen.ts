import { realpathSync } from 'node:fs'
import { Server as HttpsServer } from 'node:https'
import { resolve } from 'node:path'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Blobs, BlobsState } from './blobs/blobs.ts'
import { readDiskSpace } from './blobs/disk-space.ts'
import type { Config } from './config.ts'
import { AppError } from './contract/error.ts'
import { readSecretKey } from './data-dir.ts'
import { kindOf } from './gateway/git-host.ts'
import { createApp } from './http/app.ts'
import type { HttpSettings, LogStream, Readiness } from './http/context.ts'
import type { RequestMaxima } from './http/request-limits.ts'
import { listHarnesses } from './installed-harnesses.ts'
import { openStoredPlane } from './open-control-plane.ts'
import { createGitHosts } from './pulls.ts'
import { DEFAULT_IMAGE } from './sandbox/default-image.ts'
import type { SandboxBackend } from './sandbox/sandbox.ts'
import { fingerprintsOf, readKeyring } from './secret-keys.ts'
import { readDatabaseState } from './store/database-state.ts'
import type { Store } from './store/db.ts'
import { requireKnownSecret, type SecretFingerprints } from './store/installation.ts'
import type { Watch } from './store/watch.ts'
import { countWorkers } from './store/workers.ts'
import type { ServedTls } from './tls-files.ts'
import { createTestSender, judgeReceiver } from './webhooks.ts'
import { isBelow } from './worker/local-repository.ts'

export interface ListenOptions {
  config: Config
  store: Store
  blobs: Blobs
  blobs_state: () => Promise<BlobsState>
  watch: Watch
  log: Logger
  /** Where nothing else is set. */
  request_maxima: RequestMaxima
  /** The worker of this process, when it has one. */
  backend?: SandboxBackend
  tls?: ServedTls
  /** How often streams ask whether their keys are still good; default: every 30 s. */
  key_check_ms?: number
  /** Takes the log of requests; default: standard error. */
  log_stream?: LogStream
}

export interface Face {
  app: FastifyInstance
  /** What links are made of. Where the port is any that is free, it is known only when listening. */
  public_url: () => string
}

/** The HTTP face with its settings. Not listening yet: `inject` asks it. */
export function buildFace(options: ListenOptions): Face {
  const { config, store, blobs, watch, backend, tls } = options
  const scheme = tls ? 'https' : 'http'
  /** Asking for it is a call of the system, and a page of runs has a link for each of them. */
  let open_port: number | undefined
  const port = () => {
    if (open_port !== undefined) return open_port
    const address = app.server.address()
    if (typeof address !== 'object' || !address) return config.port
    open_port = address.port
    return open_port
  }
  const public_url = () =>
    config.public_url ??
    `${scheme}://${/^(0\.0\.0\.0|::)$/.test(config.host) ? 'localhost' : config.host}:${port()}`
  const settings: HttpSettings = {
    get public_url() {
      return public_url()
    },
    get downloads_url() {
      return config.downloads_url ?? public_url()
    },
    allowed_hosts: config.allowed_hosts,
    egress_ranges: config.egress_ranges,
    secret_key: readSecretKey(config.data_dir, config.secret_key),
    keyring: readKeyring(config),
    trust_proxy: config.trust_proxy,
    version: config.version,
    in_force: config.settings,
    log_level: config.log_level ?? 'warn',
    ...(options.key_check_ms === undefined ? {} : { key_check_ms: options.key_check_ms }),
    ...(options.log_stream ? { log_stream: options.log_stream } : {}),
    default_pool: config.pool,
    harnesses: listHarnesses(config),
    whyNeverSent: judgeReceiver(config),
    sendWebhookTest: createTestSender(config, public_url),
    isGitHub: (host) => kindOf(host, config.git_hosts) === 'github',
    ...(config.images
      ? { images: { patterns: [...config.images, config.default_image ?? DEFAULT_IMAGE], local: false } }
      : {}),
    ...(backend?.hasImage
      ? { hasImage: async (image) => (await backend.hasImage?.(image).catch(() => true)) ?? true }
      : {}),
    ...(config.local_repos ? { mayOpen: judgeLocalPath(config.local_repos, config.data_dir) } : {}),
    limit_maxima: config.limit_maxima,
    min_schedule_seconds: config.min_schedule_seconds,
    max_run_files_bytes: config.max_run_files_bytes,
    max_file_bytes: Math.max(config.max_run_files_bytes, config.snapshots.max_bytes),
    open_runs: config.open_runs,
    ...(config.metrics_token === undefined ? {} : { metrics_token: config.metrics_token }),
    request_maxima: {
      requests_per_minute: config.requests_per_minute ?? options.request_maxima.requests_per_minute,
      creates_per_minute: config.creates_per_minute ?? options.request_maxima.creates_per_minute,
    },
    ...(tls ? { tls: tls.options } : {}),
  }
  const fingerprints = fingerprintsOf(config)
  // A worker of this process does not beat, so nobody could tell which worker is lost.
  const plane = backend ? null : openStoredPlane({ config, store, blobs, watch, embedded: true })
  const app = createApp({
    store,
    watch,
    blobs,
    plane,
    ...createGitHosts(config, store, backend ?? null),
    settings,
    readiness: () => readiness(store, backend, config, fingerprints, options.blobs_state),
  })
  return { app, public_url }
}

/**
 * By the words of a path alone: what is there, and where links lead, the worker looks at when it opens it. Both folders are
 * called by their real names as well.
 */
function judgeLocalPath(root: string, data_dir: string): (local_path: string) => boolean {
  const namesOf = (folder: string): string[] => {
    try {
      return [resolve(folder), realpathSync(folder)]
    } catch {
      return [resolve(folder)]
    }
  }
  const isIn = (path: string, folder: string) => namesOf(folder).some((name) => isBelow(path, name))
  return (local_path) => {
    const path = resolve(root, local_path)
    return isIn(path, root) && !isIn(path, data_dir)
  }
}

/** Connections that wait to be taken: with Node's 511, hundreds of others' cost everybody else seconds. The kernel may have less. */
const BACKLOG = 4096

/** Builds the HTTP face and listens. */
export async function listen(options: ListenOptions): Promise<Face> {
  const { config, tls } = options
  if (!isLoopback(config.host) && !tls && !config.trust_proxy) {
    options.log.warn(
      { host: config.host },
      'Listening beyond this machine without TLS: keys travel in the clear.',
    )
  }
  const face = buildFace(options)
  const { app } = face
  try {
    await app.listen({ host: config.host, port: config.port, backlog: BACKLOG })
  } catch (error) {
    const refusal = explainListen(error, config)
    if (!refusal) throw error
    const taken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'
    throw new AppError(taken ? 'conflict' : 'invalid_request', refusal, { cause: error })
  }
  // Without a certificate it is a server of plain HTTP.
  const { server } = app
  if (tls && server instanceof HttpsServer) server.once('close', tls.follow(server))
  return face
}

/** Why the address cannot be had, and what helps. */
function explainListen(error: unknown, { host, port }: Config): string | null {
  const { code } = error as { code?: unknown }
  if (code === 'EADDRINUSE')
    return `Port ${port} is taken. Choose another with --port, or 0 for any free one.`
  if (code === 'EACCES')
    return `This user may not listen on port ${port}. Choose one above 1023 with --port, and put a proxy in front.`
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return `This machine has no address ${host}. Choose another with --host: 127.0.0.1, or 0.0.0.0 for all of them.`
  return null
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || host.startsWith('127.')

async function readiness(
  store: Store,
  backend: SandboxBackend | undefined,
  { data_dir, min_free_percent }: Config,
  fingerprints: SecretFingerprints,
  blobsState: () => Promise<BlobsState>,
): Promise<Readiness> {
  const [{ reachable, migrated, reason: missing }, files] = await Promise.all([
    readDatabaseState(store),
    blobsState(),
  ])
  // The database may have been away when this process started.
  const reason = missing ?? (await refusalOfSecret(store, fingerprints))
  const database = { kind: store.kind, reachable, migrated }
  const none = { live: 0, full: 0 }
  const workers = migrated ? await countWorkers(store.quick).catch(() => none) : none
  const disks = [data_dir, ...(backend?.storage ? [backend.storage] : [])]
  const free = Math.min(...(await Promise.all(disks.map(freePercentOf))))
  return {
    // Not the disk and the files: what reads, cancels and queues works without room, and no other process would have more.
    ready: reason === null,
    ...(reason === null ? {} : { reason }),
    database,
    disk: { free_percent: Math.round(free * 10) / 10, min_free_percent, enough: free >= min_free_percent },
    files,
    live_workers: workers.live,
    // They claim nothing, and hand back what they cannot do.
    workers_without_disk: workers.full,
    ...(backend
      ? { sandbox: { backend: backend.name, description: backend.description, ...backend.capabilities } }
      : {}),
  }
}

const refusalOfSecret = (store: Store, fingerprints: SecretFingerprints): Promise<string | null> =>
  requireKnownSecret(store.db, fingerprints).then(
    () => null,
    (error: unknown) => (error instanceof AppError ? error.detail : null),
  )

/** 100 where it cannot be told: then nothing is refused either. */
const freePercentOf = (directory: string): Promise<number> =>
  readDiskSpace(directory).then(
    ({ free_percent }) => free_percent,
    () => 100,
  )
