import type { ListRunsParams, RunItem } from '@runyard/client'
import { type Command, Option } from 'commander'
import { usageFailure } from '../failure.ts'
import { oneLine } from '../one-line.ts'
import { wholeNumber } from '../option-values.ts'
import type { Output } from '../output.ts'
import { addFilterOptions, type FilterOptions, filtersOf } from '../run-filters.ts'
import { paintState } from '../run-text.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'
import { formatTable } from '../table.ts'
import { formatAge, formatDuration, parseDuration } from '../time-text.ts'

const PAGE_SIZE = 500

interface ListOptions extends ClientOptions, FilterOptions {
  limit: number
  all?: boolean
  archived?: string | true
  sort?: string
  order?: string
}

export function addListCommand(program: Command): void {
  const command = addFilterOptions(
    program
      .command('list [search]')
      .alias('ls')
      .summary('list runs')
      .description(
        "Lists runs, the last changed first. Filters combine; search looks into title, prompt and skill, and takes a run's id or address.",
      )
      .option('-l, --limit <n>', 'how many', wholeNumber(1, 1_000_000), 20)
      .option('--all', 'all of them'),
  )
    .option('--archived [all]', 'archived runs alone; with `all`, the others as well')
    .addOption(new Option('--sort <key>', 'order by').choices(['updated_at', 'created_at', 'title', 'agent']))
    .addOption(new Option('--order <order>', 'direction').choices(['asc', 'desc']))
  addClientOptions(command).action(async (search: string | undefined, options: ListOptions) => {
    const { client, output } = openSession(options)
    const wanted = options.all ? Number.POSITIVE_INFINITY : options.limit
    const params: ListRunsParams = {
      ...filtersOf(search, options),
      ...(options.archived === undefined ? {} : { archived: readArchived(options.archived) }),
      ...(options.sort === undefined ? {} : { sort_by: options.sort as ListRunsParams['sort_by'] }),
      ...(options.order === undefined ? {} : { sort_order: options.order as ListRunsParams['sort_order'] }),
      limit: Math.min(wanted, PAGE_SIZE),
    }
    const runs: RunItem[] = []
    let has_more = false
    for await (const page of client.runs.list(params).pages()) {
      const taken = page.runs.slice(0, wanted - runs.length)
      runs.push(...taken)
      has_more = page.page_info.has_next_page || taken.length < page.runs.length
      if (output.format === 'ndjson') for (const run of taken) output.json(run)
      if (runs.length >= wanted) break
    }
    if (output.format === 'json') output.json({ runs, page_info: { has_next_page: has_more } })
    if (output.format === 'text') printTable(runs, has_more, output)
  })
}

function readArchived(text: string | true): 'true' | 'all' {
  if (text !== true && text !== 'all')
    throw usageFailure(`--archived ${text}: give nothing or \`all\` after it.`)
  return text === true ? 'true' : 'all'
}

function printTable(runs: readonly RunItem[], has_more: boolean, output: Output): void {
  const { colors } = output
  if (runs.length === 0) {
    output.note('No runs.')
    return
  }
  const columns = [
    { heading: 'RUN', cell: (run: RunItem) => output.id(run.run_id) },
    {
      heading: 'STATE',
      cell: (run: RunItem) => run.state,
      paint: (state: string) => paintState(state, colors),
    },
    { heading: 'TITLE', cell: (run: RunItem) => run.title, flexible: true },
    { heading: 'AGENT', cell: (run: RunItem) => run.agent_config.name ?? '', spare: true },
    {
      heading: 'WORKED',
      cell: ({ run_time }: RunItem) => (run_time ? formatDuration(parseDuration(run_time)) : ''),
      spare: true,
    },
    {
      heading: 'UPDATED',
      cell: (run: RunItem) => formatAge(run.updated_at),
      paint: colors.dim,
      spare: true,
    },
  ].filter(({ cell }) => runs.some(cell))
  const rows = runs.map((run) => columns.map(({ cell }) => cell(run)))
  output.line(formatTable(columns, rows, output.columns()))
  for (const { run_id, waiting } of runs)
    if (waiting && waiting.reason !== 'starting')
      output.note(colors.dim(`${output.id(run_id)} waits: ${oneLine(waiting.message)}`))
  if (has_more) output.note(colors.dim('There are more: --limit N, or --all.'))
}
