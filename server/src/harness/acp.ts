import { RequestError } from '@agentclientprotocol/sdk'
import type { EventData, NewEvent } from '../contract/event.ts'
import { isRecord } from '../contract/storable-text.ts'
import { closeOpenCalls, TURN_STOPPED, WORKER_LOST } from '../log/interruption.ts'
import { type AcpAgent, traitsOf } from './acp-agents.ts'
import { AgentConnection, AgentGone, OddAnswer } from './acp-connection.ts'
import {
  describeError,
  describeGone,
  describeOdd,
  describeSilence,
  describeStop,
  refuse,
  refuseServers,
} from './acp-endings.ts'
import { AcpLog } from './acp-log.ts'
import { type ChosenModel, chooseModel, findMissingKey, modelEnv, nameModel } from './acp-model.ts'
import type { PermissionAnswer } from './acp-permissions.ts'
import { findWork, introduce, type Work, writeBlocks } from './acp-prompt.ts'
import { ProviderWatch } from './acp-provider.ts'
import { describeFault, MAX_CORRECTIONS, readResult } from './acp-result.ts'
import { handOn } from './acp-servers.ts'
import { AGENT_SILENCE_SECONDS, SilenceWatch } from './acp-silence.ts'
import { requestApproval, WAITS, waitForApproval } from './approvals.ts'
import { CallGate } from './call-gate.ts'
import {
  type Execution,
  type Harness,
  NO_RESULT,
  type Outcome,
  type Session,
  STOPPED_TURN,
  type TurnRequest,
  type UserMessage,
} from './harness.ts'
import type { Models } from './models.ts'
import { RETRY_FOR_MS, type RetryOptions } from './retries.ts'

/** From the cancelling of a turn to its end; what takes longer is killed. */
const CANCEL_MS = 1_500

/** What is kept of a run: the agent's session, and the sequence up to which messages were answered. */
interface Kept {
  session_id: string | null
  done: number
}

export interface AcpOptions extends Pick<RetryOptions, 'retry_for_ms'> {
  /** For so long an agent may do nothing that can be seen in the middle of a turn; `0`: for ever. */
  silence_ms: number
}

/**
 * A harness for an agent that is a program of its own and runs in the sandbox. It keeps its conversation itself, in its home
 * directory; the log is what decides what is left to do, and what it is told where its own record is gone.
 */
export function createAcp(
  agent: AcpAgent,
  models: Models,
  { retry_for_ms = RETRY_FOR_MS, silence_ms = AGENT_SILENCE_SECONDS * 1_000 }: Partial<AcpOptions> = {},
): Harness {
  return {
    traits: traitsOf(agent),
    runs_inside: true,
    async resolveModel(config) {
      const chosen = await chooseModel(agent, models, config)
      if (!chosen || 'reason' in chosen) return undefined
      const model_id = nameModel(chosen)
      if (model_id === undefined) return undefined
      const resolved = await models.resolve(model_id)
      return { model_id, has_price: 'model_id' in resolved && resolved.prices !== undefined }
    },
    async open(execution) {
      const chosen = await chooseModel(agent, models, execution.run.config)
      if (chosen && 'reason' in chosen) return endAtOnce(refuse(chosen.reason))
      const session = new AcpSession({ agent, models, retry_for_ms, silence_ms }, chosen, execution)
      await session.start()
      return session.steers
        ? session
        : { turn: (request) => session.turn(request), close: () => session.close() }
    },
  }
}

const endAtOnce = (outcome: Outcome): Session => ({ turn: async () => outcome, close: async () => {} })

class AcpSession implements Session {
  readonly #agent: AcpAgent
  readonly #models: Models
  readonly #retry_for_ms: number
  readonly #silence_ms: number
  readonly #chosen: ChosenModel
  readonly #execution: Execution
  #connection: AgentConnection | null = null
  /** Why there is no agent. */
  #failure: Outcome | null = null
  #kept: Kept
  /** Messages that came during a turn and were not taken into its prompt. */
  #queued: UserMessage[] = []
  /** Up to which message the prompt under way took what came. */
  #steered = 0
  /** A turn is under way, which still looks at what is queued. */
  #turning = false
  #prompting = false
  readonly #gate: CallGate
  /** What the log held when the turn began. */
  #before: NewEvent[] = []
  /** What the agent said last in this turn. */
  #said = ''
  /** The call that somebody has to allow; the turn is ending with that question. */
  #question: EventData<'approval.requested'> | null = null

  constructor(
    { agent, models, retry_for_ms, silence_ms }: { agent: AcpAgent; models: Models } & AcpOptions,
    chosen: ChosenModel,
    execution: Execution,
  ) {
    this.#agent = agent
    this.#models = models
    this.#retry_for_ms = retry_for_ms
    this.#silence_ms = silence_ms
    this.#chosen = chosen
    this.#execution = execution
    this.#gate = new CallGate(execution)
    this.#kept = readKept(execution.state.read())
  }

  get steers(): boolean {
    return this.#connection?.steers ?? false
  }

  /** Starts the agent. What fails is told by the next turn. */
  async start(): Promise<void> {
    const { sandbox, run, signal, models } = this.#execution
    const connection = new AgentConnection(sandbox, {
      command: this.#agent.command,
      env: { ...this.#agent.env, ...modelEnv(this.#agent, this.#chosen, models) },
      cwd: run.cwd,
      signal,
    })
    this.#connection = connection
    this.#failure = null
    try {
      await connection.initialize()
    } catch (error) {
      this.#failure = this.#describe(error)
      await this.#drop()
    }
  }

  async turn(request: TurnRequest): Promise<Outcome> {
    this.#question = null
    this.#said = ''
    // What came to an earlier turn and was not answered is in the history.
    this.#queued = []
    this.#turning = true
    try {
      return await this.#takeTurn(request)
    } finally {
      this.#turning = false
    }
  }

  async #takeTurn(request: TurnRequest): Promise<Outcome> {
    const { history, signal } = request
    const lost = closeOpenCalls(history, WORKER_LOST)
    this.#before = [...history, ...lost]
    await this.#emitAll(lost)
    if (signal.aborted) return STOPPED_TURN
    if (!this.#connection || this.#connection.closed) await this.start()
    for (let work = findWork(history, this.#kept.done); ; work = findWork([], this.#kept.done)) {
      const outcome = await this.#work(work, request)
      // The workspace is kept from here on.
      await this.#removeCredentials()
      // A message that came at the very end, which the prompt did not take any more.
      if (outcome.state !== 'SUCCEEDED' || this.#queued.length === 0) return outcome
    }
  }

  async #work(work: Work, request: TurnRequest): Promise<Outcome> {
    const { signal } = request
    const { output_schema, run_id } = this.#execution.run
    let corrections = 0
    for (;;) {
      if (signal.aborted) return STOPPED_TURN
      if (this.#failure) return this.#failure
      if (!this.steers) work.messages.push(...(await request.inbox.take()))
      work.messages.push(...this.#queued.splice(0))
      if (signal.aborted) return STOPPED_TURN
      if (work.messages.length === 0) {
        if (!output_schema) return { state: 'SUCCEEDED' }
        const read = await readResult(output_schema, this.#said, run_id)
        if ('result' in read) return { state: 'SUCCEEDED', result: read.result }
        if (corrections === MAX_CORRECTIONS) return NO_RESULT
        corrections += 1
        work.notes.push(describeFault(output_schema, read.wrong))
      }
      this.#steered = 0
      const outcome = await this.#answer(work, request)
      if (outcome) return outcome
      const done = this.#findDone(work)
      await this.#keep({ done: Math.max(this.#kept.done, done) })
      Object.assign(work, { messages: [], partial: [], notes: [] })
    }
  }

  /** Up to which message all were answered: what the prompt took on its way counts, unless an earlier message still waits. */
  #findDone(work: Work): number {
    const waits = this.#queued[0]?.sequence ?? Number.POSITIVE_INFINITY
    return Math.min(Math.max(work.messages.at(-1)?.sequence ?? 0, this.#steered), waits - 1)
  }

  async steer(message: UserMessage): Promise<boolean> {
    const connection = this.#connection
    if (connection && this.#prompting) {
      const blocks = await writeBlocks(this.#execution, [message], connection.capabilities.promptCapabilities)
      if (this.#prompting && (await connection.steer(blocks))) {
        this.#steered = message.sequence
        return true
      }
    }
    if (!this.#turning) return false
    this.#queued.push(message)
    return true
  }

  async close(): Promise<void> {
    await this.#connection?.close()
  }

  /** A key that is worth nothing any more is no less a key to whoever finds it in a workspace that was kept. */
  async #removeCredentials(): Promise<void> {
    const { sandbox, signal } = this.#execution
    const { home } = sandbox
    if (!home || signal.aborted) return
    for (const file of this.#agent.credentials ?? [])
      await sandbox.deleteFile(`${home}/${file}`).catch(() => {})
  }

  /** `null`: the agent has come to the end of its turn. */
  async #answer(work: Work, request: TurnRequest): Promise<Outcome | null> {
    const connection = this.#connection
    if (!connection) return this.#failure ?? STOPPED_TURN
    const { signal } = request
    const taken = [...this.#execution.context, ...request.history].flatMap((event) =>
      event.type === 'tool.call' ? [event.data.tool_call_id] : [],
    )
    const log = new AcpLog(this.#execution, taken, () => void connection.kill())
    const stopping = this.#stopOn(signal, connection, log)
    const provider = new ProviderWatch({
      ...{ calls: this.#execution.model_calls, provider: this.#chosen?.provider, models: this.#models },
      retry_for_ms: this.#retry_for_ms,
      // The loss of the lease is met by whatever is stored next.
      emit: (event) => void this.#execution.emit(event).catch(() => {}),
      onGivenUp: () => stopping.stop(TURN_STOPPED),
    })
    let silence: SilenceWatch | undefined
    try {
      const fresh = await this.#openSession(connection)
      if (fresh && typeof fresh === 'object') return fresh
      if (signal.aborted) return STOPPED_TURN
      const told = introduce(this.#execution, work, fresh)
      const { promptCapabilities } = connection.capabilities
      const blocks = [
        ...told.map((text) => ({ type: 'text' as const, text })),
        ...(await writeBlocks(this.#execution, work.messages, promptCapabilities)),
      ]
      silence = this.#watchSilence(log, stopping.stop)
      connection.listen({
        onSign: () => silence?.hear(),
        onUpdate: (update) => log.add(update),
        onPermission: (call) => this.#permit(call, signal, log, stopping.stop),
        ready: () => log.ready(),
      })
      this.#prompting = true
      const { stopReason } = await connection.prompt(blocks)
      this.#prompting = false
      connection.listen(null)
      const is_stopped = provider.gave_up || silence.is_over
      await log.end(this.#closing(signal, is_stopped ? TURN_STOPPED : null))
      this.#said = log.said
      if (signal.aborted) return STOPPED_TURN
      if (this.#question) return waitForApproval(this.#question)
      // Some say in words what their provider refused, and call their turn done.
      return (await this.#findCause(provider, silence, false)) ?? describeStop(this.#agent, stopReason)
    } catch (error) {
      this.#prompting = false
      connection.listen(null)
      // The loss of the lease comes first: it is why the agent was killed.
      await log.end(this.#closing(signal, WORKER_LOST))
      if (error instanceof AgentGone) await this.#drop()
      if (signal.aborted) return STOPPED_TURN
      if (this.#question) return waitForApproval(this.#question)
      return (
        (await this.#findCause(provider, silence, error instanceof RequestError)) ?? this.#describe(error)
      )
    } finally {
      provider.close()
      silence?.close()
      stopping.close()
    }
  }

  #watchSilence(log: AcpLog, stop: (closing: string) => void): SilenceWatch {
    return new SilenceWatch({
      ...{ silence_ms: this.#silence_ms, calls: this.#execution.model_calls },
      // A question that waits for somebody has ended the turn.
      isBusy: () => log.is_calling || this.#question !== null,
      onSilent: () => stop(TURN_STOPPED),
    })
  }

  /** Why the turn ended, where the agent is not the one to say. */
  async #findCause(
    provider: ProviderWatch,
    silence: SilenceWatch | undefined,
    reported: boolean,
  ): Promise<Outcome | null> {
    const cause = await provider.outcome(reported)
    return cause ?? (silence?.is_over ? describeSilence(this.#agent, this.#silence_ms) : null)
  }

  /** True: the session is a new one. An outcome: there can be none. */
  async #openSession(connection: AgentConnection): Promise<boolean | Outcome> {
    if (connection.session_id !== null) return false
    const { run, tool_servers = [] } = this.#execution
    const servers = handOn(tool_servers, connection.capabilities.mcpCapabilities)
    if ('refused' in servers) return refuseServers(this.#agent, servers.refused)
    const { session_id } = this.#kept
    const resumed = session_id !== null && (await connection.resume(session_id, run.cwd, servers))
    if (!resumed) {
      await connection.open(run.cwd, servers)
      await this.#keep({ session_id: connection.session_id })
    }
    if (this.#agent.mode !== undefined) await connection.setMode(this.#agent.mode)
    return !resumed
  }

  /** Has the agent stop when the turn is to; one that does not is killed. */
  #stopOn(
    signal: AbortSignal,
    connection: AgentConnection,
    log: AcpLog,
  ): { stop: (closing: string) => void; close(): void } {
    let timer: NodeJS.Timeout | undefined
    let over = false
    const stop = (closing: string) => {
      // A late word of this turn must not end the next one.
      if (over) return
      log.stop(closing)
      if (this.#execution.signal.aborted || !this.#prompting) return void connection.kill()
      void connection.cancel()
      timer ??= setTimeout(() => void connection.kill(), CANCEL_MS)
    }
    const onAbort = () => stop(TURN_STOPPED)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    return {
      stop,
      close() {
        over = true
        clearTimeout(timer)
        signal.removeEventListener('abort', onAbort)
      },
    }
  }

  #closing(signal: AbortSignal, otherwise: string | null): string | null {
    if (signal.aborted) return TURN_STOPPED
    return this.#question ? WAITS : otherwise
  }

  /** Calls that the permissions say nothing about may be made: the sandbox is what limits them. */
  async #permit(
    told: unknown,
    signal: AbortSignal,
    log: AcpLog,
    stop: (closing: string) => void,
  ): Promise<PermissionAnswer> {
    const call = await log.announce(told)
    if (this.#question || signal.aborted) return 'stop'
    if (!call) return 'deny'
    const verdict = this.#gate.judge(this.#before, call, call.names)
    if (verdict.action !== 'ask') return verdict.action
    this.#question = requestApproval(call, verdict.rule, call.is_late ? call.input : undefined)
    await this.#execution.emit({ type: 'approval.requested', data: this.#question })
    stop(WAITS)
    return 'stop'
  }

  async #drop(): Promise<void> {
    const connection = this.#connection
    this.#connection = null
    await connection?.kill()
  }

  #describe(error: unknown): Outcome {
    const { mask } = this.#execution
    if (error instanceof AgentGone) return describeGone(this.#agent, error, mask)
    if (error instanceof OddAnswer) return describeOdd(this.#agent, error)
    if (error instanceof RequestError) {
      const missing_key = findMissingKey(this.#chosen, this.#execution)
      return describeError(this.#agent, error, missing_key, mask)
    }
    throw error
  }

  async #keep(change: Partial<Kept>): Promise<void> {
    this.#kept = { ...this.#kept, ...change }
    await this.#execution.state.write({ ...this.#kept })
  }

  async #emitAll(events: Parameters<Execution['emit']>): Promise<void> {
    if (events.length > 0) await this.#execution.emit(...events)
  }
}

function readKept(state: unknown): Kept {
  const { session_id, done } = isRecord(state) ? state : {}
  return {
    session_id: typeof session_id === 'string' ? session_id : null,
    done: typeof done === 'number' ? done : 0,
  }
}
