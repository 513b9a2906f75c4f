import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { Keyring, SealingKey } from './keyring.ts'

const VERSION = 1
const IV_BYTES = 12
const TAG_BYTES = 16

/** What a value begins with that is sealed with this key: a version and the key's id. */
export const headOf = ({ id }: SealingKey): Buffer => Buffer.concat([Buffer.of(VERSION), id])

/**
 * Encrypts values at rest: AES-256-GCM, bound to `place` so that a sealed value cannot be moved to another row. Its bytes are
 * the version (1), the key's id (4), the nonce (12), the tag (16) and the text.
 */
export function seal({ current }: Keyring, place: string, values: Record<string, string>): Buffer {
  const head = headOf(current)
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', current.key, iv, { authTagLength: TAG_BYTES }).setAAD(
    Buffer.concat([head, Buffer.from(place)]),
  )
  const text = Buffer.concat([cipher.update(JSON.stringify(values), 'utf8'), cipher.final()])
  return Buffer.concat([head, iv, cipher.getAuthTag(), text])
}

/** Throws when none of the keys is the right one, the place is another one, or a byte was changed. */
export function unseal(keyring: Keyring, place: string, sealed: Uint8Array): Record<string, string> {
  const bytes = Buffer.from(sealed)
  const opened = openNamed(keyring, place, bytes) ?? openUnnamed(keyring, place, bytes)
  if (opened) return JSON.parse(opened.toString('utf8')) as Record<string, string>
  throw new Error(
    'A sealed value does not open: it is of a key that is neither RUNYARD_SECRET_KEY nor among RUNYARD_OLD_SECRET_KEYS, or was changed or moved.',
  )
}

function openNamed({ all }: Keyring, place: string, bytes: Buffer): Buffer | null {
  for (const sealing_key of all) {
    const head = headOf(sealing_key)
    if (!bytes.subarray(0, head.length).equals(head)) continue
    const opened = open(
      sealing_key.key,
      Buffer.concat([head, Buffer.from(place)]),
      bytes.subarray(head.length),
    )
    if (opened) return opened
  }
  return null
}

/** As the first versions sealed them. Only the tag tells: a nonce may look like a version and an id by chance. */
function openUnnamed({ all }: Keyring, place: string, bytes: Buffer): Buffer | null {
  for (const { key } of all) {
    const opened = open(key, Buffer.from(place), bytes)
    if (opened) return opened
  }
  return null
}

function open(key: Buffer, bound_to: Buffer, bytes: Buffer): Buffer | null {
  if (bytes.length < IV_BYTES + TAG_BYTES) return null
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES), {
    // A shorter tag would be easier to guess.
    authTagLength: TAG_BYTES,
  })
    .setAAD(bound_to)
    .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
  const text = decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES))
  try {
    return Buffer.concat([text, decipher.final()])
  } catch {
    // The tag is another one.
    return null
  }
}

export const MASK = '***'
