import assert from 'node:assert/strict'
import type { AmbientAgentConfig } from '../../src/contract/agent-config.ts'
import type { EventData, EventType, NewEvent, RunEvent, StoredEvent } from '../../src/contract/event.ts'
import type {
  Execution,
  Harness,
  HarnessState,
  Inbox,
  Outcome,
  ToolServer,
  Turn,
  TurnRun,
} from '../../src/harness/harness.ts'
import { TOOLS } from '../../src/harness/tools/toolset.ts'
import type { Sandbox } from '../../src/sandbox/sandbox.ts'

export interface TestTurnOptions {
  sandbox: Sandbox
  /** What the conversation held before. */
  context?: readonly NewEvent[]
  /** What the log holds already. */
  history?: readonly RunEvent[]
  /** Appended to the history as the run's prompt. */
  prompt?: string
  config?: AmbientAgentConfig
  output_schema?: Record<string, unknown>
}

/** The loss of the lease, as the event writer reports it. */
export class LeaseLost extends Error {
  override name = 'LeaseLost'
}

/** A turn over a log in memory: what a worker gives a harness, without a worker. */
export class TestTurn implements Turn, Execution {
  readonly run: TurnRun
  readonly context: readonly NewEvent[]
  readonly history: readonly RunEvent[]
  readonly sandbox: Sandbox
  readonly tools = TOOLS
  tool_servers: readonly ToolServer[] = []
  readonly values: Record<string, string> = {}
  mask = (text: string) => text
  maskStream = () => {
    let kept = ''
    const tell = () => {
      const masked = this.mask(kept)
      kept = ''
      return masked
    }
    return {
      push: (piece: string) => {
        kept += piece
        return ''
      },
      gap: tell,
      end: tell,
    }
  }
  readonly state: HarnessState
  readonly deltas: Array<{ message_id: string; text: string }> = []
  /** The whole log: the history and everything emitted since. */
  readonly log: RunEvent[]
  /** Events emitted after `runHarness` had returned; always a fault. */
  readonly late: NewEvent[] = []
  /** Called with each event as it is stored. */
  onEvent: (event: RunEvent) => void = () => {}
  /** Called with each piece of text as it is shown. */
  onDelta: () => void = () => {}
  /** Decides whether the lease is lost before an event can be stored. */
  refuses: (event: NewEvent) => boolean = () => false
  readonly #controller = new AbortController()
  readonly #followups: Array<{ followup_id: string; text: string }> = []
  #waiting = Promise.withResolvers<void>()
  #lost = false
  #returned = false

  constructor({ sandbox, context = [], history = [], prompt, config = {}, output_schema }: TestTurnOptions) {
    this.context = context
    this.run = {
      ...{ run_id: 'run-1', attempt: 1, config, cwd: sandbox.workspace },
      ...(output_schema && { output_schema }),
    }
    this.sandbox = sandbox
    let kept: Record<string, unknown> | null = null
    this.state = {
      read: () => kept,
      write: async (state) => {
        kept = state
      },
    }
    this.log = [...history]
    if (prompt !== undefined) {
      const message_id = `m${this.log.filter((event) => event.type === 'message.user').length + 1}`
      this.#store({ type: 'message.user', data: { message_id, text: prompt } })
    }
    this.history = [...this.log]
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** What the harness added to the history. */
  get emitted(): RunEvent[] {
    return this.log.slice(this.history.length)
  }

  stop(): void {
    this.#controller.abort()
  }

  /** Puts a follow-up on its way; `take` delivers it. */
  followUp(text: string): void {
    this.#followups.push({ followup_id: `f${this.#followups.length + this.log.length}`, text })
    this.#waiting.resolve()
  }

  readonly inbox: Inbox = {
    waiting: () => this.#waiting.promise,
    take: async () => {
      await nextTick()
      if (this.#lost) throw new LeaseLost()
      this.#waiting = Promise.withResolvers()
      return this.#followups.splice(0).map(({ followup_id, text }) => {
        this.#store({ type: 'followup.delivered', data: { followup_id } })
        const data = { message_id: `message-of-${followup_id}`, text, followup_id }
        const event: StoredEvent<'message.user'> = { ...this.#envelope(), type: 'message.user', data }
        this.#append(event)
        return event
      })
    },
  }

  async emit(...events: NewEvent[]): Promise<void> {
    if (this.#returned) this.late.push(...events)
    for (const event of events) {
      this.#lost ||= this.refuses(event)
      if (!this.#lost) this.#store(event)
    }
    await nextTick()
    if (this.#lost) throw new LeaseLost()
  }

  delta(message_id: string, text: string): void {
    this.deltas.push({ message_id, text })
    this.onDelta()
  }

  /** Runs the harness and notes that it returned, so that anything later shows up in `late`. */
  async runHarness(harness: Harness): Promise<Outcome> {
    const [outcome] = await this.runSession(harness)
    assert(outcome)
    return outcome
  }

  /** A turn for what the log holds, then one for each of these messages, in one session. Returns how they ended. */
  async runSession(harness: Harness, messages: readonly string[] = []): Promise<Outcome[]> {
    const session = await harness.open(this)
    try {
      const outcomes = [await session.turn(this)]
      for (const text of messages) {
        this.followUp(text)
        await this.inbox.take()
        const { inbox, signal } = this
        outcomes.push(await session.turn({ history: [...this.log], inbox, signal }))
      }
      return outcomes
    } finally {
      await session.close()
      this.#returned = true
    }
  }

  data<T extends EventType>(type: T): Array<EventData<T>> {
    return this.log
      .filter((event): event is Extract<RunEvent, { type: T }> => event.type === type)
      .map(({ data }) => data as EventData<T>)
  }

  #store(event: NewEvent): void {
    // As the log would hold it: a round trip through JSON.
    this.#append({ ...this.#envelope(), ...(JSON.parse(JSON.stringify(event)) as NewEvent) })
  }

  #append(event: RunEvent): void {
    this.log.push(event)
    this.onEvent(event)
  }

  #envelope() {
    return { sequence: this.log.length + 1, run_id: 'run-1', occurred_at: '2026-01-01T00:00:00.000Z' }
  }
}

const nextTick = () => new Promise<void>((resolve) => setImmediate(resolve))
