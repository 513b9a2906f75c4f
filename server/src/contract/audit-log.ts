import { z } from 'zod'
import { Role } from './actor.ts'
import { PageInfo, paging } from './page-info.ts'
import { uuid } from './run-id.ts'
import { Timestamp, TimestampInput } from './timestamp.ts'

export const AuditEntry = z
  .object({
    entry_id: z.string(),
    occurred_at: Timestamp,
    action: z.string().meta({
      description:
        'The operation, as its operationId in openapi.json; else method and path. `useSecrets`: a run was given secrets.',
    }),
    target: z.string().optional().meta({ description: 'Id or name of what it was about.' }),
    via: z.enum(['http', 'command_line', 'worker', 'service']).meta({
      description:
        '`service`: what it did by itself, as this principal: for a schedule, for a trigger, or for the agent of a run. `detail` says which.',
    }),
    principal_id: z.string().optional().meta({ description: 'Absent where nobody knows who it was.' }),
    principal_name: z.string().optional(),
    key_id: z.string().optional(),
    role: Role.optional(),
    address: z.string().optional().meta({
      description: 'Where it came from; behind a proxy what that says, with RUNYARD_TRUST_PROXY.',
    }),
    request_id: z.string().optional().meta({ description: '`X-Request-Id`.' }),
    status: z.int().optional().meta({ description: 'Of the answer: 401, 403 and 404 are denials.' }),
    detail: z.string().optional().meta({ description: 'Names, never values.' }),
  })
  .meta({ id: 'AuditEntry' })
export type AuditEntry = z.infer<typeof AuditEntry>

export const ListAuditLogQuery = z.object({
  ...paging(100),
  principal_id: uuid('must be the id of a principal').optional(),
  action: z.string().max(256).optional().meta({ description: 'Exactly this one.' }),
  target: z.string().max(1024).optional().meta({ description: 'Exactly this one.' }),
  since: TimestampInput.optional(),
  until: TimestampInput.optional().meta({ description: 'Before this moment.' }),
})
export type ListAuditLogQuery = z.infer<typeof ListAuditLogQuery>

export const ListAuditLogResponse = z
  .object({ entries: z.array(AuditEntry), page_info: PageInfo })
  .meta({ id: 'ListAuditLogResponse' })
