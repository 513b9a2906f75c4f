import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

/** A key of 32 bytes for one purpose, so that no two uses share one (HKDF, RFC 5869). */
export const deriveKey = (secret: string, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, 'runyard', purpose, 32))

const IV_BYTES = 12
const TAG_BYTES = 16

/** Encrypts values at rest: AES-256-GCM, bound to `place` so that a sealed value cannot be moved to another row. */
export function seal(key: Buffer, place: string, values: Record<string, string>): Buffer {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES }).setAAD(
    Buffer.from(place),
  )
  const text = Buffer.concat([cipher.update(JSON.stringify(values), 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), text])
}

/** Throws when the key or the place is another one, or a byte was changed. */
export function unseal(key: Buffer, place: string, sealed: Uint8Array): Record<string, string> {
  const bytes = Buffer.from(sealed)
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES), {
    // A shorter tag would be easier to guess.
    authTagLength: TAG_BYTES,
  })
    .setAAD(Buffer.from(place))
    .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
  const text = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()])
  return JSON.parse(text.toString('utf8')) as Record<string, string>
}

export const MASK = '***'
