import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { buttonClass } from '../ui/button.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { SettingsForm } from '../ui/settings-form.tsx'
import { SecretShown } from './secret-shown.tsx'
import { isWhole, WebhookFields } from './webhook-fields.tsx'
import { formOf, requestOf, type WebhookForm } from './webhook-form.ts'

export function NewWebhookPage() {
  const { client, may_write } = useAccess()
  const queries = useQueryClient()
  const [form, setForm] = useState<WebhookForm>(() => formOf(undefined))
  const create = useMutation({
    mutationFn: () =>
      client.webhooks.create({ ...requestOf(form, true), ...(form.is_personal ? { team: false } : {}) }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['webhooks'] }),
  })
  if (create.data) {
    const { webhook_id, url } = create.data
    return (
      <>
        <PageHead title={plainText(url)}>
          <Link to="/webhooks/$webhook_id" params={{ webhook_id }} className={buttonClass()}>
            Open the webhook
          </Link>
        </PageHead>
        <div className="max-w-3xl">
          {create.data.format === 'runyard' ? (
            <SecretShown webhook={create.data} />
          ) : (
            <p role="status" className="m-0 text-sm text-soft">
              Created. Open it and send a test.
            </p>
          )}
        </div>
      </>
    )
  }
  return (
    <>
      <PageHead title="New webhook" />
      <SettingsForm save={create} action="Create the webhook" may_change={may_write} can_save={isWhole(form)}>
        <WebhookFields form={form} is_new set={(change) => setForm((now) => ({ ...now, ...change }))} />
      </SettingsForm>
    </>
  )
}
