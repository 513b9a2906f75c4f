import { z } from 'zod'

/** A moment as the service writes it: RFC 3339 in UTC with milliseconds and `Z`. */
export const Timestamp = z.string().meta({ format: 'date-time', description: 'RFC 3339, UTC, milliseconds.' })

const MOMENT = 'must be an RFC 3339 date-time such as 2026-01-31T12:00:00Z'

/** A moment as callers may write it: RFC 3339 with any offset. Parsed to what the service writes. */
export const TimestampInput = z.iso
  .datetime({ offset: true, error: MOMENT })
  .transform((text) => new Date(text).toISOString())
  // PostgreSQL reads neither the year 0 nor one of five digits.
  .pipe(z.string().refine((text) => /^(?!0000)\d{4}-/.test(text), MOMENT))
  .meta({ format: 'date-time' })
