import { createHmac, timingSafeEqual } from 'node:crypto'
import { AppError } from '../contract/error.ts'
import { deriveKey } from '../sealing/sealing.ts'

export const LINK_SECONDS = 15 * 60

export interface SignedLinks {
  /** The path with `expires` and `signature`, good for 15 minutes for GET. */
  sign(path: string): { path: string; expires_at: Date }
  /** Throws 404 when the signature is not this path's or its time is over: nothing is said about what is there. */
  verify(path: string, query: unknown): void
}

/** Links that carry their own permission: HMAC-SHA-256 with a derived key over method, path and expiry. */
export function createSignedLinks(secret_key: string, now: () => number = Date.now): SignedLinks {
  const key = deriveKey(secret_key, 'signed-links')
  const signatureOf = (path: string, expires: number): Buffer =>
    createHmac('sha256', key).update(`GET\n${path}\n${expires}`).digest()
  return {
    sign(path) {
      const expires = Math.floor(now() / 1000) + LINK_SECONDS
      const signature = signatureOf(path, expires).toString('base64url')
      return {
        path: `${path}?expires=${expires}&signature=${signature}`,
        expires_at: new Date(expires * 1000),
      }
    },
    verify(path, query) {
      const { expires, signature } = (query ?? {}) as { expires?: unknown; signature?: unknown }
      const refused = new AppError('resource_not_found', 'The link is not valid, or its time is over.')
      if (typeof expires !== 'string' || typeof signature !== 'string' || !/^\d{1,12}$/.test(expires))
        throw refused
      const given = Buffer.from(signature, 'base64url')
      const expected = signatureOf(path, Number(expires))
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) throw refused
      if (Number(expires) * 1000 < now()) throw refused
    },
  }
}
