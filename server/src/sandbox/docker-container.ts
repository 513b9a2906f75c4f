import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type Docker from 'dockerode'
import { isFrozenContainer, stopContainer } from './docker-control.ts'
import { engineFault, ignoreStatus, isCutShort, readState, statusOf } from './docker-engine.ts'
import { connect, keepAwake, readExit, superviseDockerExec } from './docker-exec.ts'
import { readDockerStream } from './docker-stream.ts'
import { type RunningCommand, superviseExec } from './exec-handle.ts'
import { ExecSlot } from './exec-slot.ts'
import { ExecSlots } from './exec-slots.ts'
import { holdInside } from './hold-inside.ts'
import { countMemoryKillsInside } from './memory-kills.ts'
import { collectExec, type ExecHandle, type ExecOptions, SandboxFault } from './sandbox.ts'
import { KILL_EXEC_SCRIPT, RUN_SCRIPT, SLOT_SCRIPT } from './slot-scripts.ts'

/** Whatever a command orphans falls to it, so that a tree stays whole. */
const INIT = ['/sbin/docker-init', '-s', '--', '/bin/sh', '-c']
/** Longest script passed as one argument; the kernel's limit is 128 KiB. */
const MAX_ARGUMENT_BYTES = 96 * 1024
/** After this a kill counts as failed and the container is restarted. */
const KILL_LIMIT_MS = 700
/** The same where nobody waits for the end of a command: an engine that has much to do is no reason to end all others. */
const PATIENT_KILL_LIMIT_MS = 5_000
const POLL_MS = 25
const THAW_POLL_MS = 250
/** How long processes that were killed may take to go. */
const VANISH_LIMIT_MS = 1_000

/** Parents and users of a container's processes, by their numbers on the engine's host. */
type Processes = Map<number, { parent: number; user: string }>

/**
 * Commands in one running container. `program` is where `makeProgram`'s lies inside; `onRestart` gives a container that was
 * started anew what it had from outside.
 */
export class DockerContainer {
  readonly #docker: Docker
  readonly #container: Docker.Container
  readonly #program: string
  /** Of the commands. */
  readonly #user: number
  readonly #onRestart: () => Promise<unknown>
  /** How often all was killed, and how many are at it: what begins meanwhile may be killed before it has begun. */
  #kills = 0
  #killing = 0
  /** What begins meanwhile waits for it. */
  #restarting: Promise<void> = Promise.resolve()
  readonly #slots = new ExecSlots({ max_waiting: 4, refills: true }, (onFree) => this.#startSlot(onFree))

  constructor(
    docker: Docker,
    container: Docker.Container,
    { program, user, onRestart }: { program: string; user: number; onRestart: () => Promise<unknown> },
  ) {
    this.#docker = docker
    this.#container = container
    this.#program = program
    this.#user = user
    this.#onRestart = onRestart
  }

  exec(options: ExecOptions, env: Record<string, string>): ExecHandle {
    const { command: script, cwd: directory = '/workspace', stdin } = options
    return superviseExec(options, (given_up) =>
      this.#slots.run(
        { script, directory, env, once: stdin !== undefined },
        () => this.#execAlone(options, env, given_up),
        given_up,
      ),
    )
  }

  /**
   * Gets ready for the first command. To be waited for: a container that is frozen while the engine starts something in it
   * cannot be killed, nor removed.
   */
  prepare(): Promise<void> {
    return this.#slots.prepare()
  }

  /** Stops all commands until the function it returns is called; those that begin meanwhile run. */
  async hold(): Promise<() => Promise<void>> {
    const release = await holdInside({
      exec: (options) => this.exec(options, {}),
      killAll: () => this.killAll(),
    })
    // Those that wait for a command stand still as well.
    this.#slots.discard()
    return release
  }

  /**
   * Kills what runs as the sandbox's user, by a program that is not the image's; the container lives on. Throws
   * `SandboxFault` when something of it may be left.
   */
  async killAll(limit_ms = KILL_LIMIT_MS): Promise<void> {
    this.#slots.discard()
    this.#kills += 1
    this.#killing += 1
    try {
      const tree = await this.#treeOfUser()
      const killed = await this.#attempt([this.#program, 'all'], limit_ms)
      if (!killed || !(await this.#vanish(tree))) await this.#restart()
    } finally {
      this.#killing -= 1
    }
  }

  countMemoryKills(): Promise<number | null> {
    return countMemoryKillsInside((options) => this.exec(options, {}))
  }

  /** Nothing is started behind the commands' backs any more. */
  close(): void {
    this.#slots.close()
  }

  /** By the engine. */
  async #execAlone(
    options: ExecOptions,
    env: Record<string, string>,
    given_up: AbortSignal,
  ): Promise<RunningCommand> {
    const is_long = Buffer.byteLength(options.command) > MAX_ARGUMENT_BYTES
    const script = is_long ? await this.#storeScript(options.command, given_up) : options.command
    const marker = randomUUID()
    return this.#start({
      command: [...INIT, RUN_SCRIPT, 'sh', options.cwd ?? '/workspace'],
      env: { ...env, RUNYARD_EXEC: marker, runyard_command: script },
      stdin: options.stdin !== undefined,
      kill: (exec, urgent) => this.#killExec(exec, marker, urgent),
      given_up,
    })
  }

  /** Fails where the container is frozen. */
  async #startSlot(onFree: (slot: ExecSlot) => void): Promise<ExecSlot> {
    const marker = randomUUID()
    const exec = await this.#createExec({
      command: [...INIT, SLOT_SCRIPT, 'sh', '\n'],
      env: { RUNYARD_EXEC: marker },
      stdin: true,
    })
    const socket = await connect(exec)
    return new ExecSlot({
      input: socket,
      read: (deliver) => readDockerStream(socket, deliver),
      cut: () => socket.destroy(),
      keepAwake: (awake) => keepAwake(socket, awake),
      readExit: () => readExit(exec),
      kill: (urgent) => this.#killExec(exec, marker, urgent),
      isFrozen: () => this.#isFrozen(),
      onFree,
    })
  }

  async #start(command: {
    command: string[]
    env: Record<string, string>
    stdin: boolean
    kill: (exec: Docker.Exec, urgent: boolean) => Promise<void>
    given_up: AbortSignal
  }): Promise<RunningCommand> {
    try {
      const { exec, socket, kills } = await this.#whenThawed(async () => {
        const kills = this.#killing > 0 ? null : this.#kills
        const exec = await this.#createExec(command)
        return { exec, socket: await connect(exec), kills }
      }, command.given_up)
      return superviseDockerExec(exec, socket, {
        takes_input: command.stdin,
        mayHaveMissed: () => this.#kills !== kills,
        kill: (urgent) => command.kill(exec, urgent),
      })
    } catch (error) {
      throw engineFault('the Docker engine could not run the command', error)
    }
  }

  #createExec(command: {
    command: string[]
    env: Record<string, string>
    stdin: boolean
  }): Promise<Docker.Exec> {
    return this.#container.exec({
      Cmd: command.command,
      Env: Object.entries(command.env).map(([name, value]) => `${name}=${value}`),
      User: `${this.#user}:${this.#user}`,
      AttachStdin: command.stdin,
      AttachStdout: true,
      AttachStderr: true,
    })
  }

  /**
   * A paused container refuses new commands (409); they wait, as running ones do, until it is thawed or gone. How the engine
   * refuses one while the container is started anew does not count; without an answer the command may have begun.
   */
  async #whenThawed<Result>(call: () => Promise<Result>, given_up: AbortSignal): Promise<Result> {
    for (;;) {
      const restarting = this.#restarting
      await restarting.catch(() => {})
      given_up.throwIfAborted()
      try {
        return await call()
      } catch (error) {
        if (statusOf(error) !== 0 && this.#restarting !== restarting) continue
        // Nothing has begun where the engine was not heard of in time: only calls that start nothing have a limit.
        if (isCutShort(error) && (await this.#isFrozen())) continue
        if (statusOf(error) !== 409) throw error
        // It may have been thawed since: whether it runs is what tells this from one that has ended, which is a 409 as well.
        if (!(await this.#container.inspect()).State.Running) throw error
        await delay(POLL_MS)
      }
    }
  }

  #isFrozen(): Promise<boolean> {
    return isFrozenContainer(this.#docker, this.#container)
  }

  /** A kill that fails shows in how the command ended. */
  async #killExec(exec: Docker.Exec, marker: string, urgent: boolean): Promise<void> {
    await this.#killTree(exec, marker, urgent ? KILL_LIMIT_MS : PATIENT_KILL_LIMIT_MS).catch(() => {})
  }

  /**
   * The image's own shell and tools kill; they may fail, and an image may have made them lie. So the engine is asked
   * which of the command's processes are left, and what cannot be shown to be gone takes everything along.
   */
  async #killTree(exec: Docker.Exec, marker: string, limit_ms: number): Promise<void> {
    if (await this.#isFrozen()) return this.#leaveToThaw(exec, marker)
    const tree = await this.#treeOf(exec)
    const killed = await this.#attempt(['/bin/sh', '-c', KILL_EXEC_SCRIPT, 'sh', marker], limit_ms)
    if (killed && tree && (await this.#vanish(tree))) return
    if (await this.#isFrozen()) this.#leaveToThaw(exec, marker)
    else if (killed) await this.killAll(limit_ms)
    else await this.#restart()
  }

  /** Nothing of it runs until the thaw, and its caller need not wait for that. */
  #leaveToThaw(exec: Docker.Exec, marker: string): void {
    this.#killAfterThaw(exec, marker).catch(() => {})
  }

  async #killAfterThaw(exec: Docker.Exec, marker: string): Promise<void> {
    while (await this.#isFrozen()) await delay(THAW_POLL_MS)
    if ((await exec.inspect()).Running) await this.#killTree(exec, marker, KILL_LIMIT_MS)
  }

  /** The command's processes, by their numbers on the engine's host; `null` when they cannot be told. */
  async #treeOf(exec: Docker.Exec): Promise<Set<number> | null> {
    const [processes, state] = await Promise.all([this.#listProcesses(), exec.inspect().catch(() => null)])
    return processes && state && addDescendants(new Set([state.Pid]), processes)
  }

  /** All that runs as the user of the commands, by their numbers on the engine's host; none where they cannot be told. */
  async #treeOfUser(): Promise<Set<number>> {
    const [processes, state] = await Promise.all([this.#listProcesses(), readState(this.#container)])
    const own = processes?.get(state?.Pid ?? 0)?.user
    const others = [...(processes ?? [])].filter(([, { user }]) => own !== undefined && user !== own)
    return new Set(others.map(([pid]) => pid))
  }

  async #vanish(tree: Set<number>): Promise<boolean> {
    const deadline = performance.now() + VANISH_LIMIT_MS
    for (;;) {
      const processes = await this.#listProcesses()
      if (!processes) return tree.size === 0
      // What was started while the tree was read.
      addDescendants(tree, processes)
      if (![...tree].some((pid) => processes.has(pid))) return true
      if (performance.now() > deadline) return false
      await delay(POLL_MS)
    }
  }

  /** Those that only wait to be reaped are left out. */
  async #listProcesses(): Promise<Processes | null> {
    try {
      const { Processes: rows } = await this.#container.top({ ps_args: '-eo pid,ppid,stat,uid' })
      return new Map(
        rows.flatMap(
          ([pid, parent, state, user = '']: string[]): Array<[number, { parent: number; user: string }]> =>
            state?.startsWith('Z') ? [] : [[Number(pid), { parent: Number(parent), user }]],
        ),
      )
    } catch {
      return null
    }
  }

  /** Whether a killer ran to its end. At the process limit there may be no room even for it. */
  async #attempt(words: string[], timeout_ms: number): Promise<boolean> {
    try {
      // Once it is given up it must not begin: what it would kill then is somebody else's.
      const handle = superviseExec({ command: '', timeout_ms }, (given_up) =>
        this.#start({ command: words, env: {}, stdin: false, kill: async () => {}, given_up }),
      )
      return (await collectExec(handle)).exit.code === 0
    } catch {
      return false
    }
  }

  /** The last resort: everything dies, `/tmp` is emptied, the volumes stay. */
  async #restart(): Promise<void> {
    // Stopped or gone: there is nothing to kill, and starting it again would undo that. One that was frozen is not any more
    // then; whoever froze it looks again, and there is nothing left in it that could run.
    const state = await readState(this.#container)
    if (!state?.Running) return
    this.#slots.discard()
    this.#kills += 1
    this.#restarting = this.#startAnew()
    await this.#restarting
  }

  async #startAnew(): Promise<void> {
    await stopContainer(this.#docker, this.#container)
    await ignoreStatus([304, 404, 409], this.#container.start())
    await this.#onRestart()
  }

  async #storeScript(script: string, given_up: AbortSignal): Promise<string> {
    const path = `/tmp/.runyard-${randomUUID()}`
    const stdin = `rm -f ${path}; ${script}\n`
    const handle = this.exec({ command: `cat > ${path}`, cwd: '/', stdin, signal: given_up }, {})
    const { exit } = await collectExec(handle)
    if (exit.code !== 0) throw new SandboxFault('the command is too long to be stored')
    return `. ${path}`
  }
}

/** Adds every process below one of the set. */
function addDescendants(tree: Set<number>, processes: Processes): Set<number> {
  for (let size = -1; size !== tree.size; ) {
    size = tree.size
    for (const [pid, { parent }] of processes) if (tree.has(parent)) tree.add(pid)
  }
  return tree
}
