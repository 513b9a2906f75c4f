import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { BINARY, SHARED_CACHE } from '../../server/test/support/service.ts'

export { BINARY }

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

export type Child = ChildProcess & { ended: Promise<Ended> }

/** A home of its own for the real command, so that nothing of the machine's is read or written. */
export class Home {
  readonly directory = mkdtempSync(join(tmpdir(), 'runyard-cli-'))
  readonly #children = new Set<ChildProcess>()

  /** Starts `runyard` in this directory; in a pipe, not on a terminal. */
  spawn(args: string[], environment: NodeJS.ProcessEnv = {}, directory?: string): Child {
    return this.#start([process.execPath, BINARY, ...args], environment, directory)
  }

  /** The same on a terminal of 60 columns, whose both outputs are the standard output here. */
  spawnOnTerminal(args: string[]): Child {
    const inner = 'stty cols 60; exec "$NODE" "$BINARY" $ARGUMENTS'
    return this.#start(['script', '-qefc', inner, '/dev/null'], {
      TERM: 'xterm',
      NODE: process.execPath,
      BINARY,
      ARGUMENTS: args.join(' '),
    })
  }

  #start([command = '', ...args]: string[], environment: NodeJS.ProcessEnv, directory?: string): Child {
    const { PATH, TMPDIR } = process.env
    const child = spawn(command, args, {
      cwd: directory ?? this.directory,
      env: { PATH, ...(TMPDIR ? { TMPDIR } : {}), HOME: this.directory, ...SHARED_CACHE, ...environment },
      stdio: 'pipe',
    })
    this.#children.add(child)
    const closed = once(child, 'close').then(([code]) => {
      this.#children.delete(child)
      return code as number | null
    })
    const ended = Promise.all([closed, text(child.stdout), text(child.stderr)]).then(
      ([code, stdout, stderr]) => ({
        code,
        stdout,
        stderr,
      }),
    )
    return Object.assign(child, { ended })
  }

  /** Runs `runyard` to its end, in another directory maybe. */
  run(
    args: string[],
    options: { input?: string; environment?: NodeJS.ProcessEnv; directory?: string } = {},
  ): Promise<Ended> {
    const child = this.spawn(args, options.environment, options.directory)
    child.stdin?.end(options.input ?? '')
    return child.ended
  }

  async remove(): Promise<void> {
    const left = [...this.#children].map((child) => {
      child.kill('SIGKILL')
      return once(child, 'close')
    })
    await Promise.all(left)
    rmSync(this.directory, { recursive: true, force: true })
  }
}

/** Resolves with what the child has printed from now on once it matches; rejects when the child ends before. */
export function printedBy(
  child: ChildProcess,
  pattern: RegExp,
  output: 'stdout' | 'stderr' = 'stdout',
): Promise<string> {
  return new Promise((resolve, reject) => {
    let printed = ''
    child[output]?.on('data', (chunk: Buffer) => {
      printed += chunk
      if (pattern.test(printed)) resolve(printed)
    })
    child.once('close', () => reject(new Error(`The command ended before it printed ${pattern}: ${printed}`)))
  })
}
