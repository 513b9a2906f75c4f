import { LAST_PAGE, LENA, TEAM } from './people.ts'
import { RUN_ID } from './run-examples.ts'

const WEBHOOK_ID = '01a20344-1e95-7f08-b7a3-c60d29f4815b'
const DELIVERY_ID = 'fe1ec143-e2d6-4c7a-9e99-09499d465c5f'

const asked = {
  url: 'https://ci.acme.example/hooks/runyard',
  events: ['run.succeeded', 'run.failed', 'run.blocked'],
  description: 'Tells the release channel',
} as const

const webhook = {
  webhook_id: WEBHOOK_ID,
  ...asked,
  format: 'runyard',
  enabled: true,
  failing_since: null,
  created_at: '2026-11-05T10:40:22.108Z',
  updated_at: '2026-11-05T10:40:22.108Z',
  creator: LENA,
  scope: TEAM,
} as const

const delivery = {
  delivery_id: DELIVERY_ID,
  webhook_id: WEBHOOK_ID,
  run_id: RUN_ID,
  event: {
    type: 'run.succeeded',
    timestamp: '2026-11-24T09:17:41.093Z',
    data: {
      ...{ run_id: RUN_ID, state: 'SUCCEEDED', source: 'API' },
      ...{
        title: 'Fix the flaky login test',
        link: `https://runyard.acme.example/sessions/${RUN_ID}`,
        creator: LENA,
      },
      result: 'The test waited for a fixed time. It now waits for the session cookie.',
      changes: { files_changed: 2, additions: 12, deletions: 3 },
      pull_requests: [{ url: 'https://github.com/acme/site/pull/214', number: 214, repository: 'acme/site' }],
    },
  },
  status: 'delivered',
  attempts: 1,
  created_at: '2026-11-24T09:17:41.093Z',
  last_attempt_at: '2026-11-24T09:17:41.260Z',
  next_attempt_at: null,
  response_status: 204,
  error: null,
} as const

const path = { webhook_id: WEBHOOK_ID }
const secret = 'whsec_9QX1fBnYCmmAnHZ0QkSPUHpiKiYGDdgA'

export const WEBHOOK_EXAMPLES = {
  createWebhook: { client: 'webhooks.create', body: asked, answer: { ...webhook, secret } },
  listWebhooks: { client: 'webhooks.list', answer: { webhooks: [webhook], page_info: LAST_PAGE } },
  getWebhook: { client: 'webhooks.retrieve', path, answer: webhook },
  updateWebhook: { client: 'webhooks.update', path, body: asked, answer: webhook },
  deleteWebhook: { client: 'webhooks.delete', path, answer: webhook },
  rotateWebhookSecret: { client: 'webhooks.rotateSecret', path, answer: { ...webhook, secret } },
  testWebhook: {
    client: 'webhooks.test',
    path,
    answer: {
      delivery: {
        ...delivery,
        run_id: '00000000-0000-0000-0000-000000000000',
        event: {
          ...delivery.event,
          type: 'webhook.test',
          data: {
            ...{ run_id: '00000000-0000-0000-0000-000000000000', state: 'SUCCEEDED', source: 'API' },
            ...{ title: 'Test of this webhook', creator: LENA },
            link: `https://runyard.acme.example/webhooks/${WEBHOOK_ID}`,
          },
        },
        response_status: 200,
      },
      duration_ms: 143,
      response_body: 'ok',
    },
  },
  listWebhookDeliveries: {
    client: 'webhooks.deliveries',
    path,
    answer: { deliveries: [delivery], page_info: LAST_PAGE },
  },
  redeliverWebhook: {
    client: 'webhooks.redeliver',
    path: { ...path, delivery_id: DELIVERY_ID },
    answer: { ...delivery, status: 'pending', next_attempt_at: '2026-11-24T09:20:05.731Z' },
  },
} as const
