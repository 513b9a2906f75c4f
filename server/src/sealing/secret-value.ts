import type { Keyring } from './keyring.ts'
import { seal, unseal } from './sealing.ts'

/** Where the value of a secret is at home: it opens nowhere else, and as no other version. */
export interface SecretPlace {
  scope: 'User' | 'Team'
  /** Of a personal secret. */
  owner_id: string | null
  name: string
  version: number
}

export const sealSecret = (keyring: Keyring, place: SecretPlace, value: string): Buffer =>
  seal(keyring, bindingOf(place), { value })

/** The value. Throws when the row is not the one it was sealed for, or no key of the ring is the right one. */
export function openSecret(keyring: Keyring, row: SecretPlace & { sealed: Uint8Array }): string {
  const { value } = unseal(keyring, bindingOf(row), row.sealed)
  if (value === undefined) throw new Error('A sealed secret holds no value.')
  return value
}

/** What a secret is sealed for. As JSON, so that no two places are the same text; nothing else that is sealed looks like it. */
export const bindingOf = ({ scope, owner_id, name, version }: SecretPlace): string =>
  JSON.stringify(['secret', scope, owner_id, name, version])
