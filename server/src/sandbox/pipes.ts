import { execFile } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'
import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const { O_NONBLOCK, O_RDONLY, O_WRONLY } = constants

/** Both ends of a pipe, closed by whoever took it. */
export interface Pipe {
  /** Does not block. */
  read: number
  /** Blocks, as programs expect of their standard streams. */
  write: number
}

/**
 * Made at a time. Node makes no pipes, so a program must, and starting one costs a large process dearly: the kernel copies
 * its page tables (22 ms at 500 MB), while nothing else runs.
 */
const PAIRS = 16

const PREFIX = 'runyard-pipes-'
/** Pipes lose their names within milliseconds. */
const AGE_MS = 60_000

const spare: Array<[Pipe, Pipe]> = []
let making: Promise<void> | undefined

/** Two pipes that have no name any more. */
export async function takePipes(): Promise<[Pipe, Pipe]> {
  for (;;) {
    const pair = spare.pop()
    if (pair) return pair
    making ??= makePipes().finally(() => {
      making = undefined
    })
    await making
  }
}

async function makePipes(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), PREFIX))
  const place = (name: string) => join(directory, name)
  const names = Array.from({ length: PAIRS }, (_, index) => [`${index}-out`, `${index}-err`] as const)
  try {
    // Not the service's own environment: others of its user could read its keys there.
    const env = { PATH: process.env.PATH }
    await promisify(execFile)('mkfifo', ['-m', '600', '--', ...names.flat().map(place)], { env })
    for (const [out, err] of names) spare.push(openPair(place(out), place(err)))
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

function openPair(out: string, err: string): [Pipe, Pipe] {
  const opened: number[] = []
  const open = (path: string, flags: number): number => {
    const descriptor = openSync(path, flags)
    opened.push(descriptor)
    return descriptor
  }
  // Our end first and without blocking: then opening the other end does not block either.
  const openPipe = (path: string): Pipe => ({
    read: open(path, O_RDONLY | O_NONBLOCK),
    write: open(path, O_WRONLY),
  })
  try {
    return [openPipe(out), openPipe(err)]
  } catch (error) {
    for (const descriptor of opened) closeSync(descriptor)
    throw error
  }
}
