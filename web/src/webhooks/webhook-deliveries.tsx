import type { WebhookDelivery } from '@runyard/client'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useAccess } from '../client.ts'
import { countOf } from '../text/format.ts'
import { plainText } from '../text/plain-text.ts'
import { Button } from '../ui/button.tsx'
import { Ago } from '../ui/moment.tsx'
import { PagedRows, usePages } from '../ui/paged-rows.tsx'
import { Problem } from '../ui/problem.tsx'

/** What was sent to a webhook, or waits to be, the newest first. */
export function WebhookDeliveries({ webhook_id }: { webhook_id: string }) {
  const { client } = useAccess()
  const pages = usePages<WebhookDelivery>(
    ['webhooks', webhook_id, 'deliveries'],
    async (cursor, options) => {
      const { deliveries, page_info } = await client.webhooks.deliveries(
        webhook_id,
        { limit: 50, ...cursor },
        options,
      )
      return { items: deliveries, page_info }
    },
    { poll_ms: 5_000 },
  )
  return (
    <section aria-labelledby="deliveries" className="min-w-0">
      <h2 id="deliveries" className="m-0 mb-2 font-semibold text-base">
        Deliveries
      </h2>
      <PagedRows
        pages={pages}
        label="Deliveries"
        more="Older deliveries"
        empty={<p className="m-0 text-sm text-soft">Nothing was sent yet.</p>}
      >
        {(delivery) => <DeliveryRow key={delivery.delivery_id} delivery={delivery} />}
      </PagedRows>
    </section>
  )
}

const LOOKS = {
  pending: { label: 'Waits', tone: 'text-wait' },
  delivered: { label: 'Delivered', tone: 'text-good' },
  failed: { label: 'Failed', tone: 'text-bad' },
} as const

function DeliveryRow({ delivery }: { delivery: WebhookDelivery }) {
  const { client, may_write } = useAccess()
  const queries = useQueryClient()
  const { delivery_id, webhook_id, run_id, event, status, attempts, created_at, next_attempt_at } = delivery
  const again = useMutation({
    mutationFn: () => client.webhooks.redeliver(webhook_id, delivery_id),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['webhooks', webhook_id, 'deliveries'] }),
  })
  const { response_status, error } = delivery
  const is_test = event.type === 'webhook.test'
  const is_retried = next_attempt_at && status === 'pending'
  return (
    <li className="flex items-center gap-4 py-2.5 text-sm">
      <div className="grid min-w-0 flex-1 gap-0.5">
        <span className="flex flex-wrap gap-x-3">
          {is_test ? (
            <span className="font-medium">Test</span>
          ) : (
            <Link to="/sessions/$run_id" params={{ run_id }} className="font-medium">
              {event.type}
            </Link>
          )}
          <span className={LOOKS[status].tone}>{LOOKS[status].label}</span>
        </span>
        <span className="text-soft">
          <Ago at={created_at} />
          {response_status === null ? '' : ` · answer ${response_status}`}
          {attempts === 1 ? '' : ` · ${countOf(attempts, 'attempt')}`}
          {is_retried ? (
            <>
              {' '}
              · again <Ago at={next_attempt_at} />
            </>
          ) : null}
        </span>
        {error ? <span className="text-soft wrap-anywhere">{plainText(error)}</span> : null}
        {again.error ? <Problem error={again.error} /> : null}
      </div>
      {may_write && status !== 'pending' && !is_test ? (
        <Button disabled={again.isPending} onClick={() => again.mutate()}>
          Send again
        </Button>
      ) : null}
    </li>
  )
}
