import type { DeleteRunsParams, ListRunsParams } from '@runyard/client'
import type { Command } from 'commander'
import { moment, pair, repeated } from './option-values.ts'

/** Which runs, by what they are and where they come from. */
export interface FilterOptions {
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
}

type RunFilters = ListRunsParams & DeleteRunsParams

export const addFilterOptions = (command: Command): Command =>
  command
    .option('-s, --state <state>', 'in this state; repeat, or separate by commas, for more', repeated)
    .option('-n, --name <name>', 'with this agent name')
    .option('-m, --model <id>', 'with this model')
    .option('-e, --env <environment>', 'in this environment, by name or id; empty-environment for none')
    .option('--skill <spec>', 'with this skill')
    .option('--creator <principal>', 'created by, by name or id; me for yourself')
    .option('--executor <principal>', 'executed as')
    .option('--source <source>', 'from API, CLI, WEB_APP, SCHEDULED_AGENT, …; repeat for more', repeated)
    .option(
      '--task-status <status>',
      'running (runs below it count), failed, blocked, cancelled or complete; repeat for more',
      repeated,
    )
    .option('--schedule <schedule>', 'from this schedule')
    .option('--trigger <trigger>', 'from this trigger')
    .option('--ancestor <run-id>', 'below this run')
    .option('--location <location>', 'LOCAL or REMOTE')
    .option('--artifact <type>', 'with such an artifact: FILE, DIFF, SCREENSHOT, PULL_REQUEST, …')
    .option('--reference-url <url>', 'that produced this pull request, branch or other address')
    .option('--metadata <key=value>', 'with this label; repeat for more', pair)
    .option('--created-after <time>', 'RFC 3339, a date, or an age such as 2h', moment)
    .option('--created-before <time>', '', moment)
    .option('--updated-after <time>', '', moment)

/** Values that were repeated, or separated by commas. */
const separated = (texts: string[] | undefined): string[] | undefined =>
  texts?.flatMap((text) => text.split(',')).map((text) => text.trim())

/** What was given, as lists and deletions take it. */
export function filtersOf(q: string | undefined, options: FilterOptions): RunFilters {
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
  }
  // The service knows which values there are, and a newer one knows more than this command.
  return Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined)) as RunFilters
}
