import { z } from 'zod'
import { Role } from './actor.ts'
import { PageInfo, paging } from './page-info.ts'
import { PoolName } from './pool.ts'
import { RunCreatorInfo } from './run.ts'
import { uuid } from './run-id.ts'
import { shownOnce } from './shown-once.ts'
import { Timestamp, TimestampInput } from './timestamp.ts'

/** A month. */
const MAX_GRACE_MINUTES = 43_200

const PrincipalId = uuid('must be the id of a principal')

/** Strict, since a misspelt end would be none. */
export const CreateApiKeyRequest = z
  .strictObject({
    name: z
      .string()
      .trim()
      .min(1)
      .max(256)
      .meta({ description: 'What it is called, and a new user with it.' }),
    role: Role.optional().meta({ description: 'Default `member`.' }),
    expires_at: TimestampInput.optional().meta({ description: 'When it ends by itself; default: never.' }),
    agent_identity_uid: PrincipalId.optional().meta({ description: 'It is a key of this identity.' }),
    principal_id: PrincipalId.optional().meta({
      description: 'It is one more key of this user or identity. Default: of the caller.',
    }),
    pool: PoolName.min(1).optional().meta({
      description:
        'It is a pool key: workers may claim runs of this pool with it, and it opens nothing else. Its role is `viewer`.',
    }),
    new_user: z.boolean().optional().meta({ description: 'true: it is the first key of a new user.' }),
  })
  .refine(
    ({ agent_identity_uid, principal_id, new_user }) =>
      [agent_identity_uid !== undefined, principal_id !== undefined, new_user].filter(Boolean).length <= 1,
    'must have at most one of agent_identity_uid, principal_id and new_user',
  )
  .refine(({ role, pool }) => role === undefined || pool === undefined, 'must not have role and pool')
  .meta({ id: 'CreateApiKeyRequest' })
export type CreateApiKeyRequest = z.infer<typeof CreateApiKeyRequest>

export const RotateApiKeyRequest = z
  .strictObject({
    grace_minutes: z.int().min(0).max(MAX_GRACE_MINUTES).optional().meta({
      description:
        'How long the old key still works: 0 to 43200 (30 days). Default 5, so that a lost answer can be asked for again.',
    }),
  })
  .meta({ id: 'RotateApiKeyRequest' })
  .nullish()

export const ApiKey = z
  .object({
    key_id: z.string(),
    name: z.string(),
    role: Role,
    pool: z.string().optional().meta({
      description:
        'It is a pool key: workers may claim runs of this pool with it, and it opens nothing else.',
    }),
    masked: z.string().meta({ description: 'Its first and last characters.' }),
    principal: RunCreatorInfo.meta({ description: 'Whose it is.' }),
    active: z.boolean().meta({ description: 'It works now.' }),
    created_at: Timestamp,
    expires_at: Timestamp.optional(),
    replaces: z.string().optional().meta({ description: 'Id of the key in whose place it was made.' }),
    grace_until: Timestamp.optional().meta({
      description: 'Another was made in its place, and it works until then.',
    }),
    last_used_at: Timestamp.optional().meta({ description: 'To the minute.' }),
    revoked_at: Timestamp.optional(),
  })
  .meta({ id: 'ApiKey', description: 'A key, without its text.' })
export type ApiKey = z.infer<typeof ApiKey>

export const NewApiKey = ApiKey.extend({
  api_key: shownOnce('The key itself. It is not shown again.'),
}).meta({ id: 'NewApiKey', description: 'A key that was just made.' })
export type NewApiKey = z.infer<typeof NewApiKey>

export const ListApiKeysQuery = z.object({
  ...paging(100),
  principal_id: PrincipalId.optional().meta({ description: 'Those of this principal only.' }),
})
export type ListApiKeysQuery = z.infer<typeof ListApiKeysQuery>

export const ListApiKeysResponse = z
  .object({ api_keys: z.array(ApiKey), page_info: PageInfo })
  .meta({ id: 'ListApiKeysResponse' })
