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
import { readConversation } from '../../store/conversation.ts'
import type { Db } from '../../store/db.ts'
import { findEndedConversation, findLiveSession } from '../../store/redirects.ts'
import { findConversation } from '../../store/runs.ts'
import type { Services } from '../context.ts'
import {
  type ConversationPlace,
  readConversationCursor,
  writeConversationCursor,
} from '../conversation-cursor.ts'
import { nestRuns } from '../nested-runs.ts'
import { serve, servePublic } from '../route.ts'
import { requireRun } from './runs.ts'

export function serveConversations(app: FastifyInstance, services: Services): void {
  const { db } = services.store

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

  servePublic(app, ROUTES.checkConversationRedirect, async ({ conversation_id }) => {
    const session_id = isUuid(conversation_id) ? await findLiveSession(db, conversation_id) : null
    return session_id === null ? {} : { session_id }
  })

  servePublic(app, ROUTES.checkSessionRedirect, async ({ session_uuid }) => {
    const conversation_id = isUuid(session_uuid) ? await findEndedConversation(db, session_uuid) : null
    return conversation_id === null ? {} : { conversation_id }
  })
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
  const { conversation, end: begin } = buildConversation(conversation_id, events, part.before, place?.begin)
  const end = (part.has_more && events.at(-1)) || null
  const after = end && { run_id: end.run_id, sequence: end.sequence, at: end.occurred_at }
  const next = after && writeConversationCursor(conversation_id, { after, begin })
  return { page: { ...conversation, page_info: pageInfo(next) }, end }
}
