import type { FastifyInstance } from 'fastify'
import type { Actor } from '../../contract/actor.ts'
import { AppError } from '../../contract/error.ts'
import { pageInfo } from '../../contract/page-info.ts'
import { ROUTES } from '../../contract/routes.ts'
import type { ShareLink } from '../../contract/share-link.ts'
import { requireUnmasked } from '../../store/grants.ts'
import type { RunRow } from '../../store/runs.ts'
import {
  createShareLink,
  listShareLinks,
  removeShareLink,
  type ShareLinkRow,
} from '../../store/share-links.ts'
import type { Services } from '../context.ts'
import { serve } from '../route.ts'
import { sendSecret } from '../sealed-answer.ts'
import { requireRun } from './runs.ts'

export function serveShareLinks(app: FastifyInstance, services: Services): void {
  const { store, sessions } = services

  serve(app, services, ROUTES.createShareLink, async (call) => {
    const run = await requireShareable(services, call.params.run_id, call.actor)
    const { run_id } = run
    // Whoever opens the link has the run's files, so it takes what having them takes.
    await requireUnmasked(store.db, call.actor, run, 'files')
    const { name = null, expires_at } = call.body ?? {}
    if (expires_at !== undefined && Date.parse(expires_at) <= Date.now())
      throw new AppError('invalid_request', 'expires_at: must be in the future.')
    const place = ({ share_link_id }: Record<string, unknown>): string => `share link ${share_link_id}`
    return sendSecret(services, call, { place, what: 'The link' }, async (db) => {
      const made = await createShareLink(db, {
        ...{ run_id, name, created_by: call.actor.principal_id },
        expires_at: expires_at === undefined ? null : new Date(expires_at),
      })
      if (made) return { shown: viewLink(made.link), secret: { url: sessions.shareUrl(run_id, made.token) } }
      const detail = 'The run has 100 share links, which is the most. Revoke some first.'
      throw new AppError('conflict', detail, { retryable: false })
    })
  })

  serve(app, services, ROUTES.listShareLinks, async ({ params, query, actor }) => {
    const { run_id } = await requireShareable(services, params.run_id, actor)
    const { links, next_cursor } = await listShareLinks(store.db, run_id, query)
    return { share_links: links.map(viewLink), page_info: pageInfo(next_cursor) }
  })

  serve(app, services, ROUTES.revokeShareLink, async ({ params, actor }) => {
    const { run_id } = await requireShareable(services, params.run_id, actor)
    const link = await removeShareLink(store.db, run_id, params.share_link_id)
    if (!link) throw new AppError('resource_not_found', 'The run has no share link with this id.')
    return viewLink(link)
  })
}

async function requireShareable(services: Services, run_id: string, actor: Actor): Promise<RunRow> {
  const run = await requireRun(services, run_id, actor)
  // Viewers see no links either: who may not make one need not know who was given one.
  const is_allowed =
    actor.role === 'admin' || (actor.role === 'member' && run.creator_id === actor.principal_id)
  if (is_allowed) return run
  throw new AppError('not_authorized', 'Only who created the run, and admins, share it.')
}

const viewLink = (link: ShareLinkRow): ShareLink => ({
  share_link_id: link.share_link_id,
  run_id: link.run_id,
  ...(link.name === null ? {} : { name: link.name }),
  created_at: link.created_at.toISOString(),
  created_by: { uid: link.created_by, type: link.creator_type, display_name: link.creator_name },
  ...(link.expires_at ? { expires_at: link.expires_at.toISOString() } : {}),
  ...(link.last_used_at ? { last_used_at: link.last_used_at.toISOString() } : {}),
})
