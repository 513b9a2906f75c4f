import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { FastifyInstance } from 'fastify'
import type { Actor } from '../../contract/actor.ts'
import { AppError } from '../../contract/error.ts'
import { ROUTES } from '../../contract/routes.ts'
import { isUuid } from '../../contract/run-id.ts'
import { type ArtifactRow, findArtifact } from '../../store/artifacts.ts'
import type { Db } from '../../store/db.ts'
import { findDiff } from '../../store/diffs.ts'
import { readLogPages } from '../../store/events.ts'
import { requireUnmasked } from '../../store/grants.ts'
import { readPullUrls } from '../../store/pushes.ts'
import { viewArtifact, viewDiff, withPlan } from '../artifact-view.ts'
import { noteReading } from '../audit.ts'
import type { Services } from '../context.ts'
import {
  DOWNLOAD_HEADERS,
  describeDisposition,
  exactly,
  openUnmasked,
  redirectToDownload,
  sendWithin,
} from '../download.ts'
import { type Call, serve } from '../route.ts'
import { requireRun } from './runs.ts'

const INLINE = ['image/png', 'image/jpeg', 'image/webp']
const NOT_FOUND = 'There is no artifact with this id.'

type ArtifactCall = Pick<Call<typeof ROUTES.getArtifact>, 'params' | 'actor' | 'request'>

/** Far more than the tools of agents let a plan have. */
const PLAN_BYTES = 4 * 1024 ** 2

export function serveArtifacts(app: FastifyInstance, services: Services): void {
  const { store, links, sessions } = services

  /** For those who may have it as it is. */
  const requireArtifact = async ({ params, actor, request }: ArtifactCall): Promise<ArtifactRow> => {
    if (!isUuid(params.artifact_uid)) throw new AppError('resource_not_found', NOT_FOUND)
    const artifact = await findArtifact(store.db, params.artifact_uid, actor)
    if (!artifact) throw new AppError('resource_not_found', NOT_FOUND)
    const run = await requireRun(services, artifact.run_id, actor)
    await requireUnmasked(store.db, actor, run, 'files')
    noteReading(request, actor, run)
    return artifact
  }

  serve(app, services, ROUTES.getArtifact, async (call) => {
    const artifact = await requireArtifact(call)
    const view = viewArtifact(services, artifact, call.actor)
    if (artifact.artifact_type === 'PLAN') return withPlan(view, await readPlan(artifact, call.actor))
    if (artifact.artifact_type === 'DIFF') return view
    const { root_run_id } = await requireRun(services, artifact.run_id, call.actor)
    const urls = await readPullUrls(store.db, root_run_id, call.actor)
    const run_url = sessions.pageOf(artifact.run_id)
    return { ...view, source_links: { run_url, ...(urls.length > 0 ? { pull_request_urls: urls } : {}) } }
  })

  const readPlan = async (artifact: ArtifactRow, actor: Actor): Promise<string> => {
    const data = await openUnmasked(services, artifact, actor, 'files')
    if (!data) throw new AppError('resource_not_found', NOT_FOUND)
    // A worker over HTTPS may have kept any file as a plan.
    if (artifact.size_bytes > PLAN_BYTES) throw new AppError('resource_not_found', NOT_FOUND)
    return text(exactly(data, artifact.size_bytes))
  }

  serve(app, services, ROUTES.downloadArtifact, async (call) => {
    const { artifact_uid } = await requireArtifact(call)
    return redirectToDownload(services, call, `/downloads/artifacts/${artifact_uid}`)
  })

  serve(app, services, ROUTES.getRunDiff, async ({ params, query, actor, request }) => {
    const run = await requireRun(services, params.run_id, actor)
    await requireUnmasked(store.db, actor, run, 'files')
    noteReading(request, actor, run)
    const diff = await findDiff(store.db, run.run_id, query.turn)
    return viewDiff(run.run_id, diff, (patch) => viewArtifact(services, patch, actor))
  })

  app.get<{ Params: { uid: string } }>('/downloads/artifacts/:uid', async (request, reply) => {
    const actor = await links.verify(`/downloads/artifacts/${request.params.uid}`, request.query)
    const artifact = await findArtifact(store.db, request.params.uid, actor)
    const data = artifact && (await openUnmasked(services, artifact, actor, 'files'))
    if (!artifact || !data) throw new AppError('resource_not_found', NOT_FOUND)
    const inline = INLINE.includes(artifact.mime_type)
    return reply
      .headers({
        ...DOWNLOAD_HEADERS,
        'content-type': inline ? artifact.mime_type : 'application/octet-stream',
        'content-length': artifact.size_bytes,
        'content-disposition': describeDisposition(artifact.filename, inline),
      })
      .send(sendWithin(services, actor, exactly(data, artifact.size_bytes)))
  })

  app.get<{ Params: { file: string } }>('/downloads/transcripts/:file', async (request, reply) => {
    const actor = await links.verify(`/downloads/transcripts/${request.params.file}`, request.query)
    const { run_id } = await requireRun(services, request.params.file.replace(/\.jsonl$/, ''), actor)
    const lines = Readable.from(transcriptLines(store.db, run_id), { objectMode: false })
    return reply.headers(transcriptHeaders(`${run_id}.jsonl`)).send(sendWithin(services, actor, lines))
  })
}

export const transcriptHeaders = (filename: string) => ({
  ...DOWNLOAD_HEADERS,
  'content-type': 'application/jsonl; charset=utf-8',
  'content-disposition': `attachment; filename="${filename}"`,
})

export async function* transcriptLines(db: Db, run_id: string): AsyncGenerator<string> {
  for await (const events of readLogPages(db, run_id, 0))
    for (const event of events) yield `${JSON.stringify(event)}\n`
}
