import { closeSync, constants, openSync } from 'node:fs'
import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SandboxFault } from './sandbox.ts'
import { startProgram } from './starter.ts'

const { O_NONBLOCK, O_RDONLY, O_WRONLY } = constants

/** Both ends of a pipe, closed by whoever took it. */
export interface Pipe {
  /** Does not block. */
  read: number
  /** Blocks, as programs expect of their standard streams. */
  write: number
}

/** Made at a time: Node makes no pipes, so a program must. */
const COUNT = 48

const PREFIX = 'runyard-pipes-'
/** Pipes lose their names within milliseconds. */
const AGE_MS = 60_000

const spare: Pipe[] = []
let making: Promise<void> | undefined

/** Pipes that have no name any more, for what the caller names. */
export async function takePipes<Name extends string>(names: readonly Name[]): Promise<Record<Name, Pipe>> {
  while (spare.length < names.length) {
    making ??= makePipes().finally(() => {
      making = undefined
    })
    await making
  }
  const taken = spare.splice(0, names.length)
  return Object.fromEntries(names.map((name, index) => [name, taken[index]])) as Record<Name, Pipe>
}

async function makePipes(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), PREFIX))
  const places = Array.from({ length: COUNT }, (_, index) => join(directory, String(index)))
  try {
    const { ended } = await startProgram(['mkfifo', '-m', '600', '--', ...places])
    const { code, signal } = await ended
    if (code !== 0) throw new SandboxFault(`mkfifo ended with ${signal ?? code} in ${directory}`)
    for (const place of places) spare.push(openPipe(place))
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** Removes what processes of this user left that were killed while they made some; how many they were. */
export async function removeOldPipes(): Promise<number> {
  let removed = 0
  for (const name of (await readdir(tmpdir())).filter((entry) => entry.startsWith(PREFIX))) {
    const path = join(tmpdir(), name)
    const found = await lstat(path).catch(() => null)
    if (!found || found.uid !== process.getuid?.() || Date.now() - found.mtimeMs < AGE_MS) continue
    await rm(path, { recursive: true, force: true })
    removed += 1
  }
  return removed
}

/** Our end first and without blocking: then opening the other end does not block either. */
function openPipe(path: string): Pipe {
  const read = openSync(path, O_RDONLY | O_NONBLOCK)
  try {
    return { read, write: openSync(path, O_WRONLY) }
  } catch (error) {
    closeSync(read)
    throw error
  }
}
