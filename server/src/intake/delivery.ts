import { v7 as uuidv7 } from 'uuid'
import type { Actor } from '../contract/actor.ts'
import { AppError } from '../contract/error.ts'
import { isUuid } from '../contract/run-id.ts'
import type { TriggerOutcome } from '../contract/trigger.ts'
import { passesFilter } from '../schema/check-filter.ts'
import { readStanding } from '../store/api-keys.ts'
import { noteService } from '../store/audit-log.ts'
import { type Db, transact } from '../store/db.ts'
import { acceptFollowup } from '../store/followups.ts'
import { insertRun, type NewRun } from '../store/new-runs.ts'
import { findOpenedBy, type OpenedBy, recordPullStatus } from '../store/pushes.ts'
import { ROOM } from '../store/quotas.ts'
import { findRun } from '../store/runs.ts'
import {
  countDuplicate,
  findWaitingForRoom,
  forgetPayload,
  insertDelivery,
  isWaitingFull,
  type KeptPayload,
  lockWaiting,
  reopenFailed,
  settleDelivery,
  type TriggerDeliveryRow,
} from '../store/trigger-deliveries.ts'
import { insertReply } from '../store/trigger-replies.ts'
import { findHook, holdHook, type TriggerRow } from '../store/triggers.ts'
import type { RunServices } from './new-run.ts'
import { at, type PullRequestNews, pullRequestOf } from './pull-request-of.ts'
import { isOwnComment, threadOf } from './thread-of.ts'
import { fillPrompt, resolveTriggeredRun } from './trigger.ts'

/** What came to a trigger with a right signature. */
export interface Sent extends KeptPayload {
  event: string | null
  /** How its sender calls it, for people. */
  sender_delivery_id: string | null
  /** By which it is told from others; `null`: it is replayed, though it came before. */
  signed_as: string | null
  replay_of: string | null
  /** There is no room for its headers and body: it cannot be replayed. */
  is_bare?: boolean
}

/** What became of it, and who is to be woken after the commit. */
export interface Done {
  delivery: TriggerDeliveryRow
  is_duplicate: boolean
  pool: string | null
  run_id: string | null
}

/** Why nothing is to happen, or `null`. Takes a thread: to be asked outside of transactions. */
export async function whyFiltered(
  { verification, filter, editor }: Pick<TriggerRow, 'verification' | 'filter'> & { editor: { uid: string } },
  { event, payload, headers }: Pick<Sent, 'event' | 'payload' | 'headers'>,
): Promise<string | null> {
  if (verification === 'github' && event === 'ping') return 'GitHub asked whether anybody is here.'
  if (verification === 'github' && isOwnComment(payload)) return 'It is about a comment of our own.'
  if (verification === 'slack' && at(payload, 'ssl_check') !== undefined)
    return 'Slack asked whether anybody is here.'
  if (filter === null) return null
  const { passes, wrong } = await passesFilter(filter, { payload, headers }, editor.uid)
  if (passes) return null
  return wrong === null ? 'The filter is not true of it.' : `The filter could not be asked. ${wrong}`
}

/** It has come before. Saves the filter's thread; `deliver` decides. */
export async function findDuplicate(
  db: Db,
  trigger_id: string,
  { signed_as, sender_delivery_id }: Sent,
): Promise<Done | null> {
  // What came before version 39 of the database is known by its sender's id.
  const names = [signed_as, sender_delivery_id].filter((name) => name !== null)
  const earlier = signed_as === null ? null : await countDuplicate(db, trigger_id, names)
  return earlier && { delivery: earlier, is_duplicate: true, pool: null, run_id: null }
}

type Refusal = { outcome: 'filtered' | 'failed' | 'waiting'; reason: string; run_id: null }

type Plan =
  | { outcome: 'run_started'; run: NewRun; run_id: string }
  | { outcome: 'followup_sent'; actor: Actor; message: string; run_id: string }
  | Refusal

const NOTHING_SENT = { headers: {}, payload: null }

/** Of senders that are asked to send again: by then some of what waits has been done. */
const RETRY_S = 60

/**
 * Does what the trigger is to do with what was sent, once: the delivery and its run, or its follow-up, in one transaction.
 * `null`: the trigger is gone or paused. Whatever a run is refused with is kept for people. A refusal that passes leaves the
 * delivery waiting for `retryDelivery`: most senders, GitHub among them, never send again by themselves. One that failed
 * did nothing, so when the sender sends it again it is taken as new.
 */
export async function deliver(
  services: RunServices,
  trigger: TriggerRow,
  sent: Sent,
  filtered: string | null,
): Promise<Done | null> {
  const { trigger_id } = trigger
  return transact(services.db, async (trx) => {
    if (!(await holdHook(trx, trigger_id))) return null
    const failed = await reopenFailed(trx, trigger_id, sent)
    const delivery_id = failed ?? uuidv7()
    const wanted = await makePlan({ ...services, db: trx }, trigger, sent, { delivery_id, filtered })
    const plan = await takePlace(trx, trigger_id, wanted)
    const is_filtered = plan.outcome === 'filtered'
    const delivery = failed
      ? await settleDelivery(trx, delivery_id, settled(plan))
      : await insertDelivery(trx, {
          ...{ delivery_id, trigger_id, ...sent, ...settled(plan) },
          ...(sent.is_bare && is_filtered ? NOTHING_SENT : {}),
        })
    if (!delivery) {
      const earlier = await findDuplicate(trx, trigger_id, sent)
      if (!earlier) throw new AppError('conflict', 'The same delivery is being handled.')
      return earlier
    }
    const done = await act(trx, services, { trigger, sent, plan, delivery })
    if (done.delivery.outcome === 'waiting' && (await isWaitingFull(trx, trigger_id)))
      throw new AppError(
        'resource_unavailable',
        `Too many deliveries of this trigger wait already, so this one is not kept: send it again later. ${done.delivery.reason}`,
        { status: 429, headers: { 'retry-after': String(RETRY_S) } },
      )
    // One that waits needs what was sent for its next try.
    if (sent.is_bare && done.delivery.outcome !== 'waiting' && (failed || !is_filtered))
      await forgetPayload(trx, delivery_id)
    return done
  })
}

/**
 * Tries once more what a delivery that waits is to do; `null` when it waits no more or another process is at it. Throws
 * what nobody foresaw, and then nothing has happened.
 */
export async function retryDelivery(services: RunServices, delivery_id: string): Promise<Done | null> {
  return transact(services.db, async (trx) => {
    const waiting = await lockWaiting(trx, delivery_id)
    if (!waiting) return null
    const { is_expired, ...kept } = waiting
    const sent: Sent = { ...kept, signed_as: null }
    const trigger = await findHook(trx, kept.trigger_id)
    if (!trigger || !(await holdHook(trx, kept.trigger_id)))
      return giveUp(
        trx,
        delivery_id,
        'The trigger was paused while this waited. Replay it if it is still wanted.',
      )
    const plan = await makePlan({ ...services, db: trx }, trigger, sent, { delivery_id, filtered: null })
    const delivery = await settleDelivery(trx, delivery_id, settled(plan))
    if (!delivery) return null
    const done = await act(trx, services, { trigger, sent, plan, delivery })
    if (done.delivery.outcome !== 'waiting' || !is_expired) return done
    return giveUp(trx, delivery_id, `It was tried again for a day. ${done.delivery.reason}`)
  })
}

/** Gives up a delivery that waits; `null` when it waits no more. */
export const giveUp = (db: Db, delivery_id: string, reason: string): Promise<Done | null> =>
  transact(db, async (trx) => {
    if (!(await lockWaiting(trx, delivery_id))) return null
    const delivery = await settleDelivery(trx, delivery_id, { outcome: 'failed', run_id: null, reason })
    return delivery && { delivery, is_duplicate: false, pool: null, run_id: null }
  })

const settled = (plan: Plan): Pick<TriggerDeliveryRow, 'outcome' | 'run_id' | 'reason'> => ({
  outcome: plan.outcome satisfies TriggerOutcome,
  run_id: plan.run_id,
  reason: 'reason' in plan ? plan.reason : null,
})

/** Carries a plan out, its delivery being stored. */
async function act(
  trx: Db,
  services: RunServices,
  {
    trigger,
    sent,
    plan,
    delivery,
  }: { trigger: TriggerRow; sent: Sent; plan: Plan; delivery: TriggerDeliveryRow },
): Promise<Done> {
  const { delivery_id } = delivery
  const done = { delivery, is_duplicate: false, pool: null, run_id: plan.run_id }
  if (plan.outcome !== 'run_started' && plan.outcome !== 'followup_sent') return done
  let pool: string | null
  try {
    pool = await carryOut(trx, services, plan)
  } catch (error) {
    // Both refuse before they write anything.
    if (!(error instanceof AppError)) throw error
    const refused = await settleDelivery(trx, delivery_id, refusalOf(error))
    if (!refused) throw error
    return { ...done, delivery: refused, run_id: null }
  }
  await noteService(trx, {
    action: plan.outcome === 'run_started' ? 'createRun' : 'submitFollowup',
    ...{ run_id: plan.run_id, principal_id: trigger.editor.uid },
    detail: `trigger ${trigger.trigger_id}, delivery ${delivery_id}`,
  })
  const thread = trigger.reply && threadOf(sent)
  if (thread) {
    const at_once = trigger.reply?.when !== 'end'
    await insertReply(trx, { delivery_id, run_id: plan.run_id, thread, at_once })
  }
  return { ...done, pool }
}

/** Behind those that came before and wait for room: else a trigger to which much comes would never get to them. */
async function takePlace(trx: Db, trigger_id: string, plan: Plan): Promise<Plan> {
  const reason = plan.outcome === 'run_started' ? await findWaitingForRoom(trx, trigger_id) : null
  return reason === null ? plan : { outcome: 'waiting', reason, run_id: null }
}

export const waitsForRoom = ({ outcome, reason }: TriggerDeliveryRow): boolean =>
  outcome === 'waiting' && (reason?.includes(ROOM) ?? false)

/** A full quota, say, is free again later; anything else is for people. */
const refusalOf = ({ detail, retryable }: AppError): Refusal => ({
  outcome: retryable ? 'waiting' : 'failed',
  reason: detail,
  run_id: null,
})

/** The pool that is to be woken, if any. */
async function carryOut(
  trx: Db,
  services: RunServices,
  plan: Extract<Plan, { outcome: 'run_started' | 'followup_sent' }>,
): Promise<string | null> {
  if (plan.outcome === 'run_started') {
    await insertRun(trx, plan.run, null, { open: services.open_runs })
    return plan.run.pool
  }
  const { claimable_in } = await acceptFollowup(trx, {
    ...{ run_id: plan.run_id, author: plan.actor, message: plan.message, mode: 'normal' },
    ...{ on_busy: 'enqueue', attachments: [] },
  })
  return claimable_in
}

/** Only reads, but for how pull requests of runs stand: that is kept whatever comes of the delivery. */
async function makePlan(
  services: RunServices,
  trigger: TriggerRow,
  sent: Sent,
  { delivery_id, filtered }: { delivery_id: string; filtered: string | null },
): Promise<Plan> {
  const news = pullRequestOf(trigger.verification, sent.payload)
  const actor = await readStanding(services.db, trigger.editor.uid)
  const [url, ...more] = news.urls
  if (url !== undefined && more.length === 0 && news.status !== null && actor.role !== 'viewer')
    await recordPullStatus(services.db, url, news.status, actor)
  if (filtered !== null) return { outcome: 'filtered', reason: filtered, run_id: null }
  if (actor.role === 'viewer') {
    const reason =
      'Whoever saved the trigger last may only read by now. It works again once somebody else saves it.'
    return { outcome: 'failed', reason, run_id: null }
  }
  const opened = await findOpenedBy(services.db, news.urls, actor, trigger.scope)
  const pusher = await findPusher(services.db, news, opened, actor)
  if (pusher !== null) {
    const reason = `It is about a push of our own, by run ${pusher}.`
    return { outcome: 'filtered', reason, run_id: null }
  }
  const prompt = fillPrompt(trigger, sent)
  if (opened && trigger.on_open_run === 'followup' && prompt.trim())
    return { outcome: 'followup_sent', actor, message: prompt, run_id: opened.run_id }
  try {
    const run = await resolveTriggeredRun(services, trigger, actor, { delivery_id, prompt, sent })
    return { outcome: 'run_started', run, run_id: run.run_id }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return refusalOf(error)
  }
}

/** The run whose own push this is: else each push of a run would be what its next turn is about, or another run. */
async function findPusher(
  db: Db,
  { push }: PullRequestNews,
  opened: OpenedBy | null,
  actor: Actor,
): Promise<string | null> {
  if (!push) return null
  if (opened) return push.by_author || push.commit === opened.commit ? opened.run_id : null
  // It may come before the run has noted its pull request; its branch is called after it by then.
  const [, run_id] = /^runyard\/([0-9a-f-]{36})$/.exec(push.branch ?? '') ?? []
  if (run_id === undefined || !isUuid(run_id)) return null
  return (await findRun(db, run_id, actor))?.run_id ?? null
}
