import { type RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible'
import type { Budget } from '../budgets/budgets.ts'
import { AppError } from '../contract/error.ts'
import type { Db } from '../store/db.ts'
import { createCounter } from '../store/request-counts.ts'

export interface RequestMaxima {
  /** Of a principal, whatever it asks with whichever keys; 0: no limit. */
  requests_per_minute: number
  /** Of these, such as create runs; 0: no limit. */
  creates_per_minute: number
}

type Name = 'requests' | 'creates'
interface Limit {
  name: Name
  most: number
  counter: RateLimiterPostgres
}

/** What each principal may ask in a minute, over all processes. Without a limit nothing is counted. */
export class RequestLimits {
  readonly #limits: readonly Limit[]
  readonly #policy: string

  constructor(db: Db, { requests_per_minute, creates_per_minute }: RequestMaxima) {
    const given: Array<[Name, number]> = [
      ['requests', requests_per_minute],
      ['creates', creates_per_minute],
    ]
    this.#limits = given
      .filter(([, most]) => most > 0)
      .map(([name, most]) => ({ name, most, counter: createCounter(db, name, most) }))
    this.#policy = this.#limits.map(({ name, most }) => `"${name}";q=${most};w=60`).join(', ')
  }

  /**
   * Counts a request and returns the headers of its answer (draft-ietf-httpapi-ratelimit-headers-10). Throws 429 with them,
   * and with Retry-After, where the owner (`budget-owner.ts`) has used up a limit.
   */
  async take(owner: string, is_create: boolean): Promise<Record<string, string>> {
    const states: string[] = []
    const headers = (): Record<string, string> =>
      this.#policy === ''
        ? {}
        : {
            'ratelimit-policy': this.#policy,
            ...(states.length > 0 ? { ratelimit: states.join(', ') } : {}),
          }
    for (const { name, most, counter } of this.#limits) {
      if (name === 'creates' && !is_create) continue
      const { state, is_over } = await consume(counter, owner)
      const seconds = Math.max(1, Math.ceil(state.msBeforeNext / 1000))
      states.push(`"${name}";r=${state.remainingPoints};t=${seconds}`)
      if (!is_over) continue
      const what = name === 'requests' ? `${most} requests` : `${most} new runs`
      const detail = `Rate limit reached: ${what} per minute for each person or service account, with all of its keys together.`
      throw new AppError('resource_unavailable', detail, {
        status: 429,
        headers: { ...headers(), 'retry-after': String(seconds) },
      })
    }
    return headers()
  }
}

/** Counts so much more of the owner's. */
export async function consume(
  counter: RateLimiterPostgres,
  owner: string,
  amount = 1,
): Promise<{ state: RateLimiterRes; is_over: boolean }> {
  try {
    return { state: await counter.consume(owner, amount), is_over: false }
  } catch (rejected) {
    // Anything else is a fault of the database.
    if (!(rejected instanceof RateLimiterRes)) throw rejected
    return { state: rejected, is_over: true }
  }
}

/** Throws 429 where a counter of this budget has run over. */
export function refuseOver(
  { state, is_over }: { state: RateLimiterRes; is_over: boolean },
  { name, unit, most }: Budget,
): void {
  if (!is_over) return
  throw new AppError(
    'resource_unavailable',
    `Rate limit reached: ${name}, ${most} ${unit}. Try again later.`,
    {
      status: 429,
      headers: { 'retry-after': String(Math.max(1, Math.ceil(state.msBeforeNext / 1000))) },
    },
  )
}
