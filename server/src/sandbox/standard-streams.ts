import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { closeSync, fchownSync, openSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { Socket } from 'node:net'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { takePipes } from './pipes.ts'
import type { ExecOptions } from './sandbox.ts'

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
 * `cat /dev/stdin` fails; here stdout and stderr are pipes, and input that is known beforehand is a file, made in
 * `directory` and unlinked once it is open. They are given to `uid`, since only their owner may open them again.
 * (A stream as input stays a socket: opening a named pipe again would hang when its writer has gone.) `stdin` null: it is fed
 * later, by the child's `stdin`.
 */
export async function openStandardStreams(
  directory: string,
  uid: number | null,
  stdin: ExecOptions['stdin'] | null,
): Promise<StandardStreams> {
  const given = typeof stdin === 'string' || stdin instanceof Uint8Array
  const input = given ? await openInput(directory, stdin) : null
  try {
    const [out, err] = await takePipes()
    const theirs = [out.write, err.write, ...(input === null ? [] : [input])]
    if (uid !== null) for (const descriptor of theirs) fchownSync(descriptor, uid, uid)
    return {
      child: [input ?? (stdin === undefined ? 'ignore' : 'pipe'), out.write, err.write],
      stdout: new Socket({ fd: out.read, readable: true, writable: false }),
      stderr: new Socket({ fd: err.read, readable: true, writable: false }),
      release: () => {
        for (const descriptor of theirs) closeSync(descriptor)
      },
    }
  } catch (error) {
    if (input !== null) closeSync(input)
    throw error
  }
}

async function openInput(directory: string, data: string | Uint8Array): Promise<number> {
  const path = join(directory, `stdin-${randomUUID()}`)
  try {
    await writeFile(path, data, { mode: 0o600 })
    return openSync(path, 'r')
  } finally {
    await rm(path, { force: true })
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
