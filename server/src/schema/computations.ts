import { BUDGETS } from '../budgets/budgets.ts'
import { AppError } from '../contract/error.ts'

const RETRY_AFTER_S = '2'

interface Limits {
  running: { most: number; in_all: number }
  jobs: { most: number; in_all: number }
  bytes: { most: number; in_all: number }
}

const BUDGETS_OF_CHECKS: Limits = {
  running: BUDGETS.checks_running,
  jobs: BUDGETS.checks_waiting,
  bytes: BUDGETS.checks_bytes,
}

interface Owned {
  running: number
  /** Of what runs and what waits. */
  bytes: number
  waiting: Array<() => void>
}

export interface Computation {
  /** The principal whose request or trigger it is. */
  owner: string
  bytes: number
  /** The caller itself is bounded, as runs are by a worker's slots: it waits and is never refused. */
  is_bounded?: boolean
}

/**
 * The one queue of what is computed for strangers at this process: whether an `output_schema` is one, whether a value satisfies
 * it, and filters. Each computation takes a thread (128 MB at most) or a process, and a second of a processor. Owners with something to do take turns, so one owner's many or slow
 * computations delay another's by one turn. It keeps nothing once a computation is over.
 */
export class Computations {
  readonly #limits: Limits
  /** In the order of their turns. */
  readonly #owners = new Map<string, Owned>()
  #running = 0
  #waiting = 0
  #bytes = 0

  constructor(limits: Limits = BUDGETS_OF_CHECKS) {
    this.#limits = limits
  }

  /** Throws 429 `resource_unavailable` if the owner, or everybody together, has too much waiting already. */
  async run<Answer>(computation: Computation, compute: () => Promise<Answer>): Promise<Answer> {
    const { owner, bytes } = computation
    if (!computation.is_bounded) this.#requireRoom(owner, bytes)
    const owned = this.#owners.get(owner) ?? { running: 0, bytes: 0, waiting: [] }
    this.#owners.set(owner, owned)
    owned.bytes += bytes
    this.#bytes += bytes
    this.#waiting += 1
    const turn = new Promise<void>((begin) => owned.waiting.push(begin))
    this.#beginNext()
    await turn
    try {
      return await compute()
    } finally {
      this.#running -= 1
      this.#bytes -= bytes
      owned.running -= 1
      owned.bytes -= bytes
      if (owned.running === 0 && owned.waiting.length === 0) this.#owners.delete(owner)
      this.#beginNext()
    }
  }

  #requireRoom(owner: string, bytes: number): void {
    const { jobs, bytes: most_bytes } = this.#limits
    const owned = this.#owners.get(owner)
    // An owner's only computation always fits its own budget: it has passed the limit of a request.
    const own_is_full =
      owned !== undefined && (owned.waiting.length >= jobs.most || owned.bytes + bytes > most_bytes.most)
    const all_are_full = this.#waiting >= jobs.in_all || this.#bytes + bytes > most_bytes.in_all
    if (!own_is_full && !all_are_full) return
    const whose = own_is_full ? 'your' : 'all'
    throw new AppError(
      'resource_unavailable',
      `Too many checks of ${whose} output schemas and filters are waiting. Try again in ${RETRY_AFTER_S} seconds.`,
      { status: 429, headers: { 'retry-after': RETRY_AFTER_S } },
    )
  }

  #beginNext(): void {
    const { running } = this.#limits
    for (const [owner, owned] of this.#owners) {
      if (this.#running >= running.in_all) return
      if (owned.running >= running.most) continue
      const begin = owned.waiting.shift()
      if (!begin) continue
      // Its next turn comes after everybody else's.
      this.#owners.delete(owner)
      this.#owners.set(owner, owned)
      this.#running += 1
      this.#waiting -= 1
      owned.running += 1
      begin()
    }
  }
}

/** Of this process. */
export const computations = new Computations()
