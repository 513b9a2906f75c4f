import { z } from 'zod'
import { PageInfo, paging } from './page-info.ts'
import { readRepositoryName } from './repository-address.ts'
import { RunCreatorInfo } from './run.ts'
import { Timestamp } from './timestamp.ts'

/** What masking finds begins at this many characters. */
const MIN_VALUE = 8
const MAX_VALUE_BYTES = 65_536
/** As much as variables of an environment may have: each form of each value is looked for in all that a run prints. */
const MAX_TOGETHER_BYTES = 1024 ** 2

/** Why one environment cannot have all these values; null: it can. */
export function findSecretsExcess(values: readonly string[]): string | null {
  const bytes = values.reduce((sum, value) => sum + Buffer.byteLength(value), 0)
  if (bytes <= MAX_TOGETHER_BYTES) return null
  return `Its secrets have ${bytes} bytes together, and one environment can have 1 MiB (${MAX_TOGETHER_BYTES}) at most. Name fewer, or shorten their values.`
}

export const SecretName = z
  .string()
  .regex(/^(?!__proto__$)[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must be a variable name')

/** Lower case, with a port perhaps. */
const HostName = z
  .string()
  .max(259)
  .toLowerCase()
  .regex(
    /^(?=.{1,253}(:|$))([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(:[1-9]\d{0,4})?$/,
    'must be a host name, such as github.com or git.internal:8443',
  )
  .refine((host) => Number(host.split(':')[1] ?? 443) <= 65_535, 'must have a port up to 65535')

/** Without the port that https has anyway: as addresses of repositories are compared. */
const GitHost = HostName.overwrite((host) => host.replace(/:443$/, ''))

/** What is sent beside a password. Not as a pattern of the contract: not every language has this class. */
const UserName = z
  .string()
  .max(255)
  .min(1)
  .refine((name) => !/[\p{Cc}:]/u.test(name), 'must not hold colons or control characters')

const PATTERN =
  /^(?!.*\.git$)(?!(.*\/)?\.{1,2}(\/|$))[A-Za-z0-9._-]+(\/[A-Za-z0-9._-]+)*\/(\*|[A-Za-z0-9._-]+)$/

const NO_PATTERN = 'must be a repository without ".git", such as acme/app, or acme/* for all below acme'

/**
 * The path that a pattern means, and the host where it names one: its address is understood as well, as people copy it. Groups of
 * GitLab may have dots too, so without a scheme it is an address only where it begins with the secret's own host.
 */
function readPattern(text: string, host: string): { host: string | null; path: string } {
  const is_bare = !/[:@]/.test(text)
  const named = readRepositoryName(is_bare && /^[^/]+\.[^/]+\//.test(text) ? `https://${text}` : text)
  return named.host === null || (is_bare && named.host !== host) ? { host: null, path: text } : named
}

function whyNoPattern(text: string, host: string): string | null {
  const named = readPattern(text, host)
  if (named.host !== null && named.host !== host) return `is at ${named.host}, and the secret is for ${host}`
  if (named.host !== null && named.path === '*')
    return `is every repository of ${host}, which is meant where repositories is left out`
  return PATTERN.test(named.path) ? null : NO_PATTERN
}

const RepositoryPattern = z
  .string()
  .max(512)
  .refine((text) => PATTERN.test(text) || /^[^/]*[.:@]/.test(text), NO_PATTERN)

/** Strict, since a misspelt restriction would be none. */
export const GitAccess = z
  .strictObject({
    host: GitHost.meta({ description: 'Host, perhaps with a port: github.com, git.internal:8443.' }),
    repositories: z.array(RepositoryPattern).min(1).max(100).optional().meta({
      description:
        'Where it may be used: `owner/name`, or `owner/*` for everything below. Default: every repository of the host.',
    }),
    username: UserName.optional().meta({
      description: 'What the host wants beside the token; most take any.',
    }),
    read_only: z.boolean().optional().meta({ description: 'It is never used to push.' }),
    app: z
      .strictObject({
        app_id: z.string().regex(/^\d{1,20}$/, 'must be digits'),
        installation_id: z.string().regex(/^\d{1,20}$/, 'must be digits'),
      })
      .optional()
      .meta({ description: 'A GitHub App: the value is its private key in PEM.' }),
  })
  .check(({ value: { host, repositories = [] }, issues }) => {
    for (const [place, text] of repositories.entries()) {
      const message = whyNoPattern(text, host)
      if (message) issues.push({ code: 'custom', message, path: ['repositories', place], input: text })
    }
  })
  .overwrite((access) =>
    access.repositories
      ? { ...access, repositories: access.repositories.map((text) => readPattern(text, access.host).path) }
      : access,
  )
  .meta({ id: 'GitAccess', description: 'Makes a secret a token of git over https.' })
export type GitAccess = z.infer<typeof GitAccess>

export const RegistryAccess = z
  .strictObject({
    host: HostName.overwrite((host) => host.replace(/^index\.docker\.io$/, 'docker.io')).meta({
      description:
        'As names of images begin: `ghcr.io`, `registry.internal:5000`; `docker.io` for those without a host.',
    }),
    username: UserName.meta({ description: 'Whose password it is.' }),
  })
  .meta({
    id: 'RegistryAccess',
    description: 'Makes a secret the password of a registry of container images.',
  })
export type RegistryAccess = z.infer<typeof RegistryAccess>

export const SecretConfig = z
  .strictObject({
    value: z
      .string()
      .min(MIN_VALUE, `must have at least ${MIN_VALUE} characters: shorter ones cannot be masked`)
      .refine((value) => new TextEncoder().encode(value).length <= MAX_VALUE_BYTES, 'is over 64 KiB')
      .refine((value) => !value.includes('\u0000'), 'must not contain NUL characters')
      .meta({
        maxLength: MAX_VALUE_BYTES,
        description: '8 characters to 64 KiB. No answer ever holds it.',
      }),
    description: z.string().max(4096).nullable().optional(),
    git: GitAccess.optional().meta({
      description:
        'The value is a token of git, which never enters a sandbox. Without: a variable for commands.',
    }),
    registry: RegistryAccess.optional().meta({
      description:
        'The value is a password that images are pulled with, and never enters a sandbox. Not beside `git`.',
    }),
  })
  .check(({ value: { value, git, registry }, issues }) => {
    const message = git && (git.app ? notKey(value) : notToken(value))
    if (message) issues.push({ code: 'custom', message, path: ['value'], input: undefined })
    if (git && registry)
      issues.push({
        code: 'custom',
        message: 'must not stand beside git',
        path: ['registry'],
        input: undefined,
      })
  })
  .meta({ id: 'SecretConfig' })
export type SecretConfig = z.infer<typeof SecretConfig>

const notKey = (value: string): string | false =>
  !/^\s*-----BEGIN [A-Z ]*PRIVATE KEY-----\s/.test(value) &&
  'must be the private key of the GitHub App in PEM'

/** It is sent in a header. */
const notToken = (value: string): string | false =>
  !/^[\x21-\x7e]+$/.test(value) && 'must be a token: no spaces, line ends or letters beyond ASCII'

export const SecretScope = z.enum(['User', 'Team'])
export type SecretScope = z.infer<typeof SecretScope>

export const Secret = z
  .object({
    name: SecretName,
    description: z.string().optional(),
    git: GitAccess.optional(),
    registry: RegistryAccess.optional(),
    scope: z.object({
      type: SecretScope,
      uid: z.string().optional().meta({ description: 'Whose it is, where it is personal.' }),
    }),
    version: z.int().meta({
      description: 'Rises with each value; never the same again for a name, also when it was deleted.',
    }),
    restricted: z.boolean().meta({
      description: 'Only those with a grant, and admins, may use it, name it, set and delete it.',
    }),
    created_at: Timestamp,
    last_updated: Timestamp,
    creator: RunCreatorInfo,
  })
  .meta({ id: 'Secret', description: 'A secret, without its value.' })
export type Secret = z.infer<typeof Secret>

export const SecretQuery = z.object({
  scope: SecretScope.optional().meta({ description: 'Default `Team`. `User`: your own.' }),
})

export const ListSecretsQuery = z.object({
  ...paging(500, 'Large ones end a page sooner.'),
  scope: SecretScope.optional().meta({ description: 'Default: those of the team, and your own.' }),
})
export type ListSecretsQuery = z.infer<typeof ListSecretsQuery>

export const ListSecretsResponse = z
  .object({ secrets: z.array(Secret), page_info: PageInfo })
  .meta({ id: 'ListSecretsResponse' })
export type ListSecretsResponse = z.infer<typeof ListSecretsResponse>

/** How a secret with `git` is used at a git host, by its value. */
export const gitCredentialOf = (name: string, git: GitAccess, secret: string) => ({
  ...{ name, secret, host: git.host, repositories: git.repositories ?? null },
  ...{ username: git.username ?? null, read_only: git.read_only ?? false, app: git.app ?? null },
})
