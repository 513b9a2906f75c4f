import type { AmbientAgentConfig, PermissionRule } from '@runyard/client'
import type { Command } from 'commander'
import { PERMISSION_HELP, permission, repeated, wholeNumber } from './option-values.ts'
import { readJsonObject } from './read-input.ts'
import { REPO_FLAGS, readRepository } from './repository-option.ts'

/** How runs are executed, as options say it. */
export interface AgentOptions {
  env?: string
  /** false: none, whatever folder this is. */
  repo?: string[] | false
  model?: string
  fallback?: string[]
  permission?: PermissionRule[]
  harness?: string
  host?: string
  mcp?: string
  reasoning?: string
  basePrompt?: string
  idleMinutes?: number
  public?: boolean
}

/** Commander begins with what an option is without being given: for one that can be denied, true. */
const repeatedUnlessNone = (text: string, before: string[] | boolean | undefined): string[] =>
  repeated(text, Array.isArray(before) ? before : [])

export const addAgentOptions = (command: Command): Command =>
  command
    .option('-e, --env <environment>', 'environment to run in, by name or id')
    .option(
      REPO_FLAGS,
      'without an environment: repository to work in, by its address, owner/repo of GitHub, or a path; repeat for more',
      repeatedUnlessNone,
    )
    .option('--no-repo', 'none, also in a git checkout')
    .option('-m, --model <id>', 'model, as `runyard model list` names it')
    .option(
      '--fallback <id>',
      'model that goes on when the one before fails for good; repeat for more',
      repeated,
    )
    .option('--permission <rule>', PERMISSION_HELP, permission)
    .option('--harness <name>', 'what executes it: oz, runbook, or an agent such as claude or opencode')
    .option('--reasoning <level>', 'how much the model of the built-in agent thinks, such as low or high')
    .option('--base-prompt <text>', 'instructions that stand before the prompt')
    .option('--host <pool>', 'pool of workers')
    .option('--idle-minutes <n>', 'how long the sandbox is kept after a turn', wholeNumber(0, 60))
    .option('--mcp <file>', 'JSON file with tool servers by name')
    .option('--public', 'let who has the link of the run see it without a key')
    .option('--no-public', 'let nobody see it without a key, where it would be so')

export async function agentConfigOf(options: AgentOptions): Promise<AmbientAgentConfig> {
  const mcp = options.mcp ? await readJsonObject(options.mcp) : undefined
  return {
    ...(options.model ? { model_id: options.model } : {}),
    ...(options.fallback ? { fallback_model_ids: options.fallback } : {}),
    // An empty one is refused by the service: without its environment a run would have none of its rules.
    ...(options.env === undefined ? {} : { environment_id: options.env }),
    ...(options.repo ? { repositories: options.repo.map(readRepository) } : {}),
    ...(options.host ? { worker_host: options.host } : {}),
    ...(options.permission ? { permissions: options.permission } : {}),
    ...(options.harness || options.reasoning ? { harness: harnessOf(options) } : {}),
    ...(options.basePrompt ? { base_prompt: options.basePrompt } : {}),
    ...(options.idleMinutes !== undefined ? { idle_timeout_minutes: options.idleMinutes } : {}),
    ...(options.public === undefined
      ? {}
      : { session_sharing: { public_access: options.public ? ('VIEWER' as const) : ('NONE' as const) } }),
    // The service checks each of them and names what is wrong.
    ...(mcp
      ? { mcp_servers: (mcp.mcpServers ?? mcp) as NonNullable<AmbientAgentConfig['mcp_servers']> }
      : {}),
  }
}

const harnessOf = ({ harness, reasoning }: AgentOptions): NonNullable<AmbientAgentConfig['harness']> => ({
  ...(harness ? { type: harness } : {}),
  ...(reasoning ? { reasoning_level: reasoning } : {}),
})
