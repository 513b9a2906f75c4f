import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { Actor } from '../../contract/actor.ts'
import type { Conversation } from '../../contract/conversation.ts'
import { AppError } from '../../contract/error.ts'
import type { RunEvent } from '../../contract/event.ts'
import { pageInfo } from '../../contract/page-info.ts'
import { ROUTES } from '../../contract/routes.ts'
import { isUuid } from '../../contract/run-id.ts'
import { buildConversation } from '../../log/conversation.ts'
import { endOfPage } from '../../log/conversation-page.ts'
import { findArtifact } from '../../store/artifacts.ts'
import { readConversation } from '../../store/conversation.ts'
import type { Db } from '../../store/db.ts'
import { requireUnmasked } from '../../store/grants.ts'
import { findEndedConversation, findLiveSession } from '../../store/redirects.ts'
import {
  findConversation,
  findNewestRun,
  findRun,
  interruptRun,
  listConversationRuns,
  type RunRow,
} from '../../store/runs.ts'
import { noteReading } from '../audit.ts'
import type { Services } from '../context.ts'
import {
  type ConversationPlace,
  readConversationCursor,
  writeConversationCursor,
} from '../conversation-cursor.ts'
import { redirectToDownload, sendWithin } from '../download.ts'
import { nestRuns } from '../nested-runs.ts'
import { sendOnce, serve, servePublic } from '../route.ts'
import { transcriptHeaders, transcriptLines } from './artifacts.ts'
import { requireRun } from './runs.ts'

export function serveConversations(app: FastifyInstance, services: Services): void {
  const { db } = services.store
  const { watch, links } = services

  serve(app, services, ROUTES.getRunConversation, async ({ params, query, actor }) => {
    const { conversation_id } = await requireRun(services, params.run_id, actor)
    return readWhole(db, conversation_id, query.cursor, actor)
  })

  serve(app, services, ROUTES.getConversation, async ({ params, query, actor }) => {
    const { conversation_id } = params
    if (!isUuid(conversation_id) || !(await findConversation(db, conversation_id, actor)))
      throw noSuchConversation()
    return readWhole(db, conversation_id, query.cursor, actor)
  })

  serve(app, services, ROUTES.interruptConversation, async (call) => {
    const { run_id } = await requireNewestRun(services, call.params.conversation_id, call.actor)
    const sent = await sendOnce(db, call, async (db) => {
      await interruptRun(db, run_id, call.actor)
      return { status: 202, body: { run_id } }
    })
    watch.touchRun(run_id)
    return sent
  })

  serve(app, services, ROUTES.getConversationTranscript, async (call) => {
    const { params, actor, request } = call
    const runs = await requireRuns(services, params.conversation_id, actor)
    const isOwn = ({ creator_id, principal_id }: (typeof runs)[number]) =>
      [creator_id, principal_id].includes(actor.principal_id)
    noteReading(request, actor, runs.find((run) => !isOwn(run)) ?? runs[0])
    return redirectToDownload(services, call, `/downloads/conversations/${params.conversation_id}.jsonl`)
  })

  app.get<{ Params: { file: string } }>('/downloads/conversations/:file', async (request, reply) => {
    const { file } = request.params
    const actor = await links.verify(`/downloads/conversations/${file}`, request.query)
    const runs = await requireRuns(services, file.replace(/\.jsonl$/, ''), actor)
    const lines = async function* () {
      for (const { run_id } of runs) yield* transcriptLines(db, run_id)
    }
    return reply
      .headers(transcriptHeaders(file))
      .send(sendWithin(services, actor, Readable.from(lines(), { objectMode: false })))
  })

  serve(app, services, ROUTES.downloadConversationScreenshot, async (call) => {
    const { params, actor, request } = call
    const { conversation_id, screenshot_uid } = params
    await requireRuns(services, conversation_id, actor)
    const found = isUuid(screenshot_uid) ? await findArtifact(db, screenshot_uid, actor) : null
    const run = found?.artifact_type === 'SCREENSHOT' ? await findRun(db, found.run_id, actor) : null
    if (!run || run.conversation_id !== conversation_id)
      throw new AppError('resource_not_found', 'There is no screenshot with this id in the conversation.')
    await requireUnmasked(db, actor, run, 'files')
    noteReading(request, actor, run)
    return redirectToDownload(services, call, `/downloads/artifacts/${screenshot_uid}`)
  })

  servePublic(app, ROUTES.checkConversationRedirect, async ({ conversation_id }) => {
    const session_id = isUuid(conversation_id) ? await findLiveSession(db, conversation_id) : null
    return session_id === null ? {} : { session_id }
  })

  servePublic(app, ROUTES.checkSessionRedirect, async ({ session_uuid }) => {
    const conversation_id = isUuid(session_uuid) ? await findEndedConversation(db, session_uuid) : null
    return conversation_id === null ? {} : { conversation_id }
  })
}

/** What acts on a conversation acts on its newest run. */
export async function requireNewestRun(
  { store }: Services,
  conversation_id: string,
  actor: Actor,
): Promise<RunRow> {
  const run = isUuid(conversation_id) ? await findNewestRun(store.db, conversation_id, actor) : null
  if (!run) throw noSuchConversation()
  return run
}

type ConversationRun = Awaited<ReturnType<typeof listConversationRuns>>[number]

async function requireRuns(
  { store }: Services,
  conversation_id: string,
  actor: Actor,
): Promise<[ConversationRun, ...ConversationRun[]]> {
  const [first, ...rest] = isUuid(conversation_id)
    ? await listConversationRuns(store.db, conversation_id, actor)
    : []
  if (!first) throw noSuchConversation()
  return [first, ...rest]
}

const noSuchConversation = (): AppError =>
  new AppError('resource_not_found', 'There is no conversation with this id.')

/** A page, with the runs that its steps created nested in them. */
async function readWhole(
  db: Db,
  conversation_id: string,
  cursor: string | undefined,
  actor: Actor,
): Promise<Conversation> {
  const place = cursor === undefined ? null : readConversationCursor(conversation_id, cursor)
  const { page, end } = await readPage(db, conversation_id, place, actor)
  const after = place && { run_id: place.after.run_id, at: place.after.at }
  const read = async (id: string) => (await readPage(db, id, null, actor)).page
  await nestRuns(db, page, { after, end: end && { run_id: end.run_id, at: end.occurred_at } }, actor, read)
  return page
}

/** `end`: the last event of a page that others follow. */
async function readPage(
  db: Db,
  conversation_id: string,
  place: ConversationPlace | null,
  actor: Actor,
): Promise<{ page: Conversation; end: RunEvent | null }> {
  const part = await readConversation(db, conversation_id, actor, place?.after)
  const events = part.has_more ? part.events.slice(0, endOfPage(part.events)) : part.events
  const { conversation, end: begin } = buildConversation(
    conversation_id,
    events,
    part.before,
    place?.begin,
    !part.has_more,
  )
  const end = (part.has_more && events.at(-1)) || null
  const after = end && { run_id: end.run_id, sequence: end.sequence, at: end.occurred_at }
  const next = after && writeConversationCursor(conversation_id, { after, begin })
  return { page: { ...conversation, page_info: pageInfo(next) }, end }
}
