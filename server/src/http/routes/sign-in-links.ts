import type { FastifyInstance } from 'fastify'
import type { Actor } from '../../contract/actor.ts'
import { AppError } from '../../contract/error.ts'
import { ROUTES } from '../../contract/routes.ts'
import { createSignInLink, findKeyToSignIn } from '../../store/sign-in-links.ts'
import type { Services } from '../context.ts'
import { serve } from '../route.ts'
import { requireCurrentKey, sendSecret } from '../sealed-answer.ts'

/** The token stands in the fragment, which browsers send to nobody. */
export const signInUrl = (public_url: string, token: string, path?: string): string =>
  `${public_url}/sign-in#token=${token}${path === undefined ? '' : `&to=${encodeURIComponent(path)}`}`

/** Throws where the caller may not sign somebody in, or that person has no key to sign in with. */
async function findGivenKey({ store }: Services, actor: Actor, principal_id: string): Promise<string> {
  if (actor.role !== 'admin')
    throw new AppError('not_authorized', 'principal_id: only an admin can make a link for somebody else.')
  await requireCurrentKey(store.db, actor)
  const key_id = await findKeyToSignIn(store.db, principal_id)
  if (key_id !== null) return key_id
  throw new AppError(
    'invalid_request',
    'principal_id: there is no person with this id who has a working key. Make a key for the person first.',
  )
}

export function serveSignInLinks(app: FastifyInstance, services: Services): void {
  serve(app, services, ROUTES.createSignInLink, async (call) => {
    const { principal_id = call.actor.principal_id, path } = call.body ?? {}
    const is_given = principal_id !== call.actor.principal_id
    const key_id = is_given ? await findGivenKey(services, call.actor, principal_id) : call.actor.key_id
    // A link has no id: it signs in with this key.
    call.request.made_id = key_id
    if (is_given) call.request.audit_detail = `for ${principal_id}`
    const place = () => `sign-in link of ${principal_id}`
    return sendSecret(services, call, { place, what: 'The link' }, async (db) => {
      const { token, expires_at } = await createSignInLink(db, key_id, { is_given })
      const url = signInUrl(services.settings.public_url, token, path)
      return { shown: { expires_at: expires_at.toISOString() }, secret: { url } }
    })
  })
}
