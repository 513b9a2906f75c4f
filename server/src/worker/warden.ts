/**
 * The warden: a small sibling process of each worker that owns the life of its sandboxes, so that a worker that is
 * stopped, stalled or killed leaves no command running. It reads lines of JSON from the worker:
 *
 * - `watch` / `unwatch` a sandbox;
 * - `stamp`: a beat succeeded that was begun at this uptime. None for DEADLINE: it freezes the sandboxes, for the worker
 *   may be declared lost soon and the run started elsewhere. A later stamp thaws them and the runs go on;
 * - `lost`, or the end of its input (the worker is gone): it kills them, and tries again until none of their processes is left.
 *
 * Its clock is the machine's uptime, which does not stop while the machine is suspended.
 */
import { spawn } from 'node:child_process'
import { uptime } from 'node:os'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import type { SandboxBackend, SandboxRef } from '../sandbox/sandbox.ts'
import type { Warden } from './context.ts'

type Line = { watch: SandboxRef } | { unwatch: SandboxRef } | { stamp: number } | { lost: true }

const DEADLINE_SECONDS = 4
const LOOK_MS = 250
/** So many looks after it was frozen, a sandbox is frozen again. */
const LOOKS_AGAIN = 8
/** What is not frozen or thawed by then is killed all the same. */
const ACTING_MS = 5_000
/** Who stops a worker waits no longer for what cannot be killed. */
const CLOSE_MS = 15_000

/** What is done with a sandbox, and what was done with it last; `null`: nothing, or it failed. */
interface Watched {
  ref: SandboxRef
  is: 'running' | 'frozen' | null
  /** One after the other: a freeze must not overtake the thaw that was ordered after it. Of others it holds up nothing. */
  acting: Promise<void> | null
}

/** A kill that fails is tried again after this long, then after twice as long, and so on. */
const FIRST_KILL_PAUSE_MS = 100
const LAST_KILL_PAUSE_MS = 5_000

/**
 * The warden's side: says on `output` that it watches. Resolves when its input has ended and everything it watched is dead,
 * however long that takes: nobody else would end it.
 */
export async function runWarden(
  backend: Pick<SandboxBackend, 'freeze' | 'thaw' | 'kill'>,
  { input, output }: { input: Readable; output: Writable },
  options: { deadline: boolean },
): Promise<void> {
  const watched = new Map<string, Watched>()
  let stamped = uptime()
  let late = false
  let over = false
  let looks = 0
  /** Whether it was said of a sandbox that it could not be frozen or thawed. */
  const told = new Set<string>()

  const bring = (one: Watched): void => {
    const to = late ? 'frozen' : 'running'
    if (one.is === to || one.acting || over) return
    one.is = null
    one.acting = set(one, to).then(() => {
      one.acting = null
      // What was ordered meanwhile; what failed waits for the next look.
      if (late !== (to === 'frozen')) bring(one)
    })
  }
  const set = async (one: Watched, to: 'running' | 'frozen'): Promise<void> => {
    const key = keyOf(one.ref)
    try {
      if (to === 'running') await backend.thaw?.(one.ref)
      else await (backend.freeze ? backend.freeze(one.ref) : backend.kill(one.ref))
      one.is = to
      told.delete(key)
    } catch (error) {
      // Such as one that was being started anew. The next look tries again.
      if (!told.has(key)) console.error(`warden: ${error}`)
      told.add(key)
    }
  }
  const look = (): void => {
    late = uptime() - stamped > DEADLINE_SECONDS
    looks += 1
    // One whose worker started it anew to kill what ran in it is frozen no more.
    if (late && looks % LOOKS_AGAIN === 0) for (const one of watched.values()) one.is = null
    for (const one of watched.values()) bring(one)
  }
  output.write('ready\n')
  const timer = options.deadline ? setInterval(look, LOOK_MS) : undefined
  for await (const text of createInterface({ input })) {
    const line = JSON.parse(text) as Line
    if ('watch' in line) {
      const one: Watched = { ref: line.watch, is: 'running', acting: null }
      watched.set(keyOf(line.watch), one)
      bring(one)
    } else if ('unwatch' in line) watched.delete(keyOf(line.unwatch))
    else if ('stamp' in line) {
      stamped = Math.max(stamped, line.stamp)
      if (options.deadline) look()
    } else break
  }
  clearInterval(timer)
  over = true
  const kill = async ({ ref, acting }: Watched): Promise<void> => {
    if (acting) await Promise.race([acting, wait(ACTING_MS)])
    await killForGood(backend, ref)
  }
  await Promise.all([...watched.values()].map(kill))
}

/** Resolves when nothing of the sandbox runs any more. Says the first failure, and that it ended well after one. */
async function killForGood(backend: Pick<SandboxBackend, 'kill'>, ref: SandboxRef): Promise<void> {
  for (let pause = FIRST_KILL_PAUSE_MS; ; pause = Math.min(2 * pause, LAST_KILL_PAUSE_MS)) {
    try {
      await backend.kill(ref)
      if (pause > FIRST_KILL_PAUSE_MS) console.error(`warden: the processes of ${ref.id} are gone`)
      return
    } catch (error) {
      if (pause === FIRST_KILL_PAUSE_MS) console.error(`warden: ${error}; trying until they are gone`)
    }
    await wait(pause)
  }
}

const keyOf = (ref: SandboxRef): string => `${ref.id}:${ref.attempt}`

export interface WardenProcess extends Warden {
  /** Resolves when it watches: until then nothing may be claimed. Never rejects; see `died`. */
  ready: Promise<void>
  /** A beat succeeded that was begun at this uptime. */
  stamp(uptime: number): void
  /** The worker was declared lost. */
  lose(): void
  /**
   * Ends it in order; whatever it still watches is killed. Resolves when all of it is gone, or when that takes so long that
   * the warden is left to it alone: it goes on trying without its worker.
   */
  close(): Promise<void>
  /** Rejects if it dies on its own: without a warden no worker may go on. */
  died: Promise<never>
}

/** What it reaches sandboxes by: a Docker engine, or a cluster and the programs that its kubeconfig names. */
const ENVIRONMENT = [
  ...['PATH', 'HOME', 'NODE_COMPILE_CACHE', 'DOCKER_HOST'],
  ...['KUBECONFIG', 'KUBERNETES_SERVICE_HOST', 'KUBERNETES_SERVICE_PORT'],
]

/** Starts the warden as a process of its own: its session outlives the worker's terminal, its environment is bare. */
export function spawnWarden(argv: readonly string[]): WardenProcess {
  const child = spawn(process.execPath, [...argv], {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
    env: Object.fromEntries(
      ENVIRONMENT.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])),
    ),
  })
  const pipe: Writable = child.stdin
  pipe.on('error', () => {})
  const send = (line: Line) => pipe.write(`${JSON.stringify(line)}\n`)
  const ready = new Promise<void>((resolve) => child.stdout.once('data', () => resolve()))
  let closing = false
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const died = new Promise<never>((_, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      if (!closing) reject(new Error(`The warden ended with ${signal ?? code}.`))
    })
  })
  died.catch(() => {})
  return {
    watch: (ref) => send({ watch: ref }),
    unwatch: (ref) => send({ unwatch: ref }),
    stamp: (at) => send({ stamp: at }),
    lose: () => send({ lost: true }),
    ready,
    died,
    async close() {
      closing = true
      pipe.end()
      const over = new AbortController()
      await Promise.race([exited, wait(CLOSE_MS, undefined, { signal: over.signal }).catch(() => {})])
      over.abort()
      child.unref()
      child.stdout.destroy()
    },
  }
}
