import { APIConnectionError, APIError, isRetryableStatus } from './errors.ts'

const LONGEST_ASKED_MS = 60_000
const LONGEST_MS = 8_000

/** Whether the same request may be sent again after this error. The server's `x-should-retry` decides when given. */
export function isRetryable(error: unknown): boolean {
  if (error instanceof APIConnectionError) return true
  if (!(error instanceof APIError)) return false
  const said = error.headers.get('x-should-retry')
  if (said === 'true' || said === 'false') return said === 'true'
  return error.retryable && isRetryableStatus(error.status)
}

/** Milliseconds to wait before the retry with this number (from 0): what the server asks for, else exponential. */
export function retryDelay(error: unknown, retry: number, now = Date.now(), random = Math.random()): number {
  const asked = error instanceof APIError ? askedDelay(error.headers, now) : undefined
  if (asked !== undefined && asked <= LONGEST_ASKED_MS) return Math.max(0, asked)
  return Math.min(500 * 2 ** retry, LONGEST_MS) * (1 - 0.25 * random)
}

function askedDelay(headers: Headers, now: number): number | undefined {
  const milliseconds = headers.get('retry-after-ms')?.trim()
  if (milliseconds && /^\d+(\.\d+)?$/.test(milliseconds)) return Number(milliseconds)
  const after = headers.get('retry-after')?.trim()
  if (!after) return undefined
  if (/^\d+(\.\d+)?$/.test(after)) return Number(after) * 1000
  // An HTTP date begins with its weekday; `Date.parse` would make a date of nearly anything.
  const date = /^[a-z]{3}/i.test(after) ? Date.parse(after) : Number.NaN
  return Number.isNaN(date) ? undefined : date - now
}
