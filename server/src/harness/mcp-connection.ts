import { createMCPClient, type MCPClient, MCPClientError } from '@ai-sdk/mcp'
import { ZodError } from 'zod'
import { TURN_STOPPED } from '../log/interruption.ts'
import type { Execution, ToolContext, ToolOutcome, ToolServer } from './harness.ts'
import { tame } from './mcp-limits.ts'
import { tellResult } from './mcp-result.ts'
import { StdioTransport } from './mcp-stdio.ts'
import type { ToolDefinition } from './mcp-tools.ts'
import { failure } from './tools/tool.ts'

/** From its start until its tools are known. */
const START_MS = 20_000
const MAX_PAGES = 20
const MAX_SAID = 2_000
/** After the end of an answer, for whoever reads it. */
const LOST_MS = 1_000
/** Ending a session elsewhere is a courtesy. */
const CLOSE_MS = 2_000

export type Started = { definitions: ToolDefinition[]; instructions: string } | { failure: string }

interface Open {
  client: MCPClient
  /** Of a process in the sandbox. */
  stdio: StdioTransport | null
}

type Host = Pick<Execution, 'sandbox' | 'mask' | 'signal'> & { cwd: string }

/** One tool server of a session: started, called, started again when it has died, and closed. */
export class ServerConnection {
  readonly server: ToolServer
  readonly #host: Host
  #open: Open | null = null
  #closed = false
  /** Aborted when the call that waits has lost its answer. */
  #waiting: AbortController | null = null

  constructor(server: ToolServer, host: Host) {
    this.server = server
    this.#host = host
  }

  /** Starts it and asks for its tools. Never throws: what a server does wrong is told. */
  async start(signal: AbortSignal): Promise<Started> {
    const deadline = AbortSignal.timeout(START_MS)
    const either = AbortSignal.any([signal, deadline, this.#host.signal])
    const late = () => (deadline.aborted ? `it was not ready within ${START_MS / 1000} seconds` : null)
    const opened = await this.#connect(either, late)
    if ('failure' in opened) return opened
    try {
      const definitions = await listTools(opened.client, either)
      this.#open = opened
      return { definitions, instructions: this.#say(opened.client.instructions ?? '') }
    } catch (error) {
      const why = late() ?? this.#explain(error, opened.stdio)
      await closeOpen(opened)
      return { failure: this.#withPrinted(why, opened.stdio) }
    }
  }

  /** Never throws but for faults of the sandbox. */
  async call(
    { turn, tool_call_id }: ToolContext,
    name: string,
    input: Record<string, unknown>,
  ): Promise<ToolOutcome> {
    const { name: server, timeout_ms } = this.server
    if (this.#open?.stdio?.ending) await this.drop()
    if (!this.#open) {
      const again = await this.start(turn.signal)
      if (turn.signal.aborted) return failure(TURN_STOPPED)
      if ('failure' in again)
        return failure(`The tool server ${server} had ended and could not be started again: ${again.failure}`)
    }
    const open = this.#open
    if (!open) return failure(TURN_STOPPED)
    const deadline = AbortSignal.timeout(timeout_ms)
    const lost = new AbortController()
    const signal = AbortSignal.any([turn.signal, deadline, lost.signal])
    this.#waiting = lost
    try {
      const result = await open.client.callTool({ name, arguments: input, options: { signal } })
      return await tellResult({ turn, tool_call_id }, result)
    } catch (error) {
      if (turn.signal.aborted) return failure(TURN_STOPPED)
      if (deadline.aborted)
        return failure(
          `The tool server ${server} did not answer within ${timeout_ms / 1000} seconds; the call was cancelled.`,
        )
      const why = lost.signal.aborted ? 'its answer ended too soon' : this.#explain(error, open.stdio)
      // The server's own words: it is well, and the call was not.
      if (MCPClientError.isInstance(error) && error.code !== undefined) return failure(why)
      const printed = this.#withPrinted(why, open.stdio)
      await this.drop()
      return failure(
        `The call to the tool server ${server} broke off: ${printed}\nIt is started again at the next call. Check first how far this one came.`,
      )
    } finally {
      this.#waiting = null
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.drop()
  }

  /** Ends it; the next call starts it again. */
  async drop(): Promise<void> {
    const open = this.#open
    this.#open = null
    if (open) await closeOpen(open)
  }

  async #connect(signal: AbortSignal, late: () => string | null): Promise<Open | { failure: string }> {
    const { launch } = this.server
    if (this.#closed) return { failure: 'the session is over' }
    if (launch.type === 'refused') return { failure: launch.why }
    const { sandbox, cwd, signal: session } = this.#host
    const stdio =
      launch.type === 'command' ? new StdioTransport({ sandbox, ...launch, cwd, signal: session }) : null
    try {
      const client = await createMCPClient({
        transport: stdio ?? { type: 'http', ...this.#address() },
        initializationOptions: { signal },
        clientName: 'runyard',
        // What is not of the protocol is a stranger's, and nothing to print.
        onUncaughtError() {},
      })
      return { client, stdio }
    } catch (error) {
      const why = late() ?? this.#explain(error, stdio)
      await stdio?.close()
      return { failure: this.#withPrinted(why, stdio) }
    }
  }

  #address(): { url: string; headers: Record<string, string>; fetch: typeof fetch } {
    const { launch } = this.server
    if (launch.type !== 'url') throw new Error('The tool server has no address.')
    const { url, headers } = launch
    return { url, headers, fetch: (input, init) => this.#fetch(launch.fetch, input, init) }
  }

  /** The client waits for an answer whose stream has ended without it: calls are made one by one, so it is known which. */
  async #fetch(go: typeof fetch, ...[input, init]: Parameters<typeof fetch>): Promise<Response> {
    const waiting = this.#waiting
    const response = await go(input, init)
    if (!waiting || init?.method !== 'POST' || !response.body) return response
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
    const end = () => setTimeout(() => waiting.abort(), LOST_MS)
    response.body.pipeTo(writable).then(end, end)
    return new Response(readable, response)
  }

  #explain(error: unknown, stdio: StdioTransport | null): string {
    if (stdio?.own_ending) return stdio.own_ending
    // Of an answer over HTTP that is none of the protocol: pages of what each kind of message would have had.
    if (error instanceof ZodError) return 'its answer is none that MCP has'
    return this.#say(error instanceof Error ? error.message : String(error))
  }

  #withPrinted(why: string, stdio: StdioTransport | null): string {
    const printed = stdio?.printed
    return printed ? `${why}\n${this.#say(printed.slice(-MAX_SAID))}` : why
  }

  #say(text: string): string {
    return tame(this.#host.mask(text.slice(0, 4 * MAX_SAID)), MAX_SAID)
  }
}

async function listTools(client: MCPClient, signal: AbortSignal): Promise<ToolDefinition[]> {
  if (!client.initializeResult.capabilities.tools) return []
  const tools: ToolDefinition[] = []
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const listed = await client.listTools({ ...(cursor ? { params: { cursor } } : {}), options: { signal } })
    tools.push(...listed.tools)
    cursor = listed.nextCursor
    if (!cursor) break
  }
  return tools
}

async function closeOpen({ client, stdio }: Open): Promise<void> {
  const late = Promise.withResolvers<void>()
  const timer = setTimeout(late.resolve, CLOSE_MS)
  await Promise.race([Promise.allSettled([client.close(), stdio?.close()]), late.promise])
  clearTimeout(timer)
}
