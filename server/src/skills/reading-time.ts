import { setImmediate as nextTurn } from 'node:timers/promises'

/** A repository with 500 ordinary skills takes a tenth of it. */
const MOST_MS = 2_000
/** Whoever else works in this process does not wait longer than this for its turn. */
const TURN_MS = 20

/** The processor's time for reading one repository, whose text is a stranger's: bounded, and taken in short turns. */
export class ReadingTime {
  #spent_ms = 0

  get is_over(): boolean {
    return this.#spent_ms >= MOST_MS
  }

  /** Does the task with one item after another, and lets others in between. */
  async forEach<Item>(items: Iterable<Item>, task: (item: Item) => void): Promise<void> {
    let began = process.threadCpuUsage()
    for (const item of items) {
      task(item)
      const { user, system } = process.threadCpuUsage(began)
      const took_ms = (user + system) / 1_000
      if (took_ms < TURN_MS) continue
      this.#spent_ms += took_ms
      await nextTurn()
      began = process.threadCpuUsage()
    }
  }
}
