import type { NewEvent } from '../contract/event.ts'
import { storableText } from '../contract/storable-text.ts'
import type { Execution, Outcome, Tool } from './harness.ts'
import { ServerConnection } from './mcp-connection.ts'
import type { ListedTools } from './mcp-list.ts'
import { offerTools } from './mcp-tools.ts'

export interface SessionTools {
  /** The execution's own, and those of its tool servers. */
  tools: ReadonlyMap<string, Tool>
  /** What the agent is told of its servers; empty where there is nothing to tell. */
  notes: string
}

/** The tool servers of a session: they are started in its first turn and stay up until it is closed. */
export class ToolServers {
  readonly #execution: Execution
  readonly #tools: ReadonlyMap<string, Tool>
  readonly #connections: ServerConnection[]
  #started: SessionTools | { failure: Outcome } | null = null
  /** What each server listed last, in their order. */
  readonly #listed = new Map<ServerConnection, ListedTools>()

  /** `tools`: those there are besides. */
  constructor(execution: Execution, tools: ReadonlyMap<string, Tool>) {
    this.#execution = execution
    this.#tools = tools
    const { sandbox, mask, signal, run, tool_servers = [] } = execution
    const host = { sandbox, mask: (text: string) => mask(text), signal, cwd: run.cwd }
    this.#connections = tool_servers.map((server) => new ServerConnection(server, host))
  }

  /**
   * Starts all of them at once, each within its time, and tells how that went as `setup` events. One that is not there is
   * done without, unless it is required: then the turn ends with `failure`. Once the signal fires what is returned is of no use.
   */
  async start(signal: AbortSignal): Promise<SessionTools | { failure: Outcome }> {
    if (this.#started) return await this.#refresh(this.#started, signal)
    const began = performance.now()
    const taken = new Set(this.#tools.keys())
    const tools = new Map(this.#tools)
    const notes: string[] = []
    const missing: string[] = []
    const all = await Promise.all(
      this.#connections.map(async (connection) => {
        const started = await connection.start(signal)
        return { connection, started, duration_ms: Math.round(performance.now() - began) }
      }),
    )
    if (signal.aborted) {
      await this.#dropAll()
      return { tools, notes: '' }
    }
    for (const { connection, started, duration_ms } of all) {
      const { name, required } = connection.server
      if ('failure' in started) {
        notes.push(`- The tool server ${name} could not be started; its tools are not there.`)
        if (required)
          missing.push(`The tool server ${name} is required and did not start: ${started.failure}`)
        await this.#tell(name, { failed: true, duration_ms }, [started.failure])
        continue
      }
      if (started.instructions)
        notes.push(`- The tool server ${name} says of itself: ${started.instructions}`)
      const lines = this.#offer(connection, started.listed, { tools, taken })
      await this.#tell(name, { failed: false, duration_ms }, lines)
    }
    this.#started =
      missing.length > 0
        ? {
            failure: {
              state: 'FAILED',
              status_message: {
                message: missing.join('\n'),
                error_code: 'environment_setup_failed',
                retryable: false,
              },
            },
          }
        : { tools, notes: notes.join('\n') }
    return this.#started
  }

  /** The tools of servers that said that they have others now are offered from the next turn on. */
  async #refresh(
    started: SessionTools | { failure: Outcome },
    signal: AbortSignal,
  ): Promise<SessionTools | { failure: Outcome }> {
    if ('failure' in started) return started
    const began = performance.now()
    const listings = await Promise.all(
      this.#connections.map(async (connection) => ({
        connection,
        listed: await connection.listAnew(signal),
      })),
    )
    if (signal.aborted || listings.every(({ listed }) => listed === null)) return started
    const taken = new Set(this.#tools.keys())
    const tools = new Map(this.#tools)
    for (const { connection, listed } of listings) {
      const known = listed ?? this.#listed.get(connection)
      if (!known) continue
      const lines = this.#offer(connection, known, { tools, taken })
      const duration_ms = Math.round(performance.now() - began)
      if (listed) await this.#tell(connection.server.name, { failed: false, duration_ms }, lines)
    }
    this.#started = { ...started, tools }
    return this.#started
  }

  #offer(
    connection: ServerConnection,
    listed: ListedTools,
    { tools, taken }: { tools: Map<string, Tool>; taken: Set<string> },
  ): string[] {
    this.#listed.set(connection, listed)
    const { name } = connection.server
    const offered = offerTools(name, listed.tools, taken, (tool, input, context) =>
      connection.call(context, tool, input),
    )
    for (const tool of offered.tools) tools.set(tool.name, tool)
    const left_out = [...listed.left_out, ...offered.left_out].map((why) => `left out: ${why}`)
    return [`${offered.tools.length} tools`, ...left_out]
  }

  async close(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.close()))
  }

  /** A turn that was stopped while they started: the next one starts them anew. */
  async #dropAll(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.drop()))
  }

  async #tell(
    name: string,
    { failed, duration_ms }: { failed: boolean; duration_ms: number },
    lines: string[],
  ): Promise<void> {
    const event: NewEvent = {
      type: 'setup',
      data: {
        ...{ phase: 'tool_server', name, status: failed ? 'failed' : 'finished', duration_ms },
        output: storableText(lines.slice(0, 50).join('\n')),
      },
    }
    await this.#execution.emit(event)
  }
}
