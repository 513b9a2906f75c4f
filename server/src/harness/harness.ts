import type { AmbientAgentConfig } from '../contract/agent-config.ts'
import type { NewEvent, RunEvent } from '../contract/event.ts'
import type { RunState, RunStatusMessage } from '../contract/state.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'

/** How a turn ended. Expected ends are data; a harness throws only for faults of the service. */
export interface Outcome {
  state: Extract<RunState, 'SUCCEEDED' | 'FAILED' | 'ERROR' | 'BLOCKED'>
  status_message?: RunStatusMessage
  /** The structured result, when the run has an `output_schema`. */
  result?: unknown
}

/** The parts of a run that a harness may know. */
export interface TurnRun {
  run_id: string
  attempt: number
  config: AmbientAgentConfig
  output_schema?: Record<string, unknown>
  /** Where the agent starts: the repository when there is exactly one, else `/workspace`. */
  cwd: string
}

/**
 * Follow-ups on their way to the agent. `take` delivers everything that waits: each message is marked delivered and
 * appended to the log as `message.user` in one transaction, then returned once, in order. Call it only where the agent
 * can take a user message: never between a tool call and its result.
 */
export interface Inbox {
  take(): Promise<Array<Extract<RunEvent, { type: 'message.user' }>>>
}

export interface Emitter {
  /**
   * Appends events to the log, in order. Resolves when they are committed; rejects with the lease's loss, after which
   * the turn is over. Output may be left unawaited; await whatever must be stored before an effect (a tool call before
   * its execution).
   */
  emit(...events: NewEvent[]): Promise<void>
  /** Streams assistant text that is not complete yet. The later `message.assistant` with the same id replaces it. */
  delta(message_id: string, text: string): void
}

export interface Turn extends Emitter {
  run: TurnRun
  /**
   * What the conversation held when the run was created: events of other runs, oldest first, closed. It is to be known, never
   * to be acted on.
   */
  context: readonly NewEvent[]
  /**
   * The run's own durable events so far, oldest first, earlier executions and attempts included; of what a command printed, the
   * end. It alone decides what is left to do: the run's prompt is its first `message.user`.
   */
  history: readonly RunEvent[]
  inbox: Inbox
  sandbox: Sandbox
  /**
   * Aborted when the turn must stop: cancelled, interrupted, lease lost or worker stopping. The harness kills what it
   * runs, closes open tool calls with an error result where it still can, and returns; its outcome is then ignored.
   */
  signal: AbortSignal
}

/** Turns prompts into actions. Keeps no state outside the event log and the workspace, so any worker can go on. */
export interface Harness {
  readonly name: string
  run(turn: Turn): Promise<Outcome>
}
