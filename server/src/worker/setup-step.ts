import type { EventData, NewEvent } from '../contract/event.ts'
import type { ExecExit, ExecOptions, Sandbox } from '../sandbox/sandbox.ts'
import type { EventWriter } from './event-writer.ts'
import { SetupOutput } from './setup-output.ts'

type Phase = EventData<'setup'>['phase']

/** Lines of it in the sentence that says why a run failed. */
const LAST_LINES = 5
/** Bytes of a command's output that the first error is looked for in; of these less is told, see `SetupOutput`. */
const MAX_READ = 16 * 1024 ** 2

/** A step of the environment's setup ended badly; the message says which, how, and the end of what it printed. */
export class SetupFailed extends Error {
  override name = 'SetupFailed'
}

export interface SetupSteps {
  /** Does something and tells how long it took; what is told may still be on its way to the log. */
  run<T>(phase: Phase, name: string, work: () => Promise<T>): Promise<T>
  /** Runs a command in the sandbox; throws `SetupFailed` unless it exits 0. `name` default: the command. */
  exec(phase: Phase, sandbox: Sandbox, options: ExecOptions & { name?: string }): Promise<void>
  /** Tells something that is already done. */
  tell(
    phase: Phase,
    about: string | Pick<EventData<'setup'>, 'name' | 'workspace'>,
    started?: number,
  ): Promise<void>
}

/** Tells each step as `setup` events: started, then finished or failed with its duration. */
export function createSetupSteps(hooks: {
  emit: (...events: NewEvent[]) => Promise<void>
  masked: Pick<EventWriter['masked'], 'stream'>
}): SetupSteps {
  const emit = (data: EventData<'setup'>) => hooks.emit({ type: 'setup', data })
  const since = (started: number) => Math.round(performance.now() - started)

  return {
    async run(phase, name, work) {
      const started = performance.now()
      const result = await work()
      emit({ phase, name, status: 'finished', duration_ms: since(started) }).catch(() => {})
      return result
    },

    async exec(phase, sandbox, { name, ...options }) {
      const shown = name ?? options.command
      const started = performance.now()
      const told = emit({ phase, name: shown, status: 'started' })
      told.catch(() => {})
      const handle = sandbox.exec({ max_output_bytes: MAX_READ, ...options })
      const output = new SetupOutput(hooks.emit, () => hooks.masked.stream())
      for await (const chunk of handle.output) output.push(chunk)
      const exit = await handle.exit
      // Taken in any case: else the agent's first command would be told of it.
      const killed = ((await sandbox.takeMemoryKills?.()) ?? 0) > 0
      await told
      const { tail, first_error } = await output.end()
      const failed = exit.code !== 0
      await emit({
        phase,
        name: shown,
        status: failed ? 'failed' : 'finished',
        exit_code: exit.code,
        duration_ms: since(started),
        ...(tail ? { output: tail } : {}),
        ...(failed && first_error ? { first_error } : {}),
      })
      if (failed) {
        const how = `${describe(phase, shown)} ${howItEnded(exit)}${killed ? describeKill(sandbox) : ''}`
        throw new SetupFailed(explain(how, tail, first_error))
      }
    },

    async tell(phase, about, started) {
      await emit({
        phase,
        ...(typeof about === 'string' ? { name: about } : about),
        status: 'finished',
        ...(started === undefined ? {} : { duration_ms: since(started) }),
      })
    },
  }
}

function describe(phase: Phase, name: string): string {
  if (phase === 'clone') return `Cloning ${name}`
  return phase === 'restore' ? `Restoring ${name}` : `The setup command "${name}"`
}

/** How it ended, the first line that says why, and the last ones below. */
function explain(ending: string, tail: string, first_error: string | null): string {
  const lines = lastLines(tail)
  if (first_error === null) return [`${ending}.`, ...lines].join('\n')
  const rest = lines.length === 1 && lines[0]?.trim() === first_error ? [] : lines
  return [`${ending}: ${first_error.replace(/\.$/, '')}.`, ...rest].join('\n')
}

const lastLines = (output: string): string[] =>
  output
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(-LAST_LINES)

function howItEnded(exit: ExecExit): string {
  if (exit.aborted) return 'was stopped'
  if (exit.timed_out) return 'took too long'
  return exit.code === null ? `was killed by ${exit.signal}` : `ended with exit code ${exit.code}`
}

function describeKill({ limits }: Sandbox): string {
  const bytes = limits?.memory_bytes
  const limit = bytes === undefined ? '' : ` of ${Math.floor(bytes / 1024 ** 2)} MiB`
  return `, killed: over the memory limit${limit}`
}
