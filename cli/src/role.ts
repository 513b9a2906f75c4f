import { setFlagsFromString } from 'node:v8'
import { type CommandProcess, currentProcess, resolvePath } from './current-process.ts'
import { EXIT } from './failure.ts'

/** Loaded by the commands that need it: the service is large, and client commands should start at once. */
export const loadService = () => import('../../server/src/main.ts')

/** Keeps V8 from enlarging the space for new objects, or lets it double the space again, up to V8's own limit. */
const limitGrowth = (limited: boolean): void =>
  setFlagsFromString(`--semi-space-growth-factor=${limited ? 1 : 2}`)

/**
 * The same for a role, which `runRole` then starts. A start loads much at once: V8 would enlarge the space for new objects to
 * 16 MiB and more for that, and keep it as long as the role lives.
 */
export const loadRole = () => {
  limitGrowth(true)
  return loadService()
}

/** Where the service finds its settings: in the environment and the folder of the command, but for what `--data-dir` says. */
export function settingsOf({ dataDir }: { dataDir?: string | undefined } = {}) {
  const own = currentProcess()
  return {
    ...{ env: own.env, directory: own.cwd() },
    ...(dataDir === undefined ? {} : { data_dir: resolvePath(dataDir) }),
  }
}

/**
 * Runs a role until SIGINT, SIGTERM or SIGHUP (the terminal was closed), then stops it and ends the process. A second SIGINT
 * ends it at once. Signals are heard from the beginning, so that one during a slow start is not lost.
 */
export async function runRole<T extends { stop(): Promise<void> }>(
  start: (signal: AbortSignal) => Promise<T>,
  announce: (role: T) => void | Promise<void>,
): Promise<never> {
  const own: CommandProcess = currentProcess()
  const stop = new AbortController()
  const stopping = new Promise<void>((resolve) => {
    let interrupts = 0
    stop.signal.addEventListener('abort', () => resolve())
    for (const signal of ['SIGTERM', 'SIGHUP'] as const) own.on(signal, () => stop.abort())
    own.on('SIGINT', () => {
      interrupts += 1
      if (interrupts > 1) own.exit(EXIT.interrupted)
      own.stderr.write(
        '\nStopping. Runs that are at work go on after the next start. Press Ctrl-C again to stop at once.\n',
      )
      stop.abort()
    })
  })
  const role = await start(stop.signal).catch((error: unknown) => {
    // It was waiting, and nothing was begun.
    if (error instanceof Error && error.name === 'AbortError') own.exit(EXIT.ok)
    throw error
  })
  limitGrowth(false)
  try {
    await Promise.race([announce(role), stopping])
  } catch (error) {
    await role.stop()
    throw error
  }
  await stopping
  await role.stop()
  own.exit(EXIT.ok)
}
