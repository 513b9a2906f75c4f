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
  /** What is known beforehand of its input; `null`: it has none, or is fed later. */
  stdin: number | null
  /** Where it writes. These block, as programs expect. */
  outputs: { stdout: number; stderr: number }
  stdout: Readable
  stderr: Readable
  /** Closes our copies of the child's descriptors. */
  release(): void
}

/**
 * Streams a command can open again by name. Node connects children by sockets, under which `echo x > /dev/stderr` or
 * `cat /dev/stdin` fails; here stdout and stderr are pipes, and input that is known beforehand is a file, made in
 * `directory` and unlinked once it is open. They are given to `uid`, since only their owner may open them again.
 */
export async function openStandardStreams(
  directory: string,
  uid: number | null,
  stdin: ExecOptions['stdin'] | null,
): Promise<StandardStreams> {
  const given = typeof stdin === 'string' || stdin instanceof Uint8Array
  const input = given ? await openInput(directory, stdin) : null
  try {
    const { out, err } = await takePipes(['out', 'err'])
    const theirs = [out.write, err.write, ...(input === null ? [] : [input])]
    if (uid !== null) for (const descriptor of theirs) fchownSync(descriptor, uid, uid)
    return {
      stdin: input,
      outputs: { stdout: out.write, stderr: err.write },
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
