import { randomBytes } from 'node:crypto'
import type { Keyring } from './keyring.ts'
import { seal, unseal } from './sealing.ts'

/** What a webhook's requests are signed with: the secret, and the one before it, which receivers may still know. */
export interface WebhookSecrets {
  current: string
  previous?: string
}

const SECRET_BYTES = 24

/** A secret as Standard Webhooks have them: `whsec_` and 24 random bytes in Base64. */
export const makeWebhookSecret = (): string => `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`

export const sealWebhookSecrets = (keyring: Keyring, webhook_id: string, secrets: WebhookSecrets): Buffer =>
  seal(keyring, webhook_id, { ...secrets })

/** Throws as `unseal` does. */
export function openWebhookSecrets(keyring: Keyring, webhook_id: string, sealed: Uint8Array): WebhookSecrets {
  const { current, previous } = unseal(keyring, webhook_id, sealed)
  if (current === undefined) throw new Error('A webhook holds no secret.')
  return previous === undefined ? { current } : { current, previous }
}
