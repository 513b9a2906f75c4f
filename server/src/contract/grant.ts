import { z } from 'zod'
import { RunCreatorInfo } from './run.ts'
import { uuid } from './run-id.ts'
import { Timestamp } from './timestamp.ts'

export const GrantedKind = z
  .enum(['pool', 'environment', 'identity', 'secret'])
  .meta({ id: 'GrantedKind', description: 'What is granted.' })
export type GrantedKind = z.infer<typeof GrantedKind>

const resource_id = z.string().min(1).max(256).meta({
  description:
    'Name of the pool, id or name of the environment, id of the identity, or name of the team’s secret.',
})

/** What could be no pool of a run keeps nobody out of any. */
const isGrantable = ({ resource_type, resource_id }: { resource_type: GrantedKind; resource_id: string }) =>
  resource_type !== 'pool' || /^[A-Za-z0-9._-]{1,128}$/.test(resource_id)
const UNGRANTABLE = {
  path: ['resource_id'],
  message: 'of a pool must be 1 to 128 of A-Z, a-z, 0-9, ".", "_", "-"',
}

export const GrantsQuery = z.object({ resource_type: GrantedKind, resource_id })

export const PutGrantsRequest = z
  .strictObject({
    resource_type: GrantedKind,
    resource_id,
    principal_ids: z.array(uuid('must be the id of a principal')).max(1000).meta({
      description: 'Who may use it, besides admins. None: whoever may without grants.',
    }),
  })
  .refine(isGrantable, UNGRANTABLE)
  .meta({ id: 'PutGrantsRequest' })

export const Grant = z
  .object({
    principal: RunCreatorInfo,
    granted_by: RunCreatorInfo,
    created_at: Timestamp,
  })
  .meta({ id: 'Grant' })
export type Grant = z.infer<typeof Grant>

export const ResourceGrants = z
  .object({
    resource_type: GrantedKind,
    resource_id: z.string(),
    restricted: z.boolean().meta({
      description: 'Only those who are named, and admins, may use it.',
    }),
    grants: z.array(Grant),
  })
  .meta({ id: 'ResourceGrants', description: 'Who may use a pool, an environment, an identity or a secret.' })
