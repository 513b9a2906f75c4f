import { z } from 'zod'

export const ApprovalDecision = z.enum(['allow_once', 'allow_always', 'deny']).meta({
  id: 'ApprovalDecision',
  description:
    '`allow_once`: this call. `allow_always`: this call, and all of this run that the same rule asks about.',
})
export type ApprovalDecision = z.infer<typeof ApprovalDecision>

export const AnswerApprovalRequest = z
  .object({
    decision: ApprovalDecision,
    reason: z.string().max(4_000).optional().meta({ description: 'For the agent, why it was denied.' }),
  })
  .meta({ id: 'AnswerApprovalRequest' })
export type AnswerApprovalRequest = z.infer<typeof AnswerApprovalRequest>

export const AnswerApprovalResponse = z
  .object({
    run_id: z.string(),
    approval_id: z.string(),
    decision: ApprovalDecision,
    sequence: z.int().meta({ description: 'Of the answer in the log: what comes of it follows.' }),
  })
  .meta({ id: 'AnswerApprovalResponse' })

/** A call that waits for a person. Its input is in the log: in its `tool.call`, or in the `approval.requested`. */
export const PendingApproval = z
  .object({
    approval_id: z.string(),
    tool_call_id: z.string(),
    tool: z.string(),
    title: z.string().optional().meta({ description: 'What it is going to do, in a short line.' }),
  })
  .meta({ id: 'PendingApproval' })
export type PendingApproval = z.infer<typeof PendingApproval>
