import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { runProgram } from './run-program.ts'
import { collectExec, type DiskUsage, type ExecHandle, type ExecOptions, SandboxFault } from './sandbox.ts'
import type { Launch } from './starter.ts'

export interface Measuring {
  /** Directories of this host, on one file system. */
  directories: readonly string[]
  /** Processes whose deleted files count as long as they are open. */
  pids: readonly number[]
  /** Path of `bwrap`, for who is not root: it lets `du` read what the sandbox closed to its own user (`chmod 000`). */
  bwrap?: string
  signal?: AbortSignal
}

/**
 * What directories that an agent filled take up, told by programs of the host: `du` walks by descriptors, so it follows no
 * link, copes with trees deeper than `PATH_MAX` and never holds up this process. Links count once, holes not at all.
 * What vanishes while it walks is not counted. Throws `SandboxFault` when it cannot be told or the signal cut it short.
 */
export async function measureDisk(measuring: Measuring): Promise<DiskUsage> {
  const bytes = await walk(measuring, '--block-size=1')
  const files = await walk(measuring, '--inodes')
  return { bytes: bytes + (await measureDeleted(measuring)), files }
}

/** In a user namespace of its own the service's user may read all files of its own, and no others. */
const OWN_FILES =
  '--unshare-user --uid 0 --gid 0 --cap-add CAP_DAC_READ_SEARCH --dev-bind / / --die-with-parent --'

async function walk({ directories, bwrap, signal }: Measuring, unit: string): Promise<number> {
  const du: Launch = ['du', '--summarize', '--total', '--one-file-system', unit, '--', ...directories]
  const total =
    (bwrap && (await readTotal([bwrap, ...OWN_FILES.split(' '), ...du], signal))) ||
    (await readTotal(du, signal))
  if (!total) throw new SandboxFault('What the sandbox holds on disk could not be measured')
  return Number(total)
}

const readTotal = async (command: Launch, signal?: AbortSignal): Promise<string | undefined> =>
  /^(\d+)\ttotal$/m.exec(await print(command, signal))?.[1]

/** No directory has these files any more, and they take up space until the last process has closed them. */
async function measureDeleted({ directories, pids, signal }: Measuring): Promise<number> {
  const places = pids
    .flatMap((pid) => [`/proc/${pid}/fd/`, `/proc/${pid}/map_files/`])
    .filter((place) => existsSync(place))
  const [directory] = directories
  if (places.length === 0 || directory === undefined) return 0
  const { dev } = await stat(directory)
  const options = ['-maxdepth', '1', '-type', 'f', '-links', '0', '-printf', '%D %i %b\n']
  const printed = await print(['find', '-L', ...places, ...options], signal)
  // Memory files have no name either; they lie on another device. A file may be open more than once.
  const lines = new Set(printed.split('\n').filter((line) => line.startsWith(`${dev} `)))
  return [...lines].reduce((bytes, line) => bytes + Number(line.split(' ')[2]) * 512, 0)
}

/** What a program prints, however it ends: both complain about files that vanish, and have told the rest. */
async function print(words: Launch, signal?: AbortSignal): Promise<string> {
  return (await runProgram(words, signal)).stdout
}

/**
 * What folders of a sandbox take up by its own `du`: an image made for it can lie, and what its user closed to itself is not
 * counted. Throws `SandboxFault`.
 */
export async function measureInside(
  folders: readonly string[],
  exec: (options: ExecOptions) => ExecHandle,
  signal?: AbortSignal,
): Promise<DiskUsage> {
  const places = folders.join(' ')
  const command = `export LC_ALL=C PATH=/usr/bin:/bin
du -s -x -k -c ${places} 2>/dev/null | tail -n 1
du -s -x -c --inodes ${places} 2>/dev/null | tail -n 1`
  const { stdout } = await collectExec(exec({ command, cwd: '/', ...(signal ? { signal } : {}) }))
  const [kibibytes, files] = stdout
    .toString()
    .split('\n')
    .map((line) => Number(/^(\d+)\s+total$/.exec(line)?.[1]))
  if (kibibytes === undefined || Number.isNaN(kibibytes))
    throw new SandboxFault('What the sandbox holds on disk could not be measured')
  return { bytes: kibibytes * 1024, files: files || 0 }
}
