import type { CreateRunParams } from '@runyard/client'
import { objectOf, writeObject } from './json-object.ts'
import { readPermissions, writePermissions } from './permission-lines.ts'

export type AgentConfig = NonNullable<CreateRunParams['config']>

/** Where runs work and with what, as text; empty is what the service takes by default. */
export interface AgentChoice {
  environment: string
  /** Address of the one repository of a run without an environment. */
  repository: string
  /** Its branch, tag or commit. */
  ref: string
  model: string
  harness: string
  /** How much the model thinks. */
  effort: string
  base_prompt: string
  /** Of workers. */
  pool: string
  /** How long the sandbox is kept after a turn. */
  idle_minutes: string
  /** The link of a run opens its page without a key. */
  is_public: boolean
  /** One a line: `ask:bash:git push*`. */
  permissions: string
  /** By name, as JSON. */
  tool_servers: string
}

export const choiceOf = (config: AgentConfig | undefined): AgentChoice => ({
  environment: config?.environment_id ?? '',
  ...placeOf(config?.repositories),
  model: config?.model_id ?? '',
  harness: config?.harness?.type ?? '',
  effort: config?.harness?.reasoning_level ?? '',
  base_prompt: config?.base_prompt ?? '',
  pool: config?.worker_host ?? '',
  idle_minutes: String(config?.idle_timeout_minutes ?? ''),
  is_public: config?.session_sharing?.public_access === 'VIEWER',
  permissions: writePermissions(config?.permissions),
  tool_servers: writeObject(config?.mcp_servers),
})

/** One repository that is named by its address alone; what else was asked for stays as it is. */
function placeOf(repositories: AgentConfig['repositories']): Pick<AgentChoice, 'repository' | 'ref'> {
  const [first, ...others] = repositories ?? []
  const is_plain =
    first?.url !== undefined && Object.keys(first).every((name) => ['url', 'ref'].includes(name))
  return is_plain && others.length === 0
    ? { repository: first.url ?? '', ref: first.ref ?? '' }
    : { repository: '', ref: '' }
}

function repositoriesOf(
  { environment, repository, ref }: AgentChoice,
  before: AgentConfig['repositories'],
): Pick<AgentConfig, 'repositories'> {
  // An environment names its own.
  if (environment) return {}
  const url = repository.trim()
  const branch = ref.trim()
  if (url) return { repositories: [{ url, ...(branch ? { ref: branch } : {}) }] }
  if (!before || before.length === 0) return {}
  return { repositories: placeOf(before).repository ? [] : before }
}

/** The configuration of what was chosen. What is not chosen here stays; so do the details of an agent that stays. */
export function configOf(choice: AgentChoice, before: AgentConfig | undefined): AgentConfig {
  const {
    environment_id: _environment,
    model_id: _model,
    harness: _harness,
    base_prompt: _prompt,
    worker_host: _pool,
    idle_timeout_minutes: _idle,
    session_sharing: sharing,
    permissions: _rules,
    mcp_servers: _servers,
    ...others
  } = before ?? {}
  const { repositories, ...kept } = others
  const [model, pool, idle] = [choice.model, choice.pool, choice.idle_minutes].map((text) => text.trim())
  const harness = harnessOf(choice, before?.harness)
  const rules = readPermissions(choice.permissions) ?? []
  const servers = serversOf(choice)
  return {
    ...kept,
    ...(choice.environment ? { environment_id: choice.environment } : {}),
    ...repositoriesOf(choice, repositories),
    ...(model ? { model_id: model } : {}),
    ...(harness ? { harness } : {}),
    ...(choice.base_prompt.trim() ? { base_prompt: choice.base_prompt } : {}),
    ...(pool ? { worker_host: pool } : {}),
    ...(idle ? { idle_timeout_minutes: Number(idle) } : {}),
    ...(choice.is_public ? { session_sharing: { public_access: 'VIEWER' } } : {}),
    // Said where it was said before: a run that repeats another one takes over what is left out.
    ...(!choice.is_public && sharing ? { session_sharing: { public_access: 'NONE' } } : {}),
    ...(rules.length > 0 || before?.permissions ? { permissions: rules } : {}),
    ...(servers || before?.mcp_servers ? { mcp_servers: servers ?? {} } : {}),
  }
}

/** Other agents keep them as `{"mcpServers": {…}}`. The service looks at what they are. */
function serversOf({ tool_servers }: AgentChoice): AgentConfig['mcp_servers'] {
  const given = objectOf(tool_servers)
  return (given?.mcpServers ?? given) as AgentConfig['mcp_servers']
}

/** The one there was with its details, or another with none. */
function harnessOf({ harness, effort }: AgentChoice, before: AgentConfig['harness']): AgentConfig['harness'] {
  const { reasoning_level: _, ...same } = before ?? {}
  const level = effort.trim()
  const said = {
    ...(harness === (before?.type ?? '') ? same : harness ? { type: harness } : {}),
    ...(level ? { reasoning_level: level } : {}),
  }
  return Object.keys(said).length > 0 ? said : undefined
}
