import type { Trigger, TriggerDelivery } from '@runyard/client'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useAccess } from '../client.ts'
import { countOf } from '../text/format.ts'
import { plainText } from '../text/plain-text.ts'
import { Button } from '../ui/button.tsx'
import { Ago } from '../ui/moment.tsx'
import { OutsideLink } from '../ui/outside-link.tsx'
import { PagedRows, usePages } from '../ui/paged-rows.tsx'
import { Problem } from '../ui/problem.tsx'
import { lookOfOutcome } from './outcome.ts'

/** What came to a trigger and what that did, the newest first. */
export function TriggerDeliveries({ trigger: { trigger_id, enabled } }: { trigger: Trigger }) {
  const { client, may_write } = useAccess()
  const pages = usePages<TriggerDelivery>(
    ['triggers', trigger_id, 'deliveries'],
    async (cursor, options) => {
      const { deliveries, page_info } = await client.triggers.deliveries(
        trigger_id,
        { limit: 25, ...cursor },
        options,
      )
      return { items: deliveries, page_info }
    },
    { poll_ms: 5_000 },
  )
  return (
    <section aria-labelledby="history" className="min-w-0">
      <div className="mb-2 flex items-baseline justify-between gap-4">
        <h2 id="history" className="m-0 font-semibold text-base">
          History
        </h2>
        <Link to="/" search={{ trigger: trigger_id }} className="text-sm">
          Runs of this trigger
        </Link>
      </div>
      <PagedRows
        pages={pages}
        label="History"
        more="Older deliveries"
        empty={<p className="m-0 text-sm text-soft">No verified deliveries yet.</p>}
      >
        {(delivery) => (
          <DeliveryRow key={delivery.delivery_id} delivery={delivery} may_replay={may_write && enabled} />
        )}
      </PagedRows>
    </section>
  )
}

function DeliveryRow({ delivery, may_replay }: { delivery: TriggerDelivery; may_replay: boolean }) {
  const { client } = useAccess()
  const queries = useQueryClient()
  const {
    trigger_id,
    delivery_id,
    received_at,
    event,
    outcome,
    run_id,
    reason,
    duplicates,
    replay_of,
    reply,
  } = delivery
  const replay = useMutation({
    mutationFn: () => client.triggers.replay(trigger_id, delivery_id),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['triggers'] }),
  })
  const { label, tone } = lookOfOutcome(outcome)
  const facts = [
    event ?? '',
    replay_of ? 'a replay' : '',
    duplicates > 0 ? `came again ${countOf(duplicates, 'time')}` : '',
  ].filter(Boolean)
  return (
    <li className="flex items-center gap-4 py-2.5 text-sm">
      <div className="grid min-w-0 flex-1 gap-0.5">
        <span>
          {run_id ? (
            <Link to="/sessions/$run_id" params={{ run_id }} className="font-medium">
              {label}
            </Link>
          ) : (
            <span className={`font-medium ${tone}`}>{label}</span>
          )}{' '}
          <span className="text-soft">
            <Ago at={received_at} />
          </span>
        </span>
        {facts.length > 0 ? (
          <span className="text-soft wrap-anywhere">{plainText(facts.join(' · '))}</span>
        ) : null}
        {reason ? <span className="text-soft wrap-anywhere">{plainText(reason)}</span> : null}
        {reply ? <ReplyLine reply={reply} /> : null}
        {replay.error ? <Problem error={replay.error} /> : null}
      </div>
      {may_replay ? (
        <Button disabled={replay.isPending} onClick={() => replay.mutate()}>
          Replay
        </Button>
      ) : null}
    </li>
  )
}

const REPLIES = { pending: 'The answer is on its way', posted: 'Answered', failed: 'The answer was given up' }

function ReplyLine({ reply: { status, url, error } }: { reply: NonNullable<TriggerDelivery['reply']> }) {
  return (
    <span className={`wrap-anywhere ${status === 'failed' ? 'text-bad' : 'text-soft'}`}>
      {url ? <OutsideLink url={url}>{REPLIES[status]}</OutsideLink> : REPLIES[status]}
      {error ? `: ${plainText(error)}` : ''}
    </span>
  )
}
