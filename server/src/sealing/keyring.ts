import { createHash } from 'node:crypto'
import { deriveKey } from './derive-key.ts'

const ID_BYTES = 4

/** A key that values are sealed with, and the four bytes by which a sealed value names it. */
export interface SealingKey {
  id: Buffer
  key: Buffer
}

/** Values are sealed with `current`, and opened with any of `all`, which it is the first of. */
export interface Keyring {
  current: SealingKey
  all: readonly SealingKey[]
}

/** Of the secret that values are sealed with, and those that some may still be sealed with. */
export function openKeyring(secret: string, others: readonly string[] = []): Keyring {
  const current = toSealingKey(secret)
  return { current, all: [current, ...others.map(toSealingKey)] }
}

function toSealingKey(secret: string): SealingKey {
  const key = deriveKey(secret, 'sealed-values')
  return { key, id: createHash('sha256').update(key).digest().subarray(0, ID_BYTES) }
}
