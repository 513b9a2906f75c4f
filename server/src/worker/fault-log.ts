import { isUnavailable } from '../store/db.ts'
import type { Logger } from './context.ts'

/**
 * Says what goes wrong in work that is done again and again: each fault once, until the work succeeds or fails otherwise. That
 * the database is away is said elsewhere.
 */
export function createFaultLog(log: Logger, message: string): { say(error: unknown): void; clear(): void } {
  let said: string | null = null
  return {
    say(error) {
      const text = String(error)
      if (isUnavailable(error) || text === said) return
      said = text
      log.warn({ err: error }, message)
    },
    clear() {
      said = null
    },
  }
}
