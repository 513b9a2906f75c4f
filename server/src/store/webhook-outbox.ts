import { type RawBuilder, sql } from 'kysely'
import type { RunState } from '../contract/state.ts'
import type { WebhookEventType } from '../contract/webhook.ts'
import { TAKEN } from './webhook-deliveries.ts'

/** What a run has become, and which event says so. One that is queued again tells nobody. */
const TOLD: Partial<Record<RunState, WebhookEventType>> = {
  INPROGRESS: 'run.started',
  BLOCKED: 'run.blocked',
  SUCCEEDED: 'run.succeeded',
  FAILED: 'run.failed',
  ERROR: 'run.errored',
  CANCELLED: 'run.cancelled',
}
const CREATED: typeof TOLD = { QUEUED: 'run.created' }

/**
 * `outbox as (…)`: a delivery for each webhook that listens to what the rows of `changed` became, in the statement that
 * changes them. The rows have `run_id`, `state`, `last_sequence`, `scope`, `principal_id` and `creator_id`.
 */
const outboxOf = (changed: RawBuilder<unknown>, told: typeof TOLD): RawBuilder<unknown> => sql`
  outbox as (
    insert into webhook_deliveries (delivery_id, webhook_id, run_id, sequence, event_type, state, next_attempt_at)
    select gen_random_uuid(), w.webhook_id, c.run_id, c.last_sequence, t.event_type, c.state,
      -- Not before what waits for its next try: one that is being sent, or soon is, is not waited for.
      coalesce((select max(e.next_attempt_at) from webhook_deliveries e where e.webhook_id = w.webhook_id
        and e.run_id = c.run_id and e.status = 'pending' and e.next_attempt_at > now() + ${TAKEN}),
        date_trunc('milliseconds', clock_timestamp()))
    from ${changed} c
      join (values ${sql.join(Object.entries(told).map(([state, type]) => sql`(${sql.lit(state)}, ${sql.lit(type)})`))})
        t (state, event_type) on t.state = c.state
      join webhooks w on w.enabled and t.event_type = any (w.events)
        and case w.scope when 'Team' then c.scope = 'Team' else w.creator_id in (c.principal_id, c.creator_id) end
    -- One that is being deleted is waited for, and left out: its foreign key must not keep a run from changing.
    for key share of w)`

export const outboxOfCreated = outboxOf(sql`inserted`, CREATED)
export const outboxOfChanged = outboxOf(sql`changed`, TOLD)
