import { NotFoundError, type UpdateWebhookRequest, type Webhook, type WebhookDelivery } from '@runyard/client'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useAccess } from '../client.ts'
import { countOf } from '../text/format.ts'
import { plainText } from '../text/plain-text.ts'
import { Button } from '../ui/button.tsx'
import { ConfirmButton } from '../ui/confirm-button.tsx'
import { Ago } from '../ui/moment.tsx'
import { PageHead, Rows } from '../ui/page-head.tsx'
import { Problem } from '../ui/problem.tsx'
import { SecretShown } from './webhooks-page.tsx'

/** One webhook: its secret, its switch, and what was sent to it. */
export function WebhookPage() {
  const { webhook_id } = useParams({ from: '/webhooks/$webhook_id' })
  const { client } = useAccess()
  const { data: webhook, error } = useQuery({
    queryKey: ['webhooks', webhook_id],
    queryFn: ({ signal }) => client.webhooks.retrieve(webhook_id, { signal }),
  })
  if (error instanceof NotFoundError) return <PageHead title="There is no such webhook" />
  if (error) return <Problem error={error} />
  return webhook ? <OpenWebhook webhook={webhook} /> : null
}

function OpenWebhook({ webhook }: { webhook: Webhook }) {
  const { client, may_write } = useAccess()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const { webhook_id, url, events, enabled, description, disabled_reason, failing_since } = webhook
  const refresh = () => queries.invalidateQueries({ queryKey: ['webhooks'] })
  const turn = useMutation({
    mutationFn: () => {
      const said: UpdateWebhookRequest = {
        url,
        events,
        enabled: !enabled,
        ...(description ? { description } : {}),
      }
      return client.webhooks.update(webhook_id, said)
    },
    onSuccess: refresh,
  })
  const rotate = useMutation({ mutationFn: () => client.webhooks.rotateSecret(webhook_id) })
  const remove = useMutation({
    mutationFn: () => client.webhooks.delete(webhook_id),
    onSuccess: async () => {
      await navigate({ to: '/webhooks' })
      await refresh()
    },
  })
  const problem = turn.error ?? rotate.error ?? remove.error
  return (
    <>
      <PageHead title={plainText(url)}>
        {may_write ? (
          <>
            <Button disabled={turn.isPending} onClick={() => turn.mutate()}>
              {enabled ? 'Turn off' : 'Turn on'}
            </Button>
            <ConfirmButton
              kind="plain"
              confirm="Rotate the secret"
              question="Messages are signed with both secrets for a day, so that nothing is refused meanwhile."
              is_busy={rotate.isPending}
              onConfirm={() => rotate.mutate()}
            >
              Rotate the secret
            </ConfirmButton>
            <ConfirmButton
              confirm="Delete the webhook"
              question="Nothing more is sent to it, what waits neither."
              is_busy={remove.isPending}
              onConfirm={() => remove.mutate()}
            >
              Delete
            </ConfirmButton>
          </>
        ) : null}
      </PageHead>
      {problem ? <Problem error={problem} /> : null}
      {rotate.data ? <SecretShown webhook={rotate.data} /> : null}
      <p className="text-sm text-soft">
        {events.join(', ')}
        {description ? <span className="block">{plainText(description)}</span> : null}
        {enabled ? null : (
          <span className="block text-wait">
            Off{disabled_reason ? `: ${plainText(disabled_reason)}` : ''}
          </span>
        )}
        {failing_since ? (
          <span className="block text-wait">
            Nothing arrived since <Ago at={failing_since} />
          </span>
        ) : null}
      </p>
      <Deliveries webhook_id={webhook_id} />
    </>
  )
}

function Deliveries({ webhook_id }: { webhook_id: string }) {
  const { client } = useAccess()
  const queryKey = ['webhooks', webhook_id, 'deliveries']
  const { data, error } = useQuery({
    queryKey,
    queryFn: async ({ signal }) =>
      (await client.webhooks.deliveries(webhook_id, { limit: 50 }, { signal })).deliveries,
    refetchInterval: 5_000,
  })
  return (
    <section aria-labelledby="deliveries">
      <h2 id="deliveries" className="mt-4 mb-2 font-semibold text-base">
        Deliveries
      </h2>
      {error ? <Problem error={error} /> : null}
      {data?.length === 0 ? <p className="m-0 text-sm text-soft">Nothing was sent yet.</p> : null}
      {data && data.length > 0 ? (
        <Rows label="Deliveries">
          {data.map((delivery) => (
            <DeliveryRow key={delivery.delivery_id} delivery={delivery} queryKey={queryKey} />
          ))}
        </Rows>
      ) : null}
    </section>
  )
}

const TONES = { pending: 'text-soft', delivered: 'text-good', failed: 'text-bad' } as const

function DeliveryRow({ delivery, queryKey }: { delivery: WebhookDelivery; queryKey: string[] }) {
  const { client, may_write } = useAccess()
  const queries = useQueryClient()
  const { delivery_id, webhook_id, run_id, event, status, attempts, created_at, next_attempt_at } = delivery
  const again = useMutation({
    mutationFn: () => client.webhooks.redeliver(webhook_id, delivery_id),
    onSuccess: () => queries.invalidateQueries({ queryKey }),
  })
  const answer = [delivery.response_status ? `answer ${delivery.response_status}` : '', delivery.error ?? '']
  return (
    <li className="grid gap-1 py-2.5 text-sm">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
        <span className={`w-20 font-medium ${TONES[status]}`}>{status}</span>
        <Link to="/sessions/$run_id" params={{ run_id }}>
          {event.type}
        </Link>
        <span className="text-soft">
          {countOf(attempts, 'attempt')}, <Ago at={created_at} />
          {next_attempt_at && status === 'pending' ? (
            <>
              , again <Ago at={next_attempt_at} />
            </>
          ) : null}
        </span>
        {may_write && status !== 'pending' ? (
          <Button className="ml-auto" disabled={again.isPending} onClick={() => again.mutate()}>
            Send again
          </Button>
        ) : null}
      </div>
      {answer.some(Boolean) ? (
        <span className="text-soft wrap-anywhere">{plainText(answer.filter(Boolean).join(': '))}</span>
      ) : null}
      {again.error ? <Problem error={again.error} /> : null}
    </li>
  )
}
