import type { WebhookTest } from '@runyard/client'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'

/** Sends a test to a webhook. */
export function useWebhookTest(webhook_id: string) {
  const { client } = useAccess()
  const queries = useQueryClient()
  return useMutation({
    mutationFn: () => client.webhooks.test(webhook_id),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['webhooks', webhook_id, 'deliveries'] }),
  })
}

/** What came back. */
export function TestAnswer({ test: { delivery, duration_ms, response_body } }: { test: WebhookTest }) {
  const { error, response_status } = delivery
  return (
    <div role="status" className="mb-4 text-sm">
      <p className={`m-0 wrap-anywhere ${error === null ? 'text-good' : 'text-bad'}`}>
        {error === null ? `The test arrived: answered ${response_status}` : plainText(error)}
        <span className="text-soft"> · {duration_ms} ms</span>
      </p>
      {response_body ? (
        <pre className="mt-1 mb-0 max-h-40 overflow-auto whitespace-pre-wrap text-soft text-xs wrap-anywhere">
          {plainText(response_body)}
        </pre>
      ) : null}
    </div>
  )
}
