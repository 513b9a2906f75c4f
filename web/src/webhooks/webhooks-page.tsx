import type { Webhook } from '@runyard/client'
import { Link } from '@tanstack/react-router'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { ListPage } from '../ui/list-page.tsx'
import { usePages } from '../ui/paged-rows.tsx'
import { sayEvents } from './webhook-form.ts'

/** Addresses that are told what becomes of runs. */
export function WebhooksPage() {
  const { client } = useAccess()
  const pages = usePages<Webhook>(['webhooks', 'list'], async (cursor, options) => {
    const { webhooks, page_info } = await client.webhooks.list({ limit: 100, ...cursor }, options)
    return { items: webhooks, page_info }
  })
  return (
    <ListPage
      kind="webhook"
      pages={pages}
      about="A webhook tells your server, a chat or a person when a run starts, needs somebody or ends."
      sample="runyard webhook create https://ci.example.com/runyard --event run.failed"
    >
      {(webhook) => <WebhookRow key={webhook.webhook_id} webhook={webhook} />}
    </ListPage>
  )
}

function WebhookRow({ webhook }: { webhook: Webhook }) {
  const { webhook_id, url, events, description, scope } = webhook
  return (
    <li className="flex flex-wrap items-center gap-x-6 gap-y-1 py-3">
      <span className="min-w-0 flex-1 basis-72">
        <Link
          to="/webhooks/$webhook_id"
          params={{ webhook_id }}
          className="font-medium text-ink no-underline wrap-anywhere hover:underline"
        >
          {plainText(url)}
        </Link>
        <span className="block text-sm text-soft">
          {sayEvents(events)}
          {scope.type === 'User' ? ' · your own runs' : ''}
          {description ? <span className="block">{plainText(description)}</span> : null}
        </span>
      </span>
      <WebhookState webhook={webhook} />
    </li>
  )
}

/** Whether it is sent to, and whether that goes well. */
export function WebhookState({ webhook: { enabled, disabled_reason, failing_since } }: { webhook: Webhook }) {
  if (!enabled)
    return (
      <span className="text-sm text-wait">Off{disabled_reason ? `: ${plainText(disabled_reason)}` : ''}</span>
    )
  return failing_since ? (
    <span className="text-sm text-wait">Failing</span>
  ) : (
    <span className="text-good text-sm">On</span>
  )
}
