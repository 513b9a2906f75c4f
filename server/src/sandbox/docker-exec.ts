import type { Duplex } from 'node:stream'
import { finished } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type Docker from 'dockerode'
import { engineFault } from './docker-engine.ts'
import { splitDockerStream } from './docker-stream.ts'
import { exitOfShell, type RunningCommand } from './exec-handle.ts'

const POLL_MS = 25

type CommandExit = { code: number | null; signal: string | null }

/**
 * A command that the engine was asked to start. `mayHaveMissed`: all in its container was killed since, perhaps before the
 * command began; the engine then says so in place of the command's output, and with an exit code of its own.
 */
export function superviseDockerExec(
  exec: Docker.Exec,
  socket: Duplex,
  rest: { takes_input: boolean; mayHaveMissed: () => boolean; kill: RunningCommand['kill'] },
): RunningCommand {
  const { mayHaveMissed } = rest
  const { stdout, stderr } = splitDockerStream(
    socket,
    async () => !mayHaveMissed() || (await exec.inspect().catch(() => null))?.Pid !== 0,
  )
  const closed = Promise.allSettled([finished(stdout), finished(stderr)])
  return {
    stdin: rest.takes_input ? socket : null,
    stdout,
    stderr,
    ended: closed.then(() => readExit(exec, mayHaveMissed)),
    kill: rest.kill,
  }
}

/** A refused start stays open behind its input otherwise, and keeps the service from its end. */
export async function connect(exec: Docker.Exec): Promise<Duplex> {
  const refused = new AbortController()
  try {
    return await exec.start({ hijack: true, stdin: true, abortSignal: refused.signal })
  } catch (error) {
    refused.abort()
    throw error
  }
}

export function keepAwake(socket: Duplex, awake: boolean): void {
  if (
    'ref' in socket &&
    'unref' in socket &&
    typeof socket.ref === 'function' &&
    typeof socket.unref === 'function'
  )
    awake ? socket.ref() : socket.unref()
}

export async function readExit(
  exec: Docker.Exec,
  mayHaveMissed: () => boolean = () => false,
): Promise<CommandExit> {
  for (;;) {
    const state = await exec.inspect().catch((error) => {
      throw engineFault('the Docker engine lost the command', error)
    })
    if (!state.Running) {
      // Killed with its container: the engine may not have seen a code, or have got a refusal in place of one.
      const { ExitCode: code, Pid: pid } = state
      const killed = code === null || (mayHaveMissed() && pid === 0)
      return killed ? { code: null, signal: 'SIGKILL' } : exitOfShell(code)
    }
    await delay(POLL_MS)
  }
}
