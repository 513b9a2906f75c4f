import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * What a link or a cookie carries: until when it is good, the key it was made with, and an HMAC-SHA-256 over both and over what
 * it opens. Whoever takes one asks whether that key is still good, so that it ends with its key.
 */
export interface KeyToken {
  /** Unix seconds. */
  expires: number
  key_id: string
  /** base64url, 43 characters. */
  signature: string
}

/** `subject` says what the token opens and how; tokens of one subject open no other. */
export function makeToken(secret: Buffer, subject: string, key_id: string, expires: number): KeyToken {
  return {
    expires,
    key_id,
    signature: signatureOf(secret, subject, key_id, String(expires)).toString('base64url'),
  }
}

/** The key that a token was made with; `null` when it is not this secret's or not this subject's, or its time is over. */
export function readToken(
  secret: Buffer,
  subject: string,
  token: { expires: string; key_id: string; signature: string },
  now: number,
): string | null {
  const { expires, key_id, signature } = token
  if (!/^\d{1,12}$/.test(expires)) return null
  const given = Buffer.from(signature, 'base64url')
  const expected = signatureOf(secret, subject, key_id, expires)
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null
  return Number(expires) * 1000 < now ? null : key_id
}

const signatureOf = (secret: Buffer, subject: string, key_id: string, expires: string): Buffer =>
  createHmac('sha256', secret)
    .update(JSON.stringify([subject, key_id, expires]))
    .digest()
