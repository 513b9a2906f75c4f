import { EXIT } from './failure.ts'

/** Loaded by the commands that need it: the service is large, and client commands should start at once. */
export const loadService = () => import('../../server/src/main.ts')

/**
 * Runs a role until SIGINT, SIGTERM or SIGHUP (the terminal was closed), then stops it and ends the process. A second SIGINT
 * ends it at once. Signals are heard from the beginning, so that one during a slow start is not lost.
 */
export async function runRole<T extends { stop(): Promise<void> }>(
  start: () => Promise<T>,
  announce: (role: T) => void | Promise<void>,
): Promise<never> {
  const stopping = new Promise<void>((resolve) => {
    let interrupts = 0
    for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve())
    process.on('SIGINT', () => {
      interrupts += 1
      if (interrupts > 1) process.exit(EXIT.interrupted)
      process.stderr.write(
        '\nStopping. Runs that are at work go on after the next start. Press Ctrl-C again to stop at once.\n',
      )
      resolve()
    })
  })
  const role = await start()
  await Promise.race([announce(role), stopping])
  await stopping
  await role.stop()
  process.exit(EXIT.ok)
}
