import type { FastifyInstance } from 'fastify'
import { ROUTES } from '../../contract/routes.ts'
import { createSignInLink } from '../../store/sign-in-links.ts'
import type { Services } from '../context.ts'
import { serve } from '../route.ts'
import { sendSecret } from '../sealed-answer.ts'

/** The token stands in the fragment, which browsers send to nobody. */
export const signInUrl = (public_url: string, token: string, path?: string): string =>
  `${public_url}/sign-in#token=${token}${path === undefined ? '' : `&to=${encodeURIComponent(path)}`}`

export function serveSignInLinks(app: FastifyInstance, services: Services): void {
  serve(app, services, ROUTES.createSignInLink, async (call) => {
    const { principal_id, key_id } = call.actor
    // A link has no id: it signs in with this key.
    call.request.made_id = key_id
    const place = () => `sign-in link of ${principal_id}`
    return sendSecret(services, call, { place, what: 'The link' }, async (db) => {
      const { token, expires_at } = await createSignInLink(db, key_id)
      const url = signInUrl(services.settings.public_url, token, call.body?.path)
      return { shown: { expires_at: expires_at.toISOString() }, secret: { url } }
    })
  })
}
