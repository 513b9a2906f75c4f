import type { AmbientAgentConfig, PermissionRule } from '@runyard/client'
import type { Command } from 'commander'
import { PERMISSION_HELP, permission } from './option-values.ts'
import { readJsonObject } from './read-input.ts'

/** How runs are executed, as options say it. */
export interface AgentOptions {
  env?: string
  model?: string
  permission?: PermissionRule[]
  harness?: string
  host?: string
  mcp?: string
  public?: boolean
}

export const addAgentOptions = (command: Command): Command =>
  command
    .option('-e, --env <environment>', 'environment to run in, by name or id')
    .option('-m, --model <id>', 'model, as `runyard model list` names it')
    .option('--permission <rule>', PERMISSION_HELP, permission)
    .option('--harness <name>', 'what executes it: oz, runbook, or an agent such as claude or opencode')
    .option('--host <pool>', 'pool of workers')
    .option('--mcp <file>', 'JSON file with tool servers by name')
    .option('--public', 'let who has the link of the run see it without a key')

export async function agentConfigOf(options: AgentOptions): Promise<AmbientAgentConfig> {
  const mcp = options.mcp ? await readJsonObject(options.mcp) : undefined
  return {
    ...(options.model ? { model_id: options.model } : {}),
    ...(options.env ? { environment_id: options.env } : {}),
    ...(options.host ? { worker_host: options.host } : {}),
    ...(options.permission ? { permissions: options.permission } : {}),
    ...(options.harness ? { harness: { type: options.harness } } : {}),
    ...(options.public ? { session_sharing: { public_access: 'VIEWER' as const } } : {}),
    // The service checks each of them and names what is wrong.
    ...(mcp
      ? { mcp_servers: (mcp.mcpServers ?? mcp) as NonNullable<AmbientAgentConfig['mcp_servers']> }
      : {}),
  }
}
