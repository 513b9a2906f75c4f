import type { Budget } from '../budgets/budgets.ts'
import type { NewAuditEntry } from '../store/audit-log.ts'

const WINDOW_MS = 60_000

/**
 * How many refusals the audit log gets in a minute, of each owner and of all strangers: whoever has many addresses must not fill the
 * database without a key. What is left out is counted in one entry at the minute's end.
 */
export class NotedRefusals {
  readonly #budget: Pick<Budget, 'most' | 'in_all'>
  readonly #note: (entry: NewAuditEntry) => void
  #noted = new Map<string, number>()
  #in_all = 0
  #left_out = 0
  #timer: NodeJS.Timeout | null = null

  constructor(budget: Pick<Budget, 'most' | 'in_all'>, note: (entry: NewAuditEntry) => void) {
    this.#budget = budget
    this.#note = note
  }

  /** Whether this one is to be noted. Strangers share what is for all of them: they must not hide what people do. */
  take(owner: string, is_stranger: boolean): boolean {
    this.#timer ??= setTimeout(() => this.#end(), WINDOW_MS).unref()
    const { most, in_all = Number.POSITIVE_INFINITY } = this.#budget
    const noted = this.#noted.get(owner) ?? 0
    if (noted >= most || (is_stranger && this.#in_all >= in_all)) {
      this.#left_out += 1
      return false
    }
    this.#noted.set(owner, noted + 1)
    if (is_stranger) this.#in_all += 1
    return true
  }

  close(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#end()
  }

  #end(): void {
    const left_out = this.#left_out
    this.#timer = null
    this.#noted = new Map()
    this.#in_all = 0
    this.#left_out = 0
    if (left_out === 0) return
    const detail = `${left_out} more refused requests within a minute are not listed one by one.`
    this.#note({ action: 'refusals', via: 'http', detail })
  }
}
