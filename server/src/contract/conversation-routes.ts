import { z } from 'zod'
import { Conversation, ConversationQuery } from './conversation.ts'
import { ConversationRedirect, SessionRedirect } from './redirect.ts'
import { define, Empty, reading, writing } from './route.ts'
import { ConversationFollowupResponse, RunFollowupRequest } from './run-request.ts'

const params = z.object({ conversation_id: z.string().meta({ description: 'Id of the conversation.' }) })

/** As the published clients ask: they send no key. */
const SILENT = 'Of personal runs it says nothing, nor of those that never were.'

/** Which of its runs a conversation is, for what one does to a run. */
const NEWEST =
  "the conversation's newest run that you may see; the answer names it. The rules are those of the run's own operation."

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
  submitConversationFollowup: define({
    method: 'POST',
    path: '/agent/conversations/{conversation_id}/followups',
    summary: 'Send a follow-up to a conversation',
    description: `A follow-up of ${NEWEST}`,
    tag: 'Runs',
    params,
    body: RunFollowupRequest,
    status: 200,
    target: { field: 'run_id' },
    response: ConversationFollowupResponse,
    errors: writing,
    large: true,
  }),
  interruptConversation: define({
    method: 'POST',
    path: '/agent/conversations/{conversation_id}/interrupt',
    summary: 'Interrupt the current turn of a conversation',
    description: `Interrupts ${NEWEST}`,
    tag: 'Runs',
    params,
    body: Empty,
    status: 202,
    target: { field: 'run_id' },
    response: z.object({ run_id: z.string() }).meta({ id: 'ConversationInterruptResponse' }),
    errors: writing,
  }),
  getConversationTranscript: define({
    method: 'GET',
    path: '/agent/conversations/{conversation_id}/transcript',
    summary: 'Get the raw transcript of a conversation',
    description:
      'Redirects to a link, valid for 15 minutes, to the event logs of its runs that you may see, one after the other, as JSON Lines.',
    tag: 'Runs',
    params,
    status: 302,
    errors: reading,
  }),
  downloadConversationScreenshot: define({
    method: 'GET',
    path: '/agent/conversations/{conversation_id}/screenshots/{screenshot_uid}/download',
    summary: 'Download a screenshot of a conversation',
    description: 'Redirects to a link, valid for 15 minutes, to the image.',
    tag: 'Artifacts',
    params: params.extend({
      screenshot_uid: z
        .string()
        .meta({ description: 'The `artifact_uid` of an artifact of type SCREENSHOT.' }),
    }),
    status: 302,
    errors: ['not_authorized', ...reading],
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
