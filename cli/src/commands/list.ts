import { setTimeout as sleep } from 'node:timers/promises'
import { APIConnectionError, type ListRunsParams, type RunItem } from '@runyard/client'
import { type Command, Option } from 'commander'
import { usageFailure } from '../failure.ts'
import { Interrupts } from '../interrupts.ts'
import { oneLine } from '../one-line.ts'
import { wholeNumber } from '../option-values.ts'
import type { Output } from '../output.ts'
import { addFilterOptions, type FilterOptions, filtersOf } from '../run-filters.ts'
import { paintState } from '../run-text.ts'
import { addClientOptions, type ClientOptions, openSession, type Session } from '../session.ts'
import { formatTable, truncate } from '../table.ts'
import { formatAge, formatDuration, parseDuration } from '../time-text.ts'

const PAGE_SIZE = 500
const WATCH_MS = 2_000

interface ListOptions extends ClientOptions, FilterOptions {
  limit: number
  all?: boolean
  archived?: string | true
  mine?: boolean
  waiting?: boolean
  needsAttention?: boolean
  watch?: boolean
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
      .option('--all', 'all of them')
      .addOption(new Option('--mine', 'created by you').conflicts('creator'))
      .addOption(new Option('--waiting', 'that wait for an answer of a person').conflicts('state'))
      .option('--needs-attention', 'to act on: questions, approvals, failed setups, pull requests to merge')
      .option('--watch', 'show them as they go, until Ctrl-C'),
  )
    .option('--archived [all]', 'archived runs alone; with `all`, the others as well')
    .addOption(new Option('--sort <key>', 'order by').choices(['updated_at', 'created_at', 'title', 'agent']))
    .addOption(new Option('--order <order>', 'direction').choices(['asc', 'desc']))
  addClientOptions(command).action(async (search: string | undefined, options: ListOptions) => {
    const session = openSession(options)
    const { output } = session
    if (options.watch) return watchList(session, search, options)
    const { runs, has_more } = await readRuns(session, search, options)
    if (output.format === 'json') output.json({ runs, page_info: { has_next_page: has_more } })
    if (output.format !== 'text') return
    if (runs.length === 0) return output.note(options.waiting ? 'No run waits for a person.' : 'No runs.')
    output.line(formatRuns(runs, output))
    for (const line of linesOfWaiting(runs, output)) output.note(line)
    if (has_more) output.note(output.colors.dim('There are more: --limit N, or --all.'))
  })
}

function readArchived(text: string | true): 'true' | 'all' {
  if (text !== true && text !== 'all')
    throw usageFailure(`--archived ${text}: give nothing or \`all\` after it.`)
  return text === true ? 'true' : 'all'
}

/** What was given, as the service takes it. */
function paramsOf(search: string | undefined, options: ListOptions): ListRunsParams {
  return {
    ...filtersOf(search, options),
    ...(options.mine ? { creator: 'me' } : {}),
    ...(options.waiting ? { state: ['BLOCKED'] } : {}),
    ...(options.needsAttention ? { needs_attention: true } : {}),
    ...(options.archived === undefined ? {} : { archived: readArchived(options.archived) }),
    ...(options.sort === undefined ? {} : { sort_by: options.sort as ListRunsParams['sort_by'] }),
    ...(options.order === undefined ? {} : { sort_order: options.order as ListRunsParams['sort_order'] }),
  }
}

/** Prints each as it comes with ndjson: there may be very many. */
async function readRuns(
  { client, output }: Session,
  search: string | undefined,
  options: ListOptions,
): Promise<{ runs: RunItem[]; has_more: boolean }> {
  const wanted = options.all ? Number.POSITIVE_INFINITY : options.limit
  const params = { ...paramsOf(search, options), limit: Math.min(wanted, PAGE_SIZE) }
  const runs: RunItem[] = []
  let has_more = false
  for await (const page of client.runs.list(params).pages()) {
    const taken = page.runs.slice(0, wanted - runs.length)
    runs.push(...taken)
    has_more = page.page_info.has_next_page || taken.length < page.runs.length
    if (output.format === 'ndjson') for (const run of taken) output.json(run)
    if (runs.length >= wanted) break
  }
  return { runs, has_more }
}

/** The list again every two seconds in the place of the one before, as long as somebody watches. */
async function watchList(session: Session, search: string | undefined, options: ListOptions): Promise<void> {
  const { output } = session
  if (!output.terminal || output.format !== 'text')
    throw usageFailure(
      '--watch needs a terminal.',
      'in a script, read `runyard list -o ndjson` again, or `runyard wait` for runs',
    )
  const interrupts = new Interrupts()
  const leaving = new AbortController()
  try {
    for (let shown = 0; ; ) {
      const lines = await readLines(session, search, { ...options, all: false })
      // What has left the screen above could not be taken back.
      const fitting = lines.slice(0, Math.max(1, (output.rows() ?? 24) - 1))
      output.eraseLines(shown)
      output.line(fitting.join('\n'))
      shown = fitting.length
      const { signal } = leaving
      const pause = sleep(WATCH_MS, undefined, { signal }).catch(() => {})
      if ((await Promise.race([pause, interrupts.next()])) === 'interrupted') return
    }
  } finally {
    leaving.abort()
    interrupts.close()
  }
}

async function readLines(
  session: Session,
  search: string | undefined,
  options: ListOptions,
): Promise<string[]> {
  const { colors, columns } = session.output
  const cut = (text: string): string => truncate(text, (columns() ?? 80) - 1)
  try {
    const { runs } = await readRuns(session, search, options)
    if (runs.length === 0) return [colors.dim('No runs.')]
    const waiting = linesOfWaiting(runs, session.output)
    return [...formatRuns(runs, session.output).split('\n'), ...waiting.map(cut)]
  } catch (error) {
    if (!(error instanceof APIConnectionError)) throw error
    return [colors.yellow(cut(`${oneLine(error.message)} Trying again.`))]
  }
}

function formatRuns(runs: readonly RunItem[], output: Output): string {
  const { colors } = output
  const columns = [
    { heading: 'RUN', cell: (run: RunItem) => output.id(run.run_id) },
    {
      heading: 'STATE',
      cell: (run: RunItem) => run.state,
      paint: (state: string) => paintState(state, colors),
    },
    { heading: 'TITLE', cell: (run: RunItem) => run.title, flexible: true, least: 24 },
    { heading: 'AGENT', cell: (run: RunItem) => run.agent_config.name ?? '', spare: true },
    {
      heading: 'DURATION',
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
  return formatTable(columns, rows, output.columns())
}

/** Why a run does not go on: what its agent asks, or what its queue lacks. */
function linesOfWaiting(runs: readonly RunItem[], { id, colors }: Output): string[] {
  return runs.flatMap(({ run_id, state, status_message, waiting }) => {
    if (state === 'BLOCKED')
      return [
        `${colors.yellow('?')} ${id(run_id)} ${oneLine(status_message?.message ?? 'It waits for you.')}`,
      ]
    if (waiting && waiting.reason !== 'starting')
      return [colors.dim(`${id(run_id)} waits: ${oneLine(waiting.message)}`)]
    return []
  })
}
