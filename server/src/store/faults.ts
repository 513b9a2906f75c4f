/** What an error of the database means to who asked it. */
import { AppError } from '../contract/error.ts'

/**
 * A session that the server ended for standing still in a transaction (25P03) included, and logins that are refused
 * (28, 3D000): a password or a database that is being changed is a kind of outage.
 */
const UNAVAILABLE = /^(08|53|57P0[1235]|25006|25P03|28|3D000)/

/** Errors of the database that mean "away for the moment", whatever raised them. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, syscall } = error as { code?: unknown; syscall?: unknown }
  if (typeof code === 'string') {
    if (UNAVAILABLE.test(code)) return true
    if (['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN'].includes(code))
      return true
    // Of a socket in a directory; any other file that is not there is no sign of the database.
    if (code === 'ENOENT' && syscall === 'connect') return true
  }
  return /timeout exceeded when trying to connect|connection timeout|client password must be a|Connection terminated|Cannot use a pool after|Client has encountered/.test(
    error.message,
  )
}

/** Cut short by the server: statement timeout, serialization failure, deadlock. */
const CUT_SHORT = new Set<unknown>(['57014', '40001', '40P01'])

export const isCutShort = (error: unknown): boolean =>
  error instanceof Error && CUT_SHORT.has((error as { code?: unknown }).code)

/** A lock that was not free in time: another request is changing the same thing. */
export const isLockTimeout = (error: unknown): boolean =>
  error instanceof Error && (error as { code?: unknown }).code === '55P03'

/** Data exceptions, violated constraints and what is beyond a limit of the database: the value is refused, now and later. */
const REFUSED = /^(22|23|54)/

export const refusesValue = (error: unknown): boolean =>
  error instanceof Error && REFUSED.test(String((error as { code?: unknown }).code))

const DISK_FULL =
  'The disk of the database is full: nothing new can be stored before somebody frees some space there.'

/** PostgreSQL's word for it, the embedded one's too. */
const isDiskFull = (error: unknown): boolean =>
  error instanceof Error && (error as { code?: unknown }).code === '53100'

/** A row about a run was to be stored just when the run was deleted. */
const namesNoRun = (error: unknown): boolean => {
  const { code, constraint } = (error ?? {}) as { code?: unknown; constraint?: unknown }
  return code === '23503' && /_run_id_fkey$/.test(String(constraint))
}

export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error
  if (namesNoRun(error))
    return new AppError('resource_not_found', 'There is no run with this id.', { cause: error })
  if (isDiskFull(error)) {
    return new AppError('resource_unavailable', DISK_FULL, { headers: { 'retry-after': '2' }, cause: error })
  }
  if (isUnavailable(error)) {
    return new AppError('resource_unavailable', 'The database is away for the moment.', {
      headers: { 'retry-after': '2' },
      cause: error,
    })
  }
  if (isCutShort(error)) {
    return new AppError('resource_unavailable', 'The database took too long.', {
      headers: { 'retry-after': '2' },
      cause: error,
    })
  }
  if (isLockTimeout(error)) {
    return new AppError('conflict', 'Another request is changing this now.', { cause: error })
  }
  return new AppError('internal_error', 'The service failed to handle this request.', { cause: error })
}
