import { PassThrough } from 'node:stream'
import { collectExec, type ExecHandle, type ExecOptions, SandboxFault } from './sandbox.ts'

/** Whoever holds longer is gone: then the processes go on by themselves. */
const HOLD_SECONDS = 30
const LIMIT_MS = 45_000
/** Until then they have been stopped, or it failed. */
const HELD_MS = 10_000

/**
 * Stops all of the user's processes from inside, where all commands share one process namespace. The command that does so
 * stays, spared by its own signal, until it is told to let the others go on.
 */
export async function holdInside(inside: {
  exec: (options: ExecOptions) => ExecHandle
  killAll: () => Promise<void>
}): Promise<() => Promise<void>> {
  const until = new PassThrough()
  const handle = inside.exec({ command: HOLD, cwd: '/', stdin: until, timeout_ms: LIMIT_MS })
  const output = handle.output[Symbol.asyncIterator]()
  const late = setTimeout(() => handle.kill().catch(() => {}), HELD_MS)
  const { done } = await output.next()
  clearTimeout(late)
  const release = async (): Promise<void> => {
    until.end()
    const { code } = await handle.exit.catch(() => ({ code: null }))
    if (code === 0) return
    const again = await collectExec(inside.exec({ command: GO_ON, cwd: '/', timeout_ms: LIMIT_MS })).catch(
      () => null,
    )
    // At the process limit there may be no room for a command, and nothing may stand still for ever.
    if (again?.exit.code !== 0) await inside.killAll().catch(() => {})
  }
  if (!done) return release
  // It may have stopped them all, its own parent too, and died before it could say so.
  await release()
  throw new SandboxFault('The processes of the sandbox could not be stopped')
}

/** A signal to -1 goes to everybody but its sender and process 1. That nobody else is there fails nothing. */
const GO_ON = 'kill -CONT -1 2>/dev/null; exit 0'
const HOLD = `kill -STOP -1 2>/dev/null; echo held
timeout ${HOLD_SECONDS} head -c 1 >/dev/null
${GO_ON}`
