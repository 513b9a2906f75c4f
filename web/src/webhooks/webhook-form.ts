import type { UpdateWebhookRequest, Webhook, WebhookEventType } from '@runyard/client'

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

/** The fields of a webhook, as they were typed. */
export interface WebhookForm {
  url: string
  description: string
  events: readonly EventType[]
  is_personal: boolean
}

export const formOf = (webhook: Webhook | undefined): WebhookForm => ({
  url: webhook?.url ?? '',
  description: webhook?.description ?? '',
  events: webhook?.events ?? EVENT_TYPES,
  is_personal: webhook?.scope.type === 'User',
})

/** All of it is said each time: what is left out of a change becomes the default. */
export const requestOf = (
  { url, description, events }: Pick<WebhookForm, 'url' | 'description' | 'events'>,
  enabled: boolean,
): UpdateWebhookRequest => ({
  url: url.trim(),
  events: [...events],
  enabled,
  ...(description.trim() ? { description: description.trim() } : {}),
})

export const sayEvents = (events: readonly EventType[]): string =>
  events.length === EVENT_TYPES.length ? 'All events' : events.join(', ')
