import type { ChildProcess } from 'node:child_process'
import { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { exitOfShell, type RunningCommand } from './exec-handle.ts'
import { SandboxFault } from './sandbox.ts'
import type { StandardStreams } from './standard-streams.ts'

/** Descriptors of the started process beyond the standard three. */
export const DESCRIPTORS = { arguments: 3, command: 4, status: 5, seccomp: 6 } as const

const MESSAGE_BYTES = 4096

/** Feeds a starting `bwrap` and reads how its command ended. */
export function superviseBwrap(
  child: ChildProcess,
  { stdout, stderr }: StandardStreams,
  args: Buffer,
  script: string,
): RunningCommand {
  const send = (descriptor: number, data: Buffer | string) => {
    const pipe = pipeOf(child, descriptor)
    // It ended before it read everything; how it ended says why.
    pipe.on('error', () => {})
    pipe.end(data)
  }
  send(DESCRIPTORS.arguments, args)
  send(DESCRIPTORS.command, script)
  let message = ''
  const status = text(pipeOf(child, DESCRIPTORS.status)).catch(() => '')
  stderr.on('data', (data: Buffer) => {
    if (message.length < MESSAGE_BYTES) message += data
  })

  const ended = new Promise<{ code: number | null; signal: string | null }>((resolve, reject) => {
    child.once('error', (error) => reject(new SandboxFault(`bubblewrap did not start: ${error.message}`)))
    child.once('exit', async (code, signal) => {
      const said = /"exit-code": (\d+)/.exec(await status)
      if (signal) resolve({ code: null, signal })
      else if (said) resolve(exitOfShell(Number(said[1])))
      else reject(new SandboxFault(`bubblewrap could not run the command (exit ${code}): ${message.trim()}`))
    })
  })
  return {
    stdin: child.stdin,
    stdout,
    stderr,
    ended,
    // One process is enough: bwrap's process 1 dies with it, and with process 1 everything in its namespace.
    kill: async () => void child.kill('SIGKILL'),
  }
}

function pipeOf(child: ChildProcess, descriptor: number): Duplex {
  const pipe = child.stdio.at(descriptor)
  if (!(pipe instanceof Duplex))
    throw new SandboxFault(`bubblewrap was started without descriptor ${descriptor}`)
  return pipe
}
