import { NotFoundError, type Webhook } from '@runyard/client'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { Button } from '../ui/button.tsx'
import { ConfirmButton } from '../ui/confirm-button.tsx'
import { Ago } from '../ui/moment.tsx'
import { NotFound } from '../ui/not-found.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { Problem } from '../ui/problem.tsx'
import { SettingsForm } from '../ui/settings-form.tsx'
import { SecretShown } from './secret-shown.tsx'
import { WebhookDeliveries } from './webhook-deliveries.tsx'
import { isWhole, WebhookFields } from './webhook-fields.tsx'
import { formOf, requestOf, type WebhookForm } from './webhook-form.ts'
import { WebhookState } from './webhooks-page.tsx'

/** One webhook: what it is told, its secret, its switch, and what was sent to it. */
export function WebhookPage() {
  const { webhook_id } = useParams({ from: '/webhooks/$webhook_id' })
  const { client } = useAccess()
  const { data: webhook, error } = useQuery({
    queryKey: ['webhooks', webhook_id],
    queryFn: ({ signal }) => client.webhooks.retrieve(webhook_id, { signal }),
  })
  if (error instanceof NotFoundError) return <NotFound kind="webhook" />
  if (error) return <Problem error={error} />
  return webhook ? <OpenWebhook key={webhook_id} webhook={webhook} /> : null
}

function OpenWebhook({ webhook }: { webhook: Webhook }) {
  const { client, may_write } = useAccess()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const { webhook_id, url, enabled, failing_since, scope } = webhook
  const refresh = () => queries.invalidateQueries({ queryKey: ['webhooks'] })
  const turn = useMutation({
    mutationFn: () => client.webhooks.update(webhook_id, requestOf(formOf(webhook), !enabled)),
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
      <p className="mt-0 mb-4 text-sm text-soft">
        <WebhookState webhook={webhook} /> ·{' '}
        {scope.type === 'User' ? 'told of your own runs' : 'told of runs of the team'}
        {failing_since ? (
          <span className="block text-wait">
            Nothing arrived since <Ago at={failing_since} />
          </span>
        ) : null}
      </p>
      <div className="grid gap-x-10 gap-y-8 lg:grid-cols-[minmax(0,1fr)_24rem]">
        <Form webhook={webhook} />
        <WebhookDeliveries webhook_id={webhook_id} />
      </div>
    </>
  )
}

function Form({ webhook }: { webhook: Webhook }) {
  const { client, may_write } = useAccess()
  const queries = useQueryClient()
  const [form, setForm] = useState<WebhookForm>(() => formOf(webhook))
  const save = useMutation({
    mutationFn: () => client.webhooks.update(webhook.webhook_id, requestOf(form, webhook.enabled)),
    onSuccess: (saved) => {
      setForm(formOf(saved))
      return queries.invalidateQueries({ queryKey: ['webhooks'] })
    },
  })
  return (
    <SettingsForm save={save} action="Save" may_change={may_write} can_save={isWhole(form)}>
      <WebhookFields form={form} is_new={false} set={(change) => setForm((now) => ({ ...now, ...change }))} />
    </SettingsForm>
  )
}
