import { Webhook } from 'standardwebhooks'

/** The headers of a request, with a signature by each secret. (https://www.standardwebhooks.com) */
export function signRequest(
  secrets: readonly string[],
  { id, sent_at, body }: { id: string; sent_at: Date; body: string },
): Record<string, string> {
  const signatures = secrets.map((secret) => new Webhook(secret).sign(id, sent_at, body))
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(sent_at.getTime() / 1000)),
    'webhook-signature': signatures.join(' '),
  }
}
