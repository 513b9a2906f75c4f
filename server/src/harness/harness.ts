import type { AmbientAgentConfig } from '../contract/agent-config.ts'
import type { EventData, NewEvent, RunEvent } from '../contract/event.ts'
import type { HarnessTraits } from '../contract/harness-fields.ts'
import type { PermissionRule } from '../contract/permission.ts'
import type { RunState, RunStatusMessage } from '../contract/state.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { BackgroundCommands } from './background-commands.ts'
import type { MaskStream, MaskText } from './cut-text.ts'
import type { ToolServices } from './tool-services.ts'

/** How a turn ended. Expected ends are data; a harness throws only for faults of the service. */
export interface Outcome {
  state: Extract<RunState, 'SUCCEEDED' | 'FAILED' | 'ERROR' | 'BLOCKED'>
  status_message?: RunStatusMessage
  /** The structured result, when the run has an `output_schema`. */
  result?: unknown
}

/** How a turn ends that its signal cut short; what the run ends with is not its to say. */
export const STOPPED_TURN: Outcome = { state: 'ERROR', status_message: { message: 'The turn was stopped.' } }

/** How a run ends whose agent never handed in what was asked for. */
export const NO_RESULT: Outcome = {
  state: 'FAILED',
  status_message: {
    message: 'The agent ended without a result that fits output_schema. A follow-up can say what is missing.',
    retryable: false,
  },
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
 * can take a user message: never between a tool call and its result. While an interrupt waits it delivers nothing: the
 * turn's signal fires instead.
 */
export interface Inbox {
  take(): Promise<UserMessage[]>
  /** Resolves when something may wait: a hint for an agent that is not at a step boundary soon. `take` begins the next wait. */
  waiting(): Promise<void>
}
export type UserMessage = Extract<RunEvent, { type: 'message.user' }>

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

/** Something the agent can do. Its input comes from a model and is checked before each run. */
export interface Tool {
  readonly name: string
  readonly description: string
  /** A JSON Schema. */
  readonly input_schema: Record<string, unknown>
  /** It is offered only where the execution has this. */
  readonly needs?: keyof ToolServices
  /** A call that was cut off by the loss of its worker may be made again as it is: it does nothing twice. */
  readonly repeatable?: boolean
  /** A short line for people; absent when the input is not valid. */
  title(input: unknown, mask: MaskText): string | undefined
  /** How the turn ends once a call has gone well, made of its input alone; absent, or `null`, where the turn goes on. */
  ends?(input: unknown): Outcome | null
  /** Everything the model can do wrong is an error outcome it can learn from; throws only on faults. */
  run(input: unknown, context: ToolContext): Promise<ToolOutcome>
}

export interface ToolContext {
  turn: Turn
  /** Of the session. */
  background: BackgroundCommands
  tool_call_id: string
}

/** How a call ended. `output` is what the model is told, short enough for it. */
export interface ToolOutcome {
  output: string
  is_error: boolean
  exit_code?: number | null
  truncated_bytes?: number
}

/** What a harness keeps of a run across its sessions, wherever they are opened: an agent's session id, what it acknowledged. */
export interface HarnessState {
  /** What was written last, by whichever attempt; `null` at first. */
  read(): Record<string, unknown> | null
  /** Replaces it, fenced: rejects with the lease's loss. Keep it small. */
  write(state: Record<string, unknown>): Promise<void>
}

/** A server of tools that the run brings along (MCP). Its values are in clear. */
export interface ToolServer {
  name: string
  /** The run fails without it. */
  required: boolean
  /** For one call. */
  timeout_ms: number
  launch:
    | { type: 'command'; command: string; args: string[]; env: Record<string, string> }
    /** `fetch` goes by the run's network policy, and to this server alone. */
    | { type: 'url'; url: string; headers: Record<string, string>; fetch: typeof fetch }
    /** It cannot be had. */
    | { type: 'refused'; why: string }
}

export interface StartedSkill {
  name: string
  /** With the caller's arguments filled in. */
  text: string
  /** Where its folder is in the sandbox, and its other files below that. */
  directory: string
  files: readonly string[]
}

/** Skills of the run's repositories, as they were cloned. */
export interface SkillBook {
  list: ReadonlyArray<{ id: string; name: string; description: string }>
  /** By id or name; with `file`, one of its files. `refusal`: why there is none, for the agent. */
  read(
    skill: string,
    file?: string,
  ): Promise<{ text: string; files: readonly string[]; directory: string } | { refusal: string }>
}

/** An AGENTS.md or CLAUDE.md: a stranger's words. */
export interface Guide {
  /** Of the repository. */
  directory: string
  path: string
  text: string
}

/**
 * How what a harness starts in the sandbox calls models: by the gateway, which alone has the keys. The token is the attempt's
 * and worth nothing elsewhere. OpenAI's address has the version in it, as its clients want.
 */
export interface ModelGate {
  token: string
  /** Of the providers that there are, by their names. */
  base_urls: Readonly<Record<string, string>>
}

/** What becomes of a call of a model that goes by the gateway, by the call's `id`; `given_up`: by whoever made it. */
export type ModelCall = { id: string; provider: string } & ModelCallState
export type ModelCallState =
  | { state: 'began' | 'answered' | 'given_up' }
  | { state: 'failed'; failure: ModelCallFailure }

export type ModelCallFailure =
  | { type: 'refused'; status: number; headers: Record<string, string>; body: string }
  | { type: 'silent'; silent_ms: number }
  | { type: 'unreachable'; message: string; code?: string }
  | { type: 'broken_off'; body?: string }
  | { type: 'unreadable'; status: number; content_type: string; is_empty: boolean }

/** All calls of models from the sandbox: those of the agent, and those of its commands. */
export interface ModelCalls {
  /** Until the function that it returns is called. */
  listen(listener: (call: ModelCall) => void): () => void
  /** Resolves when the listeners were told of all that has ended so far. Never throws. */
  settle(): Promise<void>
}

/** What a step has used, as far as is known before it ends. */
export type UsedSoFar = Pick<EventData<'usage'>, 'output_tokens' | 'inference_cost_usd'> &
  Partial<Pick<EventData<'usage'>, 'input_tokens'>>

/** What a session is opened with: the time for which one worker holds the run. */
export interface Execution extends Emitter, ToolServices {
  run: TurnRun
  /**
   * What the conversation held when the run was created: events of other runs, oldest first, closed. It is to be known, never
   * to be acted on.
   */
  context: readonly NewEvent[]
  sandbox: Sandbox
  /** By name. */
  tools: ReadonlyMap<string, Tool>
  /** Servers of more tools. Whoever starts them closes them with the session. */
  tool_servers?: readonly ToolServer[]
  /** Secrets and variables in clear, by name: for what the harness starts, never for the log. */
  values: Readonly<Record<string, string>>
  /** Rules of what the agent may do, in sets: in each the first that fits decides, and of all the strictest. */
  permissions?: ReadonlyArray<readonly PermissionRule[]>
  /** Hides those values as the log does. What is cut for the log is masked first, since the log finds whole values alone. */
  mask: MaskText
  /** The same for a text that comes in pieces. */
  maskStream: () => MaskStream
  /** The skill that the run was started with: the base of its prompt. */
  skill?: StartedSkill
  /** More of them, that were asked for with it. */
  attached_skills?: readonly StartedSkill[]
  /** All others of its repositories. */
  skills?: SkillBook
  /** What its repositories say to every agent. */
  guides?: readonly Guide[]
  /** What the service says of the workspace, in sentences: every agent is told it, whatever it reads itself. */
  workspace_notes?: readonly string[]
  /** Where the harness `runs_inside` and there is a way to them. */
  models?: ModelGate
  model_calls?: ModelCalls
  /** Whether the run's budget bears this besides the `usage` that was emitted; absent: it is not asked. */
  affords?: (used: UsedSoFar) => boolean
  state: HarnessState
  /** Aborted when the worker gives the run up: nothing of the session may go on. */
  signal: AbortSignal
}

export interface TurnRequest {
  /**
   * The run's own durable events so far, oldest first, earlier executions and attempts included; of what a command printed, the
   * end. It alone decides what is left to do: the run's prompt is its first `message.user`.
   */
  history: readonly RunEvent[]
  inbox: Inbox
  /**
   * Aborted when the turn must stop: cancelled, interrupted, budget spent, lease lost or worker stopping. The harness kills
   * what it runs for the turn, closes open tool calls with an error result where it still can, and returns; its outcome is
   * then ignored.
   */
  signal: AbortSignal
}

/** The execution and the request of one turn, together. */
export interface Turn
  extends Omit<
      Execution,
      | 'signal'
      | 'tool_servers'
      | 'attached_skills'
      | 'skills'
      | 'guides'
      | 'workspace_notes'
      | 'models'
      | 'model_calls'
    >,
    TurnRequest {
  /** What the agent is told besides, by who started it. */
  notes?: string
}

export const turnOf = (execution: Execution, { history, inbox, signal }: TurnRequest): Turn => {
  const { run, context, sandbox, tools, values, permissions, mask, maskStream, skill, state } = execution
  const { push, keeper, fetchPage, children } = execution
  return {
    run,
    context,
    sandbox,
    tools,
    values,
    mask,
    maskStream,
    ...(skill === undefined ? {} : { skill }),
    ...(execution.affords ? { affords: execution.affords } : {}),
    ...(permissions ? { permissions } : {}),
    ...(push ? { push } : {}),
    ...(keeper ? { keeper } : {}),
    ...(fetchPage ? { fetchPage } : {}),
    ...(children ? { children } : {}),
    state,
    emit: (...events) => execution.emit(...events),
    delta: (message_id, text) => execution.delta(message_id, text),
    history,
    inbox,
    signal,
  }
}

/** The agent of one run at one worker. Its processes and tool servers may stay up from turn to turn. */
export interface Session {
  /** One at a time. The history alone says what is left to do. */
  turn(request: TurnRequest): Promise<Outcome>
  /**
   * Hands the agent a message in the middle of its turn, which then lasts until that is dealt with as well. Where it is
   * there, the worker delivers what comes during a turn at once, and by it alone; else the harness takes messages from the
   * inbox between two steps. False: the turn is over and has not taken it, so the next one is to find it in the log.
   */
  steer?(message: UserMessage): Promise<boolean>
  /** Ends what the session started. Called once, after the last turn, whatever came of it. */
  close(): Promise<void>
}

/** Turns prompts into actions. Keeps nothing outside the log, the workspace and its `state`, so any worker can go on. */
export interface Harness {
  readonly traits: HarnessTraits
  /** Its agent is a program in the sandbox: it calls models from there, starts tool servers itself, and needs memory for it all. */
  readonly runs_inside?: true
  /** The model that a run of this config is answered by; absent where there is none, or none can be chosen. */
  resolveModel?(config: AmbientAgentConfig): Promise<{ model_id: string; has_price: boolean } | undefined>
  open(execution: Execution): Promise<Session>
}
