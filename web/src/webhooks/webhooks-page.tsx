import type { WebhookWithSecret } from '@runyard/client'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { Button } from '../ui/button.tsx'
import { CopyBlock } from '../ui/copy-block.tsx'
import { TextField } from '../ui/field.tsx'
import { PageHead, Rows } from '../ui/page-head.tsx'
import { Problem } from '../ui/problem.tsx'

const WEBHOOKS = ['webhooks', 'list']

/** Addresses that are told what becomes of runs. */
export function WebhooksPage() {
  const { client, may_write } = useAccess()
  const { data, error, refetch } = useQuery({
    queryKey: WEBHOOKS,
    queryFn: async ({ signal }) => (await client.webhooks.list({ limit: 100 }, { signal })).webhooks,
  })
  return (
    <>
      <PageHead title="Webhooks" />
      {may_write ? <NewWebhook /> : null}
      {error ? <Problem error={error} onRetry={() => refetch()} /> : null}
      {data?.length === 0 ? (
        <p className="max-w-xl text-soft">
          No webhook yet. One is sent a signed message when a run starts, waits for a person or ends.
        </p>
      ) : null}
      {data && data.length > 0 ? (
        <Rows label="Webhooks">
          {data.map(({ webhook_id, url, events, enabled, disabled_reason, failing_since }) => (
            <li key={webhook_id} className="flex flex-wrap items-center gap-x-6 gap-y-1 py-3">
              <span className="min-w-0 flex-1">
                <Link
                  to="/webhooks/$webhook_id"
                  params={{ webhook_id }}
                  className="font-medium text-ink no-underline wrap-anywhere hover:underline"
                >
                  {plainText(url)}
                </Link>
                <span className="block text-sm text-soft">{events.join(', ')}</span>
              </span>
              {enabled ? (
                <span className={`text-sm ${failing_since ? 'text-wait' : 'text-good'}`}>
                  {failing_since ? 'Failing' : 'On'}
                </span>
              ) : (
                <span className="text-sm text-wait">
                  Off{disabled_reason ? `: ${plainText(disabled_reason)}` : ''}
                </span>
              )}
            </li>
          ))}
        </Rows>
      ) : null}
    </>
  )
}

function NewWebhook() {
  const { client } = useAccess()
  const queries = useQueryClient()
  const [url, setUrl] = useState('')
  const create = useMutation({
    mutationFn: () => client.webhooks.create({ url: url.trim() }),
    onSuccess: () => {
      setUrl('')
      return queries.invalidateQueries({ queryKey: WEBHOOKS })
    },
  })
  return (
    <form
      className="mb-6 grid gap-3"
      onSubmit={(event) => {
        event.preventDefault()
        create.mutate()
      }}
    >
      <div className="grid items-end gap-3 sm:grid-cols-[1fr_auto]">
        <TextField
          label="Address"
          type="url"
          required
          placeholder="https://example.com/hooks/runyard"
          value={url}
          onText={setUrl}
        />
        <Button type="submit" kind="primary" className="min-h-10" disabled={create.isPending || !url.trim()}>
          Add a webhook
        </Button>
      </div>
      {create.error ? <Problem error={create.error} /> : null}
      {create.data ? <SecretShown webhook={create.data} /> : null}
    </form>
  )
}

/** What signs the messages, once. */
export function SecretShown({ webhook }: { webhook: Pick<WebhookWithSecret, 'secret'> }) {
  return (
    <div role="status">
      <p className="m-0 mb-1 text-sm text-soft">
        What its messages are signed with. Copy it now: it is not shown again.
      </p>
      <CopyBlock text={webhook.secret} label="Copy the secret" />
    </div>
  )
}
