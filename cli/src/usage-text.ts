import type { Usage } from '@runyard/client'
import { oneLine } from './one-line.ts'
import type { Output } from './output.ts'
import { type Column, formatTable } from './table.ts'

type Figures = Usage['totals']

const MOST_MODELS = 5

/** What costs leave out, and of which models. */
export function describeUnpriced({ by_model }: Usage, unpriced: ReadonlySet<string>): string {
  const models = by_model.filter(({ model_id }) => model_id !== null && unpriced.has(model_id))
  const tokens = models.reduce((sum, { total_tokens }) => sum + total_tokens, 0)
  const names = models.slice(0, MOST_MODELS).map(({ model_id }) => oneLine(model_id ?? ''))
  const more = models.length > MOST_MODELS ? ` and ${models.length - MOST_MODELS} more` : ''
  return `Costs do not include ${tokens.toLocaleString('en')} tokens, whose price is not known: ${names.join(', ')}${more}.`
}

/** One table: all runs, and below them by agent, model, environment and day. `unpriced`: models without a known price. */
export function formatUsage(
  usage: Usage,
  unpriced: ReadonlySet<string>,
  output: Pick<Output, 'columns'>,
): string {
  const figure = (heading: string, spare = false): Column => ({ heading, align: 'right', spare })
  const columns: Column[] = [
    { heading: '', flexible: true, least: 16, indented: true },
    figure('RUNS'),
    figure('SUCCEEDED'),
    figure('FAILED'),
    figure('ERRORS', true),
    figure('CANCELLED', true),
    figure('MEDIAN', true),
    figure('TOKENS'),
    figure('COST'),
  ]
  const days = usage.days.filter(({ runs }) => runs > 0)
  const rows = [
    ['All runs', ...cells(usage.totals, unpriced.size > 0 ? '+' : '')],
    ...group('Agent', usage.by_agent, ({ agent }) => agent),
    ...group(
      'Model',
      usage.by_model,
      ({ model_id }) => model_id ?? 'no model',
      ({ model_id }) => model_id !== null && unpriced.has(model_id),
    ),
    ...group('Environment', usage.by_environment, ({ name, environment_id }) =>
      environment_id === null ? 'no environment' : (name ?? `deleted (${environment_id})`),
    ),
    ...group(
      'Day',
      days.map((day) => ({ ...day, run_seconds_p50: null })),
      ({ date }) => date,
    ),
  ]
  return formatTable(columns, rows, output.columns())
}

type Counted = Omit<Figures, 'blocked' | 'open' | 'run_seconds_p95'>

/** A line that names what the lines below it are by. */
function group<T extends Counted>(
  heading: string,
  items: readonly T[],
  nameOf: (item: T) => string,
  isUnpriced: (item: T) => boolean = () => false,
): string[][] {
  if (items.length === 0) return []
  return [
    [heading],
    ...items.map((item) => {
      const figures = cells(item)
      return [
        `  ${oneLine(nameOf(item))}`,
        ...(isUnpriced(item) ? [...figures.slice(0, -1), 'not priced'] : figures),
      ]
    }),
  ]
}

/** `mark`: behind a cost that is not all. */
const cells = (figures: Counted, mark = ''): string[] => [
  ...[figures.runs, figures.succeeded, figures.failed, figures.errors, figures.cancelled].map(String),
  figures.run_seconds_p50 === null ? '' : `${figures.run_seconds_p50.toFixed(1)} s`,
  figures.total_tokens.toLocaleString('en'),
  `$${figures.cost_usd.toFixed(2)}${mark}`,
]
