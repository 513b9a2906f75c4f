import type { PermissionRule } from '@runyard/client'
import { InvalidArgumentError } from 'commander'

/** A whole number within bounds; commander reports what it is not. */
export const wholeNumber =
  (min: number, max: number) =>
  (text: string): number => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return value
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
  }

/** A number above 0, with or without decimals. */
export const amount =
  (max: number) =>
  (text: string): number => {
    const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
    if (value > 0 && value <= max) return value
    throw new InvalidArgumentError(`It must be a number above 0 and at most ${max}.`)
  }

export const port = wholeNumber(0, 65_535)

/** `key=value`, repeated. */
export function pair(text: string, before: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('It must be KEY=VALUE.')
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) }
}

export const PERMISSION_HELP =
  'what a tool may do, such as ask:bash:"git push*": allow, ask or deny, tool, pattern; repeat for more, the first that fits decides'

/** `ask:bash:git push*`, repeated: in order, since the first rule that fits decides. */
export function permission(text: string, before: PermissionRule[] = []): PermissionRule[] {
  const [, action, tool, pattern] = /^(allow|ask|deny):([^:]+)(?::([\s\S]+))?$/.exec(text) ?? []
  if (action === undefined || tool === undefined)
    throw new InvalidArgumentError(
      'It must be ACTION:TOOL or ACTION:TOOL:PATTERN, such as "ask:bash:git push*".',
    )
  const rule = { action: action as PermissionRule['action'], tool }
  return [...before, pattern === undefined ? rule : { ...rule, pattern }]
}

/** An option that may be given several times. */
export const repeated = (text: string, before: string[] = []): string[] => [...before, text]

const UNIT_MS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** How long, in milliseconds: `30m`, `24h`, `7d`; at most a year. */
export function timeSpan(text: string): number {
  const [, count, unit = ''] = /^(\d+)([smhd])$/.exec(text) ?? []
  const milliseconds = Number(count) * (UNIT_MS[unit] ?? Number.NaN)
  if (milliseconds <= 366 * 86_400_000) return milliseconds
  throw new InvalidArgumentError('It must be a time such as 30m, 24h or 7d, and at most 366d.')
}

/** A moment: RFC 3339, a date, or how long ago (`30m`, `2h`, `7d`). */
export function moment(text: string): Date {
  const ago = /^(\d+)([smhd])$/.exec(text)
  const unit = UNIT_MS[ago?.[2] ?? '']
  const date = unit ? new Date(Date.now() - Number(ago?.[1]) * unit) : new Date(text)
  if (!Number.isNaN(date.getTime())) return date
  throw new InvalidArgumentError(
    'It must be a time such as 2026-01-31T12:00:00Z, 2026-01-31, or 2h for two hours ago.',
  )
}
