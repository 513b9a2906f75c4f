import { z } from 'zod'

export const SessionRedirect = z
  .object({
    conversation_id: z.string().optional().meta({
      description: 'To be read instead: the session is over. Absent while it lasts, and where there is none.',
    }),
  })
  .meta({ id: 'SessionRedirect' })
export type SessionRedirect = z.infer<typeof SessionRedirect>

export const ConversationRedirect = z
  .object({
    session_id: z.string().optional().meta({
      description: 'To be watched instead: the conversation goes on there. Absent where nothing is at work.',
    }),
  })
  .meta({ id: 'ConversationRedirect' })
export type ConversationRedirect = z.infer<typeof ConversationRedirect>
