import { hkdfSync } from 'node:crypto'

/** A key of 32 bytes for one purpose, so that no two uses share one (HKDF, RFC 5869). */
export const deriveKey = (secret: string, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, 'runyard', purpose, 32))
