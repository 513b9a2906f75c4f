import type { ScheduledAgentItem, UpdateScheduleRequest } from '@runyard/client'
import { type Command, Option } from 'commander'
import { type AgentOptions, addAgentOptions, agentConfigOf } from '../agent-options.ts'
import { addBudgetOptions, type BudgetOptions, budgetOf, describeBudget } from '../budget-options.ts'
import { currentProcess } from '../current-process.ts'
import { EXIT, usageFailure } from '../failure.ts'
import { oneLine } from '../one-line.ts'
import { pair, wholeNumber } from '../option-values.ts'
import type { Output } from '../output.ts'
import { readMessage } from '../read-input.ts'
import { addResultOption, type ResultOption, resultOf } from '../result-option.ts'
import { formatFields } from '../run-text.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'
import { formatTable } from '../table.ts'
import { formatAge, formatMoment, formatUntil } from '../time-text.ts'
import { showCreated } from './run.ts'

interface ScheduleOptions extends ClientOptions, AgentOptions, BudgetOptions, ResultOption {
  file?: string
  title?: string
  cron?: string
  timeZone?: string
  skill?: string
  identity?: string
  metadata?: Record<string, string>
  overlap?: 'skip' | 'allow' | 'cancel'
  catchUp?: 'latest' | 'skip'
}

interface CreateOptions extends ScheduleOptions {
  cron: string
  personal?: boolean
  paused?: boolean
}

interface RunNowOptions extends ClientOptions {
  wait?: boolean
  full?: boolean
}

interface UpdateOptions extends ScheduleOptions {
  name?: string
}

export function addScheduleCommands(program: Command): void {
  const group = program
    .command('schedule')
    .summary('create runs at set times')
    .description('Schedules: runs at the times that a cron expression names.')

  addScheduleOptions(
    group
      .command('create <name> [prompt...]')
      .description(
        'Creates a schedule. The prompt of its runs is the words given, a file, or - for standard input.',
      )
      .requiredOption('--cron <expression>', 'when: five fields, or six with seconds, such as "0 9 * * 1-5"')
      .option('--personal', 'yours alone, and so are its runs')
      .option('--paused', 'it begins when it is resumed'),
  ).action(async (name: string, words: string[], options: CreateOptions) => {
    const prompt = await readMessage(words, options.file)
    const { client, output } = openSession(options)
    const schedule = await client.schedules.create({
      ...{ name, cron_schedule: options.cron },
      ...(prompt === undefined ? {} : { prompt }),
      ...(await fieldsOf(options, {})),
      ...(options.personal ? { team: false } : {}),
      ...(options.paused ? { enabled: false } : {}),
    })
    if (output.format !== 'text') return output.json(schedule)
    output.line(output.id(schedule.id))
    output.note(`Created. ${describeNext(schedule)}`)
  })

  addScheduleOptions(
    group
      .command('update <schedule> [prompt...]')
      .description(
        'Changes what the options say of a schedule, by name or id, and keeps the rest. Its runs are created as you from now on.',
      )
      .option('--cron <expression>', 'when')
      .option('-n, --name <name>', 'another name'),
  ).action(async (schedule_id: string, words: string[], options: UpdateOptions) => {
    const prompt = await readMessage(words, options.file)
    const { client, output } = openSession(options)
    const before = await client.schedules.retrieve(schedule_id)
    const changes: Partial<UpdateScheduleRequest> = {
      ...(prompt === undefined ? {} : { prompt }),
      ...(options.name ? { name: options.name } : {}),
      ...(options.cron ? { cron_schedule: options.cron } : {}),
      ...(await fieldsOf(options, before)),
    }
    if (Object.keys(changes).length === 0)
      throw usageFailure('Nothing is to be changed.', "runyard schedule update NAME --cron '0 9 * * *'")
    const schedule = await client.schedules.update(before.id, { ...writtenOf(before), ...changes })
    if (output.format !== 'text') return output.json(schedule)
    output.line(output.id(schedule.id))
    output.note(`Updated. ${describeNext(schedule)}`)
  })

  addClientOptions(group.command('list').alias('ls').description('Lists schedules.')).action(listSchedules)

  addClientOptions(
    group.command('show <schedule>').description('Shows one schedule, by name or id, and its next times.'),
  ).action(async (schedule_id: string, options: ClientOptions) => {
    const { client, output } = openSession(options)
    const schedule = await client.schedules.retrieve(schedule_id)
    if (output.format !== 'text') return output.json(schedule)
    output.line(formatFields(fieldsShown(schedule, output), output))
    if (schedule.prompt) output.line(`\n${schedule.prompt}`)
  })

  for (const [verb, description] of [
    ['pause', 'No more runs of a schedule, by name or id, until it is resumed.'],
    ['resume', 'Lets a schedule, by name or id, go on with its next time.'],
  ] as const)
    addClientOptions(group.command(`${verb} <schedule>`).description(description)).action(
      async (schedule_id: string, options: ClientOptions) => {
        const { client, output } = openSession(options)
        const schedule = await client.schedules[verb](schedule_id)
        if (output.format !== 'text') return output.json(schedule)
        output.line(output.id(schedule.id))
        output.note(describeNext(schedule))
      },
    )

  addClientOptions(
    group
      .command('times <expression>')
      .description('Shows the next three times of a cron expression, such as "0 9 * * 1-5".')
      .option('--time-zone <zone>', 'where that is the time; default: UTC'),
  ).action(async (cron_schedule: string, options: ClientOptions & { timeZone?: string }) => {
    const { client, output } = openSession(options)
    const { timeZone: time_zone } = options
    const times = await client.schedules.times({ cron_schedule, ...(time_zone ? { time_zone } : {}) })
    if (output.format !== 'text') return output.json(times)
    for (const time of times.next_runs) output.line(formatMoment(time, time_zone ?? 'UTC'))
  })

  addClientOptions(
    group
      .command('run <schedule>')
      .description('Has a schedule, by name or id, run at once, paused or not. Its next time stays.')
      .option('-w, --wait', 'watch the run')
      .option('--full', 'with --wait: show outputs whole'),
  ).action(runNow)

  addClientOptions(
    group
      .command('delete <schedule>')
      .alias('rm')
      .description('Deletes a schedule, by name or id. Its runs stay.'),
  ).action(async (schedule_id: string, options: ClientOptions) => {
    const { client, output } = openSession(options)
    const { name } = await client.schedules.retrieve(schedule_id)
    const deleted = await client.schedules.delete(schedule_id)
    if (output.format !== 'text') return output.json(deleted)
    output.line(output.id(schedule_id))
    output.note(`Deleted ${oneLine(name)}.`)
  })

  addClientOptions(
    group
      .command('history <schedule>')
      .description('Shows what a schedule did, by name or id: each due time, its run, or why there is none.')
      .option('-l, --limit <count>', 'how many, the newest first', wholeNumber(1, 500), 20),
  ).action(showHistory)
}

const addScheduleOptions = (command: Command): Command =>
  addClientOptions(
    addBudgetOptions(
      addResultOption(
        addAgentOptions(
          command
            .option('--time-zone <zone>', 'where that is the time, such as Europe/Berlin; default: UTC')
            .option('-f, --file <file>', 'read the prompt from a file, - for standard input')
            .option('--title <text>', 'title of its runs; empty: the first line of the prompt'),
        ),
      ),
    )
      .option('--skill <spec>', 'skill to run, such as owner/repo:name')
      .option('--identity <identity>', 'service account that executes its runs')
      .option('--metadata <key=value>', 'label of its runs; repeat for more', pair)
      .addOption(
        new Option('--overlap <what>', 'while an earlier run is not over: default skip').choices([
          'skip',
          'allow',
          'cancel',
        ]),
      )
      .addOption(
        new Option(
          '--catch-up <what>',
          'after the service was down: one run (default latest), or none',
        ).choices(['latest', 'skip']),
      ),
  )

/** What the options say, beside what there is. */
async function fieldsOf(
  options: ScheduleOptions,
  before: Partial<ScheduledAgentItem>,
): Promise<Partial<UpdateScheduleRequest>> {
  const changed = {
    ...(await agentConfigOf(options)),
    ...(options.skill ? { skill_spec: options.skill } : {}),
  }
  const { budget } = budgetOf(options)
  return {
    ...(options.title === undefined ? {} : { title: options.title }),
    ...(budget ? { budget: { ...before.budget, ...budget } } : {}),
    ...(await resultOf(options)),
    ...(options.timeZone ? { time_zone: options.timeZone } : {}),
    ...(options.identity ? { agent_uid: options.identity } : {}),
    ...(options.overlap ? { overlap: options.overlap } : {}),
    ...(options.catchUp ? { catch_up: options.catchUp } : {}),
    ...(options.metadata ? { metadata: { ...before.metadata, ...options.metadata } } : {}),
    ...(Object.keys(changed).length > 0 ? { agent_config: { ...before.agent_config, ...changed } } : {}),
  }
}

/** A schedule as it was read, to be written again; the fields that are missing stay when they are left out. */
const writtenOf = (schedule: ScheduledAgentItem): UpdateScheduleRequest => ({
  name: schedule.name,
  cron_schedule: schedule.cron_schedule,
  enabled: schedule.enabled,
  prompt: schedule.prompt,
  agent_config: schedule.agent_config,
  metadata: schedule.metadata,
  ...(schedule.mode ? { mode: schedule.mode } : {}),
  ...(schedule.agent_uid === undefined ? {} : { agent_uid: schedule.agent_uid }),
})

async function listSchedules(options: ClientOptions): Promise<void> {
  const { client, output } = openSession(options)
  const schedules = await Array.fromAsync(client.schedules.list())
  if (output.format === 'json') return output.json({ schedules })
  if (output.format === 'ndjson') return schedules.forEach(output.json)
  if (schedules.length === 0)
    return output.note("No schedules. Make one: runyard schedule create NAME 'what to do' --cron '0 9 * * *'")
  const columns = [
    { heading: 'SCHEDULE' },
    { heading: 'NAME', flexible: true },
    { heading: 'CRON' },
    { heading: 'ZONE', spare: true },
    { heading: 'NEXT' },
    { heading: 'LAST RUN', spare: true },
    { heading: 'SCOPE', spare: true },
  ]
  const rows = schedules.map(({ id, name, cron_schedule, time_zone, history, last_spawn_error, scope }) => [
    ...[output.id(id), name, cron_schedule, time_zone],
    history.next_run ? formatUntil(history.next_run) : 'paused',
    last_spawn_error ? 'failed' : history.last_ran ? formatAge(history.last_ran) : '',
    scope.type === 'User' ? 'you' : 'team',
  ])
  output.line(formatTable(columns, rows, output.columns()))
}

async function runNow(schedule_id: string, options: RunNowOptions): Promise<void> {
  const session = openSession(options)
  const { client, output } = session
  const firing = await client.schedules.run(schedule_id)
  const { run_id, reason } = firing
  if (run_id !== undefined && (options.wait || output.format === 'text'))
    return showCreated(session, { run_id }, { detach: !options.wait, full: options.full })
  if (output.format === 'text') output.note(`No run was started. ${oneLine(reason ?? '')}`)
  else output.json(firing)
  // Somebody asked for a run, and there is none.
  if (run_id === undefined) currentProcess().exitCode = EXIT.failed
}

async function showHistory(schedule_id: string, options: ClientOptions & { limit: number }): Promise<void> {
  const { client, output } = openSession(options)
  const { time_zone } = await client.schedules.retrieve(schedule_id)
  const { firings } = await client.schedules.firings(schedule_id, { limit: options.limit })
  if (output.format === 'json') return output.json({ firings })
  if (output.format === 'ndjson') return firings.forEach(output.json)
  if (firings.length === 0) return output.note('It was not due yet.')
  const columns = [
    { heading: 'DUE' },
    { heading: 'OUTCOME' },
    { heading: 'RUN' },
    { heading: 'REASON', flexible: true },
  ]
  const rows = firings.map(({ due_at, outcome, run_id, reason, asked_by }) => [
    ...[formatMoment(due_at, time_zone), outcome, run_id ? output.id(run_id) : ''],
    [asked_by ? `Asked for by ${asked_by.display_name ?? asked_by.uid}.` : '', reason ?? ''].join(' ').trim(),
  ])
  output.line(formatTable(columns, rows, output.columns()))
}

/** As people of its zone say it. */
const listNext = ({ next_runs, time_zone }: ScheduledAgentItem): string =>
  next_runs.map((time) => formatMoment(time, time_zone)).join('; ')

const describeNext = (schedule: ScheduledAgentItem): string =>
  schedule.history.next_run ? `Next: ${listNext(schedule)}` : 'It is paused.'

/** What is known of it, besides the prompt. */
function fieldsShown(
  schedule: ScheduledAgentItem,
  output: Output,
): Array<[string, string | null | undefined]> {
  const { history, scope, agent_config } = schedule
  return [
    ['schedule', output.id(schedule.id)],
    ['name', schedule.name],
    ['cron', `${schedule.cron_schedule} (${schedule.time_zone})`],
    ['next', history.next_run ? listNext(schedule) : 'paused'],
    ['last run', history.last_ran && formatMoment(history.last_ran, schedule.time_zone)],
    ['last error', schedule.last_spawn_error],
    ['warning', schedule.warnings?.join(' ')],
    ['overlap', schedule.overlap],
    ['catch-up', schedule.catch_up],
    ['title', schedule.title],
    ['budget', schedule.budget && describeBudget(schedule.budget)],
    ['environment', agent_config.environment_id],
    ['model', agent_config.model_id],
    ['runs as', schedule.updated_by.display_name ?? schedule.updated_by.uid],
    ['of', scope.type === 'User' ? 'you' : 'the team'],
  ]
}
