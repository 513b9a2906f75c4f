/**
 * Finds out what blocks the event loop. Node runs one piece of JavaScript at a time in a thread, so a request that computes
 * for a second keeps all others waiting for a second. A timer measures how late it is; async hooks add up which work (a request,
 * a run) used the time meanwhile. Both cost well under a microsecond for each callback.
 */
import { type AsyncHook, AsyncLocalStorage, createHook } from 'node:async_hooks'

/** From here on a block is reported. */
export const BLOCKED_MS = 250
const LOOK_MS = 100
/** Less of the time than this, and the work is not to blame. */
const SHARE = 0.5

/**
 * What a callback works for. Sockets and timers keep it for as long as they live, so it holds a few strings and no request.
 * Filled in as more is known (the principal after authentication).
 */
export type Work =
  | { kind: 'request'; method: string; route: string; principal_id?: string }
  | { kind: 'run'; run_id: string; attempt?: number }
  | { kind: 'skills'; environment_id: string }

export interface Block {
  /** By the clock. */
  blocked_ms: number
  /** This thread's share of a processor in that time: much less means that it waited for the disk, or for a busy machine. */
  cpu_ms: number
  /** `null`: no request or run used most of the time (loading code, collecting garbage). */
  work: Work | null
}

type Listener = (block: Block) => void

interface Slice {
  spent_ms: number
  longest_ms: number
}

const current = new AsyncLocalStorage<Work>()
const listeners = new Set<Listener>()
/** Works of the callbacks that are being executed, the innermost last. */
let running: Array<Work | undefined> = []
let since = 0
const spent = new Map<Work, Slice>()
let hook: AsyncHook | null = null
let timer: NodeJS.Timeout | null = null
let looked_at = 0
let cpu = process.threadCpuUsage()

/** Runs `task`, and all that it starts, as part of this work. */
export function workFor<Result>(work: Work, task: () => Result): Result {
  if (!hook) return current.run(work, task)
  enter(work)
  try {
    return current.run(work, task)
  } finally {
    leave()
  }
}

/** Calls back after each block. Returns how to stop, which calls back for a block that nobody has looked at yet. */
export function watchEventLoop(listener: Listener): () => void {
  // The same function may be given twice.
  const own: Listener = (block) => listener(block)
  listeners.add(own)
  start()
  return () => {
    look()
    listeners.delete(own)
    if (listeners.size === 0) stop()
  }
}

/** What the log says. */
export const describeBlock = ({ blocked_ms, cpu_ms, work }: Block): [fields: object, message: string] => [
  { blocked_ms: Math.round(blocked_ms), cpu_ms: Math.round(cpu_ms), ...(work ? { work } : {}) },
  work
    ? `${nameOf(work)} blocked the event loop for ${Math.round(blocked_ms)} ms: everything else in this process waited.`
    : `The event loop was blocked for ${Math.round(blocked_ms)} ms, by no single request or run.`,
]

export function nameOf(work: Work): string {
  if (work.kind === 'request')
    return `${work.method} ${work.route}${work.principal_id === undefined ? '' : ` by ${work.principal_id}`}`
  return work.kind === 'run'
    ? `Run ${work.run_id}`
    : `Reading the skills of environment ${work.environment_id}`
}

/** Logs each block: as a warning if it can be named, since then somebody can do something about it. */
export const logBlocks = (log: {
  warn(fields: object, message: string): void
  info(fields: object, message: string): void
}): (() => void) =>
  watchEventLoop((block) => {
    const [fields, message] = describeBlock(block)
    if (block.work) log.warn(fields, message)
    else log.info(fields, message)
  })

function start(): void {
  if (timer) return
  hook = createHook({ before: () => enter(current.getStore()), after: leave }).enable()
  looked_at = performance.now()
  cpu = process.threadCpuUsage()
  timer = setInterval(look, LOOK_MS).unref()
}

/** Judges the time since it was called last. */
function look(): void {
  const now = performance.now()
  charge(now)
  const { user, system } = process.threadCpuUsage(cpu)
  const late_ms = now - looked_at - LOOK_MS
  const [work, slice] = [...spent].reduce(
    (most, each) => (each[1].spent_ms > most[1].spent_ms ? each : most),
    [null, { spent_ms: 0, longest_ms: 0 }] as [Work | null, Slice],
  )
  // A block that begins right before the timer is due makes it less late than it was long.
  const blocked_ms = Math.max(late_ms, slice.longest_ms)
  looked_at = now
  cpu = process.threadCpuUsage()
  spent.clear()
  // A callback that threw was never left.
  running = running.slice(-1)
  if (blocked_ms < BLOCKED_MS) return
  const is_to_blame = slice.spent_ms >= blocked_ms * SHARE
  const block = { blocked_ms, cpu_ms: (user + system) / 1_000, work: is_to_blame ? work : null }
  for (const listener of listeners) listener(block)
}

function stop(): void {
  hook?.disable()
  hook = null
  clearInterval(timer ?? undefined)
  timer = null
  running = []
  spent.clear()
}

function enter(work: Work | undefined): void {
  charge(performance.now())
  running.push(work)
}

function leave(): void {
  charge(performance.now())
  running.pop()
}

/** The time since the last look belongs to the innermost work. */
function charge(now: number): void {
  const work = running.at(-1)
  if (work) {
    const slice = spent.get(work)
    const took = now - since
    if (!slice) spent.set(work, { spent_ms: took, longest_ms: took })
    else {
      slice.spent_ms += took
      if (took > slice.longest_ms) slice.longest_ms = took
    }
  }
  since = now
}
