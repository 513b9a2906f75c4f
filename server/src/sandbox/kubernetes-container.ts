import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type RunningCommand, superviseExec } from './exec-handle.ts'
import { ExecSlot } from './exec-slot.ts'
import { ExecSlots } from './exec-slots.ts'
import { holdInside } from './hold-inside.ts'
import { AWAY_LIMIT_MS, clusterFault, ifThere, type KubernetesApi, statusOf } from './kubernetes-api.ts'
import { type PodExec, startPodExec } from './kubernetes-exec.ts'
import {
  CLAIM_SCRIPT,
  ENTER_SCRIPT,
  FENCED,
  FREEZE_SCRIPT,
  IS_FROZEN_SCRIPT,
  KILL_ALL_SCRIPT,
  THAW_SCRIPT,
} from './kubernetes-scripts.ts'
import { describePod, type Pod, SANDBOX_CONTAINER, wasOverMemory } from './kubernetes-states.ts'
import { countMemoryKillsInside } from './memory-kills.ts'
import { type ExecHandle, type ExecOptions, SandboxFault } from './sandbox.ts'
import { makeRequest, type SlotCommand } from './slot-request.ts'
import { KILL_EXEC_SCRIPT, SLOT_SCRIPT } from './slot-scripts.ts'
import { storeCommand } from './stored-command.ts'

const KILL_LIMIT_MS = 10_000
/** A process of the Pod that was killed by others at the same time is started again. */
const MAX_TRIES = 5
const THAW_POLL_MS = 250

/**
 * Commands in one running Pod, of one owner: what another has claimed answers none of them. Kubernetes can start a process and
 * pass its streams on, nothing else; so all that Docker's engine does from outside, processes of ours do inside.
 */
export class KubernetesContainer {
  readonly #api: KubernetesApi
  readonly #pod: string
  readonly #owner: string
  readonly #pids: number
  readonly #slots = new ExecSlots({ max_waiting: 4, refills: true }, (onFree) => this.#startSlot(onFree, 0))
  /** Containers that were started anew count killed processes from the beginning. */
  #restarts: number | null = null

  constructor(api: KubernetesApi, { pod, owner, pids }: { pod: string; owner: string; pids: number }) {
    this.#api = api
    this.#pod = pod
    this.#owner = owner
    this.#pids = pids
  }

  exec(options: ExecOptions, env: Record<string, string>): ExecHandle {
    const { command: script, cwd: directory = '/workspace', stdin } = options
    const command = { script, directory, env, once: stdin !== undefined }
    return superviseExec(options, (given_up) =>
      this.#slots.run(command, () => this.#execAlone(command, given_up), given_up),
    )
  }

  /** Gets ready for the first command. */
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

  /** Kills all but the first process. Throws `SandboxFault` when something of it may be left. */
  async killAll(): Promise<void> {
    this.#slots.discard()
    requireDone(await runBeside(this.#api, this.#pod, [KILL_ALL_SCRIPT, 'sh', this.#owner]))
  }

  /** Of all that run in the container, by its own view of its control group; where all of it was killed, one. */
  async countMemoryKills(): Promise<number | null> {
    const pod = await ifThere(this.#api.call<Pod>(this.#api.path(`pods/${this.#pod}`)))
    const own = pod?.status?.containerStatuses?.find(({ name }) => name === SANDBOX_CONTAINER)
    const restarts = own?.restartCount ?? 0
    const before = this.#restarts ?? 0
    this.#restarts = restarts
    if (pod && restarts > before && wasOverMemory(pod)) return 1
    return countMemoryKillsInside((options) => this.exec(options, {}))
  }

  /** Nothing is started behind the commands' backs any more. */
  close(): void {
    this.#slots.close()
  }

  /** In a slot of its own, after what no slot takes was stored. */
  async #execAlone(command: SlotCommand, given_up: AbortSignal): Promise<RunningCommand> {
    const stored = makeRequest(command)
      ? command
      : await storeCommand(command, (options) => this.exec({ ...options, signal: given_up }, {}))
    const request = makeRequest(stored)
    if (!request) throw new SandboxFault('The command has a directory that no shell can be told')
    for (let tries = 0; tries < MAX_TRIES; ) {
      given_up.throwIfAborted()
      const slot = await this.#startSlot((free) => free.close(), AWAY_LIMIT_MS)
      const running = (await slot.isReady()) ? await slot.run(request, given_up) : null
      if (running) return running
      slot.close()
      given_up.throwIfAborted()
      await this.#explain(slot)
      if (!(await this.#isFrozen())) tries += 1
    }
    throw new SandboxFault('The image’s shell did not begin the command')
  }

  /** Throws where a slot did not become ready because there is nothing here for this owner any more. */
  async #explain(slot: ExecSlot): Promise<void> {
    const ended = this.#ends.get(slot)
    const code = ended ? await Promise.race([ended, delay(1_000, null, { ref: false })]) : null
    if (code === FENCED)
      throw new SandboxFault('Another attempt has the sandbox now, or its processes were killed')
    await this.#requirePod()
  }

  readonly #ends = new WeakMap<ExecSlot, Promise<number | null>>()

  async #startSlot(onFree: (slot: ExecSlot) => void, away_limit_ms: number): Promise<ExecSlot> {
    const marker = randomUUID()
    const words = ['/bin/sh', '-c', ENTER_SCRIPT, 'sh', this.#owner, marker, String(this.#pids), SLOT_SCRIPT]
    const exec = await this.#start(words, away_limit_ms)
    const slot = new ExecSlot({
      input: exec.input,
      read: (deliver) => exec.read(deliver, marker),
      cut: () => exec.cut(),
      keepAwake: (awake) => exec.keepAwake(awake),
      readExit: () => exec.ended.catch((error) => this.#lost(error)),
      kill: () => this.#killExec(marker),
      isFrozen: () => this.#isFrozen(),
      onFree,
    })
    this.#ends.set(
      slot,
      exec.ended.then(
        ({ code }) => code,
        () => null,
      ),
    )
    return slot
  }

  async #start(words: readonly string[], away_limit_ms: number): Promise<PodExec> {
    const place = { name: this.#pod, container: SANDBOX_CONTAINER }
    for (let tries = 1; ; tries += 1) {
      try {
        return await startPodExec(this.#api, place, words, away_limit_ms)
      } catch (error) {
        if (statusOf(error) === 404) throw new SandboxFault('The sandbox failed: its Pod was deleted')
        // The container may be being started anew.
        if (tries === MAX_TRIES || away_limit_ms === 0)
          throw clusterFault('The kubelet could not run the command', error)
        await this.#requirePod()
        await delay(THAW_POLL_MS)
      }
    }
  }

  /** In place of a broken connection, what broke it, where the Pod tells. */
  async #lost(error: unknown): Promise<never> {
    await this.#requirePod()
    throw error
  }

  async #requirePod(): Promise<void> {
    const pod = await ifThere(this.#api.call<Pod>(this.#api.path(`pods/${this.#pod}`))).catch((error) => {
      throw clusterFault('The API server does not say how the Pod stands', error)
    })
    const state = describePod(pod)
    if (state.is === 'failed') throw new SandboxFault(`The sandbox failed: ${state.says}`)
  }

  async #isFrozen(): Promise<boolean> {
    return (await runBeside(this.#api, this.#pod, [IS_FROZEN_SCRIPT]).catch(() => 1)) === 0
  }

  /** A kill that fails shows in how the command ended. What cannot be shown to be gone takes everything along. */
  async #killExec(marker: string): Promise<void> {
    const killed = await runBeside(this.#api, this.#pod, [KILL_EXEC_SCRIPT, 'sh', marker]).catch(() => null)
    if (killed !== 0) await this.killAll().catch(() => {})
  }
}

/** Kills all in the Pod for good, unless a later attempt has it: its owner from now on is whoever knows `owner`. */
export async function claimPod(
  api: KubernetesApi,
  pod: string,
  { attempt, owner }: { attempt: number; owner: string },
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const code = await runBeside(api, pod, [CLAIM_SCRIPT, 'sh', String(attempt), owner])
    // An earlier attempt that claims at the same time may have killed it.
    if (code === null && tries < MAX_TRIES) continue
    return requireDone(code)
  }
}

export const freezePod = async (api: KubernetesApi, pod: string, attempt: number): Promise<void> =>
  requireDone(await runBeside(api, pod, [FREEZE_SCRIPT, 'sh', String(attempt)]))

export const thawPod = async (api: KubernetesApi, pod: string, attempt: number): Promise<void> =>
  requireDone(await runBeside(api, pod, [THAW_SCRIPT, 'sh', String(attempt)]))

/** Whose it is, there is nothing to do for others. */
function requireDone(code: number | null): void {
  if (code !== 0 && code !== FENCED)
    throw new SandboxFault(`The processes of the Pod could not be reached from inside (${code ?? 'killed'})`)
}

/** Runs a script of ours with no limit on its processes; its exit code, `null` where a signal ended it. */
async function runBeside(api: KubernetesApi, pod: string, script: readonly string[]): Promise<number | null> {
  const words = ['/bin/sh', '-c', ...script]
  const exec = await startPodExec(
    api,
    { name: pod, container: SANDBOX_CONTAINER },
    words,
    KILL_LIMIT_MS,
  ).catch((error) => {
    throw clusterFault('The kubelet could not run a command in the Pod', error)
  })
  const late = setTimeout(() => exec.cut(), KILL_LIMIT_MS)
  try {
    await exec.read(async () => {})
    return (await exec.ended).code
  } finally {
    clearTimeout(late)
  }
}
