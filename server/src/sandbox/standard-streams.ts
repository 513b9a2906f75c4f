import { type ChildProcess, execFile, type SpawnOptions, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { closeSync, constants, openSync } from 'node:fs'
import { chown, rm, writeFile } from 'node:fs/promises'
import { Socket } from 'node:net'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import type { ExecOptions } from './sandbox.ts'

const { O_NONBLOCK, O_RDONLY, O_WRONLY } = constants

/** The standard streams of a command about to start. */
export interface StandardStreams {
  /** For `spawn`'s `stdio`; only input that is a stream is left to feed, through the child's `stdin`. */
  child: [stdin: number | 'ignore' | 'pipe', stdout: number, stderr: number]
  stdout: Readable
  stderr: Readable
  /** Closes our copies of the child's descriptors. */
  release(): void
}

/**
 * Streams a command can open again by name. Node connects children by sockets, under which `echo x > /dev/stderr` or
 * `cat /dev/stdin` fails; here stdout and stderr are pipes, and input that is known beforehand is a file. They are made
 * in `directory`, given to `uid`, since only their owner may open them again, and unlinked once both ends are open.
 * (A stream as input stays a socket: opening a named pipe again would hang when its writer has gone.)
 */
export async function openStandardStreams(
  directory: string,
  uid: number | null,
  stdin: ExecOptions['stdin'],
): Promise<StandardStreams> {
  const place = (name: string) => join(directory, `${name}-${randomUUID()}`)
  const [out, err, input] = [place('stdout'), place('stderr'), place('stdin')]
  const given = typeof stdin === 'string' || stdin instanceof Uint8Array
  const opened: number[] = []
  const open = (path: string, flags: number) => {
    const descriptor = openSync(path, flags)
    opened.push(descriptor)
    return descriptor
  }
  try {
    await Promise.all([
      promisify(execFile)('mkfifo', ['-m', '600', '--', out, err]),
      given && writeFile(input, stdin, { mode: 0o600 }),
    ])
    const paths = given ? [out, err, input] : [out, err]
    if (uid !== null) await Promise.all(paths.map((path) => chown(path, uid, uid)))
    // Our end first and without blocking; opening the other end then blocks neither, and stays a blocking descriptor
    // as programs expect of their standard streams.
    const ours = [open(out, O_RDONLY | O_NONBLOCK), open(err, O_RDONLY | O_NONBLOCK)] as const
    const theirs = [open(out, O_WRONLY), open(err, O_WRONLY)] as const
    const file = given ? open(input, O_RDONLY) : null
    return {
      child: [file ?? (stdin === undefined ? 'ignore' : 'pipe'), ...theirs],
      stdout: new Socket({ fd: ours[0], readable: true, writable: false }),
      stderr: new Socket({ fd: ours[1], readable: true, writable: false }),
      release: () => {
        for (const descriptor of [...theirs, file]) if (descriptor !== null) closeSync(descriptor)
      },
    }
  } catch (error) {
    for (const descriptor of opened) closeSync(descriptor)
    throw error
  } finally {
    await Promise.all([out, err, input].map((path) => rm(path, { force: true })))
  }
}

/** Starts a program on `streams`, with `more` as its further descriptors; nothing stays open when that fails. */
export function spawnOn(
  streams: StandardStreams,
  [file, ...args]: [string, ...string[]],
  options: SpawnOptions,
  more: Array<number | 'pipe'> = [],
): ChildProcess {
  try {
    return spawn(file, args, { ...options, stdio: [...streams.child, ...more] })
  } catch (error) {
    streams.stdout.destroy()
    streams.stderr.destroy()
    throw error
  } finally {
    streams.release()
  }
}
