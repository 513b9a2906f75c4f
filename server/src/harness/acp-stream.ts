import { PassThrough } from 'node:stream'
import { ndJsonStream, type Stream } from '@agentclientprotocol/sdk'
import { type ExecExit, type ExecHandle, quote, type Sandbox, TOOLS_PLACE } from '../sandbox/sandbox.ts'

/** One message of an agent: files travel in them. */
const MAX_MESSAGE_BYTES = 32 * 1024 ** 2
/** Characters kept of what it says beside the protocol. */
const SAID = 4_000
/** From the end of its input to its own end. */
const CLOSE_MS = 500
/** Shells answer so when they do not find a program. */
const NOT_FOUND = 127

export interface AgentProcess {
  stream: Stream
  /** Resolves when it is gone, whatever the reason. */
  ended: Promise<AgentEnd>
  /** Ends its input, then kills what remains. Idempotent. */
  close(): Promise<void>
  kill(): Promise<void>
}

/** `said`: the end of what it printed beside the protocol. */
export type AgentEnd = { missing: boolean; exit: ExecExit | null; said: string }

/** Starts an agent in the sandbox, to be spoken to over its standard streams. */
export function startAgent(
  sandbox: Sandbox,
  options: {
    command: readonly string[]
    env: Record<string, string>
    cwd: string
    signal: AbortSignal
    /** Resolves when more can be taken: what is read faster than it is stored would fill the memory. */
    ready: () => Promise<void>
  },
): AgentProcess {
  const input = new PassThrough()
  const handle = sandbox.exec({
    command: scriptOf(options.command),
    cwd: options.cwd,
    env: options.env,
    stdin: input,
    // Its whole conversation passes here.
    max_output_bytes: Number.POSITIVE_INFINITY,
    signal: options.signal,
  })
  handle.exit.catch(() => {})
  const { messages, said } = readOutput(handle, options.ready)
  const ended = (async (): Promise<AgentEnd> => {
    const exit = await handle.exit.catch(() => null)
    return { missing: exit?.code === NOT_FOUND, exit, said: said() }
  })()
  const kill = async () => {
    input.destroy()
    await handle.kill()
  }
  const write = new WritableStream<Uint8Array>({
    write: (chunk) =>
      new Promise((resolve, reject) => input.write(chunk, (error) => (error ? reject(error) : resolve()))),
  })
  input.on('error', () => {})
  return {
    stream: ndJsonStream(write, messages, { maxMessageBytes: MAX_MESSAGE_BYTES }),
    ended,
    kill,
    async close() {
      input.end()
      const { promise: late, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, CLOSE_MS)
      await Promise.race([ended, late])
      clearTimeout(timer)
      await kill()
    },
  }
}

const scriptOf = (command: readonly string[]): string => {
  const [program = ''] = command
  return [
    `PATH="$PATH:${TOOLS_PLACE}/bin:${TOOLS_PLACE}/node_modules/.bin"`,
    `command -v ${quote(program)} >/dev/null 2>&1 || exit ${NOT_FOUND}`,
    `exec ${command.map(quote).join(' ')}`,
  ].join('\n')
}

/** Lines that can be messages, and the end of everything else. */
function readOutput(
  handle: ExecHandle,
  ready: () => Promise<void>,
): { messages: ReadableStream<Uint8Array>; said: () => string } {
  let said = ''
  const decoder = new TextDecoder()
  const say = (data: Uint8Array) => {
    said = (said + decoder.decode(data, { stream: true })).slice(-SAID)
  }
  async function* lines(): AsyncGenerator<Uint8Array> {
    let begins = true
    let is_message = false
    for await (const { stream, data } of handle.output) {
      if (stream === 'stderr') {
        say(data)
        continue
      }
      for (let start = 0; start < data.length; ) {
        const end = data.indexOf(10, start) + 1 || data.length
        const piece = data.subarray(start, end)
        // Some print a greeting or a warning among their messages, which are all objects.
        if (begins) is_message = piece[0] === 123
        begins = piece.at(-1) === 10
        if (is_message) {
          await ready()
          yield piece
        } else say(piece)
        start = end
      }
    }
  }
  return { messages: ReadableStream.from(lines()), said: () => said.trim() }
}
