import type { FastifyRequest } from 'fastify'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { BUDGETS } from '../budgets/budgets.ts'
import { AppError } from '../contract/error.ts'
import { blockOf } from './budget-owner.ts'

/** What is right goes on working from the address. */
const FAILURES_PER_MINUTE = BUDGETS.keyless_failures.most

export interface FailureLimit {
  /** Counts a failure of the address that asks; throws 429 where there were too many. */
  count(request: FastifyRequest): Promise<void>
  /** Throws 429 where the address has had too many, whatever it asks now. */
  refuse(request: FastifyRequest): Promise<void>
}

/** `detail`: what there were too many of. */
export function createFailureLimit(detail: string): FailureLimit {
  const failures = new RateLimiterMemory({ points: FAILURES_PER_MINUTE, duration: 60 })
  const tooMany = ({ msBeforeNext }: RateLimiterRes): AppError =>
    new AppError('resource_unavailable', detail, {
      status: 429,
      headers: { 'retry-after': String(Math.ceil(msBeforeNext / 1000)) },
    })
  return {
    async count({ ip }) {
      try {
        await failures.consume(blockOf(ip))
      } catch (limit) {
        throw limit instanceof RateLimiterRes ? tooMany(limit) : limit
      }
    },
    async refuse({ ip }) {
      const found = await failures.get(blockOf(ip))
      if (found && found.consumedPoints > FAILURES_PER_MINUTE) throw tooMany(found)
    },
  }
}
