import type { Usage } from '@runyard/client'
import type { Command } from 'commander'
import { oneLine } from '../one-line.ts'
import { moment } from '../option-values.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'
import { formatTable } from '../table.ts'

type Figures = Usage['totals']

interface UsageOptions extends ClientOptions {
  since?: Date
  until?: Date
  timeZone?: string
  creator?: string
}

export function addUsageCommand(program: Command): void {
  addClientOptions(
    program
      .command('usage')
      .summary('what runs have come to')
      .description('Shows runs, how they ended, how long they took and what they cost: of 30 days.')
      .option('--since <time>', 'of runs created from then on: 2026-01-31, or 7d for a week ago', moment)
      .option('--until <time>', 'of runs created before then', moment)
      .option('--time-zone <name>', 'of the days, such as Europe/Berlin; default: this machine’s')
      .option('--creator <principal>', 'of this user or identity only'),
  ).action(async ({ since, until, timeZone, creator, ...options }: UsageOptions) => {
    const { client, output } = openSession(options)
    const usage = await client.usage.get({
      time_zone: timeZone ?? new Intl.DateTimeFormat().resolvedOptions().timeZone,
      from: since?.toISOString(),
      to: until?.toISOString(),
      creator,
    })
    if (output.format !== 'text') return output.json(usage)
    const days = usage.days.filter(({ runs }) => runs > 0)
    const columns = [
      { heading: '', flexible: true },
      ...['RUNS', 'SUCCEEDED', 'FAILED', 'ERRORS'].map((heading) => ({ heading })),
      ...['CANCELLED', 'MEDIAN'].map((heading) => ({ heading, spare: true })),
      ...['TOKENS', 'COST'].map((heading) => ({ heading })),
    ]
    const rows = [
      ['all', ...cells(usage.totals)],
      ...usage.by_agent.map((group) => [`agent ${group.agent}`, ...cells(group)]),
      ...usage.by_model.map((group) => [group.model_id ?? 'no model', ...cells(group)]),
      ...usage.by_environment.map((group) => [
        group.environment_id === null ? 'no environment' : (group.name ?? group.environment_id),
        ...cells(group),
      ]),
      ...days.map((day) => [day.date, ...cells({ ...day, run_seconds_p50: null })]),
    ]
    output.line(
      formatTable(
        columns,
        rows.map((row) => row.map(oneLine)),
        output.columns(),
      ),
    )
  })
}

const cells = (figures: Omit<Figures, 'blocked' | 'open' | 'run_seconds_p95'>): string[] => [
  ...[figures.runs, figures.succeeded, figures.failed, figures.errors, figures.cancelled].map(String),
  figures.run_seconds_p50 === null ? '' : `${figures.run_seconds_p50.toFixed(1)}s`,
  String(figures.total_tokens),
  `$${figures.cost_usd.toFixed(2)}`,
]
