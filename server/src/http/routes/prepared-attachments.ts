import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { v7 as uuidv7 } from 'uuid'
import { discardBlob } from '../../blobs/blobs.ts'
import type { Actor } from '../../contract/actor.ts'
import { AppError } from '../../contract/error.ts'
import type { PreparedUpload } from '../../contract/prepared-attachment.ts'
import { ROUTES } from '../../contract/routes.ts'
import { ATTACHMENT_MAX_BYTES } from '../../contract/run-request.ts'
import { refuseUnstored, requireRoom } from '../../intake/attachments.ts'
import type { Db } from '../../store/db.ts'
import { requireGrantsFor } from '../../store/grants.ts'
import {
  findPrepared,
  insertPrepared,
  type NewPrepared,
  storeUpload,
} from '../../store/prepared-attachments.ts'
import { orphaned } from '../../store/principals.ts'
import { isOrphaned, type RunRow } from '../../store/runs.ts'
import { ownerOf } from '../budget-owner.ts'
import type { Services } from '../context.ts'
import { sendJson, sendOnce, serve } from '../route.ts'
import { requireNewestRun } from './conversations.ts'
import { requireRun } from './runs.ts'

/** Files that come before the follow-up that names them. */
export function servePreparedAttachments(app: FastifyInstance, services: Services): void {
  const { store, links, settings, blobs, limits } = services

  const prepare = async (
    db: Db,
    run: RunRow,
    conversation_id: string | null,
    files: ReadonlyArray<Omit<NewPrepared, 'attachment_id'>>,
    actor: Actor,
  ) => {
    // As the follow-up will be asked.
    if (await isOrphaned(db, run.run_id)) throw orphaned()
    await requireGrantsFor(db, actor, run)
    const named = files.map(({ file_name, mime_type }) => ({ attachment_id: uuidv7(), file_name, mime_type }))
    const expires_at = await insertPrepared(db, { run_id: run.run_id, conversation_id }, actor, named)
    const attachments = named.map((file): PreparedUpload => {
      const link = links.sign(pathOf(file.attachment_id), actor, 'PUT')
      return {
        ...file,
        upload_url: settings.public_url + link.path,
        upload_expires_at: link.expires_at.toISOString(),
        expires_at: expires_at.toISOString(),
      }
    })
    return { status: 201, body: { attachments } }
  }

  serve(app, services, ROUTES.prepareRunAttachments, async (call) => {
    const run = await requireRun(services, call.params.run_id, call.actor)
    return sendOnce(store.db, call, (db) => prepare(db, run, null, call.body.attachments, call.actor))
  })

  serve(app, services, ROUTES.prepareConversationAttachments, async (call) => {
    const { conversation_id } = call.params
    const run = await requireNewestRun(services, conversation_id, call.actor)
    return sendOnce(store.db, call, (db) =>
      prepare(db, run, conversation_id, call.body.attachments, call.actor),
    )
  })

  app.register(async (scope) => {
    // The file as it is, whatever it is said to be.
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (request: FastifyRequest, payload: IncomingMessage) =>
      services.bodies.receive(request, payload),
    )
    scope.route<{ Params: { attachment_id: string } }>({
      method: 'PUT',
      url: '/uploads/attachments/:attachment_id',
      bodyLimit: ATTACHMENT_MAX_BYTES,
      onRequest: async (request, reply) => {
        request.actor = await links.verify(pathOf(request.params.attachment_id), request.query, 'PUT')
        reply.headers(await limits.take(ownerOf(request.actor), false))
      },
      handler: async (request, reply) => {
        const { actor, params, body } = request
        if (!actor) throw new Error('The route was reached without its link.')
        const waiting = await findPrepared(store.db, params.attachment_id, actor)
        if (!waiting) throw notWaiting()
        const { run_id } = await requireRun(services, waiting.run_id, actor)
        const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0)
        await requireRoom({ ...settings, db: store.db }, run_id, bytes.length)
        const blob_key = `runs/${run_id}/attachments/${uuidv7()}`
        const size_bytes = await blobs.put(blob_key, bytes).catch(refuseUnstored)
        const stored = await storeUpload(store.db, params.attachment_id, actor, { blob_key, size_bytes })
        const unused = stored ? stored.replaced : blob_key
        if (unused !== null) await discardBlob(blobs, unused)
        if (!stored) throw notWaiting()
        return sendJson(reply, 200, { attachment_id: params.attachment_id, size_bytes })
      },
    })
  })
}

const pathOf = (attachment_id: string): string => `/uploads/attachments/${attachment_id}`

const notWaiting = (): AppError =>
  new AppError(
    'resource_not_found',
    'No file is expected here: a follow-up has sent it, or it expired. Prepare it again.',
  )
