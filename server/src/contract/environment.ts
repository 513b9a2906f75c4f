import { z } from 'zod'
import { boundedRecord } from './bounded-record.ts'
import { EnvironmentName } from './environment-name.ts'
import { findFolderConflict, repositoriesOf } from './environment-repositories.ts'
import { EnvironmentRepository } from './environment-repository.ts'
import { BranchPattern } from './git-ref.ts'
import { normalizeImage } from './image.ts'
import { EnvironmentLimits } from './limits.ts'
import { PageInfo, paging } from './page-info.ts'
import { Permissions } from './permission.ts'
import { MergeMethod } from './pull-request.ts'
import { RunCreatorInfo } from './run.ts'
import { SecretName } from './secret.ts'
import { RunState } from './state.ts'
import { Timestamp } from './timestamp.ts'

/** As the network policy compares them: lower case; a wildcard needs a domain of two names at least. */
const HostPattern = z
  .string()
  .max(253)
  .toLowerCase()
  .regex(
    /^(\*\.(?=[^.]+\.))?([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(:\d{1,5})?$/,
    'must be a host name, such as example.com, *.example.com or example.com:8443',
  )

/** What a process can be started with, with room for the sandbox's own arguments and variables. */
const MAX_VARIABLES = 1_000
const MAX_VARIABLE_BYTES = 65_536
const MAX_VARIABLES_BYTES = 1024 ** 2

const VariableName = z
  .string()
  .regex(/^(?!__proto__$)[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must be a variable name')

const days = (what: string) =>
  z
    .int()
    .min(1)
    .max(36_500)
    .optional()
    .meta({ description: `Days. ${what}` })

export const EnvironmentRetention = z
  .object({
    run_days: days('Runs with all that belongs to them: logs, messages, files.'),
    workspace_days: days('Packed workspaces: a follow-up after that begins in a fresh one.'),
    artifact_days: days('Files that agents left, and patches. The run stays.'),
  })
  .meta({ id: 'EnvironmentRetention' })

/** Known, so that it is refused and not ignored. */
const CloudProvider = boundedRecord(z.string().max(128), z.string().max(2048), {
  max: 20,
  message: 'must be at most 20 fields',
})

export const SecretRef = z
  .object({ name: SecretName.meta({ description: 'Of the secret.' }) })
  .meta({ id: 'SecretRef' })

/** The name alone is what came before, and what a person writes. */
const SecretReference = z.union([SecretName, SecretRef])
const nameOf = (reference: z.infer<typeof SecretReference>): string =>
  typeof reference === 'string' ? reference : reference.name

const MOST_SECRETS = 100

/** What a caller writes. */
export const EnvironmentRequest = z
  .object({
    name: EnvironmentName.meta({
      description:
        'Trimmed; unique, and no id: environments are addressed by name or id. Compared exactly, case included.',
    }),
    description: z.string().max(4096).nullable().optional(),
    docker_image: z
      .string()
      .max(512)
      .regex(/^[a-z0-9][A-Za-z0-9._/:@-]*$/, 'must be an image name')
      .refine((name) => normalizeImage(name) !== null, 'must be an image name')
      .optional()
      .meta({ description: 'The operator says which may run: RUNYARD_IMAGES. Only Docker uses it.' }),
    github_repos: z
      .array(
        z.object({
          owner: z.string().regex(/^[A-Za-z0-9._-]{1,100}$/),
          repo: z.string().regex(/^[A-Za-z0-9._-]{1,100}$/),
        }),
      )
      .max(20)
      .optional(),
    repositories: z.array(EnvironmentRepository).max(20).optional(),
    setup_commands: z.array(z.string().min(1).max(65_536)).max(50).optional().meta({
      description:
        'Run in order before the agent starts, each by a shell of its own (`bash` with `pipefail` where there is one), where the agent starts: in the repository’s folder if there is one repository, else in `/workspace`.',
    }),
    variables: boundedRecord(
      VariableName,
      z
        .string()
        .refine((value) => Buffer.byteLength(value) <= MAX_VARIABLE_BYTES, { message: 'is over 64 KiB' })
        .meta({ maxLength: MAX_VARIABLE_BYTES }),
      { max: MAX_VARIABLES, message: 'must be at most 1,000 variables' },
    )
      .refine(
        (variables) => Buffer.byteLength(Object.entries(variables).flat().join('')) <= MAX_VARIABLES_BYTES,
        {
          message: 'are over 1 MiB together',
        },
      )
      .optional()
      .meta({
        description:
          'At most 1,000, each of 64 KiB, 1 MiB together. Values are returned as `***`; in an update that keeps the value.',
      }),
    secrets: z.array(SecretReference).max(MOST_SECRETS).optional().meta({
      description:
        'Secrets of the team, or of your own. Those with `git` give access to repositories and stay outside of the sandbox; all others are variables of the same name. In a personal run a personal secret comes before the team’s.',
    }),
    permissions: Permissions.optional().meta({
      description:
        'Rules for every run of the environment, as in the configuration of a run; the stricter of both decides.',
    }),
    on_success: z.enum(['nothing', 'branch', 'pull_request']).optional().meta({
      description:
        'What becomes of the changes when a run succeeds: what is not committed is committed, pushed as the branch `runyard/<run id>`, and a pull request is opened, once for all follow-ups. Default `nothing`. Needs a secret with `git` for each repository.',
    }),
    merge_method: MergeMethod.optional().meta({
      description:
        'How pull requests of its runs are merged from here, by whoever may go on with the run and with the secret that the environment has for the repository then: `POST /agent/runs/{run_id}/merge`. Absent: they are merged at the host alone.',
    }),
    push_branches: z.array(BranchPattern).max(20).optional().meta({
      description: 'Branches that runs may push beside `runyard/<run id>`, such as `docs` or `release/*`.',
    }),
    egress: z.enum(['none', 'allowlist', 'open']).optional().meta({
      description:
        'What the network lets out: nothing, HTTP and HTTPS to allowed hosts by a proxy, or everything that the machine reaches. The operator says how much may be asked for: RUNYARD_EGRESS. Default: `allowlist` where the sandbox has it, else `open` with https repositories and `none` without.',
    }),
    allowed_hosts: z.array(HostPattern).max(200).optional().meta({
      description:
        'With `allowlist`: hosts besides those of the repositories, such as `api.example.com`, or `*.example.com` for all below it. Ports 80 and 443, or another as in `example.com:8443`.',
    }),
    package_registries: z.boolean().optional().meta({
      description: 'With `allowlist`: whether the usual package registries are allowed; default true.',
    }),
    models: z.boolean().optional().meta({
      description:
        'Commands may call the models of the installation by the gateway, with the budget of the run; default false. They have addresses and a token as `OPENAI_BASE_URL`, `OPENAI_API_KEY`, `ANTHROPIC_BASE_URL`, `ANTHROPIC_API_KEY`, `GOOGLE_GEMINI_BASE_URL` and `GEMINI_API_KEY`, but for providers of which the environment sets one of these itself. No key enters the sandbox.',
    }),
    limits: EnvironmentLimits.optional().meta({
      description: 'What a run may use, up to the maxima that the operator has set.',
    }),
    providers: z
      .object({ aws: CloudProvider.optional(), gcp: CloudProvider.optional() })
      .optional()
      .meta({ description: 'Only none here: secrets or variables hold credentials for a cloud.' }),
    reuse_setup: z.boolean().optional().meta({
      description:
        'Whether a run may begin with what the setup commands left in the workspace and the home directory of an earlier one, instead of running them: within 24 hours, for the same commits, configuration, variables and secrets. Not where they leave a process running. Default true.',
    }),
    failure_session_retention_minutes: z.int().min(0).max(1440).nullable().optional().meta({
      description:
        'How long the sandbox of a run that ended FAILED or ERROR is kept, where that is longer than `idle_timeout_minutes`: a follow-up can look into it. If the setup failed, a follow-up within this time is a debug turn in that sandbox, and the run stays FAILED. Default 0.',
    }),
    retention: EnvironmentRetention.optional().meta({
      description:
        'How long what its runs leave is kept, where that is shorter than the installation keeps it (RUNYARD_RETENTION_…): in days after the last change of a run. Absent: as the installation says.',
    }),
  })
  .refine(
    ({ secrets = [], variables = {} }) => !secrets.some((secret) => Object.hasOwn(variables, nameOf(secret))),
    {
      path: ['secrets'],
      message: 'must not name what is a variable already',
    },
  )
  .check((ctx) => {
    // Of what is no address nobody knows the folder.
    if (ctx.issues.length > 0) return
    const { github_repos = [], on_success = 'nothing' } = ctx.value
    const repositories = repositoriesOf(ctx.value)
    const conflict = findFolderConflict(repositories)
    if (conflict) {
      const { place, message } = conflict
      const own = place - github_repos.length
      const path = own < 0 ? ['github_repos', place] : ['repositories', own]
      ctx.issues.push({ code: 'custom', path, message, input: ctx.value })
    }
    if (on_success !== 'nothing' && !repositories.some(({ url }) => url))
      ctx.issues.push({
        ...{ code: 'custom', path: ['on_success'], input: on_success },
        message: `needs a repository with an address to push to, and the environment has ${repositories.length > 0 ? 'local ones alone' : 'none'}`,
      })
  })
  .meta({ id: 'EnvironmentRequest' })
export type EnvironmentRequest = z.infer<typeof EnvironmentRequest>

/** What is stored: its secrets are their names. */
export type EnvironmentConfig = Omit<EnvironmentRequest, 'secrets'> & { secrets?: string[] | undefined }

export const readConfig = ({ secrets, ...config }: EnvironmentRequest): EnvironmentConfig => ({
  ...config,
  ...(secrets ? { secrets: secrets.map(nameOf) } : {}),
})

/** What is answered. */
export const EnvironmentConfigView = z
  .object({
    ...EnvironmentRequest.shape,
    secrets: z
      .array(SecretRef)
      .max(MOST_SECRETS)
      .optional()
      .meta(EnvironmentRequest.shape.secrets.meta() ?? {}),
  })
  .meta({ id: 'EnvironmentConfig' })
export type EnvironmentConfigView = z.infer<typeof EnvironmentConfigView>

export const viewConfig = ({ secrets, ...config }: EnvironmentConfig): EnvironmentConfigView => ({
  ...config,
  ...(secrets ? { secrets: secrets.map((name) => ({ name })) } : {}),
})

export const Environment = z
  .object({
    uid: z.string().meta({ description: '22 characters of A-Z, a-z, 0-9.' }),
    config: EnvironmentConfigView,
    created_at: Timestamp,
    last_updated: Timestamp,
    setup_failed: z.boolean().meta({ description: 'The setup of its latest run failed.' }),
    last_task_created: z
      .object({
        id: z.string(),
        title: z.string(),
        state: RunState,
        created_at: Timestamp,
        updated_at: Timestamp,
        started_at: Timestamp.nullable(),
      })
      .optional()
      .meta({ description: 'The newest run of it that the caller may see; absent while there is none.' }),
    last_task_run_timestamp: Timestamp.optional().meta({ description: 'When that run was created.' }),
    creator: RunCreatorInfo,
    last_editor: RunCreatorInfo.optional().meta({
      description: 'Who saved it last; absent where an earlier version did not note that.',
    }),
    scope: z.object({ type: z.enum(['User', 'Team']), uid: z.string().optional() }),
  })
  .meta({ id: 'Environment' })
export type Environment = z.infer<typeof Environment>

export const ListEnvironmentsQuery = z.object({
  ...paging(500, 'Large environments end a page sooner.'),
  sort_by: z.enum(['name', 'last_updated']).optional().meta({ description: 'Default `last_updated`.' }),
})
export type ListEnvironmentsQuery = z.infer<typeof ListEnvironmentsQuery>

export const ListEnvironmentsResponse = z
  .object({ environments: z.array(Environment), page_info: PageInfo })
  .meta({ id: 'ListEnvironmentsResponse' })
export type ListEnvironmentsResponse = z.infer<typeof ListEnvironmentsResponse>
