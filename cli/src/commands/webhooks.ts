import type {
  Runyard,
  UpdateWebhookRequest,
  Webhook,
  WebhookDelivery,
  WebhookEventType,
  WebhookFormat,
  WebhookWithSecret,
} from '@runyard/client'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { cleanText } from '../clean-text.ts'
import { currentProcess } from '../current-process.ts'
import { findEnding } from '../ending.ts'
import { EXIT, usageFailure } from '../failure.ts'
import { oneLine } from '../one-line.ts'
import type { Output } from '../output.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'
import { formatAge } from '../time-text.ts'

interface ContentOptions extends ClientOptions {
  format?: WebhookFormat
  event?: WebhookEventType[]
  description?: string
}

interface CreateOptions extends ContentOptions {
  personal?: boolean
  disabled?: boolean
}

interface UpdateOptions extends ContentOptions {
  url?: string
  enable?: boolean
  disable?: boolean
}

interface DeliveriesOptions extends ClientOptions {
  status?: WebhookDelivery['status']
}

/** Keys of an object, so that none that the service knows can be missing here. */
const EVENTS: Record<WebhookEventType, true> = {
  'run.created': true,
  'run.started': true,
  'run.blocked': true,
  'run.succeeded': true,
  'run.failed': true,
  'run.errored': true,
  'run.cancelled': true,
}

export function addWebhookCommands(program: Command): void {
  const group = program
    .command('webhook')
    .summary('have changes of runs sent to an address')
    .description('Webhooks: addresses that changes of runs are sent to, signed.')

  addContentOptions(
    group
      .command('create <url>')
      .description(
        'Creates a webhook, and prints its secret, which nothing shows again. An e-mail address gets letters.',
      )
      .option('--personal', 'for your own runs, personal ones too, not for those of the team')
      .option('--disabled', 'nothing is sent until it is enabled'),
  ).action(async (url: string, options: CreateOptions) => {
    const { client, output } = openSession(options)
    const webhook = await client.webhooks.create({
      url: addressOf(url),
      ...contentOf(options),
      ...(options.personal ? { team: false } : {}),
      ...(options.disabled ? { enabled: false } : {}),
    })
    if (output.format !== 'text') return output.json(webhook)
    if (webhook.format === 'runyard') return printSecret(output, webhook)
    // Neither chats nor people check a signature.
    output.line(output.id(webhook.webhook_id))
    output.note(`Try it: runyard webhook test ${output.id(webhook.webhook_id)}`)
  })

  addClientOptions(
    group.command('list').alias('ls').description('Lists webhooks: those of the team, and your own.'),
  ).action(async (options: ClientOptions) => {
    const { client, output } = openSession(options)
    const webhooks = await Array.fromAsync(client.webhooks.list({ limit: 200 }))
    if (output.format === 'json') return output.json({ webhooks })
    if (output.format === 'ndjson') return webhooks.forEach(output.json)
    if (webhooks.length === 0) return output.note('No webhooks. Make one: runyard webhook create URL')
    for (const webhook of webhooks) {
      output.line(`${output.id(webhook.webhook_id)}  ${ownerOf(webhook)}, ${wordFor(webhook)}`)
      output.line(`  ${oneLine(webhook.url)}`)
    }
  })

  addClientOptions(
    group.command('show <webhook>').description('Shows one webhook, by its address or id.'),
  ).action(async (webhook_id: string, options: ClientOptions) => {
    const { client, output } = openSession(options)
    const webhook = await client.webhooks.retrieve(webhook_id)
    if (output.format !== 'text') return output.json(webhook)
    for (const [name, value] of fieldsOf(webhook, output)) output.line(`${name.padEnd(12)}${oneLine(value)}`)
  })

  addContentOptions(
    group
      .command('update <webhook>')
      .description('Changes what the options say of a webhook, and keeps the rest, its secret too.')
      .option('--url <url>', 'another address')
      .addOption(
        new Option('--enable', 'send again; what happened while it was disabled is not sent').conflicts(
          'disable',
        ),
      )
      .option('--disable', 'send nothing'),
  ).action(async (webhook_id: string, options: UpdateOptions) => {
    const { client, output } = openSession(options)
    const { url, enable, disable } = options
    const changes = {
      ...contentOf(options),
      ...(url === undefined ? {} : { url: addressOf(url) }),
      ...(enable || disable ? { enabled: enable === true } : {}),
    }
    if (Object.keys(changes).length === 0)
      throw usageFailure('Nothing is to be changed.', 'runyard webhook update WEBHOOK --url …')
    const { events, format, description, enabled, ...before } = await client.webhooks.retrieve(webhook_id)
    // An address of another kind has another format.
    const is_kept = changes.url === undefined || isMail(changes.url) === isMail(before.url)
    const kept = {
      url: before.url,
      events,
      enabled,
      ...(is_kept ? { format } : {}),
      ...(description === undefined ? {} : { description }),
    }
    const webhook = await client.webhooks.update(webhook_id, { ...kept, ...changes })
    if (output.format !== 'text') return output.json(webhook)
    output.line(output.id(webhook.webhook_id))
    output.note(`Updated. It is ${wordFor(webhook)}.`)
  })

  addClientOptions(
    group
      .command('delete <webhook>')
      .alias('rm')
      .description('Deletes a webhook, by its address or id. What waits for it is not sent any more.'),
  ).action(async (webhook_id: string, options: ClientOptions) => {
    const { client, output } = openSession(options)
    const webhook = await client.webhooks.delete(webhook_id)
    if (output.format !== 'text') return output.json(webhook)
    output.line(output.id(webhook.webhook_id))
    output.note(`Deleted. Nothing is sent to ${webhook.url} by it.`)
  })

  addClientOptions(
    group
      .command('rotate <webhook>')
      .description('Gives a webhook another secret, and prints it. The old one signs too for 24 hours.'),
  ).action(async (webhook_id: string, options: ClientOptions) => {
    const { client, output } = openSession(options)
    const webhook = await client.webhooks.rotateSecret(webhook_id)
    if (output.format !== 'text') return output.json(webhook)
    printSecret(output, webhook)
    output.note('For 24 hours deliveries are signed with both, this one and the one before it.')
  })

  addClientOptions(
    group
      .command('test <webhook>')
      .description('Sends a test to a webhook now, by its address or id, and shows what came back.'),
  ).action(async (webhook_id: string, options: ClientOptions) => {
    const { client, output } = openSession(options)
    const test = await client.webhooks.test(webhook_id)
    const { error, response_status } = test.delivery
    // Somebody asks whether it works.
    if (error !== null) currentProcess().exitCode = EXIT.failed
    if (output.format !== 'text') return output.json(test)
    const duration = `${test.duration_ms} ms`
    output.note(
      error === null
        ? `It arrived: answered ${response_status} in ${duration}.`
        : `${oneLine(error)} (${duration})`,
    )
    if (test.response_body) output.line(cleanText(test.response_body))
  })

  addClientOptions(
    group
      .command('deliveries <webhook>')
      .description('Lists what was sent to a webhook or waits to be, newest first, of the last 30 days.')
      .addOption(new Option('--status <status>', 'only those').choices(['pending', 'delivered', 'failed'])),
  ).action(async (webhook_id: string, { status, ...options }: DeliveriesOptions) => {
    const { client, output } = openSession(options)
    const list = client.webhooks.deliveries(webhook_id, { limit: 200, ...(status ? { status } : {}) })
    // There may be very many: each line as it comes.
    if (output.format === 'ndjson') {
      for await (const delivery of list) output.json(delivery)
      return
    }
    const deliveries = await Array.fromAsync(list)
    if (output.format === 'json') return output.json({ deliveries })
    if (deliveries.length === 0) return output.note('No deliveries.')
    for (const delivery of deliveries) for (const line of linesOf(delivery, output)) output.line(line)
  })

  addClientOptions(
    group
      .command('redeliver <webhook> <delivery>')
      .description('Sends a delivery again, whatever became of it. It is tried for 24 hours.'),
  ).action(async (webhook_id: string, given: string, options: ClientOptions) => {
    const { client, output } = openSession(options)
    const delivery = await client.webhooks.redeliver(
      webhook_id,
      await findEnding(deliveryIds(client, webhook_id), 'delivery', given),
    )
    if (output.format !== 'text') return output.json(delivery)
    output.line(output.id(delivery.delivery_id))
    output.note('It is sent again.')
  })
}

async function* deliveryIds({ webhooks }: Runyard, webhook_id: string): AsyncGenerator<string> {
  for await (const { delivery_id } of webhooks.deliveries(webhook_id, { limit: 200 })) yield delivery_id
}

const addContentOptions = (command: Command): Command =>
  addClientOptions(
    command
      .option('--event <type>', 'run.failed and such; repeat for more (new ones: all)', eventType)
      .addOption(
        new Option(
          '--format <format>',
          'what is sent (default: the event; to an e-mail address a letter)',
        ).choices([...['runyard', 'slack', 'discord', 'teams', 'email']]),
      )
      .option('--description <text>', 'what it is for'),
  )

const contentOf = ({
  event,
  format,
  description,
}: ContentOptions): Pick<UpdateWebhookRequest, 'events' | 'format' | 'description'> => ({
  ...(format ? { format } : {}),
  ...(event ? { events: event } : {}),
  ...(description === undefined ? {} : { description }),
})

const isMail = (url: string): boolean => url.startsWith('mailto:')
/** An e-mail address is one without its scheme, too. */
const addressOf = (text: string): string => (/^[^/:@]+@[^/:@]+$/.test(text) ? `mailto:${text}` : text)

const isEvent = (text: string): text is WebhookEventType => Object.hasOwn(EVENTS, text)

function eventType(text: string, before: WebhookEventType[] = []): WebhookEventType[] {
  if (isEvent(text)) return [...before, text]
  throw new InvalidArgumentError(`It must be one of ${Object.keys(EVENTS).join(', ')}.`)
}

/** The secret alone is the result, so that it can be put where it belongs without being read. */
function printSecret(output: Output, webhook: WebhookWithSecret): void {
  output.line(oneLine(webhook.secret))
  output.note(`Webhook ${output.id(webhook.webhook_id)}. The line above is its secret.`)
  output.note('Keep it now: it is shown this once.')
}

const ownerOf = ({ scope }: Webhook): string => (scope.type === 'User' ? 'you' : 'team')

const wordFor = ({ enabled, failing_since }: Webhook): string => {
  if (!enabled) return 'disabled'
  return failing_since === null ? 'enabled' : 'failing'
}

const listEvents = ({ events }: Webhook): string =>
  events.length === Object.keys(EVENTS).length ? 'all' : events.join(' ')

function fieldsOf(webhook: Webhook, output: Output): Array<[name: string, value: string]> {
  const { webhook_id, url, description, disabled_reason: reason, failing_since, created_at } = webhook
  return [
    ['webhook', output.id(webhook_id)],
    ['url', url],
    ['of', `${ownerOf(webhook)}, made by ${webhook.creator.display_name ?? webhook.creator.uid}`],
    ['events', listEvents(webhook)],
    ['format', webhook.format],
    ...(description === undefined ? [] : [['description', description] satisfies [string, string]]),
    ['state', reason === undefined ? wordFor(webhook) : `${wordFor(webhook)}: ${reason}`],
    ...(failing_since === null
      ? []
      : [['failing', `nothing delivered since ${formatAge(failing_since)}`] satisfies [string, string]]),
    ['created', formatAge(created_at)],
  ]
}

/** Two ids do not fit beside each other on a narrow terminal. */
function linesOf(delivery: WebhookDelivery, output: Output): string[] {
  const { delivery_id, run_id, event, status, attempts, created_at, response_status, error } = delivery
  const tries = `${attempts} ${attempts === 1 ? 'try' : 'tries'}`
  const answered = response_status === null ? '' : `, answered ${response_status}`
  return [
    `${output.id(delivery_id)}  ${oneLine(status)}, ${tries}${answered}`,
    `  ${oneLine(`${event.type} ${formatAge(created_at)}`)}`,
    ...(event.type === 'webhook.test' ? [] : [`  ${oneLine(`run ${output.id(run_id)}`)}`]),
    ...(error === null ? [] : [`  ${oneLine(error)}`]),
  ]
}
