import type { NewEvent } from '../contract/event.ts'
import { storableText } from '../contract/storable-text.ts'
import type { Execution, Outcome, Tool } from './harness.ts'
import { ServerConnection, type Started } from './mcp-connection.ts'
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
    if (this.#started) return this.#started
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
      await this.#tell(name, { started, duration_ms }, () => {
        if ('failure' in started) {
          notes.push(`- The tool server ${name} could not be started; its tools are not there.`)
          if (required)
            missing.push(`The tool server ${name} is required and did not start: ${started.failure}`)
          return []
        }
        const offered = offerTools(name, started.definitions, taken, (tool, input, context) =>
          connection.call(context, tool, input),
        )
        for (const tool of offered.tools) tools.set(tool.name, tool)
        if (started.instructions)
          notes.push(`- The tool server ${name} says of itself: ${started.instructions}`)
        return [`${offered.tools.length} tools`, ...offered.left_out.map((why) => `left out: ${why}`)]
      })
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

  async close(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.close()))
  }

  /** A turn that was stopped while they started: the next one starts them anew. */
  async #dropAll(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.drop()))
  }

  async #tell(
    name: string,
    { started, duration_ms }: { started: Started; duration_ms: number },
    offer: () => string[],
  ): Promise<void> {
    const lines = offer()
    const failed = 'failure' in started
    const output = failed ? started.failure : lines.slice(0, 50).join('\n')
    const event: NewEvent = {
      type: 'setup',
      data: {
        ...{ phase: 'tool_server', name, status: failed ? 'failed' : 'finished', duration_ms },
        output: storableText(output),
      },
    }
    await this.#execution.emit(event)
  }
}
