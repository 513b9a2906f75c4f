import { randomUUID } from 'node:crypto'
import { finished } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type Docker from 'dockerode'
import { ignoreStatus, messageOf, statusOf } from './docker-engine.ts'
import { KILL_ALL_SCRIPT, KILL_EXEC_SCRIPT, RUN_SCRIPT } from './docker-scripts.ts'
import { splitDockerStream } from './docker-stream.ts'
import { collectExec, exitOfShell, type RunningCommand, superviseExec } from './exec-handle.ts'
import { type ExecHandle, type ExecOptions, SandboxFault } from './sandbox.ts'

const USER = '1000:1000'
/** Longest script passed as one argument; the kernel's limit is 128 KiB. */
const MAX_ARGUMENT_BYTES = 96 * 1024
/** After this a kill counts as failed and the container is restarted. */
const KILL_LIMIT_MS = 700
const POLL_MS = 25

/** Commands in one running container. */
export class DockerContainer {
  readonly #container: Docker.Container

  constructor(container: Docker.Container) {
    this.#container = container
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
        kill: () => this.#kill(KILL_EXEC_SCRIPT, marker).catch(() => {}),
      })
    })
  }

  /** Kills what runs as the sandbox's user; the container lives on. */
  killAll(): Promise<void> {
    return this.#kill(KILL_ALL_SCRIPT)
  }

  async #start(command: {
    command: string[]
    env: Record<string, string>
    stdin: boolean
    kill: () => Promise<void>
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
        kill: command.kill,
      }
    } catch (error) {
      throw new SandboxFault(`Docker could not run the command: ${messageOf(error)}`)
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

  async #kill(script: string, ...args: string[]): Promise<void> {
    try {
      const handle = superviseExec({ command: script, timeout_ms: KILL_LIMIT_MS }, () =>
        this.#start({
          command: ['/bin/sh', '-c', script, 'sh', ...args],
          env: {},
          stdin: false,
          kill: async () => {},
        }),
      )
      const { exit } = await collectExec(handle)
      if (exit.code === 0) return
    } catch {
      // A fork bomb at the process limit leaves no room even for the killer.
    }
    // Stopped or gone: there is nothing to kill, and starting it again would undo that. Frozen: nothing runs, and the
    // killer waits to be thawed like everything else.
    const state = await this.#container.inspect().then(
      ({ State }) => State,
      () => null,
    )
    if (state?.Running && !state.Paused) await this.#restart()
  }

  /** The last resort: everything dies, `/tmp` is emptied, the volumes stay. */
  async #restart(): Promise<void> {
    await ignoreStatus([404, 409], this.#container.kill())
    await ignoreStatus([304, 404, 409], this.#container.start())
  }

  async #storeScript(script: string): Promise<string> {
    const path = `/tmp/.runyard-${randomUUID()}`
    const handle = this.exec({ command: `cat > ${path}`, cwd: '/', stdin: `rm -f ${path}; ${script}\n` }, {})
    const { exit, stderr } = await collectExec(handle)
    if (exit.code !== 0) throw new SandboxFault(`The script could not be stored: ${stderr}`)
    return `. ${path}`
  }
}

async function readExit(exec: Docker.Exec): Promise<{ code: number | null; signal: string | null }> {
  for (;;) {
    const state = await exec.inspect().catch((error) => {
      throw new SandboxFault(`Docker lost the command: ${messageOf(error)}`)
    })
    // Killed with its container: the engine may not have seen a code.
    if (!state.Running)
      return state.ExitCode === null ? { code: null, signal: 'SIGKILL' } : exitOfShell(state.ExitCode)
    await delay(POLL_MS)
  }
}
