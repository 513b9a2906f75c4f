import type { Webhook } from '@runyard/client'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { Button } from '../ui/button.tsx'
import { ConfirmButton } from '../ui/confirm-button.tsx'
import { Found } from '../ui/found.tsx'
import { Ago } from '../ui/moment.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { Problem } from '../ui/problem.tsx'
import { RemoveButton, useRemoval } from '../ui/removal.tsx'
import { SettingsForm } from '../ui/settings-form.tsx'
import { SecretShown } from './secret-shown.tsx'
import { WebhookDeliveries } from './webhook-deliveries.tsx'
import { isWhole, WebhookFields } from './webhook-fields.tsx'
import { formOf, requestOf, type WebhookForm } from './webhook-form.ts'
import { TestAnswer, useWebhookTest } from './webhook-test.tsx'
import { WebhookState } from './webhooks-page.tsx'

/** One webhook: what it is told, its secret, its switch, and what was sent to it. */
export function WebhookPage() {
  const { webhook_id } = useParams({ from: '/webhooks/$webhook_id' })
  const { client } = useAccess()
  const query = useQuery({
    queryKey: ['webhooks', webhook_id],
    queryFn: ({ signal }) => client.webhooks.retrieve(webhook_id, { signal }),
  })
  return (
    <Found kind="webhook" query={query}>
      {(webhook) => <OpenWebhook key={webhook_id} webhook={webhook} />}
    </Found>
  )
}

function OpenWebhook({ webhook }: { webhook: Webhook }) {
  const { client, may_write } = useAccess()
  const queries = useQueryClient()
  const { webhook_id, url, enabled, failing_since, scope } = webhook
  const turn = useMutation({
    mutationFn: () => client.webhooks.update(webhook_id, requestOf(formOf(webhook), !enabled)),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['webhooks'] }),
  })
  const rotate = useMutation({ mutationFn: () => client.webhooks.rotateSecret(webhook_id) })
  const test = useWebhookTest(webhook_id)
  const removal = useRemoval('webhook', () => client.webhooks.delete(webhook_id))
  const problem = test.error ?? turn.error ?? rotate.error ?? removal.error
  return (
    <>
      <PageHead title={plainText(url)}>
        {may_write ? (
          <>
            <Button disabled={test.isPending} onClick={() => test.mutate()}>
              Send a test
            </Button>
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
            <RemoveButton
              kind="webhook"
              consequence="Nothing more is sent to it, not even what is waiting to be sent."
              removal={removal}
            />
          </>
        ) : null}
      </PageHead>
      {problem ? <Problem error={problem} /> : null}
      {test.data ? <TestAnswer test={test.data} /> : null}
      {rotate.data ? <SecretShown webhook={rotate.data} /> : null}
      <p className="mt-0 mb-4 text-sm text-soft">
        <WebhookState webhook={webhook} /> ·{' '}
        {scope.type === 'User' ? 'for your own runs' : 'for runs of the team'}
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
