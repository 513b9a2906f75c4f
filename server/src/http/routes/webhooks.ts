import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { v7 as uuidv7 } from 'uuid'
import { BUDGETS } from '../../budgets/budgets.ts'
import { AppError } from '../../contract/error.ts'
import { pageInfo } from '../../contract/page-info.ts'
import { ROUTES } from '../../contract/routes.ts'
import {
  NOTICE_EVENTS,
  readMailto,
  type UpdateWebhookRequest,
  WEBHOOK_EVENTS,
  type Webhook,
  type WebhookDelivery,
} from '../../contract/webhook.ts'
import { makeWebhookSecret, openWebhookSecrets, sealWebhookSecrets } from '../../sealing/webhook-secrets.ts'
import { createCounter } from '../../store/request-counts.ts'
import {
  type DeliveryRow,
  insertTest,
  listDeliveries,
  requeueDelivery,
  viewEvent,
  viewTest,
} from '../../store/webhook-deliveries.ts'
import {
  deleteWebhook,
  findWebhook,
  insertWebhook,
  listWebhooks,
  replaceWebhookSecret,
  updateWebhook,
  type WebhookContent,
  type WebhookRow,
} from '../../store/webhooks.ts'
import type { Services } from '../context.ts'
import { consume, refuseOver } from '../request-limits.ts'
import { type Call, sendOnce, sendOnceOutside, serve } from '../route.ts'
import { sendSecret } from '../sealed-answer.ts'

type Created = typeof ROUTES.createWebhook | typeof ROUTES.rotateWebhookSecret

export function serveWebhooks(app: FastifyInstance, services: Services): void {
  const { store, watch, settings } = services
  const { keyring, whyNeverSent } = settings
  const tests = createCounter(store.db, 'webhook_tests', BUDGETS.webhook_tests.most)

  /** Throws where nothing would ever be sent; one that is disabled may have any address, so that each can be disabled. */
  const contentOf = ({ url: text, format: asked, events, ...rest }: UpdateWebhookRequest): WebhookContent => {
    // As it is asked: two ways to write it are one.
    const url = new URL(text).href
    const is_mail = readMailto(text) !== null
    const format = asked ?? (is_mail ? 'email' : 'runyard')
    if (is_mail !== (format === 'email'))
      throw new AppError(
        'invalid_request',
        is_mail ? 'format: an e-mail address takes email only.' : 'format: email needs a mailto: address.',
      )
    const { description = null, enabled = true } = rest
    const why = enabled ? whyNeverSent(url) : null
    if (why !== null) throw new AppError('invalid_request', `url: ${why}`)
    const told = events ?? (format === 'runyard' ? [...WEBHOOK_EVENTS] : NOTICE_EVENTS)
    return { url, events: told, format, description, enabled }
  }

  const kind = ({ actor }: Call<Created>, status: number) => ({
    place: ({ webhook_id }: Record<string, unknown>): string =>
      `answer with the secret of webhook ${webhook_id}`,
    what: 'The webhook',
    status,
    // Somebody else may have rotated it, and then the new secret is for that person alone.
    isCurrent: async (shown: Record<string, unknown>, { secret }: Record<string, string>) => {
      const webhook_id = String(shown.webhook_id)
      const row = await findWebhook(store.db, webhook_id, actor)
      return row !== null && openWebhookSecrets(keyring, webhook_id, row.sealed).current === secret
    },
  })

  serve(app, services, ROUTES.createWebhook, async (call) =>
    sendSecret(services, call, kind(call, 201), async (db) => {
      const webhook_id = uuidv7()
      const secret = makeWebhookSecret()
      const row = await insertWebhook(db, {
        ...{ webhook_id, creator_id: call.actor.principal_id, ...contentOf(call.body) },
        scope: call.body.team === false ? 'User' : 'Team',
        sealed: sealWebhookSecrets(keyring, webhook_id, { current: secret }),
      })
      return { shown: { ...viewWebhook(row) }, secret: { secret } }
    }),
  )

  serve(app, services, ROUTES.listWebhooks, async ({ query, actor }) => {
    const { webhooks, next_cursor } = await listWebhooks(store.db, query, actor)
    return { webhooks: webhooks.map(viewWebhook), page_info: pageInfo(next_cursor) }
  })

  serve(app, services, ROUTES.getWebhook, async ({ params, actor }) =>
    viewWebhook(required(await findWebhook(store.db, params.webhook_id, actor))),
  )

  serve(app, services, ROUTES.updateWebhook, async ({ params, body, actor }) =>
    viewWebhook(required(await updateWebhook(store.db, params.webhook_id, actor, contentOf(body)))),
  )

  serve(app, services, ROUTES.deleteWebhook, async ({ params, actor }) =>
    viewWebhook(required(await deleteWebhook(store.db, params.webhook_id, actor))),
  )

  serve(app, services, ROUTES.rotateWebhookSecret, async (call) =>
    sendSecret(services, call, kind(call, 200), async (db) => {
      const secret = makeWebhookSecret()
      const row = required(await findWebhook(db, call.params.webhook_id, call.actor))
      const { current: previous } = openWebhookSecrets(keyring, row.webhook_id, row.sealed)
      const sealed = sealWebhookSecrets(keyring, row.webhook_id, { current: secret, previous })
      if (!(await replaceWebhookSecret(db, row, sealed)))
        throw new AppError('conflict', 'The secret was changed by somebody else at the same time.')
      const rotated = required(await findWebhook(db, row.webhook_id, call.actor))
      return { shown: { ...viewWebhook(rotated) }, secret: { secret } }
    }),
  )

  serve(app, services, ROUTES.testWebhook, async (call) => {
    const webhook = required(await findWebhook(store.db, call.params.webhook_id, call.actor))
    const { webhook_id, creator } = webhook
    return sendOnceOutside(store.db, call, async () => {
      refuseOver(await consume(tests, call.actor.principal_id), BUDGETS.webhook_tests)
      const delivery_id = randomUUID()
      const created_at = new Date()
      const event = viewTest({ webhook_id, creator, created_at }, settings.public_url)
      const sent = await settings.sendWebhookTest({ ...webhook, delivery_id, event })
      const { response_status, error, ...answer } = sent
      const row = required(
        await insertTest(store.db, { delivery_id, webhook_id, created_at, response_status, error }),
      )
      return { status: 200, body: { delivery: viewDelivery(row, settings.public_url), ...answer } }
    })
  })

  serve(app, services, ROUTES.listWebhookDeliveries, async ({ params, query, actor }) => {
    const { webhook_id } = required(await findWebhook(store.db, params.webhook_id, actor))
    const { deliveries, next_cursor } = await listDeliveries(store.db, webhook_id, query)
    return {
      deliveries: deliveries.map((row) => viewDelivery(row, settings.public_url)),
      page_info: pageInfo(next_cursor),
    }
  })

  serve(app, services, ROUTES.redeliverWebhook, async (call) => {
    const { webhook_id, enabled } = required(await findWebhook(store.db, call.params.webhook_id, call.actor))
    if (!enabled)
      throw new AppError('conflict', 'The webhook is disabled: enable it first.', { retryable: false })
    let run_id: string | undefined
    const sent = await sendOnce(store.db, call, async (db) => {
      const row = await requeueDelivery(db, webhook_id, call.params.delivery_id)
      if (!row)
        throw new AppError(
          'resource_not_found',
          'There is no delivery of an event with this id. A test is not sent again: send another one.',
        )
      ;({ run_id } = row)
      return { status: 202, body: viewDelivery(row, settings.public_url) }
    })
    // Wakes the senders, which rest while nothing is pending.
    if (run_id !== undefined) watch.touchRun(run_id)
    return sent
  })
}

function required<T extends object>(row: T | null): T {
  if (row) return row
  throw new AppError('resource_not_found', 'There is no webhook with this id.')
}

/** Why nothing is sent, though somebody wanted it to be. */
function reasonOf(row: WebhookRow): Pick<Webhook, 'disabled_reason'> {
  const { disabled_reason, creator_disabled, creator } = row
  if (disabled_reason !== null) return { disabled_reason }
  return creator_disabled ? { disabled_reason: `${creator.display_name}, who created it, is disabled.` } : {}
}

const viewWebhook = (row: WebhookRow): Webhook => ({
  webhook_id: row.webhook_id,
  url: row.url,
  events: row.events,
  format: row.format,
  ...(row.description === null ? {} : { description: row.description }),
  enabled: row.enabled,
  ...reasonOf(row),
  failing_since: row.failing_since?.toISOString() ?? null,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
  creator: row.creator,
  scope: { type: row.scope, ...(row.scope === 'User' ? { uid: row.creator.uid } : {}) },
})

const viewDelivery = (row: DeliveryRow, public_url: string): WebhookDelivery => ({
  delivery_id: row.delivery_id,
  webhook_id: row.webhook_id,
  run_id: row.run_id,
  event: viewEvent(row, public_url),
  status: row.status,
  attempts: row.attempts,
  created_at: row.created_at.toISOString(),
  last_attempt_at: row.last_attempt_at?.toISOString() ?? null,
  next_attempt_at: row.next_attempt_at?.toISOString() ?? null,
  response_status: row.response_status,
  error: row.error,
})
