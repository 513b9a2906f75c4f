import type { UpdateWebhookRequest, Webhook, WebhookEventType, WebhookFormat } from '@runyard/client'

export type EventType = WebhookEventType

/** What a run may do that is told, in its order. */
export const EVENTS: Record<EventType, string> = {
  'run.created': 'is created',
  'run.started': 'starts',
  'run.blocked': 'waits for a person',
  'run.succeeded': 'succeeds',
  'run.failed': 'fails',
  'run.errored': 'ends by an error',
  'run.cancelled': 'is cancelled',
}
export const EVENT_TYPES = Object.keys(EVENTS) as EventType[]

/** What a message to people is sent for, unless told otherwise. */
export const NOTICE_TYPES = EVENT_TYPES.filter((type) => type !== 'run.created' && type !== 'run.started')

/** What is sent to an address of the web. */
export const FORMATS: Record<Exclude<WebhookFormat, 'email'>, string> = {
  runyard: 'The event, as JSON',
  slack: 'A message for Slack',
  discord: 'A message for Discord',
  teams: 'A message for Microsoft Teams',
}
export type ChosenFormat = keyof typeof FORMATS

/** One e-mail address, with its scheme or without. */
const MAIL = /^(?:mailto:)?([^\s/:@]+@[^\s/:@]+)$/
export const isMail = (url: string): boolean => MAIL.test(url.trim())

/** The fields of a webhook, as they were typed. */
export interface WebhookForm {
  url: string
  description: string
  format: ChosenFormat
  events: readonly EventType[]
  is_personal: boolean
}

export const formOf = (webhook: Webhook | undefined): WebhookForm => ({
  url: webhook?.url ?? '',
  description: webhook?.description ?? '',
  format: webhook && webhook.format !== 'email' ? webhook.format : 'runyard',
  events: webhook?.events ?? EVENT_TYPES,
  is_personal: webhook?.scope.type === 'User',
})

/** All of it is said each time: what is left out of a change becomes the default. */
export const requestOf = (
  { url, description, format, events }: Omit<WebhookForm, 'is_personal'>,
  enabled: boolean,
): UpdateWebhookRequest => ({
  url: url.trim().replace(MAIL, 'mailto:$1'),
  format: isMail(url) ? 'email' : format,
  events: [...events],
  enabled,
  ...(description.trim() ? { description: description.trim() } : {}),
})

export const sayEvents = (events: readonly EventType[]): string =>
  events.length === EVENT_TYPES.length ? 'All events' : events.join(', ')
