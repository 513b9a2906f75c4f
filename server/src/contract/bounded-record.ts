import { z } from 'zod'
import { isRecord } from './storable-text.ts'

/**
 * A record of at most so many fields, which are counted before any of them is checked: zod looks at each first, and tens of
 * thousands of them take it half a second.
 */
export const boundedRecord = <Key extends z.core.$ZodRecordKey, Value extends z.core.SomeType>(
  key: Key,
  value: Value,
  { max, message }: { max: number; message: string },
) =>
  z
    .preprocess(
      (given, ctx) => {
        if (!isRecord(given) || Object.keys(given).length <= max) return given
        ctx.issues.push({ code: 'custom', message, input: given })
        return z.NEVER
      },
      z.record(key, value),
    )
    .meta({ maxProperties: max })
