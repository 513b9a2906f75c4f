/**
 * The warden: a small sibling process of each worker that owns the life of its sandboxes, so that a worker that is
 * stopped, stalled or killed leaves no command running. It reads lines of JSON from the worker:
 *
 * - `watch` / `unwatch` a sandbox;
 * - `stamp`: a beat succeeded that was begun at this uptime. None for DEADLINE: it freezes the sandboxes, for the worker
 *   may be declared lost soon and the run started elsewhere. A later stamp thaws them and the runs go on;
 * - `lost`, or the end of its input (the worker is gone): it kills them.
 *
 * Its clock is the machine's uptime, which does not stop while the machine is suspended.
 */
import { spawn } from 'node:child_process'
import { uptime } from 'node:os'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import type { SandboxBackend, SandboxRef } from '../sandbox/sandbox.ts'
import type { Warden } from './context.ts'

type Line = { watch: SandboxRef } | { unwatch: SandboxRef } | { stamp: number } | { lost: true }

const DEADLINE_SECONDS = 4
const LOOK_MS = 250

/** The warden's side: says on `output` that it watches. Resolves when its input has ended and everything it watched is dead. */
export async function runWarden(
  backend: SandboxBackend,
  { input, output }: { input: Readable; output: Writable },
  options: { deadline: boolean },
): Promise<void> {
  const watched = new Map<string, SandboxRef>()
  let stamped = uptime()
  let frozen = false
  let acting: Promise<unknown> = Promise.resolve()
  /** By key: what could not be frozen, such as one that was being started anew. It is tried again, and said once. */
  const unfrozen = new Set<string>()
  let retrying = false
  /** One after the other: a freeze must not overtake the thaw or the kill that was ordered after it. */
  const all = (refs: Iterable<SandboxRef>, work: (ref: SandboxRef) => Promise<void>): Promise<unknown> => {
    const chosen = [...refs]
    acting = acting.then(() =>
      Promise.all(chosen.map((ref) => work(ref).catch((error) => console.error(`warden: ${error}`)))),
    )
    return acting
  }
  const freeze = async (ref: SandboxRef): Promise<void> => {
    const key = keyOf(ref)
    try {
      await (backend.freeze ? backend.freeze(ref) : backend.kill(ref))
      unfrozen.delete(key)
    } catch (error) {
      if (!unfrozen.has(key)) console.error(`warden: ${error}`)
      unfrozen.add(key)
    }
  }
  const thaw = async (ref: SandboxRef) => backend.thaw?.(ref)
  const retry = async (): Promise<void> => {
    const left = [...watched.values()].filter((ref) => unfrozen.has(keyOf(ref)))
    if (left.length === 0 || retrying) return
    retrying = true
    await all(left, freeze)
    retrying = false
  }
  const look = (): void => {
    const late = uptime() - stamped > DEADLINE_SECONDS
    if (late !== frozen) all(watched.values(), late ? freeze : thaw)
    else if (late) void retry()
    if (!late) unfrozen.clear()
    frozen = late
  }
  output.write('ready\n')
  const timer = options.deadline ? setInterval(look, LOOK_MS) : undefined
  for await (const text of createInterface({ input })) {
    const line = JSON.parse(text) as Line
    if ('watch' in line) {
      watched.set(keyOf(line.watch), line.watch)
      if (frozen) all([line.watch], freeze)
    } else if ('unwatch' in line) watched.delete(keyOf(line.unwatch))
    else if ('stamp' in line) {
      stamped = Math.max(stamped, line.stamp)
      if (options.deadline) look()
    } else break
  }
  clearInterval(timer)
  await all(watched.values(), (ref) => backend.kill(ref))
}

const keyOf = (ref: SandboxRef): string => `${ref.id}:${ref.attempt}`

export interface WardenProcess extends Warden {
  /** Resolves when it watches: until then nothing may be claimed. Never rejects; see `died`. */
  ready: Promise<void>
  /** A beat succeeded that was begun at this uptime. */
  stamp(uptime: number): void
  /** The worker was declared lost. */
  lose(): void
  /** Ends it in order; whatever it still watches is killed. */
  close(): Promise<void>
  /** Rejects if it dies on its own: without a warden no worker may go on. */
  died: Promise<never>
}

/** Starts the warden as a process of its own: its session outlives the worker's terminal, its environment is bare. */
export function spawnWarden(argv: readonly string[]): WardenProcess {
  const { DOCKER_HOST, NODE_COMPILE_CACHE } = process.env
  const child = spawn(process.execPath, [...argv], {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
    env: {
      PATH: process.env.PATH,
      ...(DOCKER_HOST ? { DOCKER_HOST } : {}),
      ...(NODE_COMPILE_CACHE ? { NODE_COMPILE_CACHE } : {}),
    },
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
      await exited
    },
  }
}
