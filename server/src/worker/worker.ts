import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { WorkerRegistration } from '../store/workers.ts'
import { Claims } from './claims.ts'
import type { Warden, WorkerContext } from './context.ts'
import { Executions } from './executions.ts'
import { Orders } from './orders.ts'
import { reapSandboxes } from './reap.ts'
import { SkillRefreshes } from './skill-refreshes.ts'
import type { StopReason } from './stopping.ts'
import { WarmSandboxes } from './warm-sandboxes.ts'

const REAP_MS = 30_000
const MODELS_MS = 5 * 60_000
/** Somebody who has just installed an agent asks for it next. */
const AGENTS_MS = 2_000
/** Handing runs back takes less than a second; a database that is away must not keep the process. */
const HANDBACK_MS = 10_000
/** The same once it is known to be away: what is on its way may still end. Container engines kill after ten seconds. */
const AWAY_HANDBACK_MS = 1_000

export interface WorkerHandle {
  worker_id: string
  /** Resolves when the worker was declared lost and holds nothing any more: start another, with a new id. */
  lost: Promise<void>
  /** Claims nothing more, and hands each run back at its next step boundary. Returns at once. */
  drain(): void
  /** Stops claiming, gives runs their grace, hands the rest back to the queue. */
  stop(): Promise<void>
}

export interface WorkerOptions {
  readModels: () => Promise<WorkerRegistration['models']>
  /** Looks each time anew which agents its sandboxes lack. */
  findLackingAgents: () => string[]
  /** Starts what guards the sandboxes of this life; `onLost` ends the life. */
  openWarden: (
    worker_id: string,
    onLost: (reason: string) => void,
  ) => Promise<Warden & { close(): Promise<void> }>
}

/** One life of a worker: from a registered id to its loss or stop. */
export async function startWorker(
  base: Omit<WorkerContext, 'warden' | 'warm'>,
  options: WorkerOptions,
): Promise<WorkerHandle> {
  const { plane, settings, log } = base
  const worker_id = randomUUID()
  const lacking_agents = options.findLackingAgents()
  await plane.register({
    worker_id,
    pool: settings.pool,
    host: hostname(),
    version: settings.version,
    place: settings.place,
    slots: settings.slots,
    sandbox: base.backend.name,
    models: await options.readModels(),
    lacking_agents,
    ...(base.backend.default_image === undefined ? {} : { images: settings.images }),
  })
  const reason = Promise.withResolvers<string>()
  const warden = await options.openWarden(worker_id, reason.resolve)
  const warm = new WarmSandboxes(base, worker_id)
  const life = new Life(worker_id, { ...base, warden, warm }, { ...options, lacking_agents })
  log.info({ worker_id, pool: settings.pool, slots: settings.slots }, 'The worker is at work.')
  reason.promise.then((why) => {
    log.warn({ worker_id, reason: why }, 'The worker lost its leases and starts anew.')
    life.lose()
  })
  return life
}

/** With what ends with the life. */
type OwnContext = WorkerContext & { warden: { close(): Promise<void> }; warm: WarmSandboxes }

class Life implements WorkerHandle {
  readonly worker_id: string
  readonly lost: Promise<void>
  readonly #context: OwnContext
  readonly #executions: Executions
  readonly #claims: Claims
  readonly #orders: Orders
  readonly #refreshes: SkillRefreshes
  readonly #timers: NodeJS.Timeout[]
  readonly #stopListening: () => void
  readonly #resolveLost: () => void
  /** What others were told. */
  #lacking_agents: readonly string[]
  #draining: Promise<void> | null = null
  #ending: Promise<void> | null = null
  #reaping = false
  #ended_since_reap = 0

  constructor(
    worker_id: string,
    context: OwnContext,
    {
      readModels,
      findLackingAgents,
      lacking_agents,
    }: Omit<WorkerOptions, 'openWarden'> & Pick<WorkerRegistration, 'lacking_agents'>,
  ) {
    this.worker_id = worker_id
    this.#context = context
    this.#lacking_agents = lacking_agents
    const { promise, resolve } = Promise.withResolvers<void>()
    this.lost = promise
    this.#resolveLost = resolve
    this.#executions = new Executions(context, {
      onOrder: () => this.#orders.read(),
      onDiskFull: () => this.#claims.rest(),
      onPacking: () => this.#claims.nudge(),
      onEnd: () => this.#countEnd(),
    })
    // Workspaces that only wait for follow-ups must not keep new runs waiting.
    this.#claims = new Claims(context, worker_id, this.#executions, () => this.#reap())
    this.#orders = new Orders(context, worker_id, this.#executions, this.#claims)
    this.#refreshes = new SkillRefreshes(context, worker_id)
    const { plane, settings } = context
    this.#stopListening = plane.hints.onRuns({ worker_id, pool: settings.pool }, () => this.#claims.nudge())
    this.#timers = [
      every(REAP_MS, () => this.#reap(() => context.openFormerBackends())),
      every(REAP_MS, () => this.#inBackground(() => context.warm.removeUnused())),
      every(AGENTS_MS, () => this.#inBackground(() => this.#tellAgents(findLackingAgents()))),
      every(MODELS_MS, () =>
        this.#inBackground(async () => plane.updateModels(worker_id, await readModels())),
      ),
    ]
    this.#orders.start()
    this.#claims.start()
    // A worker that was killed may have left what it could not remove. What another backend left has time: a client of Docker's
    // engine costs a tenth of a start, and the engine may be slow to answer.
    this.#reap()
  }

  drain(): void {
    this.#claims.close()
    this.#executions.drain()
    // Others need not leave it a head start for what it hands back.
    this.#draining ??= this.#context.plane.drain(this.worker_id).catch(() => {})
  }

  stop(): Promise<void> {
    this.#ending ??= this.#stop()
    return this.#ending
  }

  lose(): void {
    this.#ending ??= this.#end('lost').then(this.#resolveLost)
  }

  async #stop(): Promise<void> {
    this.drain()
    const stopped = new AbortController()
    // No run reaches a step boundary without the control plane, and nothing can be handed back: others take the runs over.
    const away = this.#context.plane.untilAway(stopped.signal)
    await Promise.race([this.#executions.ended(), unref(this.#context.settings.grace_ms), away])
    await Promise.race([this.#end('shutdown'), unref(HANDBACK_MS), away.then(() => unref(AWAY_HANDBACK_MS))])
    stopped.abort()
  }

  async #end(reason: StopReason): Promise<void> {
    this.#claims.close()
    this.#stopListening()
    const refreshed = this.#refreshes.close()
    if (reason === 'shutdown') await this.#draining
    this.#executions.stop(reason)
    // A claim under way may bring more.
    await this.#claims.closed()
    this.#executions.stop(reason)
    await this.#executions.ended()
    this.#orders.close()
    await refreshed.catch(() => {})
    for (const timer of this.#timers) clearInterval(timer)
    await this.#context.warden.close()
    await this.#context.warm.close()
    // Holds nothing any more: whoever sweeps need not wait for silence.
    await this.#context.plane.retire(this.worker_id).catch(() => {})
  }

  async #tellAgents(lacking: readonly string[]): Promise<void> {
    if (isDeepStrictEqual(lacking, this.#lacking_agents)) return
    await this.#context.plane.updateAgents(this.worker_id, lacking)
    this.#lacking_agents = lacking
    // Those made before may have been made without the folder of agents.
    await this.#context.warm.renew()
    this.#claims.nudge()
  }

  #countEnd(): void {
    this.#claims.nudge()
    this.#ended_since_reap += 1
    this.#reapMany()
  }

  /** Many short runs leave more idle sandboxes between two looks than may be kept. */
  #reapMany(): void {
    const { max_idle, slots } = this.#context.settings
    if (this.#ended_since_reap > Math.max(max_idle, slots)) this.#reap()
  }

  #reap(openFormer: WorkerContext['openFormerBackends'] = async () => []): void {
    if (this.#reaping) return
    this.#ended_since_reap = 0
    this.#reaping = true
    const reap = async () =>
      reapSandboxes({ ...this.#context, worker_id: this.worker_id }, await openFormer())
    this.#inBackground(() =>
      reap().finally(() => {
        this.#reaping = false
        // Those that ended meanwhile.
        this.#reapMany()
      }),
    )
  }

  #inBackground(work: () => Promise<unknown>): void {
    work().catch((error) =>
      this.#context.log.warn({ err: error }, 'Background work of the worker failed; trying again.'),
    )
  }
}

function every(milliseconds: number, work: () => void): NodeJS.Timeout {
  const timer = setInterval(work, milliseconds)
  timer.unref()
  return timer
}

const unref = (milliseconds: number): Promise<void> => wait(milliseconds, undefined, { ref: false })
