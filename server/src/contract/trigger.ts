import { z } from 'zod'
import { AmbientAgentConfig } from './agent-config.ts'
import { PageInfo, paging } from './page-info.ts'
import { RunCreatorInfo } from './run.ts'
import {
  BudgetLimits,
  Metadata,
  Mode,
  OutputSchema,
  Priority,
  Prompt,
  TITLE_MAX_LENGTH,
  Title,
} from './run-request.ts'
import { requirePrompt, TemplateName } from './run-template.ts'
import { SecretName } from './secret.ts'
import { shownOnce } from './shown-once.ts'
import { Timestamp } from './timestamp.ts'

export const TriggerVerification = z.enum(['standard_webhooks', 'github', 'gitlab', 'slack', 'linear']).meta({
  id: 'TriggerVerification',
  description:
    'How a sender proves itself: `standard_webhooks` (`webhook-signature`), `github` (`X-Hub-Signature-256`), ' +
    '`gitlab` (`X-Gitlab-Token`), `slack` (`X-Slack-Signature`) or `linear` (`Linear-Signature`).',
})
export type TriggerVerification = z.infer<typeof TriggerVerification>

export const OnOpenRun = z.enum(['followup', 'new_run']).meta({
  id: 'TriggerOnOpenRun',
  description:
    'What happens when the payload is about a pull request that a run has opened: that run gets the prompt as a follow-up, or there is a new run.',
})
export type OnOpenRun = z.infer<typeof OnOpenRun>

/** Strict: what is posted in public is not to depend on a misspelt field. */
export const TriggerReply = z
  .strictObject({
    secret: SecretName.meta({
      description:
        'A secret with `git` for a host that speaks GitHub’s API, and not read-only. It never enters a sandbox.',
    }),
    when: z.enum(['start_and_end', 'end']).optional().meta({
      description:
        'Default `start_and_end`: a comment when the run starts, which becomes the answer when it ends. `end`: the answer alone.',
    }),
  })
  .meta({
    id: 'TriggerReply',
    description:
      'The run answers in the issue, pull request or thread of a review that it came from. For `github` alone.',
  })
export type TriggerReply = z.infer<typeof TriggerReply>

const asked = {
  name: TemplateName,
  verification: TriggerVerification,
  secret: z
    .string()
    .min(8)
    .max(512)
    .regex(/^[\x21-\x7e]+$/, 'must be visible ASCII without spaces')
    .optional()
    .meta({
      description:
        'What the sender signs with, 8 to 512 visible characters. Default: one is made when the trigger is created, and a replaced trigger keeps its own.',
    }),
  filter: z.string().trim().min(1).max(4096).optional().meta({
    description:
      'A CEL expression over `payload` and `headers`, such as `payload.action == "opened"`. Only where it is true something happens.',
  }),
  on_open_run: OnOpenRun.optional().meta({ description: 'Default `followup`.' }),
  prompt: Prompt.optional().meta({
    description:
      'At most 1 MiB. `{{payload.path.to.field}}` and `{{headers.x-name}}` are filled in; the result is cut to 1 MiB. Required unless `agent_config` names a skill.',
  }),
  title: Title.optional().meta({
    description: `Of its runs, at most ${TITLE_MAX_LENGTH} characters, filled in as the prompt is. Default: the first line of the prompt.`,
  }),
  agent_config: AmbientAgentConfig.optional().meta({ description: 'How its runs are executed.' }),
  metadata: Metadata.optional().meta({ description: 'Of each of its runs.' }),
  mode: Mode.optional(),
  priority: Priority.optional().meta({ description: 'Of each of its runs.' }),
  budget: BudgetLimits.optional().meta({ description: 'Of each of its runs.' }),
  output_schema: OutputSchema.optional().meta({
    description: 'JSON Schema that the result of each of its runs must satisfy.',
  }),
  agent_uid: z.string().max(256).optional().meta({
    description: 'Identity that executes its runs; for triggers of the team.',
  }),
  reply: TriggerReply.optional(),
}

type Answering = { verification: TriggerVerification; reply?: TriggerReply | undefined }

/** Only GitHub's threads are known. */
const requireGitHub = (ctx: z.core.ParsePayload<Answering>): void => {
  const { verification, reply } = ctx.value
  if (!reply || verification === 'github') return
  ctx.issues.push({
    code: 'custom',
    path: ['reply'],
    message: 'needs verification: github, where it is answered',
    input: reply,
  })
}

export const CreateTriggerRequest = z
  .object({
    ...asked,
    enabled: z.boolean().optional().meta({ description: 'Default true.' }),
    team: z.boolean().optional().meta({
      description: 'false: a personal trigger with personal runs, which its owner alone sees.',
    }),
  })
  .check(requirePrompt, requireGitHub)
  .meta({ id: 'CreateTriggerRequest' })
export type CreateTriggerRequest = z.infer<typeof CreateTriggerRequest>

export const UpdateTriggerRequest = z
  .object({ ...asked, enabled: z.boolean() })
  .check(requirePrompt, requireGitHub)
  .meta({ id: 'UpdateTriggerRequest' })
export type UpdateTriggerRequest = z.infer<typeof UpdateTriggerRequest>

/** How many deliveries a filter is tried on. */
export const TRIED_MAX = 10

export const TryTriggerRequest = z
  .object({
    filter: z.string().trim().max(4096).optional().meta({
      description: 'To be tried in place of the one it has; empty: none. Default: the one it has.',
    }),
  })
  .meta({ id: 'TryTriggerRequest' })

export const TriedDelivery = z
  .object({
    delivery_id: z.string(),
    received_at: Timestamp,
    event: z.string().nullable(),
    passes: z.boolean().nullable().meta({
      description:
        'Whether it would start a run or a follow-up; null: its body is not kept any more, so nobody can tell.',
    }),
    reason: z.string().optional().meta({ description: 'Why it would be left out, or why nobody can tell.' }),
  })
  .meta({ id: 'TriedDelivery' })
export type TriedDelivery = z.infer<typeof TriedDelivery>

export const TryTriggerResponse = z
  .object({ deliveries: z.array(TriedDelivery) })
  .meta({ id: 'TryTriggerResponse' })
export type TryTriggerResponse = z.infer<typeof TryTriggerResponse>

export const TriggerOutcome = z.enum(['run_started', 'followup_sent', 'filtered', 'failed', 'waiting']).meta({
  id: 'TriggerOutcome',
  description:
    'What a delivery did: a new run, a follow-up to the run that opened its pull request, nothing because it was filtered out, or nothing because it was refused. `waiting`: it was refused for now (a quota is full, say), and the service tries it again for 24 hours.',
})
export type TriggerOutcome = z.infer<typeof TriggerOutcome>

export const Trigger = z
  .object({
    trigger_id: z.string().meta({ format: 'uuid' }),
    name: z.string(),
    url: z.string().meta({ description: 'Where the sender posts to.' }),
    verification: TriggerVerification,
    enabled: z.boolean(),
    filter: z.string().optional(),
    on_open_run: OnOpenRun,
    prompt: z.string(),
    title: z.string().optional(),
    agent_config: AmbientAgentConfig.meta({ description: 'As it was asked for; values are `***`.' }),
    metadata: z.record(z.string(), z.string()),
    mode: Mode.optional(),
    priority: z.int().optional(),
    budget: BudgetLimits.optional(),
    output_schema: OutputSchema.optional(),
    agent_uid: z.string().optional().meta({ description: 'The identity that executes its runs.' }),
    reply: TriggerReply.optional(),
    stopped_reason: z.string().optional().meta({
      description: 'Why it answers nothing though it is enabled: whoever saved it last is disabled.',
    }),
    warnings: z.array(z.string()).optional().meta({
      description: 'What may not be as it was meant, as a pool that no worker serves. Not in lists.',
    }),
    last_delivery: z
      .object({ received_at: Timestamp, outcome: TriggerOutcome, run_id: z.string().optional() })
      .optional()
      .meta({ description: 'The newest that came to it, of the last 30 days.' }),
    created_at: Timestamp,
    updated_at: Timestamp.meta({ description: 'Of the last change by somebody, not of its deliveries.' }),
    created_by: RunCreatorInfo,
    updated_by: RunCreatorInfo.meta({
      description: 'Who saved it last. Its runs are created as this user or service account.',
    }),
    scope: z.object({ type: z.enum(['User', 'Team']), uid: z.string().optional() }),
  })
  .meta({ id: 'Trigger' })
export type Trigger = z.infer<typeof Trigger>

export const TriggerWithSecret = Trigger.extend({
  secret: shownOnce('What the sender signs with. No other answer holds it.'),
}).meta({ id: 'TriggerWithSecret' })

export const DeleteTriggerResponse = z.object({ success: z.boolean() }).meta({ id: 'DeleteTriggerResponse' })

export const ListTriggersQuery = z.object({
  ...paging(50, 'Large triggers end a page sooner.'),
})
export type ListTriggersQuery = z.infer<typeof ListTriggersQuery>

export const ListTriggersResponse = z
  .object({ triggers: z.array(Trigger), page_info: PageInfo })
  .meta({ id: 'ListTriggersResponse' })
export type ListTriggersResponse = z.infer<typeof ListTriggersResponse>

export const TriggerReplyStatus = z.enum(['pending', 'posted', 'failed'])
export type TriggerReplyStatus = z.infer<typeof TriggerReplyStatus>

export const TriggerDelivery = z
  .object({
    delivery_id: z.string(),
    trigger_id: z.string(),
    received_at: Timestamp,
    event: z.string().nullable().meta({ description: 'What the sender calls it, where it says so.' }),
    sender_delivery_id: z.string().nullable().meta({
      description:
        'Its id at the sender; null for one that was replayed. Repeats are recognised by what the sender signed.',
    }),
    outcome: TriggerOutcome,
    run_id: z.string().optional(),
    reason: z.string().optional().meta({ description: 'Why there is no run, or none yet.' }),
    duplicates: z.int().meta({ description: 'How often it came again.' }),
    replay_of: z.string().optional().meta({ description: 'The delivery whose payload it has.' }),
    reply: z
      .object({
        status: TriggerReplyStatus.meta({
          description:
            '`pending`: the run goes on, or GitHub is tried again. `posted`: the answer stands there. `failed`: it was given up.',
        }),
        url: z.string().optional().meta({ description: 'Of the comment, for people.' }),
        error: z.string().optional().meta({ description: 'What went wrong last.' }),
      })
      .optional()
      .meta({ description: 'Of a trigger that answers: what became of that.' }),
  })
  .meta({ id: 'TriggerDelivery' })
export type TriggerDelivery = z.infer<typeof TriggerDelivery>

export const ListTriggerDeliveriesQuery = z.object({
  ...paging(50),
  outcome: TriggerOutcome.optional(),
})
export type ListTriggerDeliveriesQuery = z.infer<typeof ListTriggerDeliveriesQuery>

export const ListTriggerDeliveriesResponse = z
  .object({ deliveries: z.array(TriggerDelivery), page_info: PageInfo })
  .meta({ id: 'ListTriggerDeliveriesResponse' })
export type ListTriggerDeliveriesResponse = z.infer<typeof ListTriggerDeliveriesResponse>

/** What `POST /hooks/{id}` answers its sender; not below `/api/v1`, so not in `openapi.json`. */
export interface HookAnswer {
  delivery_id: string
  outcome: TriggerOutcome | 'duplicate'
  /** Of a duplicate: what came of the delivery when it came first. */
  first_outcome?: TriggerOutcome
  run_id?: string
  reason?: string
}
