import { constants } from 'node:os'
import { Readable, type Writable } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { DEFAULT_MAX_OUTPUT_BYTES, ExecOutput } from './exec-output.ts'
import { type ExecExit, type ExecHandle, type ExecOptions, toFault } from './sandbox.ts'

/** How long the pipes of a killed command may take to close before they are cut. */
const CLOSE_LIMIT_MS = 500

type StopReason = 'timed_out' | 'aborted' | 'killed'

/** A command as a backend has started it. */
export interface RunningCommand {
  /** `null` when the command was started without standard input. */
  stdin: Writable | null
  stdout: Readable
  stderr: Readable
  /** Resolves when the command itself has ended; rejects only with `SandboxFault`. */
  ended: Promise<{ code: number | null; signal: string | null }>
  /** Kills the whole process tree. `urgent`: somebody waits for its end. Idempotent; never throws. */
  kill(urgent: boolean): Promise<void>
}

/**
 * Turns a command being started into the `ExecHandle` callers see: caps and streams its output, feeds its input and
 * ends it at the timeout, the abort or the call of `kill`, whichever comes first. `start` is told when it took so long that
 * the caller was given an answer before: what has not been handed to the sandbox by then is not to be.
 */
export function superviseExec(
  options: ExecOptions,
  start: (given_up: AbortSignal) => Promise<RunningCommand>,
): ExecHandle {
  const output = new ExecOutput(options.max_output_bytes ?? DEFAULT_MAX_OUTPUT_BYTES)
  const stop = Promise.withResolvers<StopReason>()
  const onAbort = () => stop.resolve('aborted')
  options.signal?.addEventListener('abort', onAbort, { once: true })
  const timer =
    options.timeout_ms === undefined
      ? undefined
      : setTimeout(() => stop.resolve('timed_out'), options.timeout_ms)

  const run = async (): Promise<ExecExit> => {
    try {
      if (options.signal?.aborted) return stopped('aborted', output)
      const given_up = new AbortController()
      const starting = start(given_up.signal).catch((error: unknown) => {
        throw toFault(error)
      })
      const early = await Promise.race([starting.then(() => null), stop.promise])
      // What hangs while it starts, as in a frozen sandbox, must not hold its caller: it is killed if it starts all the same.
      if (early && !(await settles(starting, CLOSE_LIMIT_MS))) {
        given_up.abort()
        starting.then(abandon, () => {})
        return stopped(early, output)
      }
      const command = await starting
      feed(command, options.stdin, () => stop.resolve('killed'))
      const closed = collect(command, output)
      // A failure of the sandbox shows in `ended` and is thrown below; here it only means there is nothing to kill.
      const over = Promise.all([command.ended, closed]).then(
        () => null,
        () => null,
      )
      const reason = await Promise.race([over, stop.promise])
      if (!reason) {
        const ended = await command.ended
        return { ...ended, timed_out: false, aborted: false, truncated_bytes: output.truncated_bytes }
      }
      await command.kill(true)
      await settles(over, CLOSE_LIMIT_MS)
      command.stdout.destroy()
      command.stderr.destroy()
      await closed
      return stopped(reason, output)
    } finally {
      clearTimeout(timer)
      options.signal?.removeEventListener('abort', onAbort)
      output.end()
    }
  }

  const exit = run()
  // A caller who only reads the output must not bring the process down by an unhandled rejection.
  exit.catch(() => {})
  return {
    output,
    exit,
    async kill() {
      stop.resolve('killed')
      await exit.then(
        () => {},
        () => {},
      )
    },
  }
}

/** What ends commands in sandboxes. Nothing else does: there is no terminal that could hang up, for instance. */
const DEADLY = new Set(
  'SIGINT SIGQUIT SIGILL SIGTRAP SIGABRT SIGBUS SIGFPE SIGKILL SIGSEGV SIGPIPE SIGTERM SIGXCPU SIGXFSZ SIGSYS'.split(
    ' ',
  ),
)

/**
 * What a shell's exit code says. Shells report a command ended by signal n as 128 + n and nothing outside the sandbox
 * can tell that from `exit 137`, so all backends read it the same way. Other codes above 128 are what they say: an exit.
 */
export function exitOfShell(code: number): { code: number | null; signal: string | null } {
  const name = Object.entries(constants.signals).find(
    ([name, number]) => DEADLY.has(name) && number === code - 128,
  )?.[0]
  return name === undefined ? { code, signal: null } : { code: null, signal: name }
}

function feed(command: RunningCommand, stdin: ExecOptions['stdin'], onBroken: () => void): void {
  const sink = command.stdin
  if (stdin === undefined || !sink) return
  if (stdin instanceof Readable) {
    // A command that ends early closes its input, which destroys the source as well; a source that breaks off by itself kills
    // what waits for it.
    let broke_off = stdin.errored !== null
    stdin.once('error', () => {
      broke_off = !sink.destroyed
    })
    pipeline(stdin, sink).catch(() => broke_off && onBroken())
  } else {
    sink.on('error', () => {})
    sink.end(stdin)
  }
}

/** Moves both pipes into `output`; resolves when both are closed, whatever the reason. */
async function collect(command: RunningCommand, output: ExecOutput): Promise<void> {
  const pipes = [command.stdout, command.stderr]
  output.onDrain = () => {
    for (const pipe of pipes) pipe.resume()
  }
  const pass = (stream: 'stdout' | 'stderr') => (data: Buffer) => {
    if (!output.push(stream, data)) for (const pipe of pipes) pipe.pause()
  }
  command.stdout.on('data', pass('stdout'))
  command.stderr.on('data', pass('stderr'))
  await Promise.allSettled(pipes.map((pipe) => finished(pipe, { writable: false })))
}

function stopped(reason: StopReason, output: ExecOutput): ExecExit {
  return {
    code: null,
    signal: 'SIGKILL',
    timed_out: reason === 'timed_out',
    aborted: reason === 'aborted',
    truncated_bytes: output.truncated_bytes,
  }
}

async function abandon(command: RunningCommand): Promise<void> {
  command.ended.catch(() => {})
  await command.kill(false)
  command.stdout.destroy()
  command.stderr.destroy()
}

/** Whether the promise settles, either way, within the time. */
async function settles(promise: Promise<unknown>, milliseconds: number): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(resolve, milliseconds, false)
  const settled = promise.then(
    () => true,
    () => true,
  )
  try {
    return await Promise.race([settled, late])
  } finally {
    clearTimeout(timer)
  }
}
