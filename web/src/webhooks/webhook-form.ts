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
const NOTICE_TYPES = EVENT_TYPES.filter((type) => type !== 'run.created' && type !== 'run.started')

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
  /** None: nobody has chosen, so they are what `eventsOf` says. */
  events?: readonly EventType[]
  is_personal: boolean
}

export const formOf = (webhook: Webhook | undefined): WebhookForm => ({
  url: webhook?.url ?? '',
  description: webhook?.description ?? '',
  format: webhook && webhook.format !== 'email' ? webhook.format : 'runyard',
  ...(webhook ? { events: webhook.events } : {}),
  is_personal: webhook?.scope.type === 'User',
})

/** What is sent: everything to a program, what people have to know to people, and what somebody chose in any case. */
export const eventsOf = ({ url, format, events }: WebhookForm): readonly EventType[] =>
  events ?? (isMail(url) || format !== 'runyard' ? NOTICE_TYPES : EVENT_TYPES)

/** All of it is said each time: what is left out of a change becomes the default. */
export const requestOf = (form: WebhookForm, enabled: boolean): UpdateWebhookRequest => ({
  url: form.url.trim().replace(MAIL, 'mailto:$1'),
  format: isMail(form.url) ? 'email' : form.format,
  events: [...eventsOf(form)],
  enabled,
  ...(form.description.trim() ? { description: form.description.trim() } : {}),
})

export const sayEvents = (events: readonly EventType[]): string =>
  events.length === EVENT_TYPES.length ? 'All events' : events.join(', ')
