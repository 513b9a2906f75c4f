import {
  type AgentCapabilities,
  type ClientConnection,
  type ContentBlock,
  client,
  type McpServer,
  MessageTooLargeError,
  methods,
  PROTOCOL_VERSION,
  type PromptResponse,
  RequestError,
  type SessionModeState,
} from '@agentclientprotocol/sdk'
import { isRecord } from '../contract/storable-text.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { sortMessages } from './acp-messages.ts'
import { type PermissionAnswer, writeAnswer } from './acp-permissions.ts'
import { type AgentEnd, type AgentProcess, startAgent } from './acp-stream.ts'
import { type AgentUpdate, readUpdate } from './acp-update.ts'

/** Until an agent has said what it can do, or opened a session: some look for models first. */
const START_MS = 90_000
const STEERING = '_session/steering'

export interface AgentListener {
  /** It said something, whether or not that is made use of. */
  onSign(): void
  onUpdate(update: AgentUpdate): void
  /** The call must be stored before it is allowed. */
  onPermission(call: unknown): Promise<PermissionAnswer>
  /** Resolves when more updates can be taken. */
  ready(): Promise<void>
}

/** An agent that cannot be spoken to: it did not start, or is gone. */
export class AgentGone extends Error {
  override name = 'AgentGone'
  readonly end: AgentEnd | null
  constructor(end: AgentEnd | null) {
    super('the agent is gone')
    this.end = end
  }
}

/** It answered, and in a way that nobody could go on with. */
export class OddAnswer extends Error {
  override name = 'OddAnswer'
  readonly method: string
  constructor(method: string) {
    super(`an odd answer to ${method}`)
    this.method = method
  }
}

/** One process of an agent, from its start to its end, and what is said to it. Every call throws `AgentGone`, `OddAnswer`, or what the agent answers. */
export class AgentConnection {
  readonly #process: AgentProcess
  readonly #connection: ClientConnection
  #capabilities: AgentCapabilities = {}
  #steers = false
  #session_id: string | null = null
  #modes: SessionModeState | null | undefined
  /** Absent while what the agent says is not to be told, as when it repeats a session. */
  #listener: AgentListener | null = null

  constructor(
    sandbox: Sandbox,
    options: { command: readonly string[]; env: Record<string, string>; cwd: string; signal: AbortSignal },
  ) {
    this.#process = startAgent(sandbox, {
      ...options,
      ready: async () => this.#listener?.ready(),
    })
    this.#connection = client({ name: 'runyard' })
      .onRequest(methods.client.session.requestPermission, async ({ params }) => {
        this.#listener?.onSign()
        const answer = await this.#listener?.onPermission(params.toolCall)
        return writeAnswer(params, answer ?? 'stop')
      })
      .connect(sortMessages(this.#process.stream, (params) => this.#hear(params)))
    const { signal } = this.#connection
    // An agent that cannot be spoken to any more may live on, and who waits for its end would wait for ever.
    signal.addEventListener('abort', () => {
      void this.#process.close(signal.reason instanceof MessageTooLargeError ? 'message' : 'output')
    })
  }

  #hear(params: unknown): void {
    this.#listener?.onSign()
    const read = readUpdate(params)
    if (read && read.session_id === this.#session_id) this.#listener?.onUpdate(read.update)
  }

  get session_id(): string | null {
    return this.#session_id
  }

  get capabilities(): AgentCapabilities {
    return this.#capabilities
  }

  /** It takes messages in the middle of a turn. */
  get steers(): boolean {
    return this.#steers
  }

  get closed(): boolean {
    return this.#connection.signal.aborted
  }

  listen(listener: AgentListener | null): void {
    this.#listener = listener
  }

  /** No files and no terminals are offered: the agent is where they are. */
  async initialize(): Promise<void> {
    const answer = await this.#ask(
      this.#connection.agent.request(methods.agent.initialize, {
        protocolVersion: PROTOCOL_VERSION,
        clientCapabilities: {},
        clientInfo: { name: 'runyard', version: '1' },
      }),
      START_MS,
    )
    if (!isRecord(answer)) throw new OddAnswer(methods.agent.initialize)
    this.#capabilities = answer.agentCapabilities ?? {}
    const steering = answer._meta?.steering
    this.#steers = isRecord(steering) && steering.supported === true
  }

  async open(cwd: string, mcpServers: McpServer[]): Promise<void> {
    const asked = this.#connection.agent.request(methods.agent.session.new, { cwd, mcpServers })
    const answer = await this.#ask(asked, START_MS)
    if (typeof answer?.sessionId !== 'string') throw new OddAnswer(methods.agent.session.new)
    this.#session_id = answer.sessionId
    this.#modes = answer.modes
  }

  /** Has the session go on in a mode, where the agent has it. */
  async setMode(modeId: string): Promise<void> {
    const { currentModeId, availableModes = [] } = this.#modes ?? {}
    if (currentModeId === modeId || !availableModes.some(({ id }) => id === modeId)) return
    const params = { sessionId: this.#session_id ?? '', modeId }
    await this.#ask(this.#connection.agent.request(methods.agent.session.setMode, params), START_MS)
  }

  /** Goes on with a session of an earlier process. False where the agent cannot, or does not know it any more. */
  async resume(sessionId: string, cwd: string, mcpServers: McpServer[]): Promise<boolean> {
    const { loadSession, sessionCapabilities } = this.#capabilities
    const method = sessionCapabilities?.resume
      ? methods.agent.session.resume
      : loadSession
        ? methods.agent.session.load
        : null
    if (method === null) return false
    try {
      const asked = this.#connection.agent.request(method, { sessionId, cwd, mcpServers })
      this.#modes = (await this.#ask(asked, START_MS))?.modes
    } catch (error) {
      if (error instanceof AgentGone) throw error
      return false
    }
    this.#session_id = sessionId
    return true
  }

  async prompt(prompt: ContentBlock[]): Promise<PromptResponse> {
    const sessionId = this.#session_id ?? ''
    const { prompt: method } = methods.agent.session
    const answer = await this.#ask(this.#connection.agent.request(method, { sessionId, prompt }))
    if (typeof answer?.stopReason !== 'string') throw new OddAnswer(method)
    return answer
  }

  /** True when the turn that is under way has taken it. */
  async steer(prompt: ContentBlock[]): Promise<boolean> {
    const params = {
      ...{ sessionId: this.#session_id, prompt },
      _meta: { steering: { idleBehavior: 'promptRequired' } },
    }
    try {
      const answer = await this.#ask(this.#connection.agent.request<unknown>(STEERING, params))
      return isRecord(answer) && answer.outcome === 'injected'
    } catch (error) {
      if (error instanceof AgentGone || error instanceof RequestError) return false
      throw error
    }
  }

  async cancel(): Promise<void> {
    if (this.#session_id === null) return
    const { session_id: sessionId } = this
    await this.#connection.agent
      .notify(methods.agent.session.cancel, { sessionId: sessionId ?? '' })
      .catch(() => {})
  }

  /** Ends it in order: the connection's end alone would leave the program running. */
  async close(): Promise<void> {
    this.#listener = null
    await this.#process.close()
    this.#connection.close()
  }

  async kill(): Promise<void> {
    this.#listener = null
    await this.#process.kill()
    this.#connection.close()
  }

  async #ask<T>(asked: Promise<T>, limit_ms?: number): Promise<T> {
    asked.catch(() => {})
    const late = Promise.withResolvers<never>()
    late.promise.catch(() => {})
    const timer = limit_ms && setTimeout(() => late.reject(new AgentGone(null)), limit_ms)
    // Whoever ends says so on its standard error first.
    const gone = this.#process.ended.then((end) => {
      throw new AgentGone(end)
    })
    gone.catch(() => {})
    try {
      return await Promise.race([asked, late.promise, gone])
    } catch (error) {
      if (error instanceof AgentGone || (error instanceof RequestError && !this.closed)) throw error
      if (!this.closed) throw error
      throw new AgentGone(await this.#process.ended)
    } finally {
      clearTimeout(timer || undefined)
    }
  }
}
