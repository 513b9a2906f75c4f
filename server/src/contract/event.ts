import { z } from 'zod'
import { ApprovalDecision, PendingApproval } from './approval.ts'
import { diffSummary } from './artifact.ts'
import { ErrorCode } from './error.ts'
import { PermissionRule } from './permission.ts'
import { RunState, RunStatusMessage } from './state.ts'
import { Timestamp } from './timestamp.ts'

const id = z.string()

/** What each type of event carries in `data`. The log is made of these and nothing else. */
export const EVENT_DATA = {
  'run.state': z.object({
    state: RunState,
    previous_state: RunState.optional(),
    execution: z.int(),
    attempt: z.int(),
    status_message: RunStatusMessage.optional(),
  }),
  'attempt.started': z.object({
    attempt: z.int(),
    execution: z.int(),
    worker_id: id,
    pool: z.string(),
    debug: z.literal(true).optional().meta({
      description: 'A debug turn: the run has failed and stays so, and an agent is asked in its sandbox.',
    }),
  }),
  'attempt.lost': z.object({ attempt: z.int(), reason: z.string() }),
  'debug.ended': z
    .object({
      attempt: z.int(),
      outcome: z.enum(['SUCCEEDED', 'FAILED', 'ERROR', 'BLOCKED']),
      status_message: RunStatusMessage.optional(),
      undelivered: z.int().optional().meta({ description: 'Follow-ups that wait for the next turn.' }),
    })
    .meta({ description: 'A debug turn is over. The state of the run is what it was.' }),
  setup: z.object({
    phase: z.enum(['sandbox', 'restore', 'clone', 'command', 'tool_server', 'skill']).meta({
      description:
        'What was done: making the sandbox, restoring a workspace, a clone, a setup command, starting a tool server, a skill that cannot be used.',
    }),
    name: z.string().meta({ description: 'The backend, repository, command, tool server or skill.' }),
    status: z.enum(['started', 'finished', 'failed']),
    exit_code: z.int().nullable().optional(),
    duration_ms: z.int().optional(),
    output: z.string().optional().meta({ description: 'The end of what it printed.' }),
    first_error: z.string().optional().meta({
      description: 'Of a step that failed: the first line that it printed which reads as if it said why.',
    }),
    workspace: z
      .object({
        kept_at: Timestamp.optional().meta({
          description: 'When the snapshot was taken; absent: the workspace is a fresh one.',
        }),
        turn: z.int().optional().meta({
          description: 'Messages that the agent had been given by then, the prompt included.',
        }),
        calls_after: z.int().meta({
          description: 'Tool calls whose changes of files are lost, or not there as a whole.',
        }),
        note: z.string().meta({ description: 'What the agent is told.' }),
      })
      .optional()
      .meta({ description: 'Of a `restore` that does not go on in the workspace as it was left.' }),
  }),
  'setup.output': z
    .object({
      stream: z.enum(['stdout', 'stderr']),
      text: z.string(),
      after_gap: z.literal(true).optional().meta({
        description: 'Behind what was printed in between and is not kept: the middle of a long output.',
      }),
    })
    .meta({ description: 'What the step of the setup that began last prints, while it prints.' }),
  'message.user': z.object({
    message_id: id,
    text: z.string(),
    followup_id: id.optional(),
    author: z.string().optional(),
    attachments: z
      .array(z.object({ file_name: z.string(), mime_type: z.string(), path: z.string() }))
      .optional(),
    model_id: z
      .string()
      .optional()
      .meta({ description: 'The model that the message asks for, from here on.' }),
  }),
  'message.assistant': z.object({ message_id: id, text: z.string() }),
  reasoning: z.object({
    message_id: id,
    text: z.string(),
    provider_metadata: z
      .record(z.string(), z.unknown())
      .optional()
      .meta({ description: 'What the provider needs to be given back, such as a signature.' }),
  }),
  'tool.call': z.object({
    tool_call_id: id,
    name: z.string(),
    input: z.record(z.string(), z.unknown()),
    title: z.string().optional().meta({ description: 'A short line for people.' }),
    masked: z.literal(true).optional().meta({
      description: 'The name or the input held values that stand here as `***`: this is not what was called.',
    }),
    provider_metadata: z.record(z.string(), z.unknown()).optional(),
  }),
  'tool.output': z.object({
    tool_call_id: id,
    stream: z.enum(['stdout', 'stderr']),
    text: z.string(),
    after_gap: z.literal(true).optional().meta({
      description: 'What was printed before this is left out: it was too much.',
    }),
  }),
  'tool.result': z.object({
    tool_call_id: id,
    is_error: z.boolean(),
    output: z
      .string()
      .optional()
      .meta({ description: 'What the agent was told, where it is not the output itself.' }),
    exit_code: z.int().nullable().optional(),
    duration_ms: z.int().optional(),
    truncated_bytes: z.int().optional(),
  }),
  'approval.requested': PendingApproval.extend({
    input: z.record(z.string(), z.unknown()).optional().meta({
      description: 'Of the call, where its `tool.call` did not have it yet.',
    }),
    rule: PermissionRule.meta({ description: 'Which asks.' }),
  }).meta({ description: 'A call waits for a person. It was not begun.' }),
  'approval.answered': z.object({
    approval_id: id,
    decision: ApprovalDecision,
    reason: z.string().optional(),
    author: z.string(),
  }),
  'followup.accepted': z.object({
    followup_id: id,
    message: z.string(),
    outcome: z.string(),
    author: z.string().optional(),
    model_id: z.string().optional(),
  }),
  'followup.delivered': z.object({ followup_id: id }),
  interrupted: z.object({ attempt: z.int(), by: z.string().optional() }),
  'artifact.created': z.object({
    artifact_uid: id,
    artifact_type: z.string(),
    filename: z.string(),
    filepath: z.string(),
    mime_type: z.string(),
    size_bytes: z.int(),
    title: z.string().optional().meta({ description: 'What the agent says of it, or of its plan.' }),
    description: z.string().optional(),
    diff: z.object(diffSummary).optional().meta({ description: 'Of a `DIFF`.' }),
  }),
  'reference.reported': z
    .object({
      artifact_uid: id,
      reference_type: z.string().meta({ description: 'As in `TICKET` and `DEPLOYMENT`.' }),
      url: z.string(),
      title: z.string().optional(),
    })
    .meta({
      description: 'The agent named something that lies elsewhere; again where it says another thing of it.',
    }),
  'changes.pushed': z
    .object({
      directory: z.string().meta({ description: 'Of the repository, below /workspace.' }),
      repository: z.string().meta({ description: 'As in `github.com/acme/site`.' }),
      branch: z.string(),
      commit: z.string(),
      url: z.string().meta({ description: 'For people: the pull request, or else the branch.' }),
      pull_request: z.object({ number: z.int(), url: z.string() }).optional(),
      is_linked: z.literal(true).optional().meta({
        description:
          "Nothing was pushed or opened: another run's open pull request has exactly these files. Branch and commit are its own.",
      }),
    })
    .meta({ description: 'A branch was pushed, and a pull request opened or updated by it.' }),
  usage: z.object({
    model_id: z.string(),
    input_tokens: z.int(),
    output_tokens: z.int(),
    total_tokens: z.int(),
    cached_input_tokens: z.int().optional().meta({
      description: 'Among the input tokens: those that the provider read from its cache.',
    }),
    cache_write_tokens: z.int().optional().meta({
      description: 'Among the input tokens: those that the provider wrote into its cache.',
    }),
    inference_cost_usd: z.number().optional(),
    inference_cost_parts_usd: z
      .object({ input: z.number(), output: z.number(), cache_read: z.number(), cache_write: z.number() })
      .optional()
      .meta({ description: 'What the cost is made of; `input` is that of tokens beside the cache.' }),
    by_gateway: z.literal(true).optional().meta({
      description:
        'Commands in the sandbox called the model by the gateway, once or more. Absent, like `by_compaction` and `estimated`: a step of the agent ended.',
    }),
    by_compaction: z.literal(true).optional().meta({
      description: 'The conversation so far was summarised (`context.compacted`); no step of the agent.',
    }),
    estimated: z.literal(true).optional().meta({
      description: 'The answer of the model did not say it all, or was given up.',
    }),
  }),
  'context.compacted': z
    .object({
      summary: z.string().meta({ description: 'What the model wrote of the conversation before it.' }),
      reason: z.enum(['nearly_full', 'overflow']).meta({
        description:
          'The next request would have been near the context window; the provider refused one as too long.',
      }),
      context_window: z.int().meta({ description: 'Tokens, as far as the service knows.' }),
      tokens_before: z.int().meta({ description: 'Of the conversation, about.' }),
      tokens_after: z
        .int()
        .meta({ description: 'Of the conversation as the model has it from here on, about.' }),
      kept_messages: z.array(id).meta({
        description: 'Ids of messages of the caller from before the kept part that stay whole as well.',
      }),
      kept_from: id.optional().meta({
        description:
          'The message or tool call from which on everything stays as it was; absent: the summary stands for all before it.',
      }),
    })
    .meta({
      description:
        'The conversation had become too long for the model: from here on the model gets the summary, the messages named here, and what came last. The log keeps everything.',
    }),
  'model.told': z
    .object({
      reason: z.enum(['cut', 'call_as_text', 'call_unreadable']).meta({
        description:
          'The answer was cut at the limit of output tokens; it had a call of a tool as text; the provider could not read a call that the model began.',
      }),
      text: z.string().meta({ description: 'The text that the model was told; its next answer follows it.' }),
    })
    .meta({
      description:
        'The last answer of the model could not be used as it was, and none of its calls was made.',
    }),
  retrying: z
    .object({
      error_code: ErrorCode,
      message: z.string().meta({ description: 'What went wrong.' }),
      retry: z.int().meta({ description: 'Which one: from 1.' }),
      delay_ms: z
        .int()
        .meta({ description: 'How long is waited before it; 0 where an agent asks again by itself.' }),
    })
    .meta({
      description:
        'The model provider failed in a way that may pass; the step is going to be asked for again.',
    }),
  'model.switched': z
    .object({
      from: z.string().meta({ description: 'The model so far.' }),
      to: z.string().meta({ description: 'The model from here on.' }),
      reason: z.enum(['unavailable', 'quota', 'key_refused', 'unknown_model', 'refused', 'followup']).meta({
        description:
          'Why: the provider was away until no new try was left; the account has no credit; its key was refused; it does not have the model, or is not set up; it refused the request; a follow-up asked for it.',
      }),
      message: z.string().optional().meta({ description: 'What went wrong, in the words of a failed run.' }),
    })
    .meta({
      description:
        'Another model goes on with the run: the next fallback, or the one that a follow-up asked for.',
    }),
  'egress.refused': z
    .object({
      host: z.string(),
      port: z.int(),
      reason: z
        .enum([
          'not_listed',
          'no_name',
          'not_public',
          'port',
          'server_name',
          'repository',
          'push',
          'credential',
        ])
        .meta({
          description:
            'The environment does not allow the host; an address without a name; a name without a public address; a port that is not of the web; TLS that asks for another host. Of git: a repository that the environment does not name; a push that is not allowed; a credential that the host refused.',
        }),
      message: z.string(),
    })
    .meta({
      description: 'The network policy, or the git gateway, refused something. Told once for each target.',
    }),
  error: z.object({ error_code: ErrorCode, message: z.string(), retryable: z.boolean() }),
} as const

export type EventType = keyof typeof EVENT_DATA
export type EventData<T extends EventType> = z.infer<(typeof EVENT_DATA)[T]>

/** An event before it has a place in the log. */
export type NewEvent = { [T in EventType]: { type: T; data: EventData<T> } }[EventType]
/** A stored event. */
export type RunEvent = { [T in EventType]: StoredEvent<T> }[EventType]
export interface StoredEvent<T extends EventType> {
  sequence: number
  run_id: string
  type: T
  occurred_at: string
  data: EventData<T>
}

/** `run.state` is `RunStateEvent` in the clients. */
const nameOf = (type: EventType): string =>
  `${type.replace(/(?:^|\.)([a-z])/g, (_, letter: string) => letter.toUpperCase())}Event`

const variants = (Object.keys(EVENT_DATA) as EventType[]).map((type) =>
  z
    .object({
      sequence: z.int().meta({ description: 'Place in the log: from 1, without gaps.' }),
      run_id: z.string(),
      type: z.literal(type),
      occurred_at: Timestamp,
      data: EVENT_DATA[type].meta({ id: `${nameOf(type)}Data` }),
    })
    .meta({ id: nameOf(type) }),
)
export const RunEventBody = z
  .discriminatedUnion('type', variants as [(typeof variants)[number], ...typeof variants])
  .meta({ id: 'RunEvent', description: 'An immutable entry in the log of a run.' })

/** Assistant text on its way; streamed, never stored. `offset` counts UTF-16 code units of the message so far. */
export const MessageDelta = z
  .object({ message_id: z.string(), offset: z.int(), text: z.string() })
  .meta({ id: 'MessageDelta' })
export type MessageDelta = z.infer<typeof MessageDelta>

export const ListEventsResponse = z
  .object({
    events: z.array(RunEventBody),
    has_more: z.boolean().meta({ description: 'The log already holds events after the last one here.' }),
  })
  .meta({ id: 'ListEventsResponse' })
