import { AppError } from '../contract/error.ts'

/** Where a page ends, for callers to hand back: opaque to them, and checked by whoever gave it out. */
export const encodeCursor = (parts: readonly unknown[]): string =>
  Buffer.from(JSON.stringify(parts)).toString('base64url')

export const brokenCursor = (): AppError =>
  new AppError('invalid_request', 'cursor: is not one this service gave out.')

/** As many parts as were put in; what they are is for the caller to check. */
export function decodeCursor(cursor: string, length: number): unknown[] {
  let parts: unknown
  try {
    parts = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
  } catch {
    throw brokenCursor()
  }
  if (!Array.isArray(parts) || parts.length !== length) throw brokenCursor()
  return parts
}

/** A time as this service writes it and PostgreSQL reads it. */
export const isMoment = (value: unknown): value is string =>
  typeof value === 'string' &&
  /^(?!0000)\d{4}-/.test(value) &&
  !Number.isNaN(Date.parse(value)) &&
  new Date(value).toISOString() === value

/** A text that PostgreSQL takes as it is. */
export const isPlainText = (value: unknown): value is string =>
  typeof value === 'string' && !value.includes('\u0000')
