import type {
  Runyard,
  Trigger,
  TriggerDelivery,
  TriggerVerification,
  TriggerWithSecret,
  UpdateTriggerRequest,
} from '@runyard/client'
import { type Command, Option } from 'commander'
import { type AgentOptions, addAgentOptions, agentConfigOf } from '../agent-options.ts'
import { addBudgetOptions, type BudgetOptions, budgetOf, describeBudget } from '../budget-options.ts'
import { findEnding } from '../ending.ts'
import { usageFailure } from '../failure.ts'
import { oneLine } from '../one-line.ts'
import { pair, wholeNumber } from '../option-values.ts'
import type { Output } from '../output.ts'
import { readMessage, readText } from '../read-input.ts'
import { addResultOption, type ResultOption, resultOf } from '../result-option.ts'
import { formatFields } from '../run-text.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'
import { formatTable } from '../table.ts'
import { formatAge } from '../time-text.ts'

interface TriggerOptions extends ClientOptions, AgentOptions, BudgetOptions, ResultOption {
  file?: string
  title?: string
  filter?: string
  onOpenRun?: 'followup' | 'new_run'
  secretFrom?: string
  skill?: string
  identity?: string
  metadata?: Record<string, string>
  replyWith?: string
  replyAtEnd?: boolean
}

interface CreateOptions extends TriggerOptions {
  verification: TriggerVerification
  personal?: boolean
  paused?: boolean
}

interface UpdateOptions extends TriggerOptions {
  verification?: TriggerVerification
  name?: string
}

interface DeliveriesOptions extends ClientOptions {
  limit: number
  outcome?: TriggerDelivery['outcome']
}

const VERIFICATIONS = ['standard_webhooks', 'github', 'gitlab', 'slack', 'linear']
export function addTriggerCommands(program: Command): void {
  const group = program
    .command('trigger')
    .summary('start runs by what others post')
    .description('Triggers: addresses where GitHub, GitLab, Slack, Linear and others start runs.')

  addTriggerOptions(
    group
      .command('create <name> [prompt...]')
      .description(
        'Creates a trigger, and prints its address and its secret, which nothing shows again. The prompt is the words given, a file, or -.',
      )
      .addOption(
        new Option('--verification <how>', 'how the sender signs')
          .choices(VERIFICATIONS)
          .makeOptionMandatory(),
      )
      .option('--personal', 'yours alone, and so are its runs')
      .option('--paused', 'it begins when it is resumed'),
  ).action(async (name: string, words: string[], options: CreateOptions) => {
    const prompt = await readMessage(words, options.file)
    const { client, output } = openSession(options)
    const trigger = await client.triggers.create({
      ...{ name, verification: options.verification },
      ...(prompt === undefined ? {} : { prompt }),
      ...(await fieldsOf(options, {})),
      ...(options.personal ? { team: false } : {}),
      ...(options.paused ? { enabled: false } : {}),
    })
    if (output.format !== 'text') return output.json(trigger)
    printSecret(output, trigger)
  })

  addTriggerOptions(
    group
      .command('update <trigger> [prompt...]')
      .description(
        'Changes what the options say of a trigger, by name or id, and keeps the rest. Its runs are created as you from now on.',
      )
      .addOption(new Option('--verification <how>', 'how the sender signs').choices(VERIFICATIONS))
      .option('-n, --name <name>', 'another name'),
  ).action(async (trigger_id: string, words: string[], options: UpdateOptions) => {
    const prompt = await readMessage(words, options.file)
    const { client, output } = openSession(options)
    const before = await client.triggers.retrieve(trigger_id)
    const changes: Partial<UpdateTriggerRequest> = {
      ...(prompt === undefined ? {} : { prompt }),
      ...(options.name ? { name: options.name } : {}),
      ...(options.verification ? { verification: options.verification } : {}),
      ...(await fieldsOf(options, before)),
    }
    const { filter: noFilter, replyWith: noReply } = options
    if (Object.keys(changes).length === 0 && noFilter !== '' && noReply !== '')
      throw usageFailure('Nothing is to be changed.', "runyard trigger update NAME --filter 'payload.ok'")
    const { filter, reply, ...kept } = writtenOf(before)
    const trigger = await client.triggers.update(before.trigger_id, {
      ...kept,
      ...(filter === undefined || noFilter === '' ? {} : { filter }),
      ...(reply === undefined || noReply === '' ? {} : { reply }),
      ...changes,
    })
    if (output.format !== 'text') return output.json(trigger)
    output.line(output.id(trigger.trigger_id))
    output.note(`Updated. It is ${wordFor(trigger)}.`)
  })

  addClientOptions(group.command('list').alias('ls').description('Lists triggers.')).action(listTriggers)

  addClientOptions(
    group.command('get <trigger>').alias('show').description('Shows one trigger, by name or id.'),
  ).action(async (trigger_id: string, options: ClientOptions) => {
    const { client, output } = openSession(options)
    const trigger = await client.triggers.retrieve(trigger_id)
    if (output.format !== 'text') return output.json(trigger)
    output.line(formatFields(fieldsShown(trigger, output), output))
    if (trigger.prompt) output.line(`\n${trigger.prompt}`)
  })

  for (const [verb, description] of [
    ['pause', 'Nothing is taken by a trigger, by name or id, until it is resumed.'],
    ['resume', 'Lets a trigger, by name or id, go on.'],
  ] as const)
    addClientOptions(group.command(`${verb} <trigger>`).description(description)).action(
      async (trigger_id: string, options: ClientOptions) => {
        const { client, output } = openSession(options)
        const trigger = await client.triggers[verb](trigger_id)
        if (output.format !== 'text') return output.json(trigger)
        output.line(output.id(trigger.trigger_id))
        output.note(`It is ${wordFor(trigger)}.`)
      },
    )

  addClientOptions(
    group
      .command('delete <trigger>')
      .alias('rm')
      .description('Deletes a trigger and its deliveries, by name or id. Its runs stay.'),
  ).action(async (trigger_id: string, options: ClientOptions) => {
    const { client, output } = openSession(options)
    const { name } = await client.triggers.retrieve(trigger_id)
    const deleted = await client.triggers.delete(trigger_id)
    if (output.format !== 'text') return output.json(deleted)
    output.line(output.id(trigger_id))
    output.note(`Deleted ${oneLine(name)}.`)
  })

  addClientOptions(
    group
      .command('deliveries <trigger>')
      .description('Shows what came to a trigger, by name or id, and what that did, newest first.')
      .option('-l, --limit <count>', 'how many', wholeNumber(1, 200), 50)
      .addOption(
        new Option('--outcome <what>', 'only those').choices([
          'run_started',
          'followup_sent',
          'filtered',
          'failed',
          'waiting',
        ]),
      ),
  ).action(showDeliveries)

  addClientOptions(
    group
      .command('try <trigger>')
      .description(
        'Shows what a filter would do with the newest deliveries of a trigger, by name or id. Nothing is started.',
      )
      .option('--filter <expression>', 'another filter than the one it has; empty: none'),
  ).action(tryFilter)

  addClientOptions(
    group
      .command('replay <trigger> <delivery>')
      .description('Does what a trigger does now with the body of a delivery, as a new delivery.'),
  ).action(async (trigger_id: string, delivery_id: string, options: ClientOptions) => {
    const { client, output } = openSession(options)
    const delivery = await client.triggers.replay(
      trigger_id,
      await findEnding(deliveryIds(client, trigger_id), 'delivery', delivery_id),
    )
    if (output.format !== 'text') return output.json(delivery)
    output.line(output.id(delivery.run_id ?? delivery.delivery_id))
    output.note(oneLine([delivery.outcome, delivery.reason].filter(Boolean).join(': ')))
  })
}

async function tryFilter(trigger_id: string, options: ClientOptions & { filter?: string }): Promise<void> {
  const { client, output } = openSession(options)
  const { filter } = options
  const tried = await client.triggers.tryFilter(trigger_id, filter === undefined ? {} : { filter })
  if (output.format === 'json') return output.json(tried)
  if (output.format === 'ndjson') return tried.deliveries.forEach(output.json)
  if (tried.deliveries.length === 0) return output.note('Nothing came to it yet.')
  const columns = [
    ...[
      { heading: 'DELIVERY' },
      { heading: 'CAME' },
      { heading: 'EVENT', spare: true },
      { heading: 'WOULD' },
    ],
    { heading: 'REASON', flexible: true },
  ]
  const rows = tried.deliveries.map(({ delivery_id, received_at, event, passes, reason }) => [
    ...[output.id(delivery_id), formatAge(received_at), event ?? ''],
    ...[passes === null ? 'unknown' : passes ? 'run' : 'be left out', reason ?? ''],
  ])
  output.line(formatTable(columns, rows, output.columns()))
}

const addTriggerOptions = (command: Command): Command =>
  addClientOptions(
    addBudgetOptions(
      addResultOption(
        addAgentOptions(
          command
            .option('--filter <expression>', 'a CEL condition over payload and headers; empty: none')
            .option('-f, --file <file>', 'read the prompt from a file, - for standard input')
            .option('--title <text>', 'title of its runs, filled in as the prompt is'),
        ),
      ),
    )
      .addOption(
        new Option(
          '--on-open-run <what>',
          'for news of a pull request that a run has opened: default followup',
        ).choices(['followup', 'new_run']),
      )
      .option('--secret-from <file>', 'what the sender signs with, where that is given: - for standard input')
      .option(
        '--reply-with <secret>',
        'answer in the thread on GitHub with this token, a secret with --git-host; empty: do not',
      )
      .option('--reply-at-end', 'with --reply-with: no comment when the run starts')
      .option('--skill <spec>', 'skill to run, such as owner/repo:name')
      .option('--identity <identity>', 'service account that executes its runs')
      .option('--metadata <key=value>', 'label of its runs; repeat for more', pair),
  )

/** What the options say, beside what there is. */
async function fieldsOf(
  options: TriggerOptions,
  before: Partial<Trigger>,
): Promise<Partial<UpdateTriggerRequest>> {
  const changed = {
    ...(await agentConfigOf(options)),
    ...(options.skill ? { skill_spec: options.skill } : {}),
  }
  const { budget } = budgetOf(options)
  const { replyWith, replyAtEnd } = options
  if (replyAtEnd && !replyWith)
    throw usageFailure(
      '--reply-at-end needs --reply-with.',
      'runyard trigger update NAME --reply-with GITHUB',
    )
  const secret = options.secretFrom === undefined ? undefined : await readText(options.secretFrom)
  return {
    ...(options.filter ? { filter: options.filter } : {}),
    ...(options.title === undefined ? {} : { title: options.title }),
    ...(options.onOpenRun ? { on_open_run: options.onOpenRun } : {}),
    ...(secret === undefined ? {} : { secret: secret.replace(/\r?\n$/, '') }),
    ...(replyWith ? { reply: { secret: replyWith, ...(replyAtEnd ? { when: 'end' as const } : {}) } } : {}),
    ...(options.identity ? { agent_uid: options.identity } : {}),
    ...(options.metadata ? { metadata: { ...before.metadata, ...options.metadata } } : {}),
    ...(budget ? { budget: { ...before.budget, ...budget } } : {}),
    ...(await resultOf(options)),
    ...(Object.keys(changed).length > 0 ? { agent_config: { ...before.agent_config, ...changed } } : {}),
  }
}

/** A trigger as it was read, to be written again. */
const writtenOf = (trigger: Trigger): UpdateTriggerRequest => ({
  name: trigger.name,
  verification: trigger.verification,
  enabled: trigger.enabled,
  on_open_run: trigger.on_open_run,
  prompt: trigger.prompt,
  agent_config: trigger.agent_config,
  metadata: trigger.metadata,
  ...(trigger.filter === undefined ? {} : { filter: trigger.filter }),
  ...(trigger.title === undefined ? {} : { title: trigger.title }),
  ...(trigger.mode ? { mode: trigger.mode } : {}),
  ...(trigger.priority === undefined ? {} : { priority: trigger.priority }),
  ...(trigger.budget ? { budget: trigger.budget } : {}),
  ...(trigger.output_schema ? { output_schema: trigger.output_schema } : {}),
  ...(trigger.agent_uid === undefined ? {} : { agent_uid: trigger.agent_uid }),
  ...(trigger.reply ? { reply: trigger.reply } : {}),
})

async function* deliveryIds({ triggers }: Runyard, trigger_id: string): AsyncGenerator<string> {
  for await (const { delivery_id } of triggers.deliveries(trigger_id, { limit: 200 })) yield delivery_id
}

/** Both go to whoever is to send. */
function printSecret(output: Output, { trigger_id, url, secret }: TriggerWithSecret): void {
  output.line(oneLine(url))
  output.line(oneLine(secret))
  output.note(`Trigger ${output.id(trigger_id)}. The lines above are its address and its secret.`)
  output.note('Keep the secret now: it is shown this once.')
}

const wordFor = ({ enabled, stopped_reason }: Trigger): string => {
  if (!enabled) return 'paused'
  return stopped_reason === undefined ? 'enabled' : `stopped: ${stopped_reason}`
}

async function listTriggers(options: ClientOptions): Promise<void> {
  const { client, output } = openSession(options)
  const triggers = await Array.fromAsync(client.triggers.list({ limit: 200 }))
  if (output.format === 'json') return output.json({ triggers })
  if (output.format === 'ndjson') return triggers.forEach(output.json)
  if (triggers.length === 0)
    return output.note(
      "No triggers. Make one: runyard trigger create NAME 'Look at {{payload.title}}.' --verification github",
    )
  const columns = [
    { heading: 'TRIGGER' },
    { heading: 'NAME', flexible: true },
    { heading: 'FROM', spare: true },
    { heading: 'STATE' },
    { heading: 'LAST', spare: true },
    { heading: 'SCOPE', spare: true },
  ]
  const rows = triggers.map((trigger) => [
    ...[output.id(trigger.trigger_id), trigger.name, trigger.verification],
    trigger.stopped_reason && trigger.enabled ? 'stopped' : wordFor(trigger),
    trigger.last_delivery ? formatAge(trigger.last_delivery.received_at) : 'never',
    trigger.scope.type === 'User' ? 'you' : 'team',
  ])
  output.line(formatTable(columns, rows, output.columns()))
}

async function showDeliveries(
  trigger_id: string,
  { limit, outcome, ...options }: DeliveriesOptions,
): Promise<void> {
  const { client, output } = openSession(options)
  const { deliveries } = await client.triggers.deliveries(trigger_id, {
    limit,
    ...(outcome ? { outcome } : {}),
  })
  if (output.format === 'json') return output.json({ deliveries })
  if (output.format === 'ndjson') return deliveries.forEach(output.json)
  if (deliveries.length === 0) return output.note('No deliveries.')
  for (const delivery of deliveries) for (const line of linesOf(delivery, output)) output.line(line)
}

/** Two ids do not fit beside each other on a narrow terminal. */
function linesOf(delivery: TriggerDelivery, output: Output): string[] {
  const { delivery_id, outcome, received_at, event, run_id, reason, duplicates, reply } = delivery
  const again = duplicates > 0 ? `, came ${duplicates + 1} times` : ''
  return [
    `${output.id(delivery_id)}  ${oneLine(`${outcome}${again}`)}`,
    `  ${oneLine(`${event ?? 'no event'} ${formatAge(received_at)}`)}`,
    ...(run_id === undefined ? [] : [`  ${oneLine(`run ${output.id(run_id)}`)}`]),
    ...(reason === undefined ? [] : [`  ${oneLine(reason)}`]),
    ...(reply
      ? [`  ${oneLine(['answer', reply.status, reply.url, reply.error].filter(Boolean).join(' '))}`]
      : []),
  ]
}

/** What is known of it, besides the prompt. */
function fieldsShown(trigger: Trigger, output: Output): Array<[string, string | null | undefined]> {
  const { scope, agent_config } = trigger
  return [
    ['trigger', output.id(trigger.trigger_id)],
    ['name', trigger.name],
    ['address', trigger.url],
    ['from', trigger.verification],
    ['state', wordFor(trigger)],
    ['warning', trigger.warnings?.join(' ')],
    ['filter', trigger.filter],
    ['open run', trigger.on_open_run],
    ['answers with', trigger.reply?.secret],
    ['title', trigger.title],
    ['budget', trigger.budget && describeBudget(trigger.budget)],
    ['environment', agent_config.environment_id],
    ['model', agent_config.model_id],
    ['runs as', trigger.updated_by.display_name ?? trigger.updated_by.uid],
    ['of', scope.type === 'User' ? 'you' : 'the team'],
  ]
}
