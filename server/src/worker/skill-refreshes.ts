import { workFor } from '../watchdog/event-loop.ts'
import type { WorkerContext } from './context.ts'
import type { HeldRefresh, WorkerName } from './control-plane.ts'
import { readSkillsAgain } from './read-skills-again.ts'

/** For all repositories of one environment. Shorter than another worker waits for this one. */
const READ_MS = 90_000

/** Reads the skills of environments again when somebody asks, one environment after the other. */
export class SkillRefreshes {
  readonly #context: WorkerContext
  readonly #worker: WorkerName
  readonly #closing = new AbortController()
  readonly #stopListening: () => void
  #working: Promise<void> | null = null

  constructor(context: WorkerContext, worker_id: string) {
    this.#context = context
    const { plane, settings } = context
    this.#worker = { worker_id, pool: settings.pool }
    this.#stopListening = plane.hints.onRefreshes(this.#worker, () => this.nudge())
  }

  /** Looks whether there is something to do. */
  nudge(): void {
    if (this.#closing.signal.aborted) return
    this.#working ??= this.#work()
      .catch((error) =>
        this.#context.log.warn({ err: error }, 'Reading skills again failed; trying again later.'),
      )
      .finally(() => {
        this.#working = null
      })
  }

  /** What is being read is given up, for another worker to read. */
  async close(): Promise<void> {
    this.#closing.abort()
    this.#stopListening()
    await this.#working
  }

  async #work(): Promise<void> {
    const { plane, disk } = this.#context
    while (!this.#closing.signal.aborted) {
      if (!(await disk.hasRoom())) return
      const refresh = await plane.claimRefresh(this.#worker)
      if (!refresh) return
      const held = plane.holdRefresh(this.#worker, refresh)
      const problem = await this.#read(held, refresh.environment_id)
      await (this.#closing.signal.aborted ? held.release() : held.end(problem))
    }
  }

  async #read(held: HeldRefresh, environment_id: string): Promise<string | null> {
    const { log } = this.#context
    const environment = await held.findEnvironment()
    if (!environment) return null
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(READ_MS)])
    try {
      const reader = { worker_id: this.#worker.worker_id, held, signal }
      const read = await workFor({ kind: 'skills', environment_id: environment.uid }, () =>
        readSkillsAgain(this.#context, environment, reader),
      )
      if ('problem' in read) return read.problem
      await held.recordSkills(environment, read.found)
      return null
    } catch (error) {
      if (!signal.aborted)
        log.warn({ err: error, environment_id }, 'The skills of an environment were not read.')
      return signal.aborted ? 'Reading took too long.' : 'The worker could not read it; its log says why.'
    }
  }
}
