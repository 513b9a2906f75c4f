import { z } from 'zod'
import { AmbientAgentConfig } from './agent-config.ts'
import { boundedRecord } from './bounded-record.ts'
import { ForkOf } from './fork.ts'
import { MetadataKey, MetadataValue } from './run.ts'
import { RunId, uuid } from './run-id.ts'
import { RunState } from './state.ts'

export const PROMPT_MAX_BYTES = 1024 ** 2
export const TITLE_MAX_LENGTH = 512
export const ATTACHMENT_MAX_BYTES = 10 * 1024 ** 2
/** What a file system takes: in bytes, unlike the length of a string. */
export const FILE_NAME_MAX_BYTES = 255

export const Prompt = z
  .string()
  .refine((value) => Buffer.byteLength(value) <= PROMPT_MAX_BYTES, {
    message: 'is over 1 MiB',
    params: { status: 413 },
  })
  .meta({ maxLength: PROMPT_MAX_BYTES })

export const Title = z
  .string()
  .refine((value) => value.length <= TITLE_MAX_LENGTH, {
    message: `is over ${TITLE_MAX_LENGTH} characters`,
    params: { status: 413 },
  })
  .meta({ maxLength: TITLE_MAX_LENGTH })

export const Mode = z.enum(['normal', 'plan', 'orchestrate'])

export const Metadata = boundedRecord(MetadataKey, MetadataValue, { max: 20, message: 'at most 20 keys' })

/** Not by an expression: this is asked of what is no base64, too, and may be 64 MiB of padding. */
function decodedBytes(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0
  return Math.floor(((base64.length - padding) * 3) / 4)
}

/** Standard base64, padding optional; checked before it is decoded, since Buffer.from skips what it does not know. */
const Base64 = z
  .string()
  .regex(/^[A-Za-z0-9+/]*={0,2}$/, 'must be base64')
  .refine((value) => decodedBytes(value) <= ATTACHMENT_MAX_BYTES, {
    message: 'is over 10 MB',
    params: { status: 413 },
  })

/** Control characters by their numbers: other languages than JavaScript do not know `\p{Cc}`. */
const CONTROL = '\\u0000-\\u001f\\u007f-\\u009f'
const PLAIN_NAME = new RegExp(`^[^/\\\\${CONTROL}]+$`, 'u')

/** A file, without its bytes. */
export const AttachmentFile = {
  file_name: z
    .string()
    .min(1)
    .max(255)
    .regex(PLAIN_NAME, 'must be a plain file name')
    .refine((name) => name !== '.' && name !== '..', 'must be a plain file name')
    .refine((name) => Buffer.byteLength(name) <= FILE_NAME_MAX_BYTES, 'is over 255 bytes')
    .meta({ description: 'A plain file name, at most 255 bytes of UTF-8.' }),
  mime_type: z
    .string()
    .max(255)
    .regex(/^[\w.+-]+\/[\w.+-]+$/, 'must be a media type such as image/png'),
}

export const Attachment = z
  .object({
    ...AttachmentFile,
    data: Base64.meta({ format: 'byte', description: 'Base64, at most 10 MB decoded.' }),
  })
  .meta({ id: 'Attachment' })
export type Attachment = z.infer<typeof Attachment>

export const MOST_ATTACHMENTS = 5
/** Of one shape, so that what is wrong is told by its field. */
export const FollowupAttachment = z
  .object({
    attachment_id: uuid('must be the id of a prepared attachment').optional(),
    file_name: Attachment.shape.file_name.optional(),
    mime_type: Attachment.shape.mime_type.optional(),
    data: Attachment.shape.data.optional(),
  })
  .check((ctx) => {
    const { attachment_id, file_name, mime_type, data } = ctx.value
    const fail = (path: string, message: string) =>
      ctx.issues.push({ code: 'custom', path: [path], message, input: ctx.value })
    if (attachment_id !== undefined) {
      if (data !== undefined) fail('data', 'was uploaded before: leave it out, or leave out attachment_id')
      return
    }
    for (const [field, value] of Object.entries({ file_name, mime_type, data }))
      if (value === undefined) fail(field, 'is required without attachment_id')
  })
  .meta({
    id: 'FollowupAttachment',
    description:
      'A file with `file_name`, `mime_type` and `data`, or one that was prepared and uploaded before, by its `attachment_id`; a `file_name` then replaces the one it was prepared with.',
  })
export type FollowupAttachment = z.infer<typeof FollowupAttachment>

const MOST_OF_FOLLOWUP = 25
const FollowupAttachments = z
  .array(FollowupAttachment)
  .max(MOST_OF_FOLLOWUP, `at most ${MOST_OF_FOLLOWUP} attachments`)
  .refine(
    (all) => all.filter(({ data }) => data !== undefined).length <= MOST_ATTACHMENTS,
    `at most ${MOST_ATTACHMENTS} attachments with data; prepare the others`,
  )

const Attachments = z.array(Attachment).max(MOST_ATTACHMENTS, `at most ${MOST_ATTACHMENTS} attachments`)

export const BudgetLimits = z
  .object({
    max_cost_usd: z.number().positive().max(1_000_000).optional().meta({
      description: 'US dollars. A run whose model has no known price ends FAILED.',
    }),
    max_tokens: z.int().positive().optional().meta({ description: 'Input and output together.' }),
    max_duration_minutes: z.number().positive().max(10_080).optional(),
  })
  .meta({
    id: 'BudgetLimits',
    description:
      'What a run may spend over all its executions; then it is BLOCKED with `budget_exceeded`, and a follow-up with a larger budget goes on.',
  })
export type BudgetLimits = z.infer<typeof BudgetLimits>

export const Priority = z.int().min(-100).max(100)

/** What is in it is counted by `requireSmall` and limited by the thread that compiles it; here only how it begins. */
export const OutputSchema = boundedRecord(z.string().max(1024), z.unknown(), {
  max: 1_000,
  message: 'must be at most 1,000 fields',
})
export type OutputSchema = z.infer<typeof OutputSchema>

export const RunAgentRequest = z
  .object({
    prompt: Prompt.optional().meta({
      description: 'At most 1 MiB. Required unless a skill or `replay_of_run_id` is given.',
    }),
    skill: z.string().min(1).max(1024).optional().meta({ description: 'Wins over `config.skill_spec`.' }),
    config: AmbientAgentConfig.optional(),
    title: Title.optional().meta({
      description: `At most ${TITLE_MAX_LENGTH} characters. Default: the first line of the prompt.`,
    }),
    conversation_id: uuid('must be a conversation id').optional(),
    attachments: Attachments.optional(),
    parent_run_id: RunId.optional(),
    replay_of_run_id: RunId.optional().meta({
      description:
        'A run to do again: what is left out here is taken over from it, `config` field by field. Values of its tool servers are taken over for whoever started it.',
    }),
    fork_of: ForkOf.optional().meta({
      description:
        'Goes on from the end of a turn of an earlier run, with the conversation up to there and the workspace as it was. What is left out here is taken over from it, but for the prompt and the skill.',
    }),
    metadata: Metadata.optional(),
    mode: Mode.optional(),
    agent_identity_uid: z.string().max(256).optional().meta({
      description: 'The identity that executes the run, with its defaults and grants. Default: the caller.',
    }),
    on_behalf_of: z.string().max(256).optional(),
    team: z.boolean().optional().meta({
      description:
        'false: a personal run, which its owner alone sees. A run with a personal parent or in a conversation with a personal run is personal without it, and true is refused there.',
    }),
    interactive: z.boolean().optional(),
    priority: Priority.optional().meta({ description: 'Among runs of the same principal, higher first.' }),
    output_schema: OutputSchema.optional().meta({ description: 'JSON Schema the result must satisfy.' }),
    budget: BudgetLimits.optional(),
  })
  .check((ctx) => {
    const { prompt, skill, config, replay_of_run_id } = ctx.value
    const fork = ctx.value.fork_of
    const both = replay_of_run_id ? 'replay_of_run_id' : ctx.value.conversation_id ? 'conversation_id' : null
    if (fork && both)
      ctx.issues.push({
        ...{ code: 'custom', path: ['fork_of'], input: fork },
        message: `does not go with ${both}: a fork begins a conversation of its own`,
      })
    const skilled = skill ?? config?.skill_spec ?? config?.skills?.[0]
    if (!prompt?.trim() && !skilled && !replay_of_run_id) {
      ctx.issues.push({
        code: 'custom',
        path: ['prompt'],
        message: 'is required unless skill or config.skill_spec is given',
        input: prompt,
      })
    }
  })
  .meta({ id: 'RunAgentRequest' })
export type RunAgentRequest = z.infer<typeof RunAgentRequest>

export const RunAgentResponse = z
  .object({
    run_id: z.string(),
    task_id: z.string().meta({ deprecated: true, description: 'The same as `run_id`.' }),
    state: RunState,
    at_capacity: z.boolean().meta({ description: 'No free slot was known; the run is queued all the same.' }),
    warnings: z.array(z.string()).optional().meta({
      description:
        'What may not be as it was meant, as a pool that no worker serves. The run is queued all the same.',
    }),
  })
  .meta({ id: 'RunAgentResponse' })
export type RunAgentResponse = z.infer<typeof RunAgentResponse>

export const OnBusy = z.enum(['enqueue', 'interrupt', 'reject'])
export type OnBusy = z.infer<typeof OnBusy>

export const RunFollowupRequest = z
  .object({
    message: Prompt.optional(),
    mode: Mode.optional(),
    on_busy: OnBusy.optional().meta({
      description:
        'What to do when the agent works: wait for its next step (default), stop its turn first, or refuse with 409.',
    }),
    attachments: FollowupAttachments.optional().meta({
      description: `At most ${MOST_OF_FOLLOWUP}: files in the message, at most ${MOST_ATTACHMENTS}, and prepared ones by their ids.`,
    }),
    model_id: z.string().min(1).max(256).optional().meta({
      description:
        'The model that answers from this message on, as `config.model_id`. Of the built-in agent alone: another one keeps its model, and this is a 400.',
    }),
    budget: BudgetLimits.optional().meta({
      description:
        'Replaces these limits of the run’s budget, whatever it has spent of them; the others stay.',
    }),
  })
  .meta({ id: 'RunFollowupRequest' })
export type RunFollowupRequest = z.infer<typeof RunFollowupRequest>

export const FollowupOutcome = z
  .enum(['queued_prompt', 'live_session', 'handoff_execution', 'queue_pending'])
  .meta({ id: 'FollowupOutcome' })
export type FollowupOutcome = z.infer<typeof FollowupOutcome>

export const RunFollowupResponse = z
  .object({ followup_id: z.string(), outcome: FollowupOutcome })
  .meta({ id: 'RunFollowupResponse' })
export type RunFollowupResponse = z.infer<typeof RunFollowupResponse>

export const ConversationFollowupResponse = RunFollowupResponse.extend({
  run_id: z.string().meta({ description: 'The run that got the message.' }),
}).meta({ id: 'ConversationFollowupResponse' })
