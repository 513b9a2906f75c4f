import { closeSync, fchmodSync } from 'node:fs'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { exitOfShell, type RunningCommand } from './exec-handle.ts'
import { takePipes } from './pipes.ts'
import { SandboxFault, toFault } from './sandbox.ts'
import type { StandardStreams } from './standard-streams.ts'
import { type Launch, type Program, startProgram } from './starter.ts'

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
  /** An open file: its filter of system calls. */
  seccomp: number
  /** The command's input comes later. */
  is_fed: boolean
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

/** Starts `bwrap` on `streams`, which are released, feeds it and reads how its command ended. Throws `SandboxFault`. */
export async function startBwrap(
  launch: Launch,
  streams: StandardStreams,
  { args, script, seccomp, is_fed, hold }: BwrapInput,
): Promise<RunningBwrap> {
  const { stdout, stderr } = streams
  const connected = await connect(launch, streams, { seccomp, is_fed })
  const { program, stdin, status: statuses } = connected
  const send = (pipe: Socket, data: Buffer | string) => {
    // It ended before it read everything; how it ended says why.
    pipe.on('error', () => {})
    pipe.end(data)
  }
  send(connected.arguments, args)
  let message = ''
  stderr.on('data', (data: Buffer) => {
    if (message.length < MESSAGE_BYTES) message += data
  })

  const status = readStatus(statuses)
  let fault: SandboxFault | null = null
  let holding: Hold | null = null
  const held = status.first_pid.then(async (pid) => {
    if (pid === null) return
    try {
      holding = await hold(pid)
      send(connected.command, script)
    } catch (error) {
      fault = toFault(error)
      program.kill()
    }
  })

  const readEnd = async (): Promise<{ code: number | null; signal: string | null }> => {
    const { code, signal } = await program.ended.finally(async () => {
      await held
      // bwrap may have been ended alone, and its process 1 can have been made to live on.
      holding?.kill()
      holding?.release()
    })
    const exit_code = await status.exit_code
    connected.command.destroy()
    if (fault) throw fault
    if (exit_code !== null) return exitOfShell(exit_code)
    if (signal) return { code: null, signal }
    throw new SandboxFault(`bubblewrap could not run the command (exit ${code}): ${message.trim()}`)
  }
  return {
    stdin,
    stdout,
    stderr,
    ended: readEnd(),
    keepAwake(awake) {
      program.keepAwake(awake)
      const sockets = [stdout, stderr, stdin, statuses, connected.arguments, connected.command]
      for (const one of sockets) if (one instanceof Socket && !one.destroyed) awake ? one.ref() : one.unref()
    },
    first_pid: held.then(() => status.first_pid),
    // Before it is held process 1 may already be there, unknown, waiting for bwrap for ever; it is of bwrap's session.
    kill: async () => {
      holding?.kill()
      program.kill()
    },
  }
}

interface Connected {
  program: Program
  /** `null` where the command gets none, or one that is a file. */
  stdin: Socket | null
  arguments: Socket
  command: Socket
  status: Socket
}

async function connect(
  launch: Launch,
  streams: StandardStreams,
  { seccomp, is_fed }: Pick<BwrapInput, 'seccomp' | 'is_fed'>,
): Promise<Connected> {
  const opened: Socket[] = []
  const theirs: number[] = []
  try {
    const pipes = await takePipes(['arguments', 'command', 'status', ...(is_fed ? ['input' as const] : [])])
    const input = is_fed ? pipes.input : null
    const open = (fd: number, readable: boolean): Socket => {
      const socket = new Socket({ fd, readable, writable: !readable })
      opened.push(socket)
      return socket
    }
    const stdin = input && open(input.write, false)
    const sockets = {
      stdin,
      arguments: open(pipes.arguments.write, false),
      command: open(pipes.command.write, false),
      status: open(pipes.status.read, true),
    }
    const from = input?.read ?? streams.stdin
    theirs.push(pipes.arguments.read, pipes.command.read, pipes.status.write, ...(input ? [input.read] : []))
    const program = await startProgram(launch, [
      ...(from === null ? [] : [{ at: 0, ours: from, mode: 'read' as const }]),
      { at: 1, ours: streams.outputs.stdout, mode: 'write' },
      { at: 2, ours: streams.outputs.stderr, mode: 'write' },
      { at: DESCRIPTORS.arguments, ours: pipes.arguments.read, mode: 'read' },
      { at: DESCRIPTORS.command, ours: pipes.command.read, mode: 'read' },
      { at: DESCRIPTORS.status, ours: pipes.status.write, mode: 'write' },
      { at: DESCRIPTORS.seccomp, ours: seccomp, mode: 'read' },
    ])
    // A command that opens /dev/stdin again after its writer has closed would hang. Without permissions the open fails instead.
    if (input) fchmodSync(input.read, 0)
    return { program, ...sockets }
  } catch (error) {
    for (const socket of [...opened, streams.stdout, streams.stderr]) socket.destroy()
    throw error
  } finally {
    streams.release()
    for (const descriptor of theirs) closeSync(descriptor)
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
