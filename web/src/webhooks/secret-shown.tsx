import type { WebhookWithSecret } from '@runyard/client'
import { CopyBlock } from '../ui/copy-block.tsx'

/** What signs the messages of a webhook, once. */
export function SecretShown({ webhook }: { webhook: Pick<WebhookWithSecret, 'secret'> }) {
  return (
    <div role="status" className="mb-4">
      <p className="m-0 mb-1 text-sm text-soft">
        What its messages are signed with. Copy it now: it is not shown again.
      </p>
      <CopyBlock text={webhook.secret} label="Copy the secret" />
    </div>
  )
}
