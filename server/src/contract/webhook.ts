import { z } from 'zod'
import { ErrorCode } from './error.ts'
import { PageInfo, paging } from './page-info.ts'
import { RunCreatorInfo, RunSourceType } from './run.ts'
import { shownOnce } from './shown-once.ts'
import { RunState, WaitsFor } from './state.ts'
import { Timestamp } from './timestamp.ts'

/** Of what a receiver answers to a test. */
export const TEST_BODY_MAX = 1_000

export const WEBHOOK_EVENTS = [
  'run.created',
  'run.started',
  'run.blocked',
  'run.succeeded',
  'run.failed',
  'run.errored',
  'run.cancelled',
] as const
export const WebhookEventType = z.enum(WEBHOOK_EVENTS).meta({ id: 'WebhookEventType' })
export type WebhookEventType = z.infer<typeof WebhookEventType>

/** Somebody tries the webhook: about no run, so its `run_id` is all zeros. No webhook is subscribed to it. */
export const TEST_EVENT = 'webhook.test'
export const NO_RUN = '00000000-0000-0000-0000-000000000000'

/** Of what an agent said, and of why a run is in its state: enough for a message in a chat. */
export const SUMMARY_MAX = 1_000

/** What a webhook is sent: enough for a message to people. Signed as Standard Webhooks say. */
export const WebhookEvent = z
  .object({
    type: z.enum([...WEBHOOK_EVENTS, TEST_EVENT]).meta({
      description:
        '`webhook.test`: somebody tries the webhook; its `run_id` is all zeros, since it is about no run.',
    }),
    timestamp: Timestamp.meta({ description: 'When it happened.' }),
    data: z.object({
      run_id: z.string(),
      state: RunState.meta({ description: 'What the run became by it.' }),
      source: RunSourceType,
      error_code: ErrorCode.optional().meta({
        description: 'Why the run became FAILED, ERROR or BLOCKED; absent if it has no such code.',
      }),
      title: z.string(),
      link: z.url().meta({ description: "The run's page, which needs a key; of a test the webhook's page." }),
      creator: RunCreatorInfo.meta({ description: 'Who asked for the run.' }),
      message: z
        .string()
        .optional()
        .meta({
          description: `Why the run is in its state, at most ${SUMMARY_MAX} characters: a question, a call to be allowed, an error.`,
        }),
      waits_for: WaitsFor.optional().meta({ description: 'Of a BLOCKED run.' }),
      result: z
        .string()
        .optional()
        .meta({
          description: `Once the run has stopped: the beginning of what the agent said last, at most ${SUMMARY_MAX} characters.`,
        }),
      changes: z
        .object({ files_changed: z.int(), additions: z.int(), deletions: z.int() })
        .optional()
        .meta({ description: 'Once the run has stopped: what it has changed, in files and lines.' }),
      pull_requests: z
        .array(z.object({ url: z.string(), number: z.int(), repository: z.string() }))
        .optional()
        .meta({ description: 'Once the run has stopped: those that it has opened.' }),
    }),
  })
  .meta({ id: 'WebhookEvent' })
export type WebhookEvent = z.infer<typeof WebhookEvent>

/** What runs do that somebody may have to act on, and how they end: what a message to people is sent for, unless told otherwise. */
export const NOTICE_EVENTS = WEBHOOK_EVENTS.filter((type) => type !== 'run.created' && type !== 'run.started')

export const WebhookFormat = z.enum(['runyard', 'slack', 'discord', 'teams', 'email']).meta({
  id: 'WebhookFormat',
  description:
    '`runyard`: the event itself. `slack`, `discord`, `teams`: a message, as incoming webhooks of these chats take it. `email`: a letter, for `mailto:` addresses.',
})
export type WebhookFormat = z.infer<typeof WebhookFormat>

/** One address as `mailto:` has it, without what could add a header, a second address or, as `!` did in UUCP, another way to go. */
const MAILTO =
  /^mailto:((?=[^@]{1,64}@)[\w$&'*+/={}~-]+(?:\.[\w$&'*+/={}~-]+)*@([A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})*))$/

/** `null`: it is no e-mail address. */
export function readMailto(url: string): { address: string; domain: string } | null {
  const [, address, domain] = MAILTO.exec(url) ?? []
  return address && domain ? { address, domain: domain.toLowerCase() } : null
}

const Target = z
  .string()
  .max(2048)
  .refine((text) => {
    if (readMailto(text)) return true
    const url = URL.parse(text)
    return url !== null && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.hash
  }, 'must be an https address, without a user name and without "#", or mailto: and one e-mail address')

const writable = {
  url: Target.meta({
    description:
      'Where events are sent: https. Plain http, and hosts without a public address, only where the operator names the host in RUNYARD_PRIVATE_HOSTS. With `mailto:`, an e-mail address of a domain that the operator names (RUNYARD_MAIL_DOMAINS). An address to which nothing would ever be sent is a 400, unless the webhook is disabled.',
  }),
  events: z
    .array(WebhookEventType)
    .min(1)
    .max(WEBHOOK_EVENTS.length)
    .overwrite((events) => [...new Set(events)])
    .optional()
    .meta({
      description: 'Default: all; for messages to people `run.blocked` and the four that tell of an end.',
    }),
  format: WebhookFormat.optional().meta({
    description: 'Default: `email` for a mailto address, else `runyard`.',
  }),
  description: z.string().max(1024).nullable().optional(),
  enabled: z.boolean().optional().meta({ description: 'Default true.' }),
}

export const CreateWebhookRequest = z
  .object({
    ...writable,
    team: z.boolean().optional().meta({
      description:
        'Default true: runs of the team. False: a personal one, of your own runs, personal ones too.',
    }),
  })
  .meta({ id: 'CreateWebhookRequest' })
export type CreateWebhookRequest = z.infer<typeof CreateWebhookRequest>

export const UpdateWebhookRequest = z.object(writable).meta({ id: 'UpdateWebhookRequest' })
export type UpdateWebhookRequest = z.infer<typeof UpdateWebhookRequest>

export const Webhook = z
  .object({
    webhook_id: z.string(),
    url: z.string(),
    events: z.array(WebhookEventType),
    format: WebhookFormat,
    description: z.string().optional(),
    enabled: z.boolean(),
    disabled_reason: z.string().optional().meta({
      description: 'Why the service sends nothing: it has disabled it, or its creator is disabled.',
    }),
    failing_since: Timestamp.nullable().meta({
      description: 'Since when no delivery has gone well. After five days it is disabled.',
    }),
    created_at: Timestamp,
    updated_at: Timestamp,
    creator: RunCreatorInfo,
    scope: z.object({ type: z.enum(['User', 'Team']), uid: z.string().optional() }),
  })
  .meta({ id: 'Webhook' })
export type Webhook = z.infer<typeof Webhook>

export const WebhookWithSecret = Webhook.extend({
  secret: shownOnce('`whsec_…`, what deliveries are signed with. No other answer holds it.'),
}).meta({ id: 'WebhookWithSecret' })
export type WebhookWithSecret = z.infer<typeof WebhookWithSecret>

export const ListWebhooksQuery = z.object(paging(50))
export type ListWebhooksQuery = z.infer<typeof ListWebhooksQuery>

export const ListWebhooksResponse = z
  .object({ webhooks: z.array(Webhook), page_info: PageInfo })
  .meta({ id: 'ListWebhooksResponse' })

export const DeliveryStatus = z.enum(['pending', 'delivered', 'failed']).meta({
  id: 'WebhookDeliveryStatus',
  description: '`pending`: it waits, or is tried again. `failed`: given up.',
})
export type DeliveryStatus = z.infer<typeof DeliveryStatus>

export const WebhookDelivery = z
  .object({
    delivery_id: z
      .string()
      .meta({ description: 'The `webhook-id` of the request: the same each time it is tried.' }),
    webhook_id: z.string(),
    run_id: z.string(),
    event: WebhookEvent,
    status: DeliveryStatus,
    attempts: z.int(),
    created_at: Timestamp,
    last_attempt_at: Timestamp.nullable(),
    next_attempt_at: Timestamp.nullable(),
    response_status: z
      .int()
      .nullable()
      .meta({ description: 'Of the last attempt that was answered: by HTTP, or by the mail server.' }),
    error: z.string().nullable().meta({ description: 'Why the last attempt did not go well.' }),
  })
  .meta({ id: 'WebhookDelivery' })
export type WebhookDelivery = z.infer<typeof WebhookDelivery>

export const WebhookTest = z
  .object({
    delivery: WebhookDelivery.meta({ description: 'As the deliveries list it: `delivered` or `failed`.' }),
    duration_ms: z.int().meta({ description: 'From the request until its answer was read, or given up.' }),
    response_body: z
      .string()
      .nullable()
      .meta({
        description: `The first ${TEST_BODY_MAX} characters of the answer, without control characters; null if there was none.`,
      }),
  })
  .meta({ id: 'WebhookTest' })
export type WebhookTest = z.infer<typeof WebhookTest>

export const ListDeliveriesQuery = z.object({ ...paging(50), status: DeliveryStatus.optional() })
export type ListDeliveriesQuery = z.infer<typeof ListDeliveriesQuery>

export const ListDeliveriesResponse = z
  .object({ deliveries: z.array(WebhookDelivery), page_info: PageInfo })
  .meta({ id: 'ListDeliveriesResponse' })
