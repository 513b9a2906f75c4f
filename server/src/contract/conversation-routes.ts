import { z } from 'zod'
import { Conversation, ConversationQuery } from './conversation.ts'
import { ConversationRedirect, SessionRedirect } from './redirect.ts'
import { define, reading } from './route.ts'

const params = z.object({ conversation_id: z.string().meta({ description: 'Id of the conversation.' }) })

/** As the published clients ask: they send no key. */
const SILENT = 'Of personal runs it says nothing, nor of those that never were.'

export const CONVERSATION_ROUTES = {
  getConversation: define({
    method: 'GET',
    path: '/agent/conversations/{conversation_id}',
    summary: 'Get a conversation',
    description: 'The same as the conversation of any of its runs.',
    tag: 'Runs',
    params,
    query: ConversationQuery,
    status: 200,
    response: Conversation,
    pages: 'steps',
    errors: ['invalid_request', ...reading],
  }),
  checkConversationRedirect: define({
    method: 'GET',
    path: '/agent/conversations/{conversation_id}/redirect',
    summary: 'Find the session of a conversation that goes on',
    description: `Needs no key. ${SILENT}`,
    tag: 'Runs',
    params,
    is_public: true,
    status: 200,
    response: ConversationRedirect,
    errors: ['resource_unavailable'],
  }),
  checkSessionRedirect: define({
    method: 'GET',
    path: '/agent/sessions/{session_uuid}/redirect',
    summary: 'Find the conversation of a session that is over',
    description: `Needs no key. ${SILENT}`,
    tag: 'Runs',
    params: z.object({ session_uuid: z.string().meta({ description: 'Id of the session.' }) }),
    is_public: true,
    status: 200,
    response: SessionRedirect,
    errors: ['resource_unavailable'],
  }),
}
