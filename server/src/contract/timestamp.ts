import { z } from 'zod'

/** A moment as the service writes it: RFC 3339 in UTC with milliseconds and `Z`. */
export const Timestamp = z.string().meta({ format: 'date-time', description: 'RFC 3339, UTC, milliseconds.' })

/** A moment as callers may write it: RFC 3339 with any offset. Parsed to a `Date`. */
export const TimestampInput = z.iso
  .datetime({ offset: true, error: 'must be an RFC 3339 date-time such as 2026-01-31T12:00:00Z' })
  .meta({ format: 'date-time' })
