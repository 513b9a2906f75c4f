import { type ChildProcess, spawn } from 'node:child_process'
import { type EventEmitter, once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import {
  BINARY,
  type ServiceOptions,
  SHARED_CACHE,
  startService,
  type TestService,
} from '../../server/test/support/service.ts'
import { InnerProcess } from './inner-process.ts'

export { BINARY }

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

export type Child = ChildProcess & { ended: Promise<Ended> }

interface RunOptions {
  input?: string | Uint8Array
  environment?: NodeJS.ProcessEnv
  /** Default: the home. */
  directory?: string
}

/** A home of its own for commands, so that nothing of the machine's is read or written. */
export class Home {
  readonly directory = mkdtempSync(join(tmpdir(), 'runyard-cli-'))
  readonly #children = new Set<ChildProcess>()
  readonly #commands = new Set<InnerProcess>()
  #service: TestService | undefined

  /** Starts a service in the test's own process, where commands in this home find it. */
  async serve(options?: ServiceOptions): Promise<TestService> {
    const service = await startService(options)
    this.#service = service
    const { base_url, api_key } = service
    const place = join(this.directory, '.runyard')
    mkdirSync(place, { recursive: true })
    writeFileSync(join(place, 'client.json'), JSON.stringify({ base_url, api_key }), { mode: 0o600 })
    return service
  }

  /** Runs a command in the test's own process, to its end. */
  run(args: readonly string[], { input = '', ...options }: RunOptions = {}): Promise<Ended> {
    const command = this.start(args, options)
    command.stdin.end(input)
    return command.ended
  }

  /** Runs a command in the test's own process; in a pipe, not on a terminal. */
  start(args: readonly string[], { environment, directory }: Omit<RunOptions, 'input'> = {}): InnerProcess {
    return this.#start(args, { env: this.#environmentWith(environment), directory })
  }

  /** Runs a command in the test's own process as on a terminal of 60 columns, whose both outputs are the standard output. */
  runOnTerminal(args: readonly string[], environment?: NodeJS.ProcessEnv): Promise<Ended> {
    const env = this.#environmentWith({ TERM: 'xterm', ...environment })
    return this.#start(args, { env, terminal: true }).ended
  }

  /** Starts a process: for what differs there, such as signals, terminals and what the service does. */
  spawn(args: readonly string[], { environment, directory }: Omit<RunOptions, 'input'> = {}): Child {
    return this.#spawn([process.execPath, BINARY, ...args], environment, directory)
  }

  /** The same, to its end. */
  runProcess(args: readonly string[], { input = '', ...options }: RunOptions = {}): Promise<Ended> {
    const child = this.spawn(args, options)
    child.stdin?.end(input)
    return child.ended
  }

  /** Starts a process on a terminal of 60 columns, whose both outputs are the standard output here. */
  spawnOnTerminal(args: readonly string[], environment?: NodeJS.ProcessEnv, directory?: string): Child {
    const inner = 'stty cols 60; exec "$NODE" "$BINARY" $ARGUMENTS'
    const variables = {
      TERM: 'xterm',
      NODE: process.execPath,
      BINARY,
      ARGUMENTS: args.join(' '),
      ...environment,
    }
    return this.#spawn(['script', '-qefc', inner, '/dev/null'], variables, directory)
  }

  #start(
    args: readonly string[],
    {
      directory = this.directory,
      ...options
    }: { env: NodeJS.ProcessEnv; directory?: string | undefined; terminal?: boolean },
  ): InnerProcess {
    const command = new InnerProcess(args, { ...options, directory })
    this.#commands.add(command)
    command.once('close', () => this.#commands.delete(command))
    return command
  }

  #environmentWith(environment: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
    const { PATH, TMPDIR } = process.env
    return { PATH, ...(TMPDIR ? { TMPDIR } : {}), HOME: this.directory, ...SHARED_CACHE, ...environment }
  }

  #spawn([command = '', ...args]: string[], environment?: NodeJS.ProcessEnv, directory?: string): Child {
    const child = spawn(command, args, {
      cwd: directory ?? this.directory,
      env: this.#environmentWith(environment),
      stdio: 'pipe',
    })
    this.#children.add(child)
    const closed = once(child, 'close').then(([code]) => {
      this.#children.delete(child)
      return code as number | null
    })
    const ended = Promise.all([closed, text(child.stdout), text(child.stderr)]).then(
      ([code, stdout, stderr]) => ({ code, stdout, stderr }),
    )
    return Object.assign(child, { ended })
  }

  async remove(): Promise<void> {
    // Of a test that failed: nobody waits for them.
    for (const command of this.#commands) command.emit('SIGINT')
    const left = [...this.#children].map((child) => {
      child.kill('SIGKILL')
      return once(child, 'close')
    })
    await Promise.all(left)
    await this.#service?.stop()
    rmSync(this.directory, { recursive: true, force: true })
  }
}

/** Resolves with what the command has printed from now on once it matches; rejects when it ends before. */
export function printedBy(
  command: EventEmitter & { stdout: Readable | null; stderr: Readable | null },
  pattern: RegExp,
  output: 'stdout' | 'stderr' = 'stdout',
): Promise<string> {
  return new Promise((resolve, reject) => {
    let printed = ''
    command[output]?.on('data', (chunk: Buffer) => {
      printed += chunk
      if (pattern.test(printed)) resolve(printed)
    })
    command.once('close', () =>
      reject(new Error(`The command ended before it printed ${pattern}: ${printed}`)),
    )
  })
}
