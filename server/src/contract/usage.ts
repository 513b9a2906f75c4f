import { z } from 'zod'
import { Timestamp, TimestampInput } from './timestamp.ts'

const DAY_MS = 86_400_000
export const MOST_DAYS = 366

/** Names of the tz database alone: what else PostgreSQL takes would not mean the same to others. */
const isTimeZone = (name: string): boolean => {
  try {
    return /^(?!SystemV\/)[A-Za-z]/i.test(name) && Boolean(new Intl.DateTimeFormat('en', { timeZone: name }))
  } catch {
    return false
  }
}

export const UsageQuery = z
  .object({
    from: TimestampInput.optional().meta({
      description:
        'Runs created from then on. Default: 30 days of `time_zone`, the last of them that of `to`.',
    }),
    to: TimestampInput.optional().meta({ description: 'Runs created before then. Default: now.' }),
    time_zone: z
      .string()
      .max(64)
      .refine(isTimeZone, 'must be a name of the tz database, such as Europe/Berlin')
      .optional()
      .meta({ description: 'Of the days, such as `Europe/Berlin`. Default `UTC`.' }),
    creator: z.string().max(256).optional().meta({
      description: 'Runs of this principal only; `me` for who asks.',
    }),
  })
  .refine(({ to }) => to === undefined || to >= '1970', { path: ['to'], error: 'must be in 1970 or later' })
  .refine(
    ({ from, to }) =>
      from === undefined || Date.parse(from) < (to === undefined ? Date.now() : Date.parse(to)),
    { path: ['from'], error: 'must be before to' },
  )
  .refine(
    ({ from, to }) =>
      from === undefined ||
      (to === undefined ? Date.now() : Date.parse(to)) - Date.parse(from) <= MOST_DAYS * DAY_MS,
    { path: ['from'], error: `must be at most ${MOST_DAYS} days before to` },
  )
export type UsageQuery = z.infer<typeof UsageQuery>

const COUNTS = {
  runs: z.int(),
  succeeded: z.int(),
  failed: z.int(),
  errors: z.int().meta({ description: 'Ended ERROR: the service’s fault, or a provider’s.' }),
  cancelled: z.int(),
  total_tokens: z.int(),
  cache_read_tokens: z.int().meta({ description: 'Of them, those that providers read from their caches.' }),
  cache_write_tokens: z.int().meta({
    description: 'Of them, those that providers wrote into their caches.',
  }),
  cost_usd: z.number(),
}

const FIGURES = {
  ...COUNTS,
  blocked: z.int().meta({ description: 'Wait for a person.' }),
  open: z.int().meta({ description: 'Queued or worked on.' }),
  run_seconds_p50: z.number().nullable().meta({
    description: 'How long the median run was worked on, of those that have ended; null: none has.',
  }),
  run_seconds_p95: z.number().nullable(),
}

export const UsageFigures = z
  .object(FIGURES)
  .meta({ id: 'UsageFigures', description: 'Of runs, as they are now.' })
export const UsageDay = z
  .object({ date: z.string().meta({ format: 'date', description: 'In `time_zone`.' }), ...COUNTS })
  .meta({ id: 'UsageDay', description: 'Of the runs created on a day.' })
export const UsageOfAgent = z
  .object({ agent: z.string().meta({ description: 'The harness; `oz` is the built-in one.' }), ...FIGURES })
  .meta({ id: 'UsageOfAgent' })
export const UsageOfModel = z
  .object({ model_id: z.string().nullable().meta({ description: 'null: no model was asked.' }), ...FIGURES })
  .meta({ id: 'UsageOfModel' })
export const UsageOfEnvironment = z
  .object({
    environment_id: z.string().nullable().meta({ description: 'null: runs without one.' }),
    name: z.string().optional().meta({ description: 'Absent where it was deleted.' }),
    ...FIGURES,
  })
  .meta({ id: 'UsageOfEnvironment' })

export const Usage = z
  .object({
    from: Timestamp,
    to: Timestamp,
    time_zone: z.string(),
    totals: UsageFigures,
    days: z.array(UsageDay).meta({ description: 'Every day, oldest first; those without runs as well.' }),
    by_agent: z.array(UsageOfAgent).meta({ description: 'Most runs first, at most 100; so are the others.' }),
    by_model: z.array(UsageOfModel).meta({
      description: 'A run that used several models is one of each; tokens and cost are those of the model.',
    }),
    by_environment: z.array(UsageOfEnvironment),
  })
  .meta({ id: 'Usage' })
export type Usage = z.infer<typeof Usage>
