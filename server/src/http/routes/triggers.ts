import type { FastifyInstance } from 'fastify'
import { v7 as uuidv7 } from 'uuid'
import type { Actor } from '../../contract/actor.ts'
import { AppError } from '../../contract/error.ts'
import { pageInfo } from '../../contract/page-info.ts'
import { ROUTES } from '../../contract/routes.ts'
import { TRIED_MAX, type TriedDelivery, type Trigger, type TriggerDelivery } from '../../contract/trigger.ts'
import { type Done, deliver, whyFiltered } from '../../intake/delivery.ts'
import { requireSchema } from '../../intake/new-run.ts'
import { requireFilter, resolveTrigger } from '../../intake/trigger.ts'
import { warnOfRuns } from '../../intake/waiting.ts'
import { openTriggerSecrets } from '../../sealing/trigger-secrets.ts'
import type { Db } from '../../store/db.ts'
import {
  type ListedTriggerDelivery,
  listTriggerDeliveries,
  readDelivery,
  readNewest,
  type TriggerDeliveryRow,
} from '../../store/trigger-deliveries.ts'
import type { ReplyRow } from '../../store/trigger-replies.ts'
import {
  deleteTrigger,
  findTrigger,
  insertTrigger,
  type ListedTrigger,
  listTriggers,
  replaceTrigger,
  turnTrigger,
} from '../../store/triggers.ts'
import type { Services } from '../context.ts'
import { intakeServices } from '../intake-services.ts'
import { readEarlier, sendOnce, serve } from '../route.ts'
import { sendSecret } from '../sealed-answer.ts'
import { wake } from './hooks.ts'

export function serveTriggers(app: FastifyInstance, services: Services): void {
  const { store, settings, watch } = services
  const view = (row: ListedTrigger): Trigger => viewTrigger(row, settings.public_url)
  const viewFound = (row: ListedTrigger | null): Trigger => view(required(row))

  const viewWhole = async (db: Db, row: ListedTrigger | null, actor: Actor): Promise<Trigger> => {
    const asker = { actor, default_pool: settings.default_pool }
    const viewed = viewFound(row)
    const { agent_config, agent_uid } = viewed
    return { ...viewed, ...(await warnOfRuns(db, { ...agent_config, agent_uid }, asker)) }
  }

  serve(app, services, ROUTES.listTriggers, async ({ query, actor }) => {
    const { triggers, next_cursor } = await listTriggers(store.db, query, actor)
    return { triggers: triggers.map(view), page_info: pageInfo(next_cursor) }
  })

  serve(app, services, ROUTES.createTrigger, async (call) => {
    const { body, actor } = call
    await requireFilter(body.filter, actor)
    await requireSchema(body.output_schema, actor)
    const kind = {
      place: ({ trigger_id }: Record<string, unknown>): string =>
        `answer with the secret of trigger ${trigger_id}`,
      what: 'The trigger',
      // Somebody else may have given it another one.
      isCurrent: async (shown: Record<string, unknown>) => {
        const row = await findTrigger(store.db, String(shown.trigger_id), actor)
        return row?.updated_at.toISOString() === shown.updated_at
      },
    }
    return sendSecret(services, call, kind, async (db) => {
      const place = {
        trigger_id: uuidv7(),
        scope: body.team === false ? ('User' as const) : ('Team' as const),
      }
      const content = await resolveTrigger(intakeServices(services, db), body, {
        ...{ ...place, actor, before: null, isGitHub: settings.isGitHub },
      })
      const row = await insertTrigger(db, { ...content, ...place, creator_id: actor.principal_id })
      const { secret } = openTriggerSecrets(settings.keyring, row.trigger_id, row.sealed)
      return { shown: { ...(await viewWhole(db, row, actor)) }, secret: { secret } }
    })
  })

  serve(app, services, ROUTES.getTrigger, async ({ params: { trigger_id }, actor }) =>
    viewWhole(store.db, await findTrigger(store.db, trigger_id, actor), actor),
  )

  serve(app, services, ROUTES.updateTrigger, async ({ params: { trigger_id }, body, actor }) => {
    required(await findTrigger(store.db, trigger_id, actor))
    await requireFilter(body.filter, actor)
    await requireSchema(body.output_schema, actor)
    const row = await replaceTrigger(store.db, trigger_id, actor, (trx, before) =>
      resolveTrigger(intakeServices(services, trx), body, {
        ...{ trigger_id: before.trigger_id, scope: before.scope, actor, before },
        isGitHub: settings.isGitHub,
      }),
    )
    return viewWhole(store.db, row, actor)
  })

  serve(app, services, ROUTES.deleteTrigger, async ({ params: { trigger_id }, actor }) => {
    if (!(await deleteTrigger(store.db, trigger_id, actor))) throw noSuchTrigger()
    return { success: true }
  })

  for (const [route, enabled] of [
    [ROUTES.pauseTrigger, false],
    [ROUTES.resumeTrigger, true],
  ] as const) {
    serve(app, services, route, (call) =>
      sendOnce(store.db, call, async (db) => ({
        status: 200,
        body: viewFound(await turnTrigger(db, call.params.trigger_id, call.actor, enabled)),
      })),
    )
  }

  serve(app, services, ROUTES.tryTrigger, async (call) => {
    const { actor, body } = call
    const trigger = required(await findTrigger(store.db, call.params.trigger_id, actor))
    const earlier = await readEarlier(store.db, call)
    if (earlier) return earlier.body
    const filter = body.filter === undefined ? trigger.filter : body.filter || null
    await requireFilter(filter ?? undefined, actor)
    // Each takes a process for a moment; whoever asks pays for them.
    const tried = { verification: trigger.verification, filter, editor: { uid: actor.principal_id } }
    const deliveries = await Promise.all(
      (await readNewest(store.db, trigger.trigger_id, TRIED_MAX)).map(
        async (sent): Promise<TriedDelivery> => {
          const { delivery_id, event, payload } = sent
          const known = { delivery_id, received_at: sent.received_at.toISOString(), event }
          if (payload === null) return { ...known, passes: null, reason: NO_BODY }
          const reason = await whyFiltered(tried, sent)
          return reason === null ? { ...known, passes: true } : { ...known, passes: false, reason }
        },
      ),
    )
    return sendOnce(store.db, call, async () => ({ status: 200, body: { deliveries } }))
  })

  serve(app, services, ROUTES.listTriggerDeliveries, async ({ params, query, actor }) => {
    const { trigger_id } = required(await findTrigger(store.db, params.trigger_id, actor))
    const { deliveries, next_cursor } = await listTriggerDeliveries(store.db, trigger_id, query)
    return { deliveries: deliveries.map(viewDelivery), page_info: pageInfo(next_cursor) }
  })

  serve(app, services, ROUTES.replayTriggerDelivery, async (call) => {
    const trigger = required(await findTrigger(store.db, call.params.trigger_id, call.actor))
    const earlier = await readEarlier(store.db, call)
    if (earlier) return earlier.body
    const stopped = trigger.enabled ? stoppedReason(trigger) : 'The trigger is paused: resume it first.'
    if (stopped !== null) throw new AppError('conflict', stopped, { retryable: false })
    const kept = await readDelivery(store.db, trigger.trigger_id, call.params.delivery_id)
    if (!kept) throw new AppError('resource_not_found', 'There is no delivery with this id.')
    // A replay has no body of its own, or each would add one.
    const first =
      kept.payload === null && kept.replay_of !== null
        ? await readDelivery(store.db, trigger.trigger_id, kept.replay_of)
        : kept
    if (!first || first.payload === null)
      throw new AppError('conflict', `${NO_BODY} Ask the sender to deliver it again.`, { retryable: false })
    const { event, headers, payload, delivery_id: replay_of } = first
    const sent = {
      event,
      headers,
      payload,
      replay_of,
      sender_delivery_id: null,
      signed_as: null,
      is_bare: true,
    }
    const filtered = await whyFiltered(trigger, sent)
    let done: Done | null = null
    const answer = await sendOnce(store.db, call, async (db) => {
      done = await deliver(intakeServices(services, db), trigger, sent, filtered)
      if (!done) throw new AppError('conflict', 'The trigger was paused or deleted meanwhile.')
      return { status: 202, body: viewDelivery(done.delivery) }
    })
    if (done) wake(watch, done)
    return answer
  })
}

const NO_BODY = 'The body of this delivery is not kept any more.'
const noSuchTrigger = (): AppError => new AppError('resource_not_found', 'There is no trigger with this id.')

function required(row: ListedTrigger | null): ListedTrigger {
  if (!row) throw noSuchTrigger()
  return row
}

const stoppedReason = ({ editor_disabled, editor }: ListedTrigger): string | null =>
  editor_disabled
    ? `${editor.display_name}, who saved the trigger last, is disabled. It works again once somebody else saves it.`
    : null

function viewTrigger(row: ListedTrigger, public_url: string): Trigger {
  const stopped = stoppedReason(row)
  return {
    trigger_id: row.trigger_id,
    name: row.name,
    url: `${public_url}/hooks/${row.trigger_id}`,
    verification: row.verification,
    enabled: row.enabled,
    ...(row.filter === null ? {} : { filter: row.filter }),
    on_open_run: row.on_open_run,
    prompt: row.prompt,
    ...(row.title === null ? {} : { title: row.title }),
    agent_config: row.config,
    metadata: row.metadata,
    ...(row.mode ? { mode: row.mode } : {}),
    ...(row.priority === null ? {} : { priority: row.priority }),
    ...(row.budget ? { budget: row.budget } : {}),
    ...(row.output_schema ? { output_schema: row.output_schema } : {}),
    ...(row.agent_uid === null ? {} : { agent_uid: row.agent_uid }),
    ...(row.reply ? { reply: row.reply } : {}),
    ...(stopped === null ? {} : { stopped_reason: stopped }),
    ...(row.last_delivery ? { last_delivery: viewLast(row.last_delivery) } : {}),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    created_by: row.creator,
    updated_by: row.editor,
    scope: row.scope === 'Team' ? { type: 'Team' } : { type: 'User', uid: row.creator.uid },
  }
}

const viewLast = ({
  received_at,
  outcome,
  run_id,
}: NonNullable<ListedTrigger['last_delivery']>): Trigger['last_delivery'] => ({
  received_at: new Date(received_at).toISOString(),
  outcome,
  ...(run_id === null ? {} : { run_id }),
})

const viewReply = ({ status, comment_url, error }: ReplyRow): TriggerDelivery['reply'] => ({
  status,
  ...(comment_url === null ? {} : { url: comment_url }),
  ...(error === null ? {} : { error }),
})

const viewDelivery = (row: TriggerDeliveryRow & Partial<ListedTriggerDelivery>): TriggerDelivery => ({
  delivery_id: row.delivery_id,
  trigger_id: row.trigger_id,
  received_at: row.received_at.toISOString(),
  event: row.event,
  sender_delivery_id: row.sender_delivery_id,
  outcome: row.outcome,
  ...(row.run_id === null ? {} : { run_id: row.run_id }),
  ...(row.reason === null ? {} : { reason: row.reason }),
  duplicates: row.duplicates,
  ...(row.replay_of === null ? {} : { replay_of: row.replay_of }),
  ...(row.reply ? { reply: viewReply(row.reply) } : {}),
})
