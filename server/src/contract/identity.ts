import { z } from 'zod'
import { CredentialStrategy, HarnessConfig, InferenceProviders } from './agent-config.ts'
import { boundedRecord } from './bounded-record.ts'
import { EnvironmentReference } from './environment-name.ts'
import { MAX_PAGE, PageInfo, paging } from './page-info.ts'
import { PoolName } from './pool.ts'
import { RunCreatorInfo } from './run.ts'
import { Timestamp } from './timestamp.ts'

const AgentType = z.enum(['FOREMAN', 'TRIAGE', 'SPEC', 'IMPLEMENT', 'REVIEW', 'VERIFY', 'CUSTOM'])
const text = (max: number, description: string) =>
  z.string().max(max).nullable().optional().meta({ description })

const NotOffered = boundedRecord(z.string().max(128), z.unknown(), {
  max: 100,
  message: 'must be at most 100 fields',
})

const Name = z.string().trim().min(1).max(256)
const Skills = z.array(z.string().min(1).max(512)).max(20)

/** Fields of the wire format. What cannot be honoured is known, so that it is refused and not taken for a misspelling. */
const fields = {
  description: text(4096, 'What it is for.'),
  prompt: text(1_048_576, 'Base prompt of its runs.'),
  environment_id: z
    .union([z.literal(''), EnvironmentReference])
    .nullable()
    .optional()
    .meta({ description: 'Id or name of the environment of its runs; returned as the id.' }),
  base_model: text(256, 'Model of its runs: `provider/model`.'),
  base_harness: text(64, 'Harness of its runs. `harness` says more, and wins.').meta({ deprecated: true }),
  harness: HarnessConfig.nullable().optional().meta({ description: 'Harness of its runs.' }),
  skills: Skills.nullable()
    .optional()
    .meta({ description: 'Skills of its runs, in order: the first is what they begin with.' }),
  worker_host: PoolName.nullable().optional().meta({ description: 'Pool of its runs.' }),
  agent_type: AgentType.nullable().optional().meta({ description: 'Only `CUSTOM` here.' }),
  credential_strategy: CredentialStrategy.nullable()
    .optional()
    .meta({ description: 'Only `EXECUTOR` here: runs act with the rights of the identity.' }),
  on_behalf_of_enabled: z.boolean().nullable().optional().meta({ description: 'Only `false` here.' }),
  default_runner_uid: text(256, 'Not offered.'),
  factory_uid: text(256, 'Not offered.'),
  secrets: z
    .array(z.object({ name: z.string().max(256) }))
    .max(100)
    .nullable()
    .optional()
    .meta({ description: 'Only none here: the environment names the secrets of its runs.' }),
  mcp_servers: NotOffered.nullable().optional().meta({
    description: 'Only none here: runs name their own.',
  }),
  memory: z
    .object({
      attached_stores: z.array(z.unknown()).max(100).optional(),
      auto_memory: z.object({ enabled: z.boolean().optional() }).nullable().optional(),
    })
    .nullable()
    .optional()
    .meta({ description: 'Not offered, but may be said to be off.' }),
  inference_providers: InferenceProviders.nullable().optional(),
  harness_auth_secrets: NotOffered.nullable().optional().meta({
    description: 'Not offered.',
  }),
}

export const CreateAgentIdentityRequest = z
  .object({ name: Name, ...fields })
  .meta({ id: 'CreateAgentIdentityRequest' })

export const UpdateAgentIdentityRequest = z.object({ name: Name.optional(), ...fields }).meta({
  id: 'UpdateAgentIdentityRequest',
  description: 'What is left out or null stays; an empty text, list or object is none.',
})
export type AgentIdentityRequest = z.infer<typeof UpdateAgentIdentityRequest>

/** What of an identity is stored: defaults of the runs that it executes. */
export const IdentityConfig = z.object({
  description: z.string().optional(),
  prompt: z.string().optional(),
  environment_id: z.string().optional(),
  base_model: z.string().optional(),
  base_harness: z.string().optional(),
  harness: HarnessConfig.optional(),
  skills: z.array(z.string()).optional(),
  worker_host: z.string().optional(),
})
export type IdentityConfig = z.infer<typeof IdentityConfig>

export const AgentIdentity = z
  .object({
    uid: z.string(),
    name: z.string(),
    available: z.boolean().meta({ description: 'It may execute runs.' }),
    ...IdentityConfig.shape,
    prompt_truncated: z.boolean().optional().meta({
      description: 'In the list: `prompt` holds its first 2,048 characters only.',
    }),
    skills: z.array(z.string()),
    agent_type: AgentType,
    credential_strategy: CredentialStrategy,
    on_behalf_of_enabled: z.boolean(),
    default_runner_uid: z.string().meta({ description: 'Always empty.' }),
    secrets: z.array(z.object({ name: z.string() })).meta({ description: 'Always none.' }),
    memory: z
      .object({
        attached_stores: z.array(z.unknown()),
        auto_memory: z.object({ enabled: z.boolean() }),
      })
      .meta({ description: 'Always off.' }),
    warnings: z.array(z.string()).optional().meta({
      description: 'What may not be as it was meant, as a pool that no worker serves. Not in lists.',
    }),
    creator: RunCreatorInfo,
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'AgentIdentity', description: 'A service account that executes runs.' })
export type AgentIdentity = z.infer<typeof AgentIdentity>

/** Published clients know no pages of identities: without a limit they get all that there may be. */
export const ListAgentIdentitiesQuery = z.object({
  ...paging(MAX_PAGE),
  factory_uid: z.string().max(256).optional().meta({
    description: 'Of the wire format. There are no factories here, so with one the list is empty.',
  }),
})
export type ListAgentIdentitiesQuery = z.infer<typeof ListAgentIdentitiesQuery>

export const ListAgentIdentitiesResponse = z
  .object({ agents: z.array(AgentIdentity), page_info: PageInfo })
  .meta({ id: 'ListAgentIdentitiesResponse' })
export type ListAgentIdentitiesResponse = z.infer<typeof ListAgentIdentitiesResponse>
