import { z } from 'zod'
import { addressOf } from './address.ts'
import { boundedRecord } from './bounded-record.ts'
import { EnvironmentReference } from './environment-name.ts'
import { EnvironmentRepository } from './environment-repository.ts'
import { Permissions } from './permission.ts'

const text = (max: number) => z.string().max(max)

export const MCPServerConfig = z
  .object({
    command: text(4096).min(1).optional(),
    args: z.array(text(16_384)).max(256).optional(),
    env: boundedRecord(text(256), text(65_536), {
      max: 256,
      message: 'must be at most 256 variables',
    }).optional(),
    url: addressOf({
      schemes: ['http:', 'https:'],
      error: 'must be an http or https address',
      open: false,
    }).optional(),
    headers: boundedRecord(text(256), text(65_536), {
      max: 100,
      message: 'must be at most 100 headers',
    }).optional(),
    required: z.boolean().optional().meta({
      description: 'The run fails when it cannot be started; else the run goes on without its tools.',
    }),
    timeout_seconds: z
      .int()
      .min(1)
      .max(3600)
      .optional()
      .meta({ description: 'How long one call of a tool may take; default 120.' }),
    warp_id: text(256).optional(),
  })
  .check((ctx) => {
    const { command, url, args, env, headers, warp_id } = ctx.value
    const fail = (message: string) => ctx.issues.push({ code: 'custom', message, input: ctx.value })
    if (warp_id !== undefined)
      fail('shared tool servers do not exist here: give command or url instead of warp_id')
    else if ((command === undefined) === (url === undefined)) fail('must have exactly one of command and url')
    else if (url !== undefined && (args ?? env)) fail('args and env go with command, not with url')
    else if (command !== undefined && headers) fail('headers go with url, not with command')
  })
  .meta({
    id: 'MCPServerConfig',
    description:
      'A tool server: exactly one of `command` (run in the sandbox) and `url`. Values of `env` and `headers`, and what `url` says of the user, its query and its fragment, are returned as `***`. A name in braces behind a dollar sign, in `args`, `env` and `headers`, is a secret or variable of the environment.',
  })
export type MCPServerConfig = z.infer<typeof MCPServerConfig>

export const HARNESS_NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/

export const HarnessConfig = z
  .object({
    type: z
      .string()
      .regex(HARNESS_NAME, 'must be a name of a-z, 0-9, ".", "_", "-"')
      .meta({
        description:
          '`oz` is the built-in loop; `runbook` needs no model and runs the prompt’s shell blocks; `claude`, `codex`, `gemini`, `opencode`, `qwen` and `goose` are agents whose program the sandbox must have; operators add others. One that the installation does not have is refused with 400, and so is a field that the harness cannot honour.',
      })
      .optional(),
    model_id: text(256).optional(),
    reasoning_level: text(64).optional(),
  })
  .meta({ id: 'HarnessConfig' })

export const NAME_MAX_LENGTH = 256

/** Of the wire format, but for NONE, which says the default. */
const SessionSharing = z
  .object({
    public_access: z
      .enum(['NONE', 'VIEWER'], {
        error: ({ input }) =>
          input === 'EDITOR'
            ? 'EDITOR is not available here: who has no key may look, and not write. Use VIEWER'
            : undefined,
      })
      .optional()
      .meta({
        description:
          '`VIEWER`: who has the `session_link` of the run sees it without a key, for as long as the link holds. Default `NONE`.',
      }),
  })
  .meta({ id: 'SessionSharing' })

export const CredentialStrategy = z.enum(['CREATOR', 'EXECUTOR'])

/** Where models are asked is the operator's matter, so all that can be said here is to do without. */
export const InferenceProviders = z
  .object({
    aws: z
      .object({
        role_arn: z.string().max(2048).optional(),
        region: z.string().max(64).optional(),
        disabled: z.boolean().optional(),
      })
      .optional(),
  })
  .meta({
    id: 'InferenceProviders',
    description: 'Not offered, but may be said to be `disabled`: the operator sets the providers of models.',
  })
export type InferenceProviders = z.infer<typeof InferenceProviders>

/** Whether it asks for a provider, rather than to do without. */
export const asksForProvider = ({ aws }: InferenceProviders = {}): boolean =>
  aws !== undefined && aws.disabled !== true

export const AmbientAgentConfig = z
  .object({
    name: text(NAME_MAX_LENGTH).optional().meta({ description: 'Label for grouping and filtering.' }),
    model_id: text(256).optional().meta({ description: '`provider/model`, as listed by GET /agent/models.' }),
    fallback_model_ids: z.array(text(256).min(1)).max(10).optional().meta({
      description:
        'Models that go on when the provider of the one before is away, has no credit left, or refuses for good: the first that was not tried, in this order. Default: those of the installation; an empty list: none.',
    }),
    base_prompt: text(1_048_576)
      .optional()
      .meta({ description: 'Instructions put before the conversation.' }),
    environment_id: EnvironmentReference.optional().meta({
      description: 'Id or name of an environment; returned as the id.',
    }),
    repositories: z.array(EnvironmentRepository).max(20).optional().meta({
      description:
        'Repositories of a run without an environment, which gets all other defaults of one. An environment names its own, so with `environment_id` this is refused.',
    }),
    skill_spec: text(1024).optional(),
    skills: z.array(text(1024)).max(20).optional(),
    mcp_servers: boundedRecord(text(128), MCPServerConfig, {
      max: 50,
      message: 'must be at most 50 tool servers',
    }).optional(),
    computer_use_enabled: z.boolean().optional(),
    idle_timeout_minutes: z
      .int()
      .min(0)
      .max(60)
      .optional()
      .meta({ description: 'How long the sandbox is kept after a turn; default 10, and 0 is not at all.' }),
    worker_host: text(128)
      .regex(/^[A-Za-z0-9._-]*$/, 'must be made of A-Z, a-z, 0-9, ".", "_", "-"')
      .optional()
      .meta({ description: 'Pool of workers; default `default`.' }),
    harness: HarnessConfig.optional(),
    permissions: Permissions.optional().meta({
      description:
        'What the agent may do without asking: the first rule that fits decides, and without one a call is allowed. Where the environment has rules too, the stricter of both decides.',
    }),
    session_sharing: SessionSharing.optional().meta({
      description: 'Who may open the `session_link` of the run.',
    }),
    secrets: z
      .array(z.object({ name: text(256) }))
      .max(100)
      .optional()
      .meta({
        description: 'Only none here: the environment names the secrets of its runs.',
      }),
    runner_id: text(256).optional().meta({ description: 'Not offered: `worker_host` names a pool.' }),
    memory_stores: z
      .array(
        z.object({
          uid: text(256),
          access: z.enum(['read_write', 'read_only']).optional(),
          instructions: text(65_536).optional(),
        }),
      )
      .max(100)
      .optional()
      .meta({ description: 'Only none here.' }),
    inference_providers: InferenceProviders.optional(),
    credential_strategy: CredentialStrategy.nullable()
      .optional()
      .meta({ description: 'Only `EXECUTOR` here: a run acts with the rights of whoever executes it.' }),
    computer_use_model_id: text(256).optional().meta({ description: 'Recorded, with no effect.' }),
    harness_auth_secrets: z
      .object({ claude_auth_secret_name: text(256).optional(), codex_auth_secret_name: text(256).optional() })
      .optional(),
  })
  .meta({ id: 'AmbientAgentConfig', description: 'How a run is executed.' })
export type AmbientAgentConfig = z.infer<typeof AmbientAgentConfig>
