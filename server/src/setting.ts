import { z } from 'zod'
import { BROKEN_USER, hasBrokenUser } from './contract/percent.ts'

/** Kinds of settings, as texts of environment variables. */
export const flag = z
  .enum(['1', 'true', '0', 'false'])
  .transform((value) => value === '1' || value === 'true')
export const whole = (min: number, max: number) =>
  ranged(/^\d+$/, `must be a whole number from ${min} to ${max}`, min, max)
export const number = (min: number, max: number) =>
  ranged(/^\d+(\.\d+)?$/, `must be a number from ${min} to ${max}`, min, max)
const ranged = (pattern: RegExp, message: string, min: number, max: number) =>
  z.string().regex(pattern, message).transform(Number).pipe(z.number().min(min, message).max(max, message))
export const key = z.string().min(1).optional()
export const address = z
  .url({ protocol: /^https?$/, error: 'must be an http or https address' })
  .refine((text) => !hasBrokenUser(text), BROKEN_USER)

/** Of a text with commas. */
export const splitList = (text: string): string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean)
