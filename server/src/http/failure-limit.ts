import type { FastifyRequest } from 'fastify'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { BUDGETS, type Budget } from '../budgets/budgets.ts'
import { AppError } from '../contract/error.ts'
import { blockOf } from './budget-owner.ts'

export interface FailureLimit {
  /** Counts a failure of the address that asks; throws 429 where there were too many. */
  count(request: FastifyRequest): Promise<void>
  /** Throws 429 where the address has had too many, whatever it asks now. */
  refuse(request: FastifyRequest): Promise<void>
}

/** `detail`: what there were too many of. `groupOf`: which addresses are one; default: those of one machine. */
export function createFailureLimit(
  detail: string,
  {
    most,
    groupOf = blockOf,
  }: Pick<Budget, 'most'> & { groupOf?: (address: string) => string } = BUDGETS.keyless_failures,
): FailureLimit {
  const failures = new RateLimiterMemory({ points: most, duration: 60 })
  const tooMany = ({ msBeforeNext }: RateLimiterRes): AppError =>
    new AppError('resource_unavailable', detail, {
      status: 429,
      headers: { 'retry-after': String(Math.ceil(msBeforeNext / 1000)) },
    })
  return {
    async count({ ip }) {
      try {
        await failures.consume(groupOf(ip))
      } catch (limit) {
        throw limit instanceof RateLimiterRes ? tooMany(limit) : limit
      }
    },
    async refuse({ ip }) {
      const found = await failures.get(groupOf(ip))
      if (found && found.consumedPoints > most) throw tooMany(found)
    },
  }
}
