import { z } from 'zod'
import { Cursor, PageInfo } from './page-info.ts'
import { RunState } from './state.ts'
import { Timestamp } from './timestamp.ts'

const Block = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }).meta({ id: 'ConversationStepMessageBlockText' }),
  z
    .object({ type: z.literal('reasoning'), text: z.string() })
    .meta({ id: 'ConversationStepMessageBlockReasoning' }),
  z
    .object({
      type: z.literal('action'),
      action_id: z.string(),
      name: z.string(),
      input: z.record(z.string(), z.unknown()),
      title: z.string().optional(),
    })
    .meta({ id: 'ConversationStepMessageBlockAction' }),
  z
    .object({
      type: z.literal('action_result'),
      action_id: z.string(),
      is_error: z.boolean(),
      output: z.string(),
      output_truncated: z.boolean().optional().meta({
        description: 'It printed more than 64 KiB, and `output` is the end. The events have more of it.',
      }),
      exit_code: z.int().nullable().optional(),
      duration_ms: z.int().optional(),
    })
    .meta({ id: 'ConversationStepMessageBlockActionResult' }),
  z
    .object({ type: z.literal('event'), event_type: z.string(), data: z.record(z.string(), z.unknown()) })
    .meta({ id: 'ConversationStepMessageBlockEvent' }),
])
export type ConversationBlock = z.infer<typeof Block>

/** Of what one call printed, as much is read at its end: no reader of a history looks at more. */
export const OUTPUT_BYTES = 64 * 1024

const Message = z.object({
  message_id: z.string(),
  run_id: z.string(),
  role: z.enum(['user', 'assistant', 'system']),
  created_at: Timestamp,
  blocks: z.array(Block),
})
export type ConversationMessage = z.infer<typeof Message>

const Step = z.object({ step: z.int(), messages: z.array(Message) }).meta({ id: 'ConversationStep' })
export type ConversationStep = z.infer<typeof Step>

export const ConversationQuery = z.object({
  cursor: Cursor.optional().meta({ description: '`next_cursor` of the page before.' }),
})

/** How deep children of children are told. */
export const MAX_CHILD_DEPTH = 5

export const ConversationChild = z
  .object({
    run_id: z.string(),
    parent_run_id: z.string(),
    title: z.string(),
    state: RunState,
    created_at: Timestamp,
    conversation_id: z.string(),
    steps: z.array(Step).meta({
      description:
        'Of its conversation; none where the answer would be too large, and `page_info` says that there is more.',
    }),
    page_info: PageInfo.meta({
      description: 'Where its conversation goes on: `GET /agent/conversations/{conversation_id}`.',
    }),
    get children(): z.ZodOptional<z.ZodArray<typeof ConversationChild>> {
      return z.array(ConversationChild).optional()
    },
  })
  .meta({ id: 'ConversationChild', description: 'A run below one of the conversation.' })
export type ConversationChild = z.infer<typeof ConversationChild>

export const Conversation = z
  .object({
    conversation_id: z.string(),
    run_ids: z.array(z.string()).meta({ description: 'The runs that this page is of.' }),
    steps: z.array(Step).meta({
      description:
        'A step is a message of the caller and what the agent did about it, until the next one. A step that is longer than a page goes on in the next, under the same number.',
    }),
    children: z.array(ConversationChild).optional().meta({
      description:
        'Of the first page: the runs that its runs created, and those below these, as far as the caller may see them: at most 100, five deep, with steps of 1 MiB together.',
    }),
    page_info: PageInfo,
  })
  .meta({ id: 'Conversation' })
export type Conversation = z.infer<typeof Conversation>
