import type { NewEvent } from '../contract/event.ts'
import { storableText } from '../contract/storable-text.ts'
import type { ExecExit, ExecHandle, Sandbox } from '../sandbox/sandbox.ts'
import type { MaskText } from './cut-text.ts'
import { tellMemoryKills } from './memory-limit.ts'

const MAX_AT_ONCE = 8
/** Of what one has printed and nobody has read, the newest. */
const MAX_UNREAD_CHARACTERS = 200_000

/** How the result of `bash_output` ends while its command goes on. */
export const STILL_RUNS = /\[bg\d+ still runs\]$/

interface Command {
  handle: ExecHandle
  unread: string
  dropped: boolean
  /** How it ended; `null` while it runs. */
  exit: ExecExit | null
  /** What the memory limit did, in words. */
  killed: string | null
  ended: Promise<void>
}

export interface Printed {
  /** What was printed since it was last read. */
  text: string
  /** Older output was dropped. */
  dropped: boolean
  /** `null` while it runs. */
  exit: ExecExit | null
  /** In words: processes were killed for the memory they took. */
  killed: string | null
}

/** Where a command runs, and who hides values in what it prints. */
export interface CommandPlace {
  sandbox: Sandbox
  cwd: string
  mask: MaskText
}

/** Commands of a session that go on beside the agent, from step to step and from turn to turn. They end with the session. */
export class BackgroundCommands {
  readonly #commands = new Map<string, Command>()
  #count = 0

  /**
   * Numbers on from what the log has begun: those of a lost worker, an earlier execution or a forked run have ended, and to their
   * ids another command must not answer.
   */
  numberFrom(log: readonly NewEvent[]): void {
    const begun = log.filter(
      ({ type, data }) => type === 'tool.call' && data.name === 'bash' && data.input.background === true,
    )
    this.#count = Math.max(this.#count, begun.length)
  }

  /** Its id; or why it cannot be started. */
  start({ sandbox, cwd, mask }: CommandPlace, command: string): { id: string } | { refused: string } {
    const running = [...this.#commands].filter(([, { exit }]) => exit === null).map(([id]) => id)
    if (running.length >= MAX_AT_ONCE)
      return {
        refused: `${MAX_AT_ONCE} commands run in the background: end one of ${running.join(', ')} first.`,
      }
    const id = `bg${++this.#count}`
    // What it prints is dropped here once nobody reads it: the sandbox would keep the newest back until the command ends.
    const handle = sandbox.exec({ command, cwd, max_output_bytes: Number.POSITIVE_INFINITY })
    const started: Command = {
      handle,
      unread: '',
      dropped: false,
      exit: null,
      killed: null,
      ended: Promise.resolve(),
    }
    started.ended = follow(started, sandbox, mask)
    this.#commands.set(id, started)
    return { id }
  }

  /** Waits until it ends, at most so long; `null`: there is no such command. */
  async read(id: string, wait_ms: number, signal: AbortSignal): Promise<Printed | null> {
    const command = this.#commands.get(id)
    if (!command) return null
    if (command.exit === null && wait_ms > 0) {
      const waited = Promise.withResolvers<void>()
      const timer = setTimeout(waited.resolve, wait_ms)
      signal.addEventListener('abort', () => waited.resolve(), { once: true })
      await Promise.race([command.ended, waited.promise])
      clearTimeout(timer)
    }
    const { unread: text, dropped, exit, killed } = command
    Object.assign(command, { unread: '', dropped: false })
    return { text, dropped, exit, killed }
  }

  /** False: there is no such command. */
  async kill(id: string): Promise<boolean> {
    const command = this.#commands.get(id)
    if (!command) return false
    await command.handle.kill()
    await command.ended
    return true
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#commands.values()].map(({ handle }) => handle.kill()))
    this.#commands.clear()
  }
}

async function follow(command: Command, sandbox: Sandbox, mask: MaskText): Promise<void> {
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() }
  command.handle.exit.catch(() => {})
  for await (const { stream, data } of command.handle.output) {
    command.unread += storableText(decoders[stream].decode(data, { stream: true }))
    if (command.unread.length <= 2 * MAX_UNREAD_CHARACTERS) continue
    // Masked before it is cut: of a value that was cut nobody knows it.
    command.unread = mask(command.unread).slice(-MAX_UNREAD_CHARACTERS).toWellFormed()
    command.dropped = true
  }
  const exit = await command.handle.exit.catch(() => FAILED)
  command.killed = exit.aborted ? null : await tellMemoryKills(sandbox, exit)
  command.exit = exit
}

/** The sandbox failed; what comes next meets that as well. */
const FAILED: ExecExit = { code: null, signal: null, timed_out: false, aborted: true, truncated_bytes: 0 }
