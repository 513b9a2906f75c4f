import { PassThrough } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { ndJsonStream, type Stream } from '@agentclientprotocol/sdk'
import { type ExecExit, type ExecHandle, quote, type Sandbox, TOOLS_PLACE } from '../sandbox/sandbox.ts'
import { tellMemoryKills } from './memory-limit.ts'

/** One message of an agent: files travel in them. */
const MAX_MESSAGE_BYTES = 32 * 1024 ** 2
/** Characters kept of what it says beside the protocol. */
const SAID = 4_000
/** From the end of its input to its own end. */
const CLOSE_MS = 500
/**
 * For so long an agent that says more than can be dealt with is listened to at a stretch. Everything else of the process, a cancel for
 * one, then has as long: of what lies ready nothing else would let it in.
 */
const STRETCH_MS = 10
/** Shells answer so when they do not find a program. */
const NOT_FOUND = 127
/** What the watch of its ends says of an agent, at the end of what that said. */
const CLOSED = /runyard: the agent closed its (input|output)\n*$/

export interface AgentProcess {
  stream: Stream
  /** Resolves when it is gone, whatever the reason. */
  ended: Promise<AgentEnd>
  /** Ends its input, then kills what remains: for that reason, where there is one. Idempotent. */
  close(severed?: Severed): Promise<void>
  kill(): Promise<void>
}

/** Why an agent that lived on could not be spoken to any more: it closed one of its ends, or sent a message that is too long. */
export type Severed = 'input' | 'output' | 'message'

/** `said`: the end of what it printed beside the protocol. `severed`: what it was killed for. */
export interface AgentEnd {
  missing: boolean
  exit: ExecExit | null
  said: string
  severed?: Severed
  /** In words: it was killed for the memory that the sandbox's processes took. */
  killed?: string
}

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
  const { messages, said } = readOutput(handle, options)
  let killed_for: Severed | undefined
  let killing: Promise<void> | undefined
  const ended = (async (): Promise<AgentEnd> => {
    const exit = await handle.exit.catch(() => null)
    const told = said()
    const severed = killed_for ?? (CLOSED.exec(told)?.[1] as Severed | undefined)
    const missing = exit?.code === NOT_FOUND
    const is_ours = killing !== undefined || severed !== undefined || exit?.signal !== 'SIGKILL'
    const killed = is_ours ? null : await tellMemoryKills(sandbox, exit)
    return {
      ...{ missing, exit, said: told.replace(CLOSED, '').trim() },
      ...(severed && { severed }),
      ...(killed !== null && { killed }),
    }
  })()
  const kill = () => {
    input.destroy()
    killing ??= handle.kill()
    return killing
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
    async close(severed) {
      const broken = input.errored !== null
      if (severed === 'message') killed_for = severed
      input.end()
      const { promise: late, resolve } = Promise.withResolvers<'late'>()
      const timer = setTimeout(resolve, CLOSE_MS, 'late')
      const is_late = (await Promise.race([ended, late])) === 'late'
      clearTimeout(timer)
      if (is_late && !killing) killed_for ??= severed && (broken ? 'input' : severed)
      await kill()
    },
  }
}

/**
 * Kills the agent, which has the shell's process, a second after it has closed one of its ends: what started it in the sandbox
 * holds the other ends of both, so that nobody sees it from outside. Nobody's child, and without an end of its own.
 */
const WATCH_ENDS = `
end() { readlink "/proc/$$/fd/$1"; }
input=$(end 0) output=$(end 1)
(
  while sleep 1 && [ -d "/proc/$$/fd" ]; do
    closed=
    [ "$(end 0)" = "$input" ] || closed=input
    [ "$(end 1)" = "$output" ] || closed=output
    [ "$closed" ] || continue
    sleep 1
    echo "runyard: the agent closed its $closed" >"/proc/$$/fd/2"
    kill -9 $$
  done </dev/null >/dev/null 2>&1 &
)`

const scriptOf = (command: readonly string[]): string => {
  const [program = ''] = command
  return [
    `PATH="$PATH:${TOOLS_PLACE}/bin:${TOOLS_PLACE}/node_modules/.bin"`,
    `command -v ${quote(program)} >/dev/null 2>&1 || exit ${NOT_FOUND}`,
    WATCH_ENDS,
    `exec ${command.map(quote).join(' ')}`,
  ].join('\n')
}

/** Lines that can be messages, and the end of everything else. */
function readOutput(
  handle: ExecHandle,
  { ready, signal }: { ready: () => Promise<void>; signal: AbortSignal },
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
      let began = performance.now()
      // Once it is to go, what it still says would only be in the way of that.
      for (let start = 0; start < data.length && !signal.aborted; ) {
        const took = performance.now() - began
        if (took > STRETCH_MS) {
          await wait(took)
          began = performance.now()
        }
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
  return { messages: ReadableStream.from(lines()), said: () => said }
}
