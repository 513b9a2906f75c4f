import { z } from 'zod'
import { Cursor, PageInfo } from './page-info.ts'
import { RunState } from './state.ts'
import { Timestamp } from './timestamp.ts'

/** What an action is about. The names of tools differ from agent to agent, these do not. */
export const ActionCategory = z
  .enum(['command', 'files', 'search', 'integration', 'documents', 'computer', 'review', 'skill'])
  .meta({
    id: 'ActionCategory',
    description: 'The kind of work. A tool of a tool server is an `integration`.',
  })
export type ActionCategory = z.infer<typeof ActionCategory>

const message_id = z.string().optional().meta({ description: 'The message in the log that it comes from.' })

const Block = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('text'), text: z.string(), message_id }).meta({ id: 'ConversationTextBlock' }),
    z
      .object({
        type: z.literal('action'),
        id: z.string().meta({ description: 'The `tool_call_id` in the log.' }),
        category: ActionCategory,
        name: z.string().meta({ description: 'The tool, as the agent names it.' }),
        input: z.record(z.string(), z.unknown()),
        title: z.string().optional().meta({ description: 'A short line for people.' }),
      })
      .meta({ id: 'ConversationActionBlock' }),
    z
      .object({
        type: z.literal('action_result'),
        action_id: z.string(),
        category: ActionCategory,
        name: z.string(),
        state: z.enum(['running', 'completed', 'failed', 'denied']).meta({
          description:
            '`denied`: the action was not carried out, because a person or a rule did not allow it.',
        }),
        output: z.object({
          text: z.string(),
          is_truncated: z.literal(true).optional().meta({
            description: 'The action printed more than 64 KiB, and `text` is the end. The events have more.',
          }),
          exit_code: z.int().nullable().optional(),
          duration_ms: z.int().optional(),
        }),
      })
      .meta({ id: 'ConversationActionResultBlock' }),
    z
      .object({
        type: z.literal('event'),
        name: z.string().meta({
          description:
            'The event in the log. `reasoning` is what the model thought before it answered; `data.text` has it.',
        }),
        data: z.record(z.string(), z.unknown()),
        message_id,
      })
      .meta({ id: 'ConversationEventBlock' }),
  ])
  .meta({ id: 'ConversationBlock' })
export type ConversationBlock = z.infer<typeof Block>

/** Of what one call printed, as much is read at its end: no reader of a history looks at more. */
export const OUTPUT_BYTES = 64 * 1024

const Message = z
  .object({
    role: z.enum(['user', 'assistant', 'tool', 'system']),
    content: z.array(Block),
    message_ids: z.array(z.string()).meta({
      description:
        'The messages and tool calls in the log that it comes from; of others the run and sequence.',
    }),
    run_id: z.string(),
    timestamp: Timestamp,
  })
  .meta({ id: 'ConversationMessage' })
export type ConversationMessage = z.infer<typeof Message>

/** How deep runs of runs are nested. */
export const MAX_CHILD_DEPTH = 5

const StepRun = z
  .object({
    run_id: z.string(),
    parent_run_id: z.string(),
    conversation_id: z.string(),
    state: RunState,
    page_info: PageInfo.meta({
      description:
        "Whether the run's conversation has more than `steps` shows: `GET /agent/conversations/{conversation_id}`.",
    }),
  })
  .meta({ id: 'ConversationStepRun' })

export const ConversationStep = z
  .object({
    id: z.string(),
    messages: z.array(Message),
    get steps(): z.ZodArray<typeof ConversationStep> {
      return z.array(ConversationStep)
    },
    description: z.string().optional().meta({
      description: "The beginning of the caller's message, or the title of the run that did the step.",
    }),
    started_at: Timestamp.optional().meta({ description: 'When its first message came.' }),
    completed_at: Timestamp.optional().meta({
      description: 'When the last thing happened in it, or in a step nested in it.',
    }),
    run: StepRun.optional().meta({
      description: "A run below this conversation did the step. `steps` is that run's own conversation.",
    }),
  })
  .meta({ id: 'ConversationStep' })
export type ConversationStep = z.infer<typeof ConversationStep>

export const ConversationQuery = z.object({
  cursor: Cursor.optional().meta({ description: '`next_cursor` of the page before.' }),
})

export const Conversation = z
  .object({
    conversation_id: z.string(),
    run_ids: z.array(z.string()).meta({ description: 'The runs that this page is of.' }),
    steps: z.array(ConversationStep).meta({
      description:
        'A step is a message of the caller and everything up to the next one. A step that is longer than a page goes on in the next page, under the same `id`. The runs that a step created are nested in it, and those below them, if the caller may see them: at most 100 runs, five deep, with 1 MiB of steps together; `run.page_info` says whose steps are not all here.',
    }),
    page_info: PageInfo,
  })
  .meta({ id: 'Conversation' })
export type Conversation = z.infer<typeof Conversation>
