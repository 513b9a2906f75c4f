import { isUnavailable } from './faults.ts'

/**
 * Logs the faults of work that is done again and again: each fault once, until the work succeeds or fails otherwise. That
 * the database is away is logged elsewhere.
 */
export function createFaultLog(
  log: { warn(fields: object, message: string): void },
  message: string,
): { say(error: unknown): void; clear(): void } {
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
