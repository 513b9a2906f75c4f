import { Client, ProtocolError, SdkHttpError, type Transport } from '@modelcontextprotocol/client'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { ToolServer } from './harness.ts'
import { HttpTransport, openSseTransport } from './mcp-http.ts'
import { NEVER_MS } from './mcp-list.ts'
import { StdioTransport } from './mcp-stdio.ts'

/** The version without a handshake. */
const MODERN = '2026-07-28'
/** Ending a session elsewhere is a courtesy. */
const CLOSE_MS = 2_000

export interface OpenClient {
  client: Client
  /** Of a process in the sandbox. */
  stdio: StdioTransport | null
}

interface Place {
  launch: Exclude<ToolServer['launch'], { type: 'refused' }>
  sandbox: Pick<Sandbox, 'exec'>
  cwd: string
  /** Aborted at the end of the session. */
  session: AbortSignal
}

/**
 * Connects to a tool server. All servers there are know the handshake of 2024, so it comes first; one that refuses it is asked
 * as the version of 2026 says, and one whose address takes no messages by the transport of 2024 (HTTP with server-sent events).
 * The error that is returned is the first.
 */
export async function openClient(
  place: Place,
  signal: AbortSignal,
): Promise<OpenClient | { error: unknown; stdio: StdioTransport | null }> {
  const first = await connect(place, 'handshake', signal)
  if (!('error' in first) || signal.aborted) return first
  const other = otherManner(place, first.error)
  const second = other ? await connect(place, other, signal) : first
  return 'error' in second ? first : second
}

type Manner = 'handshake' | 'modern' | 'sse'

function otherManner({ launch }: Place, error: unknown): Manner | null {
  if (error instanceof ProtocolError) return NO_HANDSHAKE.includes(error.code) ? 'modern' : null
  if (launch.type !== 'url' || !(error instanceof SdkHttpError)) return null
  if (/"jsonrpc"/.test(error.message) && NO_HANDSHAKE.some((code) => error.message.includes(String(code))))
    return 'modern'
  return NO_MESSAGES.includes(error.data.status) ? 'sse' : null
}

/** Codes for a method that is not there and a version that is not supported. */
const NO_HANDSHAKE = [-32_601, -32_022]
/** What an address of the old transport answers to a message (MCP 2025-11-25, "Backwards Compatibility"), and what others do. */
const NO_MESSAGES = [400, 404, 405, 406, 415, 501]

async function connect(
  { launch, sandbox, cwd, session }: Place,
  manner: Manner,
  signal: AbortSignal,
): Promise<OpenClient | { error: unknown; stdio: StdioTransport | null }> {
  const stdio =
    launch.type === 'command' ? new StdioTransport({ sandbox, ...launch, cwd, signal: session }) : null
  const client = new Client(
    { name: 'runyard', version: '0.1.0' },
    { capabilities: {}, ...(manner === 'modern' ? { versionNegotiation: { mode: { pin: MODERN } } } : {}) },
  )
  const opened = { client, stdio }
  try {
    const transport = stdio ?? openHttp(launch, manner)
    await untilAborted(client.connect(transport, { signal, timeout: NEVER_MS }), signal)
    return opened
  } catch (error) {
    await closeClient(opened)
    return { error, stdio }
  }
}

function openHttp(launch: Place['launch'], manner: Manner): Transport {
  if (launch.type !== 'url') throw new Error('The tool server has no address.')
  return manner === 'sse' ? openSseTransport(launch) : new HttpTransport(launch)
}

/** Some steps of a connection hear of no signal. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
    work.catch(() => {})
    aborted.promise.catch(() => {})
  }
}

export async function closeClient({ client, stdio }: OpenClient): Promise<void> {
  const late = Promise.withResolvers<void>()
  const timer = setTimeout(late.resolve, CLOSE_MS)
  await Promise.race([Promise.allSettled([client.close(), stdio?.close()]), late.promise])
  clearTimeout(timer)
}
