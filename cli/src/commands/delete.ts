import { setTimeout as wait } from 'node:timers/promises'
import type { DeleteRunsParams, DeleteRunsResponse, Runyard } from '@runyard/client'
import type { Command } from 'commander'
import { askChoice } from '../ask.ts'
import { CommandFailure, usageFailure } from '../failure.ts'
import { oneLine } from '../one-line.ts'
import { moment } from '../option-values.ts'
import type { Output } from '../output.ts'
import { addFilterOptions, type FilterOptions, filtersOf } from '../run-filters.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'

/** How often, and for how long, runs that are being stopped are asked for again. */
const STOPPING_MS = 1_000
const MOST_WAITS = 60

interface DeleteOptions extends ClientOptions, FilterOptions {
  all?: boolean
  before?: Date
  search?: string
  cancel?: boolean
  dryRun?: boolean
  yes?: boolean
}

/** `rename`, `archive`, `unarchive`, `delete`. */
export function addDeleteCommands(program: Command): void {
  addClientOptions(
    program
      .command('rename <run-id> <title>')
      .summary('give a run another title')
      .description('Gives a run another title.'),
  ).action(async (run_id: string, title: string, options: ClientOptions) => {
    const { client, output } = openSession(options)
    const run = await client.runs.update(run_id, { title })
    if (output.format === 'text') output.line(oneLine(`Renamed ${run.run_id}: ${run.title}`))
    else output.json(run)
  })

  for (const word of ['archive', 'unarchive'] as const) {
    const archives = word === 'archive'
    addClientOptions(
      program
        .command(`${word} <run-id...>`)
        .summary(archives ? 'hide runs from lists' : 'show archived runs in lists again')
        .description(
          archives
            ? 'Leaves runs out of lists that do not ask for archived ones. Nothing else changes, and a message brings a run back.'
            : 'Takes runs out of the archive.',
        ),
    ).action(async (run_ids: string[], options: ClientOptions) => {
      const { client, output } = openSession(options)
      for (const run_id of run_ids) {
        const run = await client.runs[word](run_id)
        if (output.format === 'text')
          output.line(oneLine(`${archives ? 'Archived' : 'Unarchived'} ${run.run_id}`))
        else output.json(run)
      }
    })
  }

  const command = program
    .command('delete [run-id...]')
    .summary('delete runs for good')
    .description(
      'Deletes runs, or all that match filters, with the runs below them: logs, files, everything. The audit log keeps who and when, and usage its figures.',
    )
    .option('--cancel', 'cancel runs first that have not ended')
    .option('--dry-run', 'only count what filters match')
    .option('-y, --yes', 'do not ask')
    .option('--all', 'every run you may delete, without any filter')
    .option('--before <time>', 'created before: RFC 3339, a date, or an age such as 30d', moment)
    .option('--search <text>', 'with this text in title, prompt or skill')
  addClientOptions(addFilterOptions(command)).action(async (run_ids: string[], options: DeleteOptions) => {
    const { client, output } = openSession(options)
    const filters = readFilters(options)
    if (run_ids.length > 0 && Object.keys(filters).length > 0)
      throw usageFailure('Give ids of runs or filters, not both.')
    if (run_ids.length > 0) return deleteRuns(client, run_ids, options, output)
    if (Object.keys(filters).length === 0)
      throw usageFailure(
        'Which runs? Nothing is deleted without an id or a filter.',
        'runyard delete RUN_ID, runyard delete --before 30d --dry-run, or --all',
      )
    await deleteMatching(client, filters, options, output)
  })
}

function readFilters(options: DeleteOptions): DeleteRunsParams {
  if (options.before && options.createdBefore)
    throw usageFailure('Give --before or --created-before, not both.')
  return {
    ...filtersOf(options.search, options),
    ...(options.before ? { created_before: options.before } : {}),
    ...(options.all ? { all: true } : {}),
  }
}

async function deleteRuns(
  { runs }: Runyard,
  run_ids: readonly string[],
  options: DeleteOptions,
  output: Output,
): Promise<void> {
  if (options.dryRun)
    throw usageFailure('--dry-run counts what filters match; with ids there is nothing to count.')
  const [only] = run_ids
  const which = run_ids.length === 1 ? `run ${only}` : `${run_ids.length} runs`
  await confirm(`Delete ${which}, with the runs below, for good?`, options, output)
  for (const run_id of run_ids) {
    const deleted = await runs.delete(run_id, { cancel: options.cancel })
    if (output.format !== 'text') output.json(deleted)
    else output.line(oneLine(`Deleted ${deleted.run_id}${withBelow(deleted.deleted - 1)}`))
  }
}

const withBelow = (below: number): string =>
  below === 0 ? '' : ` and ${below} ${below === 1 ? 'run' : 'runs'} below it`

async function deleteMatching(
  { runs }: Runyard,
  filters: DeleteRunsParams,
  options: DeleteOptions,
  output: Output,
): Promise<void> {
  const counted = await runs.deleteMany({ ...filters, dry_run: true })
  if (options.dryRun) {
    if (output.format !== 'text') return output.json(counted)
    return output.line(
      `${counted.count} ${counted.count === 1 ? 'run' : 'runs'} would be deleted.${openNote(counted)}`,
    )
  }
  const open = options.cancel && counted.open > 0 ? `, and cancel ${counted.open} first` : ''
  if (counted.count === 0 && open === '') {
    if (output.format === 'text') output.note(`No run matches that can be deleted.${openNote(counted)}`)
    else output.json({ ...counted, dry_run: false })
    return
  }
  await confirm(`Delete ${counted.count} runs for good${open}?`, options, output)
  const { deleted, last } = await deletePages(runs, filters, options)
  if (output.format !== 'text') return output.json({ ...last, count: deleted })
  output.line(`Deleted ${deleted} ${deleted === 1 ? 'run' : 'runs'}.${openNote(last)}`)
  if (options.cancel && last.open > 0)
    throw new CommandFailure(`${last.open} runs are still being stopped.`, {
      hint: 'run the same command again',
    })
}

/** A call deletes some of them: calls until none is left, and with `cancel` until the others have stopped. */
async function deletePages(
  runs: Runyard['runs'],
  filters: DeleteRunsParams,
  { cancel }: DeleteOptions,
): Promise<{ deleted: number; last: DeleteRunsResponse }> {
  let deleted = 0
  for (let waits = 0; ; ) {
    const last = await runs.deleteMany({ ...filters, ...(cancel ? { cancel: true } : {}) })
    deleted += last.count
    // A service that deletes nothing and says that there is more would keep this going for ever.
    if (last.has_more && last.count > 0) continue
    const are_stopping = cancel && last.open > 0
    if (!are_stopping || waits === MOST_WAITS) return { deleted, last }
    waits += 1
    await wait(STOPPING_MS)
  }
}

const openNote = ({ open }: DeleteRunsResponse): string =>
  open === 0
    ? ''
    : ` ${open} that ${open === 1 ? 'has' : 'have'} not ended ${open === 1 ? 'stays' : 'stay'}: --cancel.`

/** Throws where nobody says yes. */
async function confirm(question: string, { yes }: DeleteOptions, output: Output): Promise<void> {
  if (yes) return
  if (!output.interactive)
    throw usageFailure('There is no way back, and nobody to ask.', 'say --yes to delete without a question')
  const answer = await askChoice(question, [
    { value: 'no', label: 'Keep' },
    { value: 'yes', label: 'Delete' },
  ])
  if (answer !== 'yes') throw new CommandFailure('Nothing was deleted.')
}
