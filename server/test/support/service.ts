import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { RunEvent } from '../../src/contract/event.ts'
import type { RunItem } from '../../src/contract/run.ts'

/** The command: `npm test` bundles it (scripts/bundle-command.ts), else the sources as they are. */
export const BINARY =
  process.env.RUNYARD_TEST_COMMAND ?? fileURLToPath(new URL('../../../cli/bin/runyard.js', import.meta.url))

export interface TestService {
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

export interface StartOptions {
  data_dir?: string
  env?: Record<string, string>
  sandbox?: string
  /** The leader of a process group of its own, as the foreground job of a terminal is. */
  group?: boolean
  /** Runs as this user; only root can. */
  uid?: number
  /** Default: any that is free. */
  port?: number
  /** Words before the command, such as `unshare --uts …`. */
  prefix?: readonly string[]
}

const leftovers: Array<() => void> = []
process.once('exit', () => {
  // Processes were started after the directories they use.
  for (const remove of leftovers.reverse()) remove()
})

/** A cache for each home would compile the service and make an empty database once for each process. */
export const SHARED_CACHE = {
  XDG_CACHE_HOME: fileURLToPath(new URL('../../../node_modules/.cache', import.meta.url)),
}
export const CACHE_DIR = join(SHARED_CACHE.XDG_CACHE_HOME, 'runyard')

/** A directory that is removed when the process ends. */
export function temporaryDirectory(name: string): string {
  const directory = mkdtempSync(join(tmpdir(), `runyard-${name}-`))
  leftovers.push(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

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
    env: {
      PATH: process.env.PATH ?? '',
      HOME: home,
      ...SHARED_CACHE,
      // Each would cost a container more.
      RUNYARD_WARM_SANDBOXES: '0',
      ...(process.env.DOCKER_HOST ? { DOCKER_HOST: process.env.DOCKER_HOST } : {}),
      ...env,
    },
  })
  let log = ''
  child.stderr.on('data', (chunk) => {
    log += chunk
  })
  leftovers.push(() => child.kill('SIGKILL'))
  return Object.assign(child, { log: () => log })
}

/** `runyard dev` as a process of its own, ready to serve, on a free port and a data directory of its own. */
export async function startService(options: StartOptions = {}): Promise<TestService> {
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

/** Plain HTTP with the service's key; `call` throws nothing on error statuses. `fetch`: default the global one. */
export function apiOf(service: { base_url: string; api_key: string; fetch?: typeof fetch }) {
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
  const until = async (run_id: string, done: (run: RunItem) => boolean, seconds = 150): Promise<RunItem> => {
    const began = Date.now()
    for (;;) {
      const run = await get(run_id)
      if (done(run)) return run
      const waited = Date.now() - began
      if (waited > seconds * 1000) throw new Error(`Waited in vain; the run is ${run.state}.`)
      // Whoever asks all the time takes the processor from what is waited for: an answer costs as much as 20 ms of a short run.
      await wait(Math.min(Math.max(waited / 4, 80), 300))
    }
  }
  return {
    call,
    json,
    get,
    until,
    create: async (body: object) => (await json<{ run_id: string }>('POST', '/agent/runs', body)).run_id,
    /** The run once it is ended and its worker has let go. */
    ended: (run_id: string, seconds?: number) =>
      until(
        run_id,
        (run) => ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'].includes(run.state) && !run.is_sandbox_running,
        seconds,
      ),
    events: async (run_id: string): Promise<RunEvent[]> => {
      const events: RunEvent[] = []
      for (;;) {
        const after = events.at(-1)?.sequence ?? 0
        const page = await json<{ events: RunEvent[]; has_more: boolean }>(
          'GET',
          `/agent/runs/${run_id}/events?limit=1000&after=${after}`,
        )
        events.push(...page.events)
        if (!page.has_more) return events
      }
    },
  }
}

/** A prompt of one shell step. */
export const shell = (command: string): string => `\`\`\`sh\n${command}\n\`\`\``
