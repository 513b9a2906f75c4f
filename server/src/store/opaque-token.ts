import { createHash, randomBytes } from 'node:crypto'

/** Something unguessable that is given out once: 256 bits in base64url, of which only the hash is stored. */
export interface OpaqueToken {
  token: string
  token_hash: Buffer
}

export function makeOpaqueToken(): OpaqueToken {
  const token = randomBytes(32).toString('base64url')
  return { token, token_hash: hashOfToken(token) }
}

/** Look-ups are by hash, so their time says nothing about other tokens. */
export const hashOfToken = (token: string): Buffer => createHash('sha256').update(token).digest()
