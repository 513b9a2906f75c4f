import { createHmac } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import type { TriggerVerification } from '../../src/contract/trigger.ts'

export interface Signing {
  secret: string
  body: string
  /** The sender's id of the delivery. */
  id: string
  sent_at?: Date
}

const hmac = (secret: string, text: string): string => createHmac('sha256', secret).update(text).digest('hex')

/** The headers with which each sender posts this. Slack's id and Linear's time are in the body. */
export const SIGN: Record<TriggerVerification, (signing: Signing) => Record<string, string>> = {
  standard_webhooks: ({ secret, body, id, sent_at = new Date() }) => ({
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(sent_at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign(id, sent_at, body),
  }),
  github: ({ secret, body, id }) => ({
    'x-github-event': 'issues',
    'x-github-delivery': id,
    'x-hub-signature-256': `sha256=${hmac(secret, body)}`,
  }),
  gitlab: ({ secret, id }) => ({
    ...{ 'x-gitlab-event': 'Issue Hook', 'x-gitlab-event-uuid': id, 'x-gitlab-token': secret },
  }),
  slack: ({ secret, body, sent_at = new Date() }) => {
    const seconds = Math.floor(sent_at.getTime() / 1000)
    return {
      'x-slack-request-timestamp': String(seconds),
      'x-slack-signature': `v0=${hmac(secret, `v0:${seconds}:${body}`)}`,
    }
  },
  linear: ({ secret, body, id }) => ({
    ...{ 'linear-event': 'Issue', 'linear-delivery': id, 'linear-signature': hmac(secret, body) },
  }),
}
