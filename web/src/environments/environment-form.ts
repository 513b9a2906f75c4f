import type { EnvironmentConfig, MergeMethod } from '@runyard/client'
import { readPermissions, writePermissions } from '../new-run/permission-lines.ts'

type Repository = NonNullable<EnvironmentConfig['repositories']>[number]

/** The fields of an environment that its form shows, as text. What it does not show is kept as it was. */
export interface EnvironmentForm {
  name: string
  description: string
  image: string
  /** One a line: an address, then a branch, tag or commit if one is wanted. */
  repositories: string
  /** One a line. */
  setup_commands: string
  /** One a line: `NAME=value`. */
  variables: string
  /** Names, by spaces or lines. */
  secrets: string
  on_success: NonNullable<EnvironmentConfig['on_success']>
  /** Empty: pull requests are merged at their host alone. */
  merge_method: MergeMethod | ''
  /** Empty: what the service takes by default. */
  egress: NonNullable<EnvironmentConfig['egress']> | ''
  /** By spaces or lines. */
  allowed_hosts: string
  /** One a line: `ask:bash:git push*`. */
  permissions: string
  /** Commands may call models. */
  models: boolean
  memory_mb: string
  cpus: string
  disk_mb: string
  setup_minutes: string
  /** Days. */
  run_days: string
  workspace_days: string
  artifact_days: string
}

const LIMITS = ['memory_mb', 'cpus', 'disk_mb', 'setup_minutes'] as const
export type LimitName = (typeof LIMITS)[number]
const RETENTION = ['run_days', 'workspace_days', 'artifact_days'] as const
export type RetentionName = (typeof RETENTION)[number]

export const formOf = (config: EnvironmentConfig | undefined): EnvironmentForm => ({
  name: config?.name ?? '',
  description: config?.description ?? '',
  image: config?.docker_image ?? '',
  repositories: (config?.repositories ?? []).map(writeRepository).join('\n'),
  setup_commands: (config?.setup_commands ?? []).join('\n'),
  variables: Object.entries(config?.variables ?? {})
    .map(([name, value]) => `${name}=${value}`)
    .join('\n'),
  secrets: (config?.secrets ?? []).map(({ name }) => name).join('\n'),
  on_success: config?.on_success ?? 'nothing',
  merge_method: config?.merge_method ?? '',
  egress: config?.egress ?? '',
  allowed_hosts: (config?.allowed_hosts ?? []).join('\n'),
  permissions: writePermissions(config?.permissions),
  models: config?.models ?? false,
  memory_mb: String(config?.limits?.memory_mb ?? ''),
  cpus: String(config?.limits?.cpus ?? ''),
  disk_mb: String(config?.limits?.disk_mb ?? ''),
  setup_minutes: String(config?.limits?.setup_minutes ?? ''),
  run_days: String(config?.retention?.run_days ?? ''),
  workspace_days: String(config?.retention?.workspace_days ?? ''),
  artifact_days: String(config?.retention?.artifact_days ?? ''),
})

/** Whether anything is said that stands folded otherwise. */
export const hasDetails = (form: EnvironmentForm): boolean =>
  form.egress !== '' ||
  form.models ||
  [form.allowed_hosts, form.permissions, ...[...LIMITS, ...RETENTION].map((name) => form[name])].some(
    (text) => text !== '',
  )

/** Whether all is there that has to be. */
export const isWhole = ({ name, permissions }: EnvironmentForm): boolean =>
  name.trim() !== '' && readPermissions(permissions) !== null

const addressOf = ({ url, local_path }: Repository): string => url ?? local_path ?? ''
const writeRepository = (repository: Repository): string =>
  [addressOf(repository), repository.ref].filter(Boolean).join(' ')

/** The configuration that the form stands for; `before` is what it was made from. */
export function configOf(form: EnvironmentForm, before: EnvironmentConfig | undefined): EnvironmentConfig {
  const { description, image, on_success } = form
  const {
    description: _description,
    docker_image: _image,
    repositories: known = [],
    setup_commands: _commands,
    variables: _variables,
    secrets: _secrets,
    on_success: _on_success,
    merge_method: _merge_method,
    egress: _egress,
    allowed_hosts: _hosts,
    permissions: _rules,
    models: _models,
    limits: earlier,
    retention: _retention,
    ...others
  } = before ?? { name: '' }
  const [repositories, commands, secrets, hosts] = [
    linesOf(form.repositories).map((line) => readRepository(line, known)),
    hasLongCommands(before) ? (before?.setup_commands ?? []) : linesOf(form.setup_commands),
    wordsOf(form.secrets),
    wordsOf(form.allowed_hosts),
  ]
  const rules = readPermissions(form.permissions) ?? []
  const limits = limitsOf(form, earlier)
  const retention = Object.fromEntries(
    RETENTION.filter((name) => form[name].trim() !== '').map((name) => [name, Number(form[name])]),
  )
  const variables = Object.fromEntries(linesOf(form.variables).map(readVariable))
  return {
    ...others,
    name: form.name.trim(),
    ...(description.trim() ? { description: description.trim() } : {}),
    ...(image.trim() ? { docker_image: image.trim() } : {}),
    ...(repositories.length > 0 ? { repositories } : {}),
    ...(commands.length > 0 ? { setup_commands: commands } : {}),
    ...(Object.keys(variables).length > 0 ? { variables } : {}),
    ...(secrets.length > 0 ? { secrets: secrets.map((name) => ({ name })) } : {}),
    ...(on_success === 'nothing' ? {} : { on_success }),
    ...(form.merge_method ? { merge_method: form.merge_method } : {}),
    ...(form.egress ? { egress: form.egress } : {}),
    ...(hosts.length > 0 ? { allowed_hosts: hosts } : {}),
    ...(rules.length > 0 ? { permissions: rules } : {}),
    ...(form.models ? { models: true } : {}),
    ...(Object.keys(limits).length > 0 ? { limits } : {}),
    ...(Object.keys(retention).length > 0 ? { retention } : {}),
  }
}

/** Whether a setup command has several lines, which a form of one a line would take apart: it leaves such alone. */
export const hasLongCommands = (config: EnvironmentConfig | undefined): boolean =>
  config?.setup_commands?.some((command) => command.includes('\n')) ?? false

/** Those that the form does not show stay as they were. */
function limitsOf(form: EnvironmentForm, before: EnvironmentConfig['limits']) {
  const { memory_mb: _memory, cpus: _cpus, disk_mb: _disk, setup_minutes: _setup, ...others } = before ?? {}
  const said = LIMITS.filter((name) => form[name].trim() !== '').map((name) => [name, Number(form[name])])
  return { ...others, ...Object.fromEntries(said) } as NonNullable<typeof before>
}

const wordsOf = (text: string): string[] => text.split(/\s+/).filter(Boolean)
const linesOf = (text: string): string[] => text.split('\n').filter((line) => line.trim() !== '')

/**
 * What the line does not say of a repository (depth, folder) stays as it was, and so does what kind of place it is. Otherwise a
 * path begins with a slash or a dot; the service understands addresses, and refuses what is none.
 */
function readRepository(line: string, known: readonly Repository[]): Repository {
  // A path may hold spaces; a ref holds none.
  const [, address = '', ref] = known.some((repository) => addressOf(repository) === line.trim())
    ? [line, line.trim()]
    : (/^(.*?)(?:\s+(\S+))?$/.exec(line.trim()) ?? [])
  const { ref: _, ...before } = known.find((repository) => addressOf(repository) === address) ?? {}
  const is_path = 'local_path' in before || (!('url' in before) && /^(\/|\.{1,2}(\/|$))/.test(address))
  return { ...before, ...(is_path ? { local_path: address } : { url: address }), ...(ref ? { ref } : {}) }
}

/** A value may hold spaces and further signs; the name may not. */
function readVariable(line: string): [string, string] {
  const at = line.indexOf('=')
  return at < 0 ? [line.trim(), ''] : [line.slice(0, at).trim(), line.slice(at + 1)]
}
