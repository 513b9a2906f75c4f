import { setTimeout as wait } from 'node:timers/promises'
import type { NewEvent } from '../contract/event.ts'
import type { Harness, Outcome, Session } from '../harness/harness.ts'
import { closeEndedCalls, closeOpenCalls, RUN_STOPPED } from '../log/interruption.ts'
import { SandboxFault } from '../sandbox/sandbox.ts'
import type { Lease } from '../store/leases.ts'
import type { RunRow } from '../store/runs.ts'
import type { WorkspaceEnd } from '../store/turn-ends.ts'
import { workFor } from '../watchdog/event-loop.ts'
import { type Budget, createBudget, unpriced } from './budget.ts'
import type { WorkerContext } from './context.ts'
import { NO_SKILLS } from './debug-turn.ts'
import {
  DEBUG_INTERRUPTED,
  describeFault,
  type ExecutionEnd,
  INTERRUPTED,
  NO_ARTIFACTS,
  notInstalled,
} from './endings.ts'
import { createEventWriter, type EventWriter } from './event-writer.ts'
import type { ExecutionHooks } from './execution-hooks.ts'
import { FencedStore } from './fenced-store.ts'
import { HeldSandbox, SIGNAL_MS } from './held-sandbox.ts'
import { createInbox, type RunInbox } from './inbox.ts'
import { Interrupts } from './interrupts.ts'
import { keepWork } from './keep-work.ts'
import { LeaseLost } from './lease-lost.ts'
import { FAILED, letGo, STOPPING, stopProcesses } from './let-go.ts'
import { judgePush, requestOnSuccess } from './on-success.ts'
import { openSession } from './open-session.ts'
import { prepareSandbox, type Workspace } from './prepare.ts'
import { resolvedOf } from './resolved-run.ts'
import { describeDropped, type RunSkills, readRunSkills } from './run-skills.ts'
import { Snapshots } from './snapshots.ts'
import { Stopping, type StopReason } from './stopping.ts'
import { hasAttachments, takeTurn } from './turn.ts'
import { findUnsupported, refuseUnenforced } from './unsupported.ts'
import { WayOut } from './way-out.ts'

/** One claimed run from its sandbox to its release. Everything it writes carries the lease; `done` never rejects. */
export class Execution {
  readonly run_id: string
  readonly attempt: number
  /** Resolves when the run is released: true, or false when that could not be recorded. Its processes are stopped either way. */
  readonly done: Promise<boolean>
  /** Cancelled, its processes stopped: only its workspace is still kept, for which no other run need wait. */
  packing = false
  readonly #context: WorkerContext
  readonly #hooks: ExecutionHooks
  readonly #store: FencedStore
  readonly #stopping = new Stopping()
  readonly #writer: EventWriter
  readonly #way_out: WayOut
  readonly #interrupts: Interrupts
  readonly #held: HeldSandbox
  #snapshots: Snapshots | null = null
  #draining = false
  /** Something was done in the sandbox since its work was kept. */
  #worked: boolean
  #inbox: RunInbox | null = null
  #finished = false
  /** It asks an agent where the setup failed: nothing is set up, and the run stays as it ended. */
  #debugs = false
  /** How the run ends because its log has a gap. */
  #gap: Outcome | null = null
  /** Why another attempt is to go on, and whether this one counts as failed. */
  #handover = { reason: FAILED, counted: true }

  constructor(context: WorkerContext, lease: Lease, hooks: ExecutionHooks) {
    this.#context = context
    this.#hooks = hooks
    this.run_id = lease.run_id
    this.attempt = lease.attempt
    // An attempt before may have been lost between its last step and what follows it.
    this.#worked = lease.attempt > 1
    const writing = this.#stopping.from('shutdown')
    this.#store = new FencedStore(context.plane.hold(lease), {
      ...{ writing, owning: this.#stopping.from('lost') },
    })
    this.#writer = createEventWriter(this.#store, {
      // Lost, or over without our knowing (cancelled and queued again, say): giving it up is fenced and finds out.
      onRefused: () => this.stop('cancelled'),
      onGap: (refused) => {
        this.#context.log.error({ err: refused, ...lease }, 'An event of a run could not be stored.')
        this.#gap ??= { state: 'ERROR', status_message: describeFault(refused) }
        this.#stopping.stop('gap')
      },
    })
    this.#way_out = new WayOut({
      ...{ context, store: this.#store },
      emit: (event) => this.#emit(event),
      mask: (text) => this.#writer.masked.text(text),
    })
    this.#held = new HeldSandbox({
      ...{ context, stopping: this.#stopping },
      isDraining: () => this.#draining,
      handBack: () => this.stop('shutdown'),
    })
    this.#interrupts = new Interrupts({
      ...{ store: this.#store, stopping: this.#stopping },
      drain: () => this.#writer.drain(),
      onAcknowledged: () => this.#touch(),
    })
    this.done = workFor({ kind: 'run', run_id: this.run_id, attempt: this.attempt }, () => this.#execute())
  }

  /** Stops it for good. */
  stop(reason: StopReason): void {
    const first = !this.#stopping.is('cancelled')
    if (this.#stopping.stop(reason) && first) this.#held.killAll()
  }

  /** Stops the current turn, once for each interrupt. */
  interrupt(sequence: number): void {
    this.#interrupts.obey(sequence)
  }

  /** A follow-up waits to be delivered. */
  signalWaiting(): void {
    this.#inbox?.signalWaiting()
  }

  /** Hands it back at its next step boundary: no command is cut off, and another worker goes on with the next step. */
  drain(): void {
    this.#draining = true
  }

  async #execute(): Promise<boolean> {
    try {
      const run = await this.#store.readRun()
      if (run) await this.#live(run)
    } catch (error) {
      // What the service's own helpers do in the sandbox dies of that signal too.
      if (!this.#draining && error instanceof SandboxFault) await wait(SIGNAL_MS)
      if (this.#draining && error instanceof SandboxFault && !this.#held.overfull) this.stop('shutdown')
      if (!(error instanceof LeaseLost) && !this.#stopping.is('cancelled')) await this.#fail(error)
    }
    try {
      await this.#release()
      return true
    } catch (error) {
      this.#context.log.error({ err: error, ...this.#store.lease }, 'Releasing the run failed.')
      return false
    }
  }

  async #live(run: RunRow): Promise<void> {
    const inbox = this.#openInbox(run.last_sequence)
    // One that was cancelled may have been called anew before its worker could say what became of its calls.
    this.#debugs = run.debug === 'working'
    if (run.execution > 1 || this.#debugs)
      await this.#emit(...closeEndedCalls(await this.#store.readHistory()))
    if (await this.#obeyEarlier(run)) return
    // An earlier attempt may have chosen when the default was another.
    const name = run.config.harness?.type ?? run.resolved?.harness ?? this.#context.default_harness
    const harness = this.#context.harnesses.get(name)
    const budget = createBudget(run)
    if (!harness) return this.#giveUp(notInstalled(name, this.#context), inbox)
    const unsupported = findUnsupported(run, harness.traits)
    if (unsupported) return this.#giveUp(unsupported, inbox)
    const spent = budget.spent()
    if (spent) return this.#giveUp(spent, inbox)
    budget.start(() => {
      this.#checkBudget(budget).catch(() => this.#stopping.stop('budget'))
    })
    try {
      await this.#work(run, harness, inbox, budget)
    } finally {
      budget.close()
    }
  }

  /** Prepares the sandbox and takes turns in it. */
  async #work(run: RunRow, harness: Harness, inbox: RunInbox, budget: Budget): Promise<void> {
    const prepared = await prepareSandbox(this.#context, this.#store, run, {
      emit: (...events) => this.#emit(...events),
      signal: this.#stopping.from('cancelled'),
      halted: AbortSignal.any([this.#stopping.from('overfull'), this.#stopping.turn]),
      masked: this.#writer.masked,
      openEgress: (plan, reserved) =>
        this.#way_out.open(plan, { budget, for_agent: harness.runs_inside === true, reserved }),
      refusals: () => this.#way_out.readRefusals(),
      runs_inside: harness.runs_inside,
      onSandbox: (made, limits) => this.#held.adopt(made, limits),
    })
    if (this.#held.overfull) return this.#endOverfull(inbox)
    // What setting up does beside the sandbox dies of the signal as well.
    if ('failure' in prepared && this.#draining) return this.stop('shutdown')
    const spent = this.#gap ?? budget.spent()
    if (spent) return this.#giveUp(spent, inbox)
    if ('failure' in prepared && this.#interrupts.waits) return this.#obeyInSetup()
    if ('failure' in prepared) return this.#giveUp({ session: 'kept', ...prepared.failure }, inbox)
    const unenforced = refuseUnenforced(prepared.environment, harness.traits)
    if (unenforced) return this.#giveUp(unenforced, inbox)
    await this.#writer.drain()
    // What was said before the agent starts is part of what it starts with.
    if (run.undelivered > 0) {
      // Which files it holds is noted there.
      await this.#recordSandbox(prepared)
      await this.#deliver(inbox)
    }
    const skills = this.#debugs
      ? NO_SKILLS
      : await readRunSkills(run, prepared, this.#stopping.from('cancelled'))
    if ('failure' in skills) {
      await this.#recordSandbox(prepared)
      return this.#giveUp({ session: 'kept', ...skills.failure }, inbox)
    }
    if (prepared.environment && !this.#debugs)
      await this.#store.recordSkills(prepared.environment, skills.found)
    for (const event of describeDropped(skills.found)) await this.#emit(event)
    const model = await harness.resolveModel?.(await this.#store.readConfig(run))
    if (model && !model.has_price && budget.limits_cost) return this.#giveUp(unpriced(model.model_id), inbox)
    if (!this.#debugs) {
      this.#snapshots = this.#openSnapshots(prepared)
      await this.#store.start(resolvedOf(prepared, skills, harness, model?.model_id), prepared.unrecorded)
    }
    const session = await this.#openSession(run, { ...prepared, ...skills }, harness, budget)
    try {
      await this.#takeTurns(run, prepared, session, inbox, budget)
      if (this.#held.overfull && !this.#finished && !this.#stopping.is('cancelled'))
        await this.#endOverfull(inbox)
    } finally {
      await session.close().catch((error) => this.#warn(error, 'Closing a session failed.'))
    }
  }

  async #recordSandbox({ unrecorded }: Workspace): Promise<void> {
    if (unrecorded) await this.#store.recordSandbox(unrecorded)
  }

  #openSnapshots(workspace: Workspace): Snapshots | null {
    const sandbox = this.#held.made
    return (
      sandbox &&
      new Snapshots({
        ...{ context: this.#context, store: this.#store, gate: this.#held.gate, sandbox, workspace },
        emit: (event) => this.#emit(event),
        drain: () => this.#writer.drain(),
        signal: this.#stopping.from('shutdown'),
      })
    )
  }

  #openSession(
    run: RunRow,
    workspace: Workspace & RunSkills,
    harness: Harness,
    budget: Budget,
  ): Promise<Session> {
    return openSession(harness, run, workspace, {
      ...{ context: this.#context, store: this.#store, way_out: this.#way_out, writer: this.#writer },
      emit: (...events) => {
        budget.count(events)
        this.#worked ||= events.some((event) => event.type === 'tool.call')
        return this.#emit(...events)
      },
      affords: (used) => budget.affords(used),
      turn: () => this.#stopping.turn,
      signal: this.#stopping.from('overfull'),
    })
  }

  /** Obeys an interrupt of an attempt that was lost or handed back before it could. True when nothing is left to do. */
  async #obeyEarlier(run: RunRow): Promise<boolean> {
    if (run.interrupt_sequence === null) return false
    this.interrupt(run.interrupt_sequence)
    await this.#closeCalls()
    await this.#interrupts.acknowledge()
    return run.undelivered === 0 && (await this.#finish(INTERRUPTED))
  }

  /** An interrupt ended the setup. Where a message waits, the next attempt sets up anew: of this one's workspace nothing is known. */
  async #obeyInSetup(): Promise<void> {
    await this.#interrupts.acknowledge()
    if (await this.#finish(INTERRUPTED)) return
    this.#handover = { reason: 'The setup was interrupted and begins anew.', counted: false }
  }

  /** Turn after turn until the run has ended: a follow-up that arrives as one ends makes another. */
  async #takeTurns(
    run: RunRow,
    workspace: Workspace,
    session: Session,
    inbox: RunInbox,
    budget: Budget,
  ): Promise<void> {
    this.#inbox = inbox
    while (!this.#stopping.is('overfull')) {
      const history = await this.#store.readHistory()
      if (history.some(hasAttachments)) await inbox.writeAttachments()
      const request = { history, inbox, signal: this.#stopping.turn }
      this.#snapshots?.beginTurn()
      const outcome = await takeTurn(session, request, (error) => this.#warn(error, 'Steering failed.'))
      this.#snapshots?.endTurn()
      await this.#way_out.settle(workspace)
      await this.#writer.drain()
      if (this.#stopping.is('overfull')) return
      if (outcome === null && !this.#stopping.turn.aborted) continue
      const interrupted = this.#interrupts.waits
      if (interrupted) await this.#interrupts.acknowledge()
      const ending = this.#gap ?? budget.spent() ?? (interrupted || outcome === null ? INTERRUPTED : outcome)
      const failure = this.#worked ? await this.#keep(workspace, ending) : null
      const end = failure ?? (await this.#publish(run, workspace, ending, budget))
      // Stopped meanwhile: whoever goes on keeps what the turn made. An interrupt that was acknowledged is not told again, so
      // it ends the run here.
      if (this.#stopping.is('overfull') && !interrupted) return
      const turn_end = await this.#keepSnapshot()
      if (await this.#endTurn(end, turn_end, inbox)) return
      await this.#deliver(inbox)
      const spent = await this.#checkAnotherTurn(budget)
      if (spent) return this.#giveUp(spent, inbox)
    }
  }

  async #checkAnotherTurn(budget: Budget): Promise<Outcome | null> {
    await this.#checkBudget(budget)
    const spent = budget.spent()
    // One that was spent and was raised ended the last turn, and ends no other.
    if (!spent && !this.#interrupts.waits) this.#stopping.beginTurn()
    return spent
  }

  /** A follow-up may have raised it since it was read. */
  async #checkBudget(budget: Budget): Promise<void> {
    if (!budget.spent()) return
    budget.change((await this.#store.readRun())?.request.budget ?? {})
    if (budget.spent()) this.#stopping.stop('budget')
  }

  /** Keeps the workspace as the turn leaves it. One that holds too much is going to be removed. */
  async #keepSnapshot(): Promise<WorkspaceEnd | undefined> {
    const turn_end = this.#stopping.is('overfull') ? undefined : await this.#snapshots?.keepTurn(this.#worked)
    this.#worked = false
    return turn_end
  }

  /** Keeps what a turn made; returns how the run ends instead, where that cannot be had. */
  async #keep({ sandbox, commits }: Workspace, ending: Outcome): Promise<Outcome | null> {
    const signal = this.#stopping.from('overfull')
    const kept = await keepWork(this.#context, this.#store, sandbox, {
      commits,
      emit: (...events) => this.#emit(...events),
      masked: this.#writer.masked,
      signal,
      mayRetry: () => !signal.aborted && !this.#draining,
    })
    if (kept) return null
    await this.#emit({ type: 'error', data: NO_ARTIFACTS })
    return ending.state === 'SUCCEEDED' ? { state: 'ERROR', status_message: NO_ARTIFACTS } : null
  }

  /** Does with the changes of a run that succeeded what its environment says; returns how the run ends. */
  async #publish(run: RunRow, workspace: Workspace, ending: Outcome, budget: Budget): Promise<Outcome> {
    if (ending.state !== 'SUCCEEDED' || this.#debugs || this.#stopping.is('overfull')) return ending
    const request = await requestOnSuccess(workspace, run, () => this.#store.readHistory())
    if (!request) return ending
    const outcome = await this.#way_out.push(workspace, request, this.#stopping.turn)
    if (!this.#stopping.turn.aborted) return judgePush(outcome) ?? ending
    if (!this.#interrupts.waits) return budget.spent() ?? ending
    await this.#interrupts.acknowledge()
    return INTERRUPTED
  }

  /** True when the run has ended; false when follow-ups came meanwhile. */
  async #finish(outcome: ExecutionEnd, turn_end?: WorkspaceEnd): Promise<boolean> {
    await this.#writer.drain()
    const end = this.#debugs && outcome === INTERRUPTED ? DEBUG_INTERRUPTED : outcome
    this.#finished = await this.#store.finish(this.#gap ?? this.#writer.masked.outcome(end), turn_end)
    return this.#finished
  }

  /** As `finish`. A run whose log has a gap goes no further, whatever came meanwhile: a call may have no result there. */
  async #endTurn(outcome: Outcome, turn_end: WorkspaceEnd | undefined, inbox: RunInbox): Promise<boolean> {
    if (!this.#gap) return await this.#finish(outcome, turn_end)
    if (turn_end) await this.#store.recordTurnEnd(turn_end)
    await this.#giveUp(this.#gap, inbox)
    return true
  }

  /** Ends the run without its agent. Messages that wait are put into the log first: nothing accepted is lost. */
  async #giveUp(ending: ExecutionEnd, inbox: RunInbox): Promise<void> {
    await this.#closeCalls()
    do await this.#deliver(inbox)
    while (!(await this.#finish(ending)))
  }

  /** Of this attempt or of one that was lost: no harness is there to do it. */
  async #closeCalls(): Promise<void> {
    await this.#writer.drain()
    await this.#emit(...closeOpenCalls(await this.#store.readHistory(), RUN_STOPPED))
  }

  async #endOverfull(inbox: RunInbox): Promise<void> {
    const ending = this.#held.overfull
    // ERROR is not the run's doing: the disk is full, and this run had most of it.
    if (!ending || (ending.state === 'ERROR' && (await this.#leaveToOthers()))) return
    await this.#giveUp({ ...ending, session: 'gone' }, inbox)
  }

  /** Delivers all that waits. An interrupt that waits with it comes first. */
  async #deliver(inbox: RunInbox): Promise<void> {
    do {
      await this.#interrupts.acknowledge()
      await inbox.take()
    } while (this.#interrupts.waits)
  }

  /** A fault of ours: the run says so, with what can be said to its caller. */
  async #fail(error: unknown): Promise<void> {
    const { log } = this.#context
    log.error({ err: error, ...this.#store.lease }, 'The execution failed.')
    const status_message = describeFault(error)
    try {
      // Killing what ran may have been what failed.
      if (this.#held.overfull) return await this.#endOverfull(this.#openInbox(0))
      if (!(await this.#context.disk.hasRoom()) && (await this.#leaveToOthers())) return
      await this.#emit({ type: 'error', data: status_message })
      await this.#giveUp({ state: 'ERROR', status_message }, this.#openInbox(0))
    } catch (again) {
      if (!(again instanceof LeaseLost))
        log.error({ err: again, ...this.#store.lease }, 'The fault could not be recorded.')
    }
  }

  /** A full disk here is no reason to end what another worker can do. True: the run is handed back. */
  async #leaveToOthers(): Promise<boolean> {
    const others = await this.#store.hasOtherWorker(this.#context.settings.pool)
    if (!others) return false
    this.#handover = { reason: 'The disk of the worker is full.', counted: true }
    this.#hooks.onDiskFull()
    return true
  }

  /** The processes are stopped first: a released run may start elsewhere at once. */
  async #release(): Promise<void> {
    const used = this.#held.made
    const lost = this.#stopping.from('lost')
    // No command of a sandbox begins without its way out, and packing is one.
    const goes_on = this.#stopping.is('shutdown')
    const keeps = this.#worked && !goes_on && !this.#held.overfull
    if (!keeps) this.#way_out.close()
    this.#snapshots?.endTurn()
    if (used) {
      await stopProcesses(used, this.#context, lost)
      this.packing = keeps && this.#stopping.is('cancelled')
      if (this.packing) this.#hooks.onPacking()
      // What a turn did that was cut short.
      if (keeps) await this.#keepCutTurn().catch((error) => this.#warn(error, 'The workspace was not kept.'))
      if (!goes_on) await this.#snapshots?.removeOlder()
      await this.#held.giveBack()
    }
    if (keeps) this.#way_out.close()
    if (lost.aborted) return
    await this.#writer.drain().catch((error) => this.#warn(error, 'The last events could not be stored.'))
    const handover = this.#stopping.is('shutdown') ? { reason: STOPPING, counted: false } : this.#handover
    await letGo(this.#context, this.#store, handover)
  }

  async #keepCutTurn(): Promise<void> {
    const turn_end = await this.#snapshots?.keepTurn(true)
    if (turn_end) await this.#store.recordTurnEnd(turn_end)
  }

  #openInbox(since: number): RunInbox {
    return createInbox(this.#store, {
      since,
      onDelivered: () => this.#touch(),
      onInterrupt: (sequence) => this.interrupt(sequence),
      onBoundary: async () => {
        // A run over its limit has no workspace to go on in: it ends here and now.
        if (!this.#draining || this.#held.overfull) return
        // Whoever goes on may be elsewhere.
        if (this.#worked) await this.#snapshots?.keep(true)
        this.stop('shutdown')
      },
      sandbox: () => this.#held.made,
      blobs: this.#context.plane.blobs,
    })
  }

  #emit(...events: NewEvent[]): Promise<void> {
    // What models have used by then is paid for, whoever goes on.
    const stays = events.every(({ type }) => type === 'usage') && !this.#stopping.is('lost')
    if (this.#stopping.is('shutdown') && !stays) return Promise.reject(new LeaseLost())
    return this.#writer.emit(...events)
  }

  #warn(error: unknown, message: string): void {
    this.#context.log.warn({ err: error, ...this.#store.lease }, message)
  }

  #touch(): void {
    this.#store.touch()
  }
}
