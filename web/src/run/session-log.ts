import type { MessageDelta, RunEvent, RunItem, RunState, RunStreamEvent } from '@runyard/client'
import { plainText } from '../text/plain-text.ts'
import { TerminalText } from '../text/terminal-text.ts'
import type { DataOf, Entry, ToolCall } from './entry.ts'
import { entryOf, keyOf } from './event-entry.ts'
import { type PlanStep, readSteps } from './plan-steps.ts'

const ENDED: readonly string[] = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED']
const RESTING: readonly string[] = [...ENDED, 'BLOCKED']

type Handler<T extends RunEvent['type']> = (data: DataOf<T>, event: RunEvent) => void
type Handlers = { [T in RunEvent['type']]?: Handler<T> }

/** What the log says of the run so far. A value: the next one is another object. */
export interface SessionView {
  /** Those of the log, then messages on their way, then follow-ups that wait. */
  entries: readonly Entry[]
  state: RunState
  status: DataOf<'run.state'>['status_message']
  /** The last event; 0 before the first. */
  sequence: number
  tokens: number
  cost_usd: number
  model_id: string | undefined
  worked_ms: number
  /** Since when a worker is at it; 0: none is. */
  working_since: number
  /** Claims beyond the one that each execution takes: workers were lost. */
  lost_attempts: number
  /** A debug turn is under way: the run is over, and an agent works in its sandbox. */
  is_debugged: boolean
  /** The title of the call that runs. */
  running_tool: string | undefined
  /** The model provider failed, and is going to be asked again. */
  is_retrying: boolean
  /** The agent's plan as it is now. */
  plan: readonly PlanStep[] | undefined
  /** The entry that says how the run ended, or what it waits for. */
  end_key: string | undefined
  /** The page was opened before that end, so its reader has seen what came before it. */
  is_end_live: boolean
  /** Grows with everything that changes the run's artifacts, changes, children or configuration. */
  milestones: number
  /** Events that happened while it is followed, rather than before. */
  live_events: number
  /** What is worth saying aloud. */
  news: string
}

/** A question is shown where the run stops for it. */
const isShown = (entry: Entry): boolean =>
  entry.kind !== 'tool' || entry.name !== 'ask_user' || entry.status === 'failed'

/**
 * The fold of a run's events. Entries stand in the order of the log; messages on their way and follow-ups that wait stand behind
 * it, and move into it with the event that makes them part of it: a page that was open all the time looks like one that is
 * opened later.
 */
export class SessionLog {
  readonly #entries: Entry[] = []
  readonly #drafts = new Map<string, Entry & { kind: 'said' }>()
  readonly #waiting = new Map<string, Entry>()
  /** Where a call, a setup or a question stands in `#entries`. */
  readonly #places = new Map<string, number>()
  readonly #running = new Set<string>()
  /** Calls whose ends are the newest events. */
  readonly #just_failed = new Set<string>()
  readonly #creator: string
  readonly #opened: Pick<RunItem, 'state' | 'execution'>
  readonly #opened_at: number
  #setup: string | undefined
  #debug_turns = 0
  #claimed_at = 0
  #execution_ms = 0
  #view: Omit<SessionView, 'entries' | 'running_tool'>

  /** `creator`: the name of who asked for the run. `opened`: the run as it was then. `opened_at`: by this browser's clock. */
  constructor(creator: string, opened: Pick<RunItem, 'state' | 'execution'>, opened_at: number) {
    this.#creator = creator
    this.#opened = opened
    this.#opened_at = opened_at
    this.#view = {
      state: opened.state,
      status: undefined,
      sequence: 0,
      tokens: 0,
      cost_usd: 0,
      model_id: undefined,
      worked_ms: 0,
      working_since: 0,
      lost_attempts: 0,
      is_debugged: false,
      is_retrying: false,
      plan: undefined,
      end_key: undefined,
      is_end_live: false,
      milestones: 0,
      live_events: 0,
      news: '',
    }
  }

  get view(): SessionView {
    const running = this.#entryOf([...this.#running].at(-1))
    return {
      ...this.#view,
      entries: [...this.#entries.filter(isShown), ...this.#drafts.values(), ...this.#waiting.values()],
      running_tool: running?.kind === 'tool' ? running.title : undefined,
    }
  }

  apply(event: RunStreamEvent): void {
    if (event.type === 'message.assistant.delta') {
      this.#applyDelta(event.data)
      return
    }
    if (event.sequence <= this.#view.sequence) return
    this.#view.sequence = event.sequence
    if (Date.parse(event.occurred_at) > this.#opened_at) this.#view.live_events += 1
    this.#applyEvent(event)
  }

  #applyDelta({ message_id, offset, text }: MessageDelta): void {
    this.#view.is_retrying = false
    const known = this.#drafts.get(message_id)?.text ?? ''
    this.#drafts.set(message_id, {
      kind: 'said',
      key: message_id,
      text: known.slice(0, offset) + text,
      is_growing: true,
    })
  }

  /** What changes more than the entry it becomes. */
  readonly #handlers: Handlers = {
    'run.state': (data, event) => this.#changeState(data, event),
    'attempt.started': ({ attempt, execution, debug = false }) => {
      if (debug) {
        this.#debug_turns += 1
        this.#passMilestone()
      }
      this.#view.is_debugged = debug
      this.#view.lost_attempts = attempt - execution - this.#debug_turns
    },
    'debug.ended': () => {
      this.#view.is_debugged = false
      this.#dropUnfinished()
      this.#passMilestone()
    },
    'attempt.lost': () => this.#dropUnfinished(),
    setup: (data, event) => this.#setUp(data, keyOf(event)),
    'setup.output': (data) => this.#printSetup(data),
    'message.user': (data, event) => this.#ask(data, event.occurred_at),
    'message.assistant': ({ message_id, text }) => {
      this.#drafts.delete(message_id)
      this.#push({ kind: 'said', key: message_id, text, is_growing: false })
      this.#view.news = plainText(text).slice(0, 300)
    },
    'tool.call': (data, event) => this.#call(data, event.occurred_at),
    'tool.output': (data) => this.#print(data),
    'tool.result': (data) => this.#endCall(data),
    'followup.accepted': ({ followup_id, message, author }, event) => {
      this.#waiting.set(followup_id, {
        ...{ kind: 'asked', key: followup_id, text: message, at: event.occurred_at, files: [] },
        author: plainText(author ?? 'Follow-up'),
        is_waiting: true,
      })
    },
    interrupted: () => {
      // What a person stopped did not fail: the ends of such calls come right before.
      for (const call of this.#just_failed) this.#changeCall(call, { status: 'stopped' })
      this.#dropUnfinished()
    },
    'approval.requested': (request) => {
      // Calls behind this one have not begun either, and go on when it does.
      for (const call of this.#running) this.#changeCall(call, { status: 'waiting' })
      this.#running.clear()
      this.#push({ kind: 'approval', key: request.approval_id, request })
    },
    'approval.answered': (answer) => {
      const asked = this.#entryOf(answer.approval_id)
      if (asked?.kind === 'approval') this.#replace({ ...asked, answer })
    },
    'artifact.created': () => this.#passMilestone(),
    'reference.reported': () => this.#passMilestone(),
    'changes.pushed': () => this.#passMilestone(),
    usage: ({ total_tokens, inference_cost_usd = 0, by_gateway, model_id }) => {
      this.#view.tokens += total_tokens
      this.#view.cost_usd += inference_cost_usd
      if (!by_gateway) this.#view.model_id = model_id
    },
  }

  #applyEvent(event: RunEvent): void {
    // Each handler takes the data of its own type of event; newer services may send others.
    const handle = this.#handlers[event.type] as Handler<RunEvent['type']> | undefined
    handle?.(event.data, event)
    if (event.type !== 'tool.result') this.#just_failed.clear()
    const entry = entryOf(event)
    // A provider that fails again: one line that counts, with what it said last, and not one line for each retry.
    if (event.type === 'retrying' && this.#view.is_retrying && this.#entries.at(-1)?.kind === 'note')
      this.#entries.pop()
    this.#view.is_retrying = event.type === 'retrying'
    if (entry) this.#push(entry)
  }

  #passMilestone(): void {
    this.#view.milestones += 1
  }

  #changeState(data: DataOf<'run.state'>, event: RunEvent): void {
    const { state, previous_state, status_message, execution } = data
    const moment = Date.parse(event.occurred_at)
    const key = keyOf(event)
    this.#view.state = state
    this.#view.status = status_message
    this.#view.milestones += 1
    this.#closeQuestion()
    if (state === 'CLAIMED' || state === 'INPROGRESS') {
      this.#claimed_at ||= moment
      this.#view.working_since ||= moment
      if (state === 'INPROGRESS') this.#closeSetup('done')
      return
    }
    this.#closeSetup(state === 'QUEUED' ? 'stopped' : 'done')
    this.#dropUnfinished()
    const worked_ms = this.#claimed_at ? Math.max(0, moment - this.#claimed_at) : 0
    this.#view.worked_ms += worked_ms
    this.#execution_ms += worked_ms
    this.#view.working_since = 0
    this.#claimed_at = 0
    if (RESTING.includes(state)) {
      const { message = '', error_code, waits_for } = status_message ?? {}
      // The question itself stands right above.
      if (status_message?.approval) return
      this.#push({
        kind: 'end',
        key,
        state,
        message,
        error_code,
        waits_for,
        worked_ms: this.#execution_ms,
        sequence: event.sequence,
        ...(waits_for === 'answer' ? this.#questionAsked() : {}),
      })
      this.#view.end_key = key
      this.#view.is_end_live =
        execution > this.#opened.execution ||
        (execution === this.#opened.execution && !ENDED.includes(this.#opened.state))
    } else if (previous_state && RESTING.includes(previous_state) && previous_state !== 'BLOCKED') {
      this.#execution_ms = 0
      this.#push({ kind: 'note', key, tone: 'plain', text: 'A follow-up continues the run.' })
    }
  }

  /** What the newest call asked, where it offered answers. */
  #questionAsked(): Pick<Extract<Entry, { kind: 'end' }>, 'question'> {
    const call = this.#entries.findLast((entry) => entry.kind === 'tool')
    if (call?.kind !== 'tool' || call.name !== 'ask_user') return {}
    const { question: text, options } = call.input
    if (typeof text !== 'string' || !Array.isArray(options) || options.length === 0) return {}
    return { question: { text, options: options.map(String), is_open: true } }
  }

  #closeQuestion(): void {
    const asked = this.#entryOf(this.#view.end_key)
    if (asked?.kind === 'end' && asked.question?.is_open)
      this.#replace({ ...asked, question: { ...asked.question, is_open: false } })
  }

  #setUp(data: DataOf<'setup'>, key: string): void {
    const setup = this.#entryOf(this.#setup)
    const step = { ...data, key: `${data.phase} ${data.name}`, printed: new TerminalText(), revision: 0 }
    // A skill that cannot be used is left out, and the rest stands.
    const failed = data.status === 'failed' && data.phase !== 'skill'
    if (setup?.kind !== 'setup') {
      this.#setup = key
      this.#push({
        kind: 'setup',
        key,
        steps: [step],
        status: failed ? 'failed' : 'running',
      })
      return
    }
    const index = setup.steps.findIndex((known) => known.key === step.key && known.status === 'started')
    const begun = setup.steps[index]
    const ended = begun ? { ...step, printed: begun.printed, revision: begun.revision } : step
    const steps = begun ? setup.steps.with(index, ended) : [...setup.steps, step]
    this.#replace({ ...setup, steps, status: failed ? 'failed' : setup.status })
  }

  #printSetup({ stream, text }: DataOf<'setup.output'>): void {
    const setup = this.#entryOf(this.#setup)
    if (setup?.kind !== 'setup') return
    const index = setup.steps.findLastIndex(({ status }) => status === 'started')
    const step = setup.steps[index]
    if (!step) return
    step.printed.append(stream, text)
    const steps = setup.steps.with(index, { ...step, revision: step.revision + 1 })
    this.#replace({ ...setup, steps })
  }

  #closeSetup(status: 'done' | 'stopped'): void {
    const setup = this.#entryOf(this.#setup)
    if (setup?.kind === 'setup' && setup.status === 'running') this.#replace({ ...setup, status })
    this.#setup = undefined
  }

  #ask(data: DataOf<'message.user'>, at: string): void {
    if (data.followup_id !== undefined) this.#waiting.delete(data.followup_id)
    const is_first = data.followup_id === undefined
    this.#push({
      kind: 'asked',
      // The place of a follow-up that waited is kept.
      key: data.followup_id ?? data.message_id,
      text: data.text,
      author: plainText(data.author ?? (is_first ? this.#creator : 'Follow-up')),
      at,
      files: data.attachments?.map((file) => plainText(file.file_name)) ?? [],
      is_waiting: false,
    })
  }

  #call({ tool_call_id, name, input, title }: DataOf<'tool.call'>, at: string): void {
    this.#running.add(tool_call_id)
    if (name === 'plan') this.#view.plan = readSteps(input.steps) ?? this.#view.plan
    this.#push({
      kind: 'tool',
      key: tool_call_id,
      name,
      title: plainText(title || name),
      input,
      started_at: Date.parse(at),
      status: 'running',
      output: new TerminalText(),
      revision: 0,
    })
  }

  #print({ tool_call_id, stream, text }: DataOf<'tool.output'>): void {
    const call = this.#entryOf(tool_call_id)
    if (call?.kind !== 'tool') return
    call.output.append(stream, text)
    this.#replace({ ...call, revision: call.revision + 1 })
  }

  #endCall(result: DataOf<'tool.result'>): void {
    const call = this.#entryOf(result.tool_call_id)
    if (call?.kind !== 'tool') return
    this.#running.delete(result.tool_call_id)
    const ended = result.is_error ? 'failed' : 'done'
    this.#replace({ ...call, result, status: call.status === 'stopped' ? 'stopped' : ended })
    if (call.name === 'spawn_run') this.#passMilestone()
    if (!result.is_error) return
    this.#just_failed.add(result.tool_call_id)
    this.#view.news = `${call.title}: failed`
  }

  #changeCall(tool_call_id: string, change: Pick<ToolCall, 'status'>): void {
    const call = this.#entryOf(tool_call_id)
    if (call?.kind === 'tool') this.#replace({ ...call, ...change })
  }

  /** What was on its way will not come any more. */
  #dropUnfinished(): void {
    this.#drafts.clear()
    for (const call of this.#running) this.#changeCall(call, { status: 'stopped' })
    this.#running.clear()
  }

  #entryOf(key: string | undefined): Entry | undefined {
    const place = key === undefined ? undefined : this.#places.get(key)
    return place === undefined ? undefined : this.#entries[place]
  }

  /** What an earlier attempt named alike keeps its place, and this one gets a key of its own. */
  #push(entry: Entry): void {
    const place = this.#entries.length
    const key = this.#places.has(entry.key) ? `${entry.key} ${place}` : entry.key
    this.#places.set(entry.key, place).set(key, place)
    this.#entries.push({ ...entry, key })
  }

  #replace(entry: Entry): void {
    const place = this.#places.get(entry.key)
    if (place !== undefined) this.#entries[place] = entry
  }
}
