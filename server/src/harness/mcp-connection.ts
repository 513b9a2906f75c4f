import { ProtocolError, SdkHttpError } from '@modelcontextprotocol/client'
import { TURN_STOPPED } from '../log/interruption.ts'
import type { Execution, ToolContext, ToolOutcome, ToolServer } from './harness.ts'
import { closeClient, type OpenClient, openClient } from './mcp-client.ts'
import { HttpTransport, LOST } from './mcp-http.ts'
import { tame } from './mcp-limits.ts'
import { AnyResult, type ListedTools, listTools, NEVER_MS } from './mcp-list.ts'
import { namesLostSession, tellsLostSession } from './mcp-lost-session.ts'
import { givenResult } from './mcp-message.ts'
import { tellResult } from './mcp-result.ts'
import type { StdioTransport } from './mcp-stdio.ts'
import { failure } from './tools/tool.ts'

/** From its start until its tools are known. */
const START_MS = 20_000
const MAX_SAID = 2_000
const CHECK_CREDENTIALS =
  'The tool server refused its credentials: check its headers (config.mcp_servers) and the secrets that they name.'

export type Started = { listed: ListedTools; instructions: string } | { failure: string }

type Host = Pick<Execution, 'sandbox' | 'mask' | 'signal'> & { cwd: string }

/** One tool server of a session: started, called, started again when it has died, and closed. */
export class ServerConnection {
  readonly server: ToolServer
  readonly #host: Host
  #open: OpenClient | null = null
  #closed = false
  #changed = false

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
      this.#changed = false
      opened.client.setNotificationHandler('notifications/tools/list_changed', () => {
        this.#changed = true
      })
      const listed = await listTools(opened.client, either)
      this.#open = opened
      return { listed, instructions: this.#say(opened.client.getInstructions() ?? '') }
    } catch (error) {
      const why = late() ?? this.#explain(error, opened.stdio)
      await closeClient(opened)
      return { failure: this.#withPrinted(why, opened.stdio) }
    }
  }

  /** Its tools, where it said that they are others now; `null`: they are not, or it does not say which. */
  async listAnew(signal: AbortSignal): Promise<ListedTools | null> {
    const open = this.#open
    if (!this.#changed || !open) return null
    this.#changed = false
    const either = AbortSignal.any([signal, AbortSignal.timeout(START_MS), this.#host.signal])
    return await listTools(open.client, either).catch(() => null)
  }

  /** Never throws but for faults of the sandbox. */
  async call(
    { turn, tool_call_id }: ToolContext,
    name: string,
    input: Record<string, unknown>,
  ): Promise<ToolOutcome> {
    const { name: server, timeout_ms } = this.server
    const deadline = AbortSignal.timeout(timeout_ms)
    const signal = AbortSignal.any([turn.signal, deadline])
    const request = { method: 'tools/call', params: { name, arguments: input } }
    for (let again = false; ; again = true) {
      const open = await this.#ready(turn.signal)
      if (turn.signal.aborted) return failure(TURN_STOPPED)
      if ('failure' in open) return failure(open.failure)
      try {
        const result = await open.client.request(request, AnyResult, { signal, timeout: NEVER_MS })
        return await tellResult({ turn, tool_call_id }, givenResult(result))
      } catch (error) {
        if (turn.signal.aborted) return failure(TURN_STOPPED)
        if (deadline.aborted)
          return failure(
            `The tool server ${server} did not answer within ${timeout_ms / 1000} seconds; the call was cancelled.`,
          )
        // It did not know whose call it was, so nothing has run.
        if (again || !isLostSession(error, open)) return failure(await this.#tellBroken(error, open))
        await this.drop()
      }
    }
  }

  /** Started again where it has ended. */
  async #ready(signal: AbortSignal): Promise<OpenClient | { failure: string }> {
    if (this.#open?.stdio?.ending) await this.drop()
    if (this.#open) return this.#open
    const started = await this.start(signal)
    if ('failure' in started)
      return {
        failure: `The tool server ${this.server.name} had ended and could not be started again: ${started.failure}`,
      }
    return this.#open ?? { failure: TURN_STOPPED }
  }

  async #tellBroken(error: unknown, { stdio }: OpenClient): Promise<string> {
    const why = this.#explain(error, stdio)
    // The server's own words: it is well, and the call was not.
    if (error instanceof ProtocolError && error.code !== LOST && !stdio?.ending)
      if (stdio || !namesLostSession(error.message))
        // Unless it needs another session. Whether the call ran before it said so nobody knows.
        return why
    const printed = this.#withPrinted(why, stdio)
    await this.drop()
    return `The call to the tool server ${this.server.name} broke off: ${printed}\nIt is started again at the next call. Check first how far this one came.`
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.drop()
  }

  /** Ends it; the next call starts it again. */
  async drop(): Promise<void> {
    const open = this.#open
    this.#open = null
    if (open) await closeClient(open)
  }

  async #connect(signal: AbortSignal, late: () => string | null): Promise<OpenClient | { failure: string }> {
    const { launch } = this.server
    if (this.#closed) return { failure: 'the session is over' }
    if (launch.type === 'refused') return { failure: launch.why }
    const { sandbox, cwd, signal: session } = this.#host
    const opened = await openClient({ launch, sandbox, cwd, session }, signal)
    if (!('error' in opened)) return opened
    const why = late() ?? this.#explain(opened.error, opened.stdio)
    return { failure: this.#withPrinted(why, opened.stdio) }
  }

  #explain(error: unknown, stdio: StdioTransport | null): string {
    if (stdio?.own_ending) return stdio.own_ending
    return this.#say(tellError(error))
  }

  #withPrinted(why: string, stdio: StdioTransport | null): string {
    const printed = stdio?.printed
    return printed ? `${why}\n${this.#say(printed.slice(-MAX_SAID))}` : why
  }

  #say(text: string): string {
    return tame(this.#host.mask(text.slice(0, 4 * MAX_SAID)), MAX_SAID)
  }
}

/** The reason within: a failed connection hides it. */
function tellError(error: unknown): string {
  if (error instanceof SdkHttpError) {
    const { status } = error.data
    const told = `HTTP ${status}: ${error.message.replace(/^Error POSTing to endpoint: /, '')}`
    return status === 401 || status === 403 ? `${told}\n${CHECK_CREDENTIALS}` : told
  }
  if (!(error instanceof Error)) return String(error)
  const { message, cause } = error
  return cause instanceof Error && /^fetch failed$|probe failed/.test(message)
    ? `${message}: ${cause.message}`
    : message
}

function isLostSession(error: unknown, { client: { transport } }: OpenClient): boolean {
  if (!(error instanceof SdkHttpError && transport instanceof HttpTransport && transport.sessionId))
    return false
  return tellsLostSession(error.data.status, String(error.data.text ?? ''))
}
