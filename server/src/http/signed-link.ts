import type { Actor } from '../contract/actor.ts'
import { AppError } from '../contract/error.ts'
import { deriveKey } from '../sealing/derive-key.ts'
import { makeToken, readToken } from './key-token.ts'

export const LINK_SECONDS = 15 * 60

/** Default: GET. */
type LinkMethod = 'GET' | 'PUT'

export interface SignedLinks {
  /** The path with `expires`, `key` and `signature`, good for 15 minutes for this method while the caller's key is. */
  sign(path: string, actor: Pick<Actor, 'key_id'>, method?: LinkMethod): { path: string; expires_at: Date }
  /**
   * Who made the link. Throws 404 when the signature is not this path's, its time is over or its key not good any more:
   * nothing is said about what is there.
   */
  verify(path: string, query: unknown, method?: LinkMethod): Promise<Actor>
}

/** Links that carry their own permission: that of the key they were made with. */
export function createSignedLinks(
  secret_key: string,
  readActor: (key_id: string) => Promise<Actor | null>,
  now: () => number = Date.now,
): SignedLinks {
  const secret = deriveKey(secret_key, 'signed-links')
  const subjectOf = (path: string, method: LinkMethod): string => `${method} ${path}`
  const readKey = (path: string, query: unknown, method: LinkMethod): string | null => {
    const { expires, key, signature } = (query ?? {}) as Record<string, unknown>
    if (typeof expires !== 'string' || typeof key !== 'string' || typeof signature !== 'string') return null
    return readToken(secret, subjectOf(path, method), { expires, key_id: key, signature }, now())
  }
  return {
    sign(path, { key_id }, method = 'GET') {
      const expires = Math.floor(now() / 1000) + LINK_SECONDS
      const { signature } = makeToken(secret, subjectOf(path, method), key_id, expires)
      return {
        path: `${path}?expires=${expires}&key=${key_id}&signature=${signature}`,
        expires_at: new Date(expires * 1000),
      }
    },
    async verify(path, query, method = 'GET') {
      const key_id = readKey(path, query, method)
      const actor = key_id === null ? null : await readActor(key_id)
      if (!actor) throw new AppError('resource_not_found', 'The link is not valid, or its time is over.')
      return actor
    },
  }
}
