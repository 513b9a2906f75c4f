import type { Actor } from '../contract/actor.ts'
import type { AmbientAgentConfig } from '../contract/agent-config.ts'
import { deriveKey } from '../sealing/derive-key.ts'
import { makeToken, readToken } from './key-token.ts'
import { LINK_SECONDS } from './signed-link.ts'

/**
 * Links to one run's page. One that opens the page without a key carries a token in its fragment, which browsers send to nobody;
 * the page trades it for a cookie (`visits.ts`). Tokens are `expires.key_id.signature`, and end with that key.
 */
export interface SessionLinks {
  linkTo(session_id: string, actor: Pick<Actor, 'key_id'>): string
  /** The address of a run's page, for who signs in there. */
  pageOf(session_id: string): string
  /** The address of a run's page; where the run says so, it opens without a key for 15 minutes. Visitors make no such links. */
  sessionLink(run: LinkedRun, actor: Pick<Actor, 'key_id' | 'only_run_id'>): string
  /** What a share link is. */
  shareUrl(session_id: string, token: string): string
  /** Who made the link with this token; `null` when it is not this session's, is over, or its key is not good any more. */
  findByLink(session_id: string, token: string): Promise<Actor | null>
}

interface LinkedRun {
  run_id: string
  config: AmbientAgentConfig
}

/** Whether who has the link of a run needs no key. */
export const isOpenByLink = ({ config }: Pick<LinkedRun, 'config'>): boolean =>
  config.session_sharing?.public_access === 'VIEWER'

export function createSessionLinks(
  settings: { secret_key: string; public_url: string },
  readActor: (key_id: string) => Promise<Actor | null>,
  now: () => number = Date.now,
): SessionLinks {
  const secret = deriveKey(settings.secret_key, 'session-access')
  const subjectOf = (id: string): string => `link ${id}`
  const pageOf = (id: string): string => `${settings.public_url}/sessions/${id}`
  const linkTo = (id: string, { key_id }: Pick<Actor, 'key_id'>): string => {
    // Rounded up to the minute, so that reading a run twice gives the same link.
    const expires = Math.ceil((now() / 1000 + LINK_SECONDS) / 60) * 60
    const { signature } = makeToken(secret, subjectOf(id), key_id, expires)
    return `${pageOf(id)}#access=${expires}.${key_id}.${signature}`
  }
  return {
    linkTo,
    pageOf,
    sessionLink: (run, actor) =>
      isOpenByLink(run) && actor.only_run_id === undefined ? linkTo(run.run_id, actor) : pageOf(run.run_id),
    shareUrl: (id, token) => `${pageOf(id)}#access=${token}`,
    findByLink: async (id, token) => {
      const [expires = '', key_id = '', signature = ''] = token.split('.')
      const known = readToken(secret, subjectOf(id), { expires, key_id, signature }, now())
      return known === null ? null : readActor(known)
    },
  }
}
