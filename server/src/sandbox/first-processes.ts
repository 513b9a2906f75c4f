import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readStartTime } from './process-tree.ts'

/** The first process of one command's process namespace: when it dies, the kernel kills everything in the namespace. */
export interface FirstProcess {
  /** Kills it if it still is the same process. */
  kill(): void
  /** The namespace is gone. */
  forget(): void
}

/** Pids and start times begin anew with each boot. */
const BOOT = /^[0-9a-f]{8}/.exec(read('/proc/sys/kernel/random/boot_id'))?.[0] ?? '0'

/**
 * The first processes of a sandbox's commands, a file each, named by what tells a process from all others: pid, start time and
 * boot. They outlive whoever started the command, so the warden and a later worker find them. A command can hide from every
 * other search: it may rewrite the arguments and the environment of its ancestors inside, and with `ptrace` take away the
 * signal that ends them with their parent.
 */
export class FirstProcesses {
  readonly #directory: string

  /** `directory` must not be visible inside the sandbox. */
  constructor(directory: string) {
    this.#directory = directory
  }

  /** Makes the directory where there is none. */
  open(): void {
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 })
  }

  /**
   * Call before anything of the command's own runs. `null` when the process has ended already; throws when the sandbox was
   * removed meanwhile.
   */
  remember(pid: number, attempt: number): FirstProcess | null {
    const started = readStartTime(pid)
    if (started === null) return null
    const file = join(this.#directory, `${attempt}-${pid}-${started}-${BOOT}`)
    writeFileSync(file, '')
    return {
      kill: () => killSame(pid, started),
      forget: () => rmSync(file, { force: true }),
    }
  }

  /** Pids of those that live and belong to `attempt` or an earlier one. */
  living(attempt: number): number[] {
    return this.#names().flatMap((name) => {
      const [owner, pid = '', started, boot] = name.split('-')
      const lives = boot === BOOT && Number(owner) <= attempt && readStartTime(Number(pid)) === started
      return lives ? [Number(pid)] : []
    })
  }

  #names(): string[] {
    try {
      return readdirSync(this.#directory)
    } catch {
      return [] // Nothing was started yet, or the sandbox is gone.
    }
  }
}

function killSame(pid: number, started: string): void {
  if (readStartTime(pid) !== started) return
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended just now.
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
