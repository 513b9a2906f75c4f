import type { FastifyInstance } from 'fastify'
import { AppError } from '../../contract/error.ts'
import type { HandoffAttachment } from '../../contract/handoff.ts'
import { ROUTES } from '../../contract/routes.ts'
import { isUuid } from '../../contract/run-id.ts'
import { requireUnmasked } from '../../store/grants.ts'
import { findHandoff, findVisibleSnapshot } from '../../store/snapshots.ts'
import { noteReading } from '../audit.ts'
import type { Services } from '../context.ts'
import { DOWNLOAD_HEADERS, exactly, openUnmasked, sendWithin } from '../download.ts'
import { serve } from '../route.ts'
import { requireRun } from './runs.ts'

const FILENAME = 'workspace.tar.zst'
const MIME_TYPE = 'application/zstd'

export function serveHandoff(app: FastifyInstance, services: Services): void {
  const { store, links, settings } = services

  serve(app, services, ROUTES.listHandoffAttachments, async ({ params, actor, request }) => {
    const run = await requireRun(services, params.run_id, actor)
    await requireUnmasked(store.db, actor, run, 'workspace')
    noteReading(request, actor, run)
    const snapshot = await findHandoff(store.db, run.run_id)
    if (!snapshot) return { attachments: [] }
    const { snapshot_id, size_bytes, sha256, created_at, turn } = snapshot
    const { path, expires_at } = links.sign(`/downloads/snapshots/${snapshot_id}`, actor)
    const attachment: HandoffAttachment = {
      attachment_id: snapshot_id,
      filename: FILENAME,
      mime_type: MIME_TYPE,
      download_url: settings.downloads_url + path,
      expires_at: expires_at.toISOString(),
      ...{ size_bytes, sha256, turn, created_at: created_at.toISOString() },
    }
    return { attachments: [attachment] }
  })

  app.get<{ Params: { id: string } }>('/downloads/snapshots/:id', async (request, reply) => {
    const { id } = request.params
    const actor = await links.verify(`/downloads/snapshots/${id}`, request.query)
    const snapshot = isUuid(id) ? await findVisibleSnapshot(store.db, id, actor) : null
    const data = snapshot && (await openUnmasked(services, snapshot, actor, 'workspace'))
    if (!snapshot || !data) throw new AppError('resource_not_found', 'There is no snapshot with this id.')
    return reply
      .headers({
        ...DOWNLOAD_HEADERS,
        'content-type': MIME_TYPE,
        'content-length': snapshot.size_bytes,
        'content-disposition': `attachment; filename="${FILENAME}"`,
      })
      .send(sendWithin(services, actor, exactly(data, snapshot.size_bytes)))
  })
}
