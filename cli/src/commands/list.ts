import type { ListRunsParams, RunItem } from '@runyard/client'
import { type Command, Option } from 'commander'
import { oneLine } from '../one-line.ts'
import { moment, pair, repeated, wholeNumber } from '../option-values.ts'
import type { Output } from '../output.ts'
import { paintState } from '../run-text.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'
import { formatTable } from '../table.ts'
import { formatAge, formatDuration, parseDuration } from '../time-text.ts'

const PAGE_SIZE = 500

interface ListOptions extends ClientOptions {
  limit: number
  all?: boolean
  state?: string[]
  metadata?: Record<string, string>
  ancestor?: string
  env?: string
  model?: string
  /** Named like the parameters of the service. */
  name?: string
  creator?: string
  executor?: string
  source?: string[]
  taskStatus?: string[]
  location?: string
  createdAfter?: Date
  createdBefore?: Date
  updatedAfter?: Date
  skill?: string
  schedule?: string
  trigger?: string
  artifact?: string
  referenceUrl?: string
  sort?: string
  order?: string
}

export function addListCommand(program: Command): void {
  const command = program
    .command('list [search]')
    .alias('ls')
    .summary('list runs')
    .description(
      "Lists runs, the last changed first. Filters combine; search looks into title, prompt and skill, and takes a run's id or address.",
    )
    .option('-l, --limit <n>', 'how many', wholeNumber(1, 1_000_000), 20)
    .option('--all', 'all of them')
    .option('-s, --state <state>', 'in this state; repeat, or separate by commas, for more', repeated)
    .option('-n, --name <name>', 'with this agent name')
    .option('-m, --model <id>', 'with this model')
    .option('-e, --env <environment>', 'in this environment, by name or id; empty-environment for none')
    .option('--skill <spec>', 'with this skill')
    .option('--creator <uid>', 'created by')
    .option('--executor <uid>', 'executed as')
    .option('--source <source>', 'from API, CLI, WEB_APP, SCHEDULED_AGENT, …; repeat for more', repeated)
    .option(
      '--task-status <status>',
      'running (runs below it count), failed, blocked, cancelled or complete; repeat for more',
      repeated,
    )
    .option('--schedule <id>', 'from this schedule')
    .option('--trigger <id>', 'from this trigger')
    .option('--ancestor <run-id>', 'below this run')
    .option('--location <location>', 'LOCAL or REMOTE')
    .option('--artifact <type>', 'with such an artifact: FILE, DIFF, SCREENSHOT, PULL_REQUEST, …')
    .option('--reference-url <url>', 'that produced this pull request, branch or other address')
    .option('--metadata <key=value>', 'with this label; repeat for more', pair)
    .option('--created-after <time>', 'RFC 3339, a date, or an age such as 2h', moment)
    .option('--created-before <time>', '', moment)
    .option('--updated-after <time>', '', moment)
    .addOption(new Option('--sort <key>', 'order by').choices(['updated_at', 'created_at', 'title', 'agent']))
    .addOption(new Option('--order <order>', 'direction').choices(['asc', 'desc']))
  addClientOptions(command).action(async (search: string | undefined, options: ListOptions) => {
    const { client, output } = openSession(options)
    const wanted = options.all ? Number.POSITIVE_INFINITY : options.limit
    const params = { ...filtersOf(search, options), limit: Math.min(wanted, PAGE_SIZE) }
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

/** Values that were repeated, or separated by commas. */
const separated = (texts: string[] | undefined): string[] | undefined =>
  texts?.flatMap((text) => text.split(',')).map((text) => text.trim())

function filtersOf(q: string | undefined, options: ListOptions): ListRunsParams {
  const filters = {
    q,
    state: separated(options.state)?.map((state) => state.toUpperCase()),
    name: options.name,
    model_id: options.model,
    environment_id: options.env,
    skill: options.skill,
    creator: options.creator,
    executor: options.executor,
    source: separated(options.source)?.map((source) => source.toUpperCase()),
    task_status: separated(options.taskStatus)?.map((status) => status.toLowerCase()),
    schedule_id: options.schedule,
    trigger_id: options.trigger,
    ancestor_run_id: options.ancestor,
    execution_location: options.location?.toUpperCase(),
    artifact_type: options.artifact?.toUpperCase(),
    reference_url: options.referenceUrl,
    metadata: options.metadata,
    created_after: options.createdAfter,
    created_before: options.createdBefore,
    updated_after: options.updatedAfter,
    sort_by: options.sort,
    sort_order: options.order,
  }
  // The service knows which values there are, and a newer one knows more than this command.
  return Object.fromEntries(
    Object.entries(filters).filter(([, value]) => value !== undefined),
  ) as ListRunsParams
}

function printTable(runs: readonly RunItem[], has_more: boolean, output: Output): void {
  const { colors } = output
  if (runs.length === 0) {
    output.note('No runs.')
    return
  }
  const columns = [
    { heading: 'RUN', cell: (run: RunItem) => run.run_id },
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
      output.note(colors.dim(`${oneLine(run_id)} waits: ${oneLine(waiting.message)}`))
  if (has_more) output.note(colors.dim('There are more: --limit N, or --all.'))
}
