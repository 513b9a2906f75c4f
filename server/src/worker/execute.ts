import { setTimeout as wait } from 'node:timers/promises'
import { AppError } from '../contract/error.ts'
import type { NewEvent } from '../contract/event.ts'
import type { Harness, Inbox, Outcome, TurnRun } from '../harness/harness.ts'
import { closeContext } from '../log/context.ts'
import { type ExecExit, type Sandbox, SandboxFault } from '../sandbox/sandbox.ts'
import { toAppError } from '../store/db.ts'
import { readHistory, readOwnHistory } from '../store/events.ts'
import { acknowledgeInterrupt, type Lease, releaseRun } from '../store/leases.ts'
import { type RunRow, readRuns } from '../store/runs.ts'
import { finishRun, requeueRun, startRun } from '../store/transitions.ts'
import { type Budget, createBudget } from './budget.ts'
import { collectArtifacts } from './collect-artifacts.ts'
import { createEventWriter } from './event-writer.ts'
import type { Execution, StopReason, WorkerContext } from './execution.ts'
import { createInbox } from './inbox.ts'
import { LeaseLost, retrying } from './lease-lost.ts'
import { prepareSandbox } from './prepare.ts'
import { judgeDeaths } from './sandbox-deaths.ts'
import { findUnsupported } from './unsupported.ts'

const INTERRUPTED: Outcome = {
  state: 'BLOCKED',
  status_message: { message: 'Interrupted. Send a follow-up to go on, or cancel the run.' },
}

/** A signal that was sent to all processes of the service may be heard here a moment after a command died of it. */
const SIGNAL_MS = 100

/** What may end a turn from outside while the run stays this worker's. */
type Cut = 'interrupt' | 'budget'

/** One claimed run from its sandbox to its release. Everything it writes carries the lease; it never throws. */
export function executeRun(context: WorkerContext, lease: Lease): Execution {
  const { store, watch, log } = context
  const { db } = store
  /** Aborted once, for good. */
  const stopping = new AbortController()
  /** Aborted when the execution may write nothing any more; the run may still be given up. */
  const gone = new AbortController()
  /** Aborted when the worker may own the run no more. */
  const lost = new AbortController()
  /** Aborted, with how the run ends, when its sandbox holds more than it may. */
  const overfull = new AbortController()
  let turn = new AbortController()
  /** The interrupt that waits to be acknowledged, and the last one that was. */
  let interrupted_at: number | null = null
  let acknowledged = -1
  let draining = false
  let finished = false
  let sandbox: Sandbox | null = null
  let disk_watch: { close(): void } | null = null
  const reason = (): StopReason | null =>
    stopping.signal.aborted ? (stopping.signal.reason as StopReason) : null
  const halted = () => reason() !== null || overfull.signal.aborted
  const touch = () => watch.touchRun(lease.run_id)

  /** Orders are read over and over: one that stopped its turn must not stop the next. */
  const interrupt = (sequence: number): void => {
    if (sequence <= acknowledged) return
    interrupted_at = sequence
    turn.abort('interrupt')
  }
  /** Says that the turn is stopped; what came after the interrupt may be delivered from now on. */
  const acknowledge = async (): Promise<void> => {
    const sequence = interrupted_at
    if (sequence === null) return
    await writer.drain()
    if (!(await retrying(() => acknowledgeInterrupt(db, lease, sequence), gone.signal))) throw new LeaseLost()
    acknowledged = sequence
    interrupted_at = null
    turn = new AbortController()
    touch()
  }
  /** Delivers all that waits. An interrupt that waits with it comes first. */
  const deliver = async (inbox: Inbox): Promise<void> => {
    do {
      await acknowledge()
      await inbox.take()
    } while (interrupted_at !== null)
  }
  const stop = (why: StopReason): void => {
    if (why !== 'cancelled') gone.abort()
    if (why === 'lost') lost.abort()
    if (stopping.signal.aborted) return
    stopping.abort(why)
    // Harnesses obey the signal; this does not depend on it.
    sandbox?.killAll().catch(() => {})
  }
  /**
   * Whether a command died because the service is being stopped: systemd and container engines send their signal to every
   * process. Then the run is handed back, and what it ran counts as interrupted.
   */
  const diedOfStopping = async (exit: ExecExit): Promise<boolean> => {
    if (!draining && exit.signal !== null) await wait(SIGNAL_MS)
    // A run over its limit is killed for that, and ends.
    if (!draining || overfull.signal.aborted) return false
    stop('shutdown')
    return true
  }
  const writer = createEventWriter({
    db,
    lease,
    signal: gone.signal,
    onCommit: touch,
    // Lost, or over without our knowing (cancelled and queued again, say): giving it up is fenced and finds out.
    onRefused: () => {
      gone.abort()
      stop('cancelled')
    },
  })
  const emit = (...events: NewEvent[]): Promise<void> =>
    gone.signal.aborted ? Promise.reject(new LeaseLost()) : writer.emit(...events)

  const openInbox = (since: number) =>
    createInbox({
      db,
      lease,
      since,
      signal: gone.signal,
      onDelivered: touch,
      onInterrupt: interrupt,
      onBoundary: () => {
        // A run over its limit has no workspace to go on in: it ends here and now.
        if (draining && !overfull.signal.aborted) stop('shutdown')
      },
      sandbox: () => sandbox,
      blobs: context.blobs,
    })

  /** True when the run has ended; false when follow-ups came meanwhile. */
  const finish = async (outcome: Outcome): Promise<boolean> => {
    await writer.drain()
    const result = await retrying(() => finishRun(db, lease, outcome), gone.signal)
    if (result === 'undelivered') return false
    if (result === 'lost') throw new LeaseLost()
    finished = true
    touch()
    return true
  }

  /** Ends the run before its agent started. Messages that wait are put into the log first: nothing accepted is lost. */
  const giveUp = async (failure: Outcome, inbox: Inbox): Promise<void> => {
    do await deliver(inbox)
    while (!(await finish(failure)))
  }

  const endOverfull = (inbox: Inbox): Promise<void> => giveUp(overfull.signal.reason as Outcome, inbox)

  /** Obeys an interrupt of an attempt that was lost or handed back before it could. True when nothing is left to do. */
  const obeyEarlier = async (run: RunRow): Promise<boolean> => {
    if (run.interrupt_sequence === null) return false
    interrupt(run.interrupt_sequence)
    await acknowledge()
    return run.undelivered === 0 && (await finish(INTERRUPTED))
  }

  const live = async (run: RunRow): Promise<void> => {
    const inbox = openInbox(run.last_sequence)
    if (await obeyEarlier(run)) return
    const name = run.config.harness?.type ?? context.default_harness
    const harness = context.harnesses.get(name)
    const unsupported = findUnsupported(run, name)
    if (unsupported) return giveUp(unsupported, inbox)
    if (!harness) return giveUp(notInstalled(name, context), inbox)
    const prepared = await prepareSandbox(context, lease, run, {
      emit,
      signal: stopping.signal,
      overfull: overfull.signal,
      onSandbox: (made, limits) => {
        sandbox = made
        context.warden.watch(made.ref)
        disk_watch = context.disk.watch(made, limits, (outcome) => {
          overfull.abort(outcome)
          made.killAll().catch(() => {})
        })
        return judgeDeaths(made, diedOfStopping)
      },
    })
    if (overfull.signal.aborted) return endOverfull(inbox)
    // What setting up does beside the sandbox dies of the signal as well.
    if ('failure' in prepared && draining) return stop('shutdown')
    if ('failure' in prepared) return giveUp(prepared.failure, inbox)
    await writer.drain()
    // What was said before the agent starts is part of what it starts with.
    if (run.undelivered > 0) await deliver(inbox)
    if (!(await retrying(() => startRun(db, lease, { harness: name }), gone.signal))) throw new LeaseLost()
    touch()
    const budget = createBudget(run, () => turn.abort('budget'))
    try {
      await takeTurns(run, prepared, harness, inbox, budget)
      if (overfull.signal.aborted && !finished && !reason()) await endOverfull(inbox)
    } finally {
      budget.close()
    }
  }

  /** Turn after turn until the run has ended: a follow-up that arrives as one ends makes another. */
  const takeTurns = async (
    run: RunRow,
    place: { sandbox: Sandbox; cwd: string },
    harness: Harness,
    inbox: ReturnType<typeof openInbox>,
    budget: Budget,
  ): Promise<void> => {
    // An attempt before may have been lost between its last step and what follows it.
    let worked = lease.attempt > 1
    const before = closeContext(await retrying(() => readHistory(db, run.context), gone.signal))
    while (!halted()) {
      const history = await retrying(() => readOwnHistory(db, run.run_id), gone.signal)
      if (history.some(hasAttachments)) await inbox.writeAttachments()
      const outcome = await harness.run({
        run: turnRunOf(run, lease, place.cwd),
        context: before,
        history,
        inbox,
        sandbox: place.sandbox,
        emit: (...events) => {
          budget.count(events)
          worked ||= events.some((event) => event.type === 'tool.call')
          return emit(...events)
        },
        delta: (message_id, text) => writer.delta(message_id, text),
        signal: AbortSignal.any([stopping.signal, overfull.signal, turn.signal]),
      })
      await writer.drain()
      if (halted()) return
      const cut = turn.signal.aborted ? (turn.signal.reason as Cut) : null
      if (cut) turn = new AbortController()
      if (cut === 'interrupt') await acknowledge()
      if (worked) await collectArtifacts(context, lease, place.sandbox, { emit, signal: stopping.signal })
      worked = false
      if (await finish(endingOf(cut, outcome, budget))) return
      await deliver(inbox)
    }
  }

  /** The processes are stopped first: a released run may start elsewhere at once. */
  const release = async (): Promise<void> => {
    const used = sandbox as Sandbox | null
    if (used) {
      await used
        .killAll()
        .catch((error) => log.error({ err: error, ...lease }, 'Stopping the sandbox failed.'))
      if (overfull.signal.aborted) {
        await used
          .destroy()
          .catch((error) => log.error({ err: error, ...lease }, 'Removing the sandbox failed.'))
      }
      context.warden.unwatch(used.ref)
      disk_watch?.close()
    }
    if (lost.signal.aborted) return
    await writer.drain()
    const { released, claimable_in } = await retrying(() => releaseRun(db, lease), lost.signal)
    if (claimable_in) watch.touchPool(claimable_in)
    if (!released) {
      // Still at work as far as anybody can read: it must go on somewhere.
      const failed = reason() !== 'shutdown'
      const why = failed ? 'The attempt failed and its end could not be recorded.' : 'The worker is stopping.'
      if (await retrying(() => requeueRun(db, lease, why, failed), lost.signal)) {
        watch.touchPool(context.settings.pool)
      }
    }
    touch()
  }

  /** A fault of ours: the run says so, with what can be said to its caller. */
  const fail = async (error: unknown): Promise<void> => {
    log.error({ err: error, ...lease }, 'The execution failed.')
    const fault = faultOf(error)
    try {
      // Killing what ran may have been what failed.
      if (overfull.signal.aborted) return await endOverfull(openInbox(0))
      await emit({
        type: 'error',
        data: { error_code: fault.code, message: fault.detail, retryable: fault.retryable },
      })
      const status_message = { message: fault.detail, error_code: fault.code, retryable: fault.retryable }
      await giveUp({ state: 'ERROR', status_message }, openInbox(0))
    } catch (again) {
      if (!(again instanceof LeaseLost))
        log.error({ err: again, ...lease }, 'The fault could not be recorded.')
    }
  }

  const done = (async () => {
    try {
      const [run] = await retrying(() => readRuns(db, [lease.run_id]), gone.signal)
      if (run) await live(run)
    } catch (error) {
      // What the service's own helpers do in the sandbox dies of that signal too.
      if (!draining && error instanceof SandboxFault) await wait(SIGNAL_MS)
      if (draining && error instanceof SandboxFault && !overfull.signal.aborted) stop('shutdown')
      if (!(error instanceof LeaseLost) && !reason()) await fail(error)
    }
    try {
      await release()
    } catch (error) {
      // The sweep takes it back once this worker is gone.
      log.error({ err: error, ...lease }, 'Releasing the run failed.')
    }
  })()

  return {
    run_id: lease.run_id,
    attempt: lease.attempt,
    stop,
    interrupt,
    drain: () => {
      draining = true
    },
    done,
  }
}

function faultOf(error: unknown): AppError {
  if (error instanceof SandboxFault) {
    return new AppError('resource_unavailable', 'The sandbox failed. The log of the service has the cause.', {
      cause: error,
    })
  }
  const fault = toAppError(error)
  return fault.code === 'internal_error'
    ? new AppError('internal_error', 'A fault of the service ended the run; its log has the cause.', {
        cause: error,
      })
    : fault
}

const turnRunOf = (run: RunRow, lease: Lease, cwd: string): TurnRun => ({
  run_id: run.run_id,
  attempt: lease.attempt,
  config: run.config,
  cwd,
  ...(run.request.output_schema ? { output_schema: run.request.output_schema } : {}),
})

function endingOf(cut: Cut | null, outcome: Outcome, budget: Budget): Outcome {
  if (cut === 'budget') return budget.outcome()
  return cut === 'interrupt' ? INTERRUPTED : outcome
}

const hasAttachments = (event: NewEvent): boolean =>
  event.type === 'message.user' && Boolean(event.data.attachments?.length)

const notInstalled = (name: string, context: WorkerContext): Outcome => ({
  state: 'FAILED',
  status_message: {
    message: `This installation has no harness "${name}"; it has ${[...context.harnesses.keys()].join(' and ')}.`,
    error_code: 'feature_not_available',
    retryable: false,
  },
})
