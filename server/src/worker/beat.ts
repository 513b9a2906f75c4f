import { uptime } from 'node:os'
import { parentPort, Worker, workerData } from 'node:worker_threads'
import type { SandboxRef } from '../sandbox/sandbox.ts'
import { openPostgres } from '../store/db.ts'
import { beat } from '../store/leases.ts'
import type { Warden } from './execution.ts'
import { spawnWarden } from './warden.ts'

const BEAT_MS = 2_000

interface ThreadData {
  beat_thread: true
  database_url: string
  worker_id: string
  warden_argv: string[]
}

type Order = { watch: SandboxRef } | { unwatch: SandboxRef } | { close: true }

export interface Beats extends Warden {
  /** Stops beating; the warden kills what it still watches. */
  close(): Promise<void>
}

/**
 * Beats on a thread of its own, which also holds the warden's pipe: a busy event loop neither delays a beat nor makes the
 * warden freeze healthy sandboxes. `onLost` is called once when the worker was declared lost, or when the warden died.
 */
export function startBeats(
  options: Omit<ThreadData, 'beat_thread'> & { onLost: (reason: string) => void },
): Beats {
  const { onLost, ...data } = options
  const thread = new Worker(new URL(import.meta.url), {
    workerData: { ...data, beat_thread: true } satisfies ThreadData,
  })
  const closed = new Promise<void>((resolve) => thread.once('exit', () => resolve()))
  thread.on('message', (reason: string) => onLost(reason))
  thread.on('error', (error) => onLost(`the beat thread failed: ${error.message}`))
  const send = (order: Order) => thread.postMessage(order)
  return {
    watch: (ref) => send({ watch: ref }),
    unwatch: (ref) => send({ unwatch: ref }),
    async close() {
      send({ close: true })
      await closed
    },
  }
}

function runThread(data: ThreadData): void {
  const store = openPostgres({ url: data.database_url, max: 1, application_name: 'runyard-beat' })
  const warden = spawnWarden(data.warden_argv)
  let timer: NodeJS.Timeout | undefined
  let over = false

  const end = async (reason: string | null): Promise<void> => {
    if (over) return
    over = true
    clearTimeout(timer)
    if (reason) {
      warden.lose()
      parentPort?.postMessage(reason)
    }
    await warden.close()
    await store.close()
    parentPort?.close()
  }

  const tick = async (): Promise<void> => {
    const began = uptime()
    try {
      if (!(await beat(store.db, data.worker_id))) return await end('the worker was declared lost')
      // Counted from before the beat was sent: that is when the database may have seen it.
      warden.stamp(began)
    } catch {
      // The database is away. The warden freezes the sandboxes until a beat succeeds again.
    }
    const next = Math.max(0, BEAT_MS - (uptime() - began) * 1000)
    if (!over) timer = setTimeout(tick, next)
  }

  warden.died.catch((error: Error) => end(error.message))
  parentPort?.on('message', (order: Order) => {
    if ('watch' in order) warden.watch(order.watch)
    else if ('unwatch' in order) warden.unwatch(order.unwatch)
    else end(null)
  })
  tick()
}

if ((workerData as ThreadData | null)?.beat_thread) runThread(workerData as ThreadData)
