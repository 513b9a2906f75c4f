import { findEnvironment } from '../store/environments.ts'
import {
  claimRefresh,
  endRefresh,
  refreshesWait,
  releaseRefresh,
  type SkillRefresh,
} from '../store/skill-refreshes.ts'
import { recordSkills } from '../store/skills.ts'
import { workFor } from '../watchdog/event-loop.ts'
import type { WorkerContext } from './context.ts'
import { readSkillsAgain } from './read-skills-again.ts'

/** For all repositories of one environment. Shorter than another worker waits for this one. */
const READ_MS = 90_000

/** Reads the skills of environments again when somebody asks, one environment after the other. */
export class SkillRefreshes {
  readonly #context: WorkerContext
  readonly #worker_id: string
  readonly #closing = new AbortController()
  readonly #stopListening: () => void
  #working: Promise<void> | null = null

  constructor(context: WorkerContext, worker_id: string) {
    this.#context = context
    this.#worker_id = worker_id
    const { watch, settings } = context
    this.#stopListening = watch.onWaiting(refreshesWait(settings.pool), () => this.nudge())
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
    const { store, settings, disk } = this.#context
    while (!this.#closing.signal.aborted) {
      if (!(await disk.hasRoom())) return
      const refresh = await claimRefresh(store.db, settings.pool)
      if (!refresh) return
      const problem = await this.#read(refresh)
      await (this.#closing.signal.aborted
        ? releaseRefresh(store.db, refresh)
        : endRefresh(store.db, refresh, problem))
    }
  }

  async #read({ environment_id, principal_id }: SkillRefresh): Promise<string | null> {
    const { store, log } = this.#context
    const environment = await findEnvironment(store.db, environment_id)
    if (!environment) return null
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(READ_MS)])
    try {
      const reader = { worker_id: this.#worker_id, principal_id, signal }
      const read = await workFor({ kind: 'skills', environment_id: environment.uid }, () =>
        readSkillsAgain(this.#context, environment, reader),
      )
      if ('problem' in read) return read.problem
      await recordSkills(store.db, environment, read.found)
      return null
    } catch (error) {
      if (!signal.aborted)
        log.warn({ err: error, environment_id }, 'The skills of an environment were not read.')
      return signal.aborted ? 'Reading took too long.' : 'The worker could not read it; its log says why.'
    }
  }
}
