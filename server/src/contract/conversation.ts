import { z } from 'zod'
import { Timestamp } from './timestamp.ts'

const Block = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('reasoning'), text: z.string() }),
  z.object({
    type: z.literal('action'),
    action_id: z.string(),
    name: z.string(),
    input: z.record(z.string(), z.unknown()),
    title: z.string().optional(),
  }),
  z.object({
    type: z.literal('action_result'),
    action_id: z.string(),
    is_error: z.boolean(),
    output: z.string(),
    exit_code: z.int().nullable().optional(),
    duration_ms: z.int().optional(),
  }),
  z.object({ type: z.literal('event'), event_type: z.string(), data: z.record(z.string(), z.unknown()) }),
])
export type ConversationBlock = z.infer<typeof Block>

const Message = z.object({
  message_id: z.string(),
  run_id: z.string(),
  role: z.enum(['user', 'assistant', 'system']),
  created_at: Timestamp,
  blocks: z.array(Block),
})
export type ConversationMessage = z.infer<typeof Message>

export const Conversation = z
  .object({
    conversation_id: z.string(),
    run_ids: z.array(z.string()),
    steps: z.array(z.object({ step: z.int(), messages: z.array(Message) })).meta({
      description: 'A step is a message of the caller and what the agent did about it, until the next one.',
    }),
  })
  .meta({ id: 'Conversation' })
export type Conversation = z.infer<typeof Conversation>
