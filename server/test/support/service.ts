import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { chownSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { RunEvent } from '../../src/contract/event.ts'
import type { RunItem } from '../../src/contract/run.ts'
import { readConfig, startDev } from '../../src/main.ts'
import type { Store } from '../../src/store/db.ts'
import { shareGateway, startWarden } from './companions.ts'
import { createStore, type ServiceStore, storeIn } from './databases.ts'
import { trustCertificates } from './extra-certificates.ts'
import { removeAtExit, temporaryDirectory } from './leftovers.ts'
import { ENDED, hasEnded, type RunSource, watchRun } from './run-changes.ts'
import type { BackendName } from './sandbox-backends.ts'
import { SHARED_CACHE } from './shared-cache.ts'

export { temporaryDirectory } from './leftovers.ts'
export { CACHE_DIR, SHARED_CACHE } from './shared-cache.ts'

/** The command: `npm test` bundles it (scripts/bundle-command.ts), else the sources as they are. */
export const BINARY =
  process.env.RUNYARD_TEST_COMMAND ?? fileURLToPath(new URL('../../../cli/bin/runyard.js', import.meta.url))

/** `store` is closed with the service. */
export interface TestService extends RunSource {
  base_url: string
  api_key: string
  data_dir: string
  /** What it logged so far. */
  log(): string
  stop(): Promise<void>
}

export interface DevProcess {
  base_url: string
  api_key: string
  data_dir: string
  pid: number
  /** Everything the process wrote to standard error so far. */
  log(): string
  kill(signal: NodeJS.Signals): Promise<void>
  stop(): Promise<void>
  exited: Promise<void>
}

interface StartOptions {
  /** Default: one of its own. A service that was started on it before goes on with its database and its key. */
  data_dir?: string
  /** The settings, beside those of every test. */
  env?: Record<string, string>
  /** Default: bubblewrap. */
  sandbox?: BackendName
  /** Default: any that is free. */
  port?: number
}

export interface ServiceOptions extends StartOptions {
  /** On the embedded database, as `dev` is. */
  embedded?: boolean
}

export interface ProcessOptions extends StartOptions {
  /** The leader of a process group of its own, as the foreground job of a terminal is. */
  group?: boolean
  /** Runs as this user; only root can. */
  uid?: number
  /** Words before the command, such as `unshare --uts …`. */
  prefix?: readonly string[]
}

/** What no setting of a service within a process can give to those that it starts, or to libraries. */
const READ_BY_OTHERS = /^(PATH|HOME|TMPDIR|NODE_.*|DOCKER_.*|SSL_.*|PG[A-Z]+|.*_PROXY)$/i

/** Each would cost a container more. */
const NO_WARM_SANDBOXES = { RUNYARD_WARM_SANDBOXES: '0' }

/** Bare but for PATH, HOME and `env`. */
export const commandEnvironment = (home: string, env: Record<string, string>): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  HOME: home,
  ...SHARED_CACHE,
  ...NO_WARM_SANDBOXES,
  ...(process.env.DOCKER_HOST ? { DOCKER_HOST: process.env.DOCKER_HOST } : {}),
  ...env,
})

/** A process of the command line, its environment bare but for PATH, HOME and `env`. */
export function spawnRunyard(
  args: readonly string[],
  env: Record<string, string> = {},
  cwd: string = process.cwd(),
  options: { uid?: number | undefined; group?: boolean | undefined; prefix?: readonly string[] } = {},
): ChildProcess & { log(): string } {
  const home = temporaryDirectory('home')
  if (options.uid !== undefined) chownSync(home, options.uid, options.uid)
  const [command = '', ...words] = [...(options.prefix ?? []), process.execPath, BINARY, ...args]
  const child = spawn(command, words, {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd,
    detached: options.group ?? false,
    ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
    env: commandEnvironment(home, env),
  })
  let log = ''
  child.stderr.on('data', (chunk) => {
    log += chunk
  })
  removeAtExit(() => child.kill('SIGKILL'))
  return Object.assign(child, { log: () => log })
}

/** By data directory: the database of its services, and the key of the last one. */
const former = new Map<string, { database: ServiceStore; api_key?: string }>()
/** What the mask of new files was before the first service that is running now. */
let mask = 0
let running = 0

/**
 * What `runyard dev` is, in this process: API, page, worker, schedules and webhooks, on a free port and a data directory of its
 * own. Its database is PostgreSQL, or the embedded one where that is not installed. Its settings are `env` alone.
 */
export async function startService(options: ServiceOptions = {}): Promise<TestService> {
  const { port = 0, sandbox = 'bubblewrap', data_dir = temporaryDirectory('data') } = options
  const { NODE_EXTRA_CA_CERTS: certificates, ...env } = options.env ?? {}
  for (const name of Object.keys(env))
    assert(!READ_BY_OTHERS.test(name), `${name} is read by programs and libraries: use startDevProcess.`)
  const { database, api_key: known_key } = former.get(data_dir) ?? {
    database: options.embedded ? storeIn(join(data_dir, 'db')) : await createStore(join(data_dir, 'db')),
  }
  let log = ''
  let store: Store | undefined
  const write = (line: string): void => {
    log += line
  }
  const leave = enter(certificates)
  // A gateway trusts what it was started with.
  const shared =
    certificates === undefined
      ? shareGateway((fields, message) => write(`${JSON.stringify({ ...fields, msg: message })}\n`))
      : null
  try {
    const dev = await startDev({
      config: readConfig({ ...SHARED_CACHE, ...NO_WARM_SANDBOXES, ...env }),
      ...{ port, sandbox, data_dir },
      ...(known_key === undefined ? {} : { known_key }),
      log: { write },
      openStore: async () => (store = await database.open()),
      companions: { startWarden, ...(shared ? { gateway: shared.gateway } : {}) },
    })
    const { base_url, api_key, onRun } = dev
    assert(store)
    former.set(data_dir, { database, api_key })
    let stopped: Promise<void> | undefined
    const stop = async (): Promise<void> => {
      await dev.stop().finally(leave)
      shared?.leave()
      if (options.data_dir !== undefined) return
      former.delete(data_dir)
      await database.drop()
    }
    return { base_url, api_key, data_dir, store, onRun, log: () => log, stop: () => (stopped ??= stop()) }
  } catch (error) {
    leave()
    shared?.leave()
    throw error
  }
}

/** What a service changes of the process it is in. Returns how to put it back. */
export function enter(certificates: string | undefined): () => void {
  // The service's files are for this user alone, and so are those that tests make meanwhile.
  const before = process.umask(0o077)
  if (running++ === 0) mask = before
  const distrust = certificates === undefined ? () => {} : trustCertificates(certificates)
  return () => {
    distrust()
    if (--running === 0) process.umask(mask)
  }
}

/** `runyard dev` as a process of its own, ready to serve, on a free port and a data directory of its own. */
export async function startDevProcess(options: ProcessOptions = {}): Promise<DevProcess> {
  const data_dir = options.data_dir ?? temporaryDirectory('data')
  const args = [
    'dev',
    '--json',
    '--port',
    String(options.port ?? 0),
    '--data-dir',
    data_dir,
    '--sandbox',
    options.sandbox ?? 'bubblewrap',
  ]
  const child = spawnRunyard(args, options.env, undefined, options)
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const { stdout, pid } = child
  assert(stdout && pid)
  const line = await Promise.race([
    new Promise<string>((resolve) => createInterface({ input: stdout }).once('line', resolve)),
    exited.then(() => {
      throw new Error(`runyard dev ended with ${child.exitCode}:\n${child.log()}`)
    }),
  ])
  const { base_url, api_key } = JSON.parse(line) as { base_url: string; api_key: string }
  const kill = async (signal: NodeJS.Signals) => {
    child.kill(signal)
    await exited
  }
  return { base_url, api_key, data_dir, pid, log: child.log, kill, stop: () => kill('SIGTERM'), exited }
}

export interface Callable extends Partial<RunSource> {
  base_url: string
  api_key: string
  /** Default: the global one. */
  fetch?: typeof globalThis.fetch
}

type Seen<T> = Exclude<T, null | undefined | false | '' | 0>

/** Plain HTTP with the service's key; `call` throws nothing on error statuses. */
export function apiOf(service: Callable) {
  const { fetch = globalThis.fetch } = service
  const call = (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Response> =>
    fetch(service.base_url + path, {
      method,
      redirect: 'manual',
      headers: {
        authorization: `Bearer ${service.api_key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  const json = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const response = await call(method, path, body)
    const text = await response.text()
    assert(response.ok, `${method} ${path}: ${response.status} ${text}`)
    return JSON.parse(text) as T
  }
  const get = (run_id: string) => json<RunItem>('GET', `/agent/runs/${run_id}`)
  /** Looks each time that the run may have changed, until it sees something. */
  const see = async <T>(run_id: string, look: () => Promise<T>, seconds = 150): Promise<Seen<T>> => {
    const began = Date.now()
    const changes = watchRun(run_id, service.onRun)
    try {
      for (;;) {
        const seen = await look()
        if (seen) return seen as Seen<T>
        const waited = Date.now() - began
        if (waited > seconds * 1000)
          throw new Error(`Waited in vain; the run is ${(await get(run_id)).state}.`)
        await changes.next(waited)
      }
    } finally {
      changes.close()
    }
  }
  const until = (run_id: string, done: (run: RunItem) => boolean, seconds?: number): Promise<RunItem> =>
    see(run_id, () => get(run_id).then((run) => done(run) && run), seconds)
  /** Adds what the run's log has beyond these. */
  const addEvents = async (run_id: string, events: RunEvent[]): Promise<RunEvent[]> => {
    for (;;) {
      const after = events.at(-1)?.sequence ?? 0
      const page = await json<{ events: RunEvent[]; has_more: boolean }>(
        'GET',
        `/agent/runs/${run_id}/events?limit=1000&after=${after}`,
      )
      events.push(...page.events)
      if (!page.has_more) return events
    }
  }
  const { store } = service
  return {
    call,
    json,
    get,
    until,
    create: async (body: object) => (await json<{ run_id: string }>('POST', '/agent/runs', body)).run_id,
    /** The run once it is ended and its worker has let go. */
    ended: (run_id: string, seconds?: number) =>
      store
        ? see(run_id, async () => (await hasEnded(store, run_id)) && get(run_id), seconds)
        : until(run_id, (run) => ENDED.includes(run.state) && !run.is_sandbox_running, seconds),
    events: (run_id: string): Promise<RunEvent[]> => addEvents(run_id, []),
    /** What `find` finds in the run's log, as soon as it is there. */
    found: <T>(run_id: string, find: (events: RunEvent[]) => T, seconds?: number): Promise<Seen<T>> => {
      const events: RunEvent[] = []
      return see(run_id, async () => find(await addEvents(run_id, events)), seconds)
    },
  }
}

/** A prompt of one shell step. */
export const shell = (command: string): string => `\`\`\`sh\n${command}\n\`\`\``
