import type { Keyring } from './keyring.ts'
import { seal, unseal } from './sealing.ts'

/** What is sealed of a trigger. */
export interface TriggerSecrets {
  /** What its senders sign with. */
  secret: string
  /** Values that its config shows as `***`, by their places, which are JSON. */
  values: Record<string, string>
}

const NAME = 'secret'

export const sealTriggerSecrets = (
  keyring: Keyring,
  trigger_id: string,
  { secret, values }: TriggerSecrets,
): Buffer => seal(keyring, trigger_id, { ...values, [NAME]: secret })

/** Throws as `unseal` does. */
export function openTriggerSecrets(keyring: Keyring, trigger_id: string, sealed: Uint8Array): TriggerSecrets {
  const { [NAME]: secret, ...values } = unseal(keyring, trigger_id, sealed)
  if (secret === undefined) throw new Error('A trigger holds no secret.')
  return { secret, values }
}
