import { quoteForShell } from '../samples/shell-word.ts'
import type { Verification } from './trigger-form.ts'

/** How each sender is called, and where its secret comes from. */
export const SENDERS: Record<Verification, { label: string; secret: string }> = {
  github: { label: 'GitHub', secret: 'GitHub’s “Secret” of the webhook. Left empty, one is made.' },
  gitlab: { label: 'GitLab', secret: 'GitLab’s “Secret token”. Left empty, one is made.' },
  slack: { label: 'Slack', secret: 'The “Signing secret” of the Slack app.' },
  linear: { label: 'Linear', secret: 'The “Signing secret” of Linear’s webhook, which may be given later.' },
  standard_webhooks: {
    label: 'Standard Webhooks',
    secret: 'whsec_ and Base64. Left empty, one is made.',
  },
}

const BODY = quoteForShell('{"action":"opened","issue":{"title":"Try it"}}')
/** Numbered by the second, since a body that GitHub's signature fits comes once: it can be tried again, with another filter. */
const NUMBERED_BODY = `'{"action":"opened","issue":{"title":"Try it","number":'$(date +%s)'}}'`

/** What signs the body, and the headers it goes with. OpenSSL and what every POSIX shell has are all it takes. */
const SIGNED: Record<Verification, { body?: string; steps: string[]; headers: string[] }> = {
  github: {
    body: NUMBERED_BODY,
    steps: [hmacOf('"$BODY"')],
    headers: [
      'X-GitHub-Event: issues',
      'X-GitHub-Delivery: try-$(date +%s)',
      'X-Hub-Signature-256: sha256=$SIGNATURE',
    ],
  },
  gitlab: {
    steps: [],
    headers: [
      'X-Gitlab-Event: Issue Hook',
      'X-Gitlab-Event-UUID: try-$(date +%s)',
      'X-Gitlab-Token: $SECRET',
    ],
  },
  slack: {
    steps: ['NOW=$(date +%s)', hmacOf('"v0:$NOW:$BODY"')],
    headers: ['X-Slack-Request-Timestamp: $NOW', 'X-Slack-Signature: v0=$SIGNATURE'],
  },
  linear: {
    body: `'{"action":"create","type":"Issue","webhookTimestamp":'$(date +%s)'000}'`,
    steps: [hmacOf('"$BODY"')],
    headers: ['Linear-Event: Issue', 'Linear-Delivery: try-$(date +%s)', 'Linear-Signature: $SIGNATURE'],
  },
  standard_webhooks: {
    steps: [
      'NOW=$(date +%s) ID=try-$(date +%s)',
      `KEY=$(printf %s "\${SECRET#whsec_}" | base64 -d | od -An -v -tx1 | tr -d ' \\n')`,
      'SIGNATURE=$(printf %s "$ID.$NOW.$BODY" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$KEY" -binary | base64)',
    ],
    headers: ['webhook-id: $ID', 'webhook-timestamp: $NOW', 'webhook-signature: v1,$SIGNATURE'],
  },
}

function hmacOf(text: string): string {
  return `SIGNATURE=$(printf %s ${text} | openssl dgst -sha256 -hmac "$SECRET" | sed 's/.*= *//')`
}

/** A script that posts to a trigger as its sender does. `secret`: where it is known, else it is left to be filled in. */
export function writeHookSample(verification: Verification, url: string, secret?: string): string {
  const { body = BODY, steps, headers } = SIGNED[verification]
  return [
    `SECRET=${quoteForShell(secret ?? '…')}`,
    `BODY=${body}`,
    ...steps,
    `curl ${quoteForShell(url)} -H 'Content-Type: application/json' \\`,
    ...headers.map((header) => `  -H "${header}" \\`),
    '  --data-raw "$BODY"',
  ].join('\n')
}
