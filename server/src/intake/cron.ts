/** When a schedule is due. The library reads the expression; what it means here is settled here. */
import { Cron } from 'croner'
import { AppError } from '../contract/error.ts'

/** A cron expression and where its clock hangs. */
export interface Recurrence {
  cron_schedule: string
  /** An IANA name. */
  time_zone: string
}

const FIVE_OR_SIX =
  'must have five fields (minute, hour, day of month, month, day of week), or six with seconds before them, such as "0 9 * * 1-5"'
/** Of the library's own words, what stands in both dialects of cron: no years, no @daily, no ?. */
const FIELD = /^[0-9A-Z*,/#-]+$/i
/** Seconds repeat each minute, so this many times in a row show how close two can be. */
const LOOKED_AT = 130
const DAY_MS = 24 * 60 * 60 * 1000

const parse = ({ cron_schedule, time_zone }: Recurrence): Cron =>
  new Cron(cron_schedule, {
    timezone: time_zone,
    paused: true,
    mode: '5-or-6-parts',
    // As in Vixie cron: lists and ranges of hours are times of a day, of which each comes once.
    fixedTimeRule: 'no-wildcard',
  })

/** Throws, naming the field, unless the schedule can be read, is due at some time, and not more often than is allowed. */
export function checkRecurrence(recurrence: Recurrence, now: Date, min_seconds: number): void {
  if (!isTimeZone(recurrence.time_zone))
    throw new AppError(
      'invalid_request',
      'time_zone: must be the IANA name of a time zone, such as Europe/Berlin.',
    )
  const fields = recurrence.cron_schedule.split(/\s+/)
  if (![5, 6].includes(fields.length) || !fields.every((field) => FIELD.test(field)))
    throw new AppError('invalid_request', `cron_schedule: ${FIVE_OR_SIX}.`)
  const times = readTimes(recurrence, now)
  if (times.length === 0) throw new AppError('invalid_request', 'cron_schedule: is never due.')
  const closest = times.reduce((least, time, i) => {
    const before = times[i - 1]
    return before ? Math.min(least, time.getTime() - before.getTime()) : least
  }, Number.POSITIVE_INFINITY)
  if (closest < min_seconds * 1000)
    throw new AppError(
      'invalid_request',
      `cron_schedule: is due every ${closest / 1000} seconds, and ${min_seconds} are the least here (RUNYARD_MIN_SCHEDULE_SECONDS).`,
    )
}

function readTimes(recurrence: Recurrence, now: Date): Date[] {
  try {
    const cron = parse(recurrence)
    const first = cron.nextRun(now)
    if (!first) return []
    const times = [first]
    if (recurrence.cron_schedule.split(/\s+/).length === 5) return times
    for (let last: Date | null = first; last && times.length < LOOKED_AT; ) {
      last = cron.nextRun(last)
      if (last && last.getTime() - first.getTime() > DAY_MS) break
      if (last) times.push(last)
    }
    return times
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.replace(/^\w+: /, '') : ''
    throw new AppError('invalid_request', `cron_schedule: cannot be read: ${why}`, { cause })
  }
}

/** Offsets are no time zones: they know no daylight saving. */
function isTimeZone(name: string): boolean {
  if (!/^[A-Z]/i.test(name)) return false
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

/**
 * The first due time after a moment. When clocks change, a time of day (neither `*` nor a step in its hour, minute and second) is
 * due once: one that is left out at the first time that is there, one that comes twice the first time. What has one of these is
 * due as the clock goes.
 */
export function nextAfter(recurrence: Recurrence, moment: Date): Date {
  const next = parse(recurrence).nextRun(moment)
  if (next && next > moment) return next
  throw new Error(`${recurrence.cron_schedule} is not due after ${moment.toISOString()}.`)
}

/** This many, of which the first is known. */
export const nextTimes = (recurrence: Recurrence, first: Date, count: number): Date[] => [
  first,
  ...parse(recurrence).nextRuns(count - 1, first),
]

/** The newest due time of those from `first` until now; `first` is one. */
export function latestDue(recurrence: Recurrence, first: Date, now: Date): Date {
  const [latest] = parse(recurrence).previousRuns(1, new Date(now.getTime() + 1))
  return latest && latest > first && latest <= now ? latest : first
}
