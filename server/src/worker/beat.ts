import { uptime } from 'node:os'
import { parentPort, Worker, workerData } from 'node:worker_threads'
import type { SandboxRef } from '../sandbox/sandbox.ts'
import { isUnavailable } from '../store/faults.ts'
import { BEAT_MS, SILENCE_MS } from '../store/lease-times.ts'
import type { Warden } from './context.ts'
import type { HeartPlan, OpenHeart } from './control-plane.ts'
import { spawnWarden } from './warden.ts'

/** How often the worker's event loop shows the beat thread that it runs. */
const SIGN_MS = 250
/**
 * No beat once the event loop has stood still for longer. The check comes with each beat, so the last one goes out before
 * the silence is as long as the lease; the worker is declared lost a lease after that one. Eight seconds of standstill
 * cost no run, and twelve are noticed.
 */
const STANDSTILL_MS = SILENCE_MS - BEAT_MS

interface ThreadData {
  beat_thread: true
  heart: HeartPlan
  worker_id: string
  warden_argv: string[]
  /** When the event loop last ran: milliseconds of the machine's uptime. */
  sign: BigInt64Array<SharedArrayBuffer>
}

type Order = { watch: SandboxRef } | { unwatch: SandboxRef } | { close: true }

export interface Beats extends Warden {
  /** Stops beating; the warden kills what it still watches. */
  close(): Promise<void>
}

/** `declared`: by a sweeper; a worker may begin again under another id. */
type Report = { beating: true } | { lost: string; declared: boolean } | { fault: string }

/** The worker was declared lost before it had begun: the database was silent, say. Another may be started. */
export class LostAtStart extends Error {
  override name = 'LostAtStart'
}

/**
 * Beats on a thread of its own, which also holds the warden's pipe: a busy event loop neither delays a beat nor makes the
 * warden freeze healthy sandboxes. But a loop that stands still executes nothing: its worker stops beating, so that others
 * take its runs over. When it runs again, beats go on, or the worker learns that it was declared lost.
 *
 * Resolves after the first beat, when the warden watches: nothing may be claimed that it does not guard. `onLost` is called once when the worker was
 * declared lost after that, or when the warden died.
 */
export async function startBeats(
  options: Omit<ThreadData, 'beat_thread' | 'sign'> & {
    onLost: (reason: string) => void
    /** Why no beat can be stored, other than that the database is away. */
    onFault: (message: string) => void
  },
): Promise<Beats> {
  const { onLost, onFault, ...data } = options
  const sign = new BigInt64Array(new SharedArrayBuffer(8))
  const giveSign = () => void Atomics.store(sign, 0, uptimeMs())
  giveSign()
  const signs = setInterval(giveSign, SIGN_MS).unref()
  const thread = new Worker(new URL(import.meta.url), {
    workerData: { ...data, sign, beat_thread: true } satisfies ThreadData,
  })
  const closed = new Promise<void>((resolve) =>
    thread.once('exit', () => {
      clearInterval(signs)
      resolve()
    }),
  )
  const begun = Promise.withResolvers<void>()
  let beating = false
  const lose = (reason: string, declared = false) =>
    beating ? onLost(reason) : begun.reject(declared ? new LostAtStart(reason) : new Error(reason))
  thread.on('message', (report: Report) => {
    if ('fault' in report) return onFault(report.fault)
    if ('lost' in report) return lose(report.lost, report.declared)
    beating = true
    begun.resolve()
  })
  thread.on('error', (error) => lose(`the beat thread failed: ${error.message}`))
  await begun.promise
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

async function runThread(data: ThreadData): Promise<void> {
  const { openHeart } = (await import(data.heart.module)) as { openHeart: OpenHeart }
  const heart = openHeart(data.heart.options)
  const warden = spawnWarden(data.warden_argv)
  const report = (message: Report) => parentPort?.postMessage(message)
  let timer: NodeJS.Timeout | undefined
  let beating = false
  let over = false
  let said = ''

  const end = async (reason: string | null, declared = false): Promise<void> => {
    if (over) return
    over = true
    clearTimeout(timer)
    if (reason) {
      warden.lose()
      report({ lost: reason, declared })
    }
    await warden.close()
    await heart.close()
    parentPort?.close()
  }

  const standsStill = () => uptimeMs() - Atomics.load(data.sign, 0) > STANDSTILL_MS

  const tick = async (): Promise<void> => {
    if (over) return
    if (standsStill()) {
      timer = setTimeout(tick, SIGN_MS)
      return
    }
    const began = uptime()
    try {
      if (!(await heart.beat(data.worker_id))) return await end('the worker was declared lost', true)
      // Counted from before the beat was sent: that is when the control plane may have seen it.
      warden.stamp(began)
      if (!beating) warden.ready.then(() => report({ beating: true }))
      beating = true
    } catch (error) {
      // The warden freezes the sandboxes until a beat succeeds again.
      if (!isUnavailable(error) && String(error) !== said) {
        said = String(error)
        report({ fault: said })
      }
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

// The machine's uptime: it does not stop while the machine is suspended.
const uptimeMs = (): bigint => BigInt(Math.round(uptime() * 1000))

if ((workerData as ThreadData | null)?.beat_thread) runThread(workerData as ThreadData)
