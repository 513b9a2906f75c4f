import type { ChildProcess } from 'node:child_process'
import { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { exitOfShell, type RunningCommand } from './exec-handle.ts'
import { SandboxFault, toFault } from './sandbox.ts'
import type { StandardStreams } from './standard-streams.ts'

/** Descriptors of the started process beyond the standard three. */
export const DESCRIPTORS = { arguments: 3, command: 4, status: 5, seccomp: 6 } as const

const MESSAGE_BYTES = 4096

/** What holds the processes of a command from outside. */
export interface Hold {
  /** Kills process 1 of the command's namespace, and so everything in it. Idempotent. */
  kill(): void
  /** The command has ended: lets go of what was held for it. */
  release(): void
}

export interface BwrapInput {
  /** What bwrap reads as its arguments. */
  args: Buffer
  /** What the sandbox's shell reads. */
  script: string
  /**
   * Called with the pid of process 1 of the command's namespace. The script is sent when it has resolved, and so nothing that
   * an agent wrote runs before it is held; if it rejects, the command fails with that fault.
   */
  hold: (pid: number) => Promise<Hold>
}

/** A command's `bwrap`. */
export interface RunningBwrap extends RunningCommand {
  /** Whether it keeps the service from its end. It does at first. */
  keepAwake(awake: boolean): void
  /** Of its namespace's first process; `null`: there is none. */
  first_pid: Promise<number | null>
}

/** Feeds a starting `bwrap` and reads how its command ended. */
export function superviseBwrap(
  child: ChildProcess,
  { stdout, stderr }: StandardStreams,
  { args, script, hold }: BwrapInput,
): RunningBwrap {
  const send = (descriptor: number, data: Buffer | string) => {
    const pipe = pipeOf(child, descriptor)
    // It ended before it read everything; how it ended says why.
    pipe.on('error', () => {})
    pipe.end(data)
  }
  send(DESCRIPTORS.arguments, args)
  let message = ''
  stderr.on('data', (data: Buffer) => {
    if (message.length < MESSAGE_BYTES) message += data
  })

  const status = readStatus(pipeOf(child, DESCRIPTORS.status))
  let fault: SandboxFault | null = null
  let holding: Hold | null = null
  const held = status.first_pid.then(async (pid) => {
    if (pid === null) return
    try {
      holding = await hold(pid)
      send(DESCRIPTORS.command, script)
    } catch (error) {
      fault = toFault(error)
      killGroup(child)
    }
  })

  const ended = new Promise<{ code: number | null; signal: string | null }>((resolve, reject) => {
    child.once('error', (error) => reject(new SandboxFault(`bubblewrap did not start: ${error.message}`)))
    child.once('exit', async (code, signal) => {
      await held
      // bwrap may have been ended alone, and its process 1 can have been made to live on.
      holding?.kill()
      holding?.release()
      const exit_code = await status.exit_code
      if (fault) reject(fault)
      else if (signal) resolve({ code: null, signal })
      else if (exit_code !== null) resolve(exitOfShell(exit_code))
      else reject(new SandboxFault(`bubblewrap could not run the command (exit ${code}): ${message.trim()}`))
    })
  })
  return {
    stdin: child.stdin,
    stdout,
    stderr,
    ended,
    keepAwake(awake) {
      const sockets = [stdout, stderr, ...child.stdio].filter((stream) => stream instanceof Socket)
      for (const one of [child, ...sockets.filter(({ destroyed }) => !destroyed)])
        awake ? one.ref() : one.unref()
    },
    first_pid: held.then(() => status.first_pid),
    // Before it is held process 1 may already be there, unknown, waiting for bwrap for ever; it is of bwrap's group.
    kill: async () => {
      holding?.kill()
      killGroup(child)
    },
  }
}

/** The child is the leader of its session. */
function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // Nobody is left in it.
  }
}

/** What bwrap reports, as it does; `null` where it ended without saying so. */
function readStatus(pipe: Duplex): { first_pid: Promise<number | null>; exit_code: Promise<number | null> } {
  const first_pid = Promise.withResolvers<number | null>()
  const exit_code = Promise.withResolvers<number | null>()
  let said = ''
  const numberOf = (name: string): number | null => {
    // A number is whole once something follows it.
    const value = new RegExp(`"${name}": (\\d+)\\D`).exec(said)?.[1]
    return value === undefined ? null : Number(value)
  }
  pipe.on('data', (data: Buffer) => {
    said += data
    const pid = numberOf('child-pid')
    if (pid !== null) first_pid.resolve(pid)
  })
  pipe.on('error', () => {})
  pipe.once('close', () => {
    first_pid.resolve(null)
    exit_code.resolve(numberOf('exit-code'))
  })
  return { first_pid: first_pid.promise, exit_code: exit_code.promise }
}

function pipeOf(child: ChildProcess, descriptor: number): Duplex {
  const pipe = child.stdio.at(descriptor)
  if (!(pipe instanceof Duplex))
    throw new SandboxFault(`bubblewrap was started without descriptor ${descriptor}`)
  return pipe
}
