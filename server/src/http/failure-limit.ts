import type { FastifyRequest } from 'fastify'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { AppError } from '../contract/error.ts'

/** Failures of an address in a minute. What is right goes on working from there. */
const FAILURES_PER_MINUTE = 120

/** Counts a failure of the address that asks; throws 429 where there were too many of what `detail` says. */
export function createFailureLimit(detail: string): (request: FastifyRequest) => Promise<void> {
  const failures = new RateLimiterMemory({ points: FAILURES_PER_MINUTE, duration: 60 })
  return async (request) => {
    try {
      await failures.consume(request.ip)
    } catch (limit) {
      if (!(limit instanceof RateLimiterRes)) throw limit
      throw new AppError('resource_unavailable', detail, {
        status: 429,
        headers: { 'retry-after': String(Math.ceil(limit.msBeforeNext / 1000)) },
      })
    }
  }
}
