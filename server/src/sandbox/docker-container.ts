import { randomUUID } from 'node:crypto'
import { finished } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type Docker from 'dockerode'
import { engineFault, ignoreStatus, statusOf } from './docker-engine.ts'
import { KILL_EXEC_SCRIPT, RUN_SCRIPT } from './docker-scripts.ts'
import { splitDockerStream } from './docker-stream.ts'
import { collectExec, exitOfShell, type RunningCommand, superviseExec } from './exec-handle.ts'
import { type ExecHandle, type ExecOptions, SandboxFault } from './sandbox.ts'

const USER = '1000:1000'
/** Longest script passed as one argument; the kernel's limit is 128 KiB. */
const MAX_ARGUMENT_BYTES = 96 * 1024
/** After this a kill counts as failed and the container is restarted. */
const KILL_LIMIT_MS = 700
const POLL_MS = 25
/** How long processes that were killed may take to go. */
const VANISH_LIMIT_MS = 1_000

/**
 * Commands in one running container. `program` is where `makeProgram`'s lies inside; `onRestart` gives a container that was
 * started anew what it had from outside.
 */
export class DockerContainer {
  readonly #container: Docker.Container
  readonly #program: string
  readonly #onRestart: () => Promise<unknown>

  constructor(container: Docker.Container, program: string, onRestart: () => Promise<unknown>) {
    this.#container = container
    this.#program = program
    this.#onRestart = onRestart
  }

  exec(options: ExecOptions, env: Record<string, string>): ExecHandle {
    return superviseExec(options, async () => {
      const script =
        Buffer.byteLength(options.command) > MAX_ARGUMENT_BYTES
          ? await this.#storeScript(options.command)
          : options.command
      const marker = randomUUID()
      const words = ['/bin/sh', '-c', RUN_SCRIPT, 'sh', options.cwd ?? '/workspace', script]
      return this.#start({
        command: ['/sbin/docker-init', '-s', '--', ...words],
        env: { ...env, RUNYARD_EXEC: marker },
        stdin: options.stdin !== undefined,
        // A kill that fails shows in how the command ended.
        kill: (exec) => this.#killExec(exec, marker).catch(() => {}),
      })
    })
  }

  /** Kills what runs as the sandbox's user, by a program that is not the image's; the container lives on. */
  async killAll(): Promise<void> {
    if (!(await this.#attempt([this.#program, 'all']))) await this.#restart()
  }

  async #start(command: {
    command: string[]
    env: Record<string, string>
    stdin: boolean
    kill: (exec: Docker.Exec) => Promise<void>
  }): Promise<RunningCommand> {
    const create = () =>
      this.#container.exec({
        Cmd: command.command,
        Env: Object.entries(command.env).map(([name, value]) => `${name}=${value}`),
        User: USER,
        AttachStdin: command.stdin,
        AttachStdout: true,
        AttachStderr: true,
      })
    try {
      const exec = await this.#whenThawed(create)
      const socket = await exec.start({ hijack: true, stdin: true })
      const { stdout, stderr } = splitDockerStream(socket)
      const closed = Promise.allSettled([finished(stdout), finished(stderr)])
      return {
        stdin: command.stdin ? socket : null,
        stdout,
        stderr,
        ended: closed.then(() => readExit(exec)),
        kill: () => command.kill(exec),
      }
    } catch (error) {
      throw engineFault('the Docker engine could not run the command', error)
    }
  }

  /** A paused container refuses new commands (409); they wait, as running ones do, until it is thawed or gone. */
  async #whenThawed<Result>(call: () => Promise<Result>): Promise<Result> {
    for (;;) {
      try {
        return await call()
      } catch (error) {
        if (statusOf(error) !== 409 || !(await this.#container.inspect()).State.Paused) throw error
        await delay(POLL_MS)
      }
    }
  }

  /**
   * The image's own shell and tools kill; they may fail, and an image may have made them lie. So the engine is asked
   * which of the command's processes are left, and what cannot be shown to be gone takes everything along.
   */
  async #killExec(exec: Docker.Exec, marker: string): Promise<void> {
    const tree = await this.#treeOf(exec)
    if (!(await this.#attempt(['/bin/sh', '-c', KILL_EXEC_SCRIPT, 'sh', marker]))) return this.#restart()
    if (!tree || !(await this.#vanish(tree))) await this.killAll()
  }

  /** The command's processes, by their numbers on the engine's host; `null` when they cannot be told. */
  async #treeOf(exec: Docker.Exec): Promise<Set<number> | null> {
    const [processes, state] = await Promise.all([this.#listProcesses(), exec.inspect().catch(() => null)])
    return processes && state && addDescendants(new Set([state.Pid]), processes)
  }

  async #vanish(tree: Set<number>): Promise<boolean> {
    const deadline = performance.now() + VANISH_LIMIT_MS
    for (;;) {
      const processes = await this.#listProcesses()
      if (!processes) return false
      // What was started while the tree was read.
      addDescendants(tree, processes)
      if (![...tree].some((pid) => processes.has(pid))) return true
      if (performance.now() > deadline) return false
      await delay(POLL_MS)
    }
  }

  /** Parents by process; those that only wait to be reaped are left out. */
  async #listProcesses(): Promise<Map<number, number> | null> {
    try {
      const { Processes: rows } = await this.#container.top({ ps_args: '-eo pid,ppid,stat' })
      return new Map(
        rows.flatMap(
          ([pid, parent, state]: string[]): Array<[number, number]> =>
            state?.startsWith('Z') ? [] : [[Number(pid), Number(parent)]],
        ),
      )
    } catch {
      return null
    }
  }

  /** Whether a killer ran to its end. At the process limit there may be no room even for it. */
  async #attempt(words: string[]): Promise<boolean> {
    try {
      const handle = superviseExec({ command: '', timeout_ms: KILL_LIMIT_MS }, () =>
        this.#start({ command: words, env: {}, stdin: false, kill: async () => {} }),
      )
      return (await collectExec(handle)).exit.code === 0
    } catch {
      return false
    }
  }

  /** The last resort: everything dies, `/tmp` is emptied, the volumes stay. */
  async #restart(): Promise<void> {
    // Stopped or gone: there is nothing to kill, and starting it again would undo that. Frozen: nothing runs, and the
    // killer waits to be thawed like everything else.
    const state = await this.#container.inspect().then(
      ({ State }) => State,
      () => null,
    )
    if (!state?.Running || state.Paused) return
    await ignoreStatus([404, 409], this.#container.kill())
    await ignoreStatus([304, 404, 409], this.#container.start())
    await this.#onRestart()
  }

  async #storeScript(script: string): Promise<string> {
    const path = `/tmp/.runyard-${randomUUID()}`
    const handle = this.exec({ command: `cat > ${path}`, cwd: '/', stdin: `rm -f ${path}; ${script}\n` }, {})
    const { exit } = await collectExec(handle)
    if (exit.code !== 0) throw new SandboxFault('the command is too long to be stored')
    return `. ${path}`
  }
}

async function readExit(exec: Docker.Exec): Promise<{ code: number | null; signal: string | null }> {
  for (;;) {
    const state = await exec.inspect().catch((error) => {
      throw engineFault('the Docker engine lost the command', error)
    })
    // Killed with its container: the engine may not have seen a code.
    if (!state.Running)
      return state.ExitCode === null ? { code: null, signal: 'SIGKILL' } : exitOfShell(state.ExitCode)
    await delay(POLL_MS)
  }
}

/** Adds every process below one of the set. */
function addDescendants(tree: Set<number>, parents: Map<number, number>): Set<number> {
  for (let size = -1; size !== tree.size; ) {
    size = tree.size
    for (const [pid, parent] of parents) if (tree.has(parent)) tree.add(pid)
  }
  return tree
}
