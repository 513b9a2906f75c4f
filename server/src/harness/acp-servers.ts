import type { McpCapabilities, McpServer } from '@agentclientprotocol/sdk'
import type { ToolServer } from './harness.ts'

const pairs = (values: Record<string, string>) =>
  Object.entries(values).map(([name, value]) => ({ name, value }))

/** The run's tool servers as an agent starts them, or the names of those that it does not take. */
export function handOn(
  servers: readonly ToolServer[],
  capabilities: McpCapabilities | undefined,
): McpServer[] | { refused: string[] } {
  const handed: McpServer[] = []
  const refused: string[] = []
  for (const { name, launch } of servers) {
    if (launch.type === 'command') {
      const { command, args, env } = launch
      handed.push({ name, command, args, env: pairs(env) })
    } else if (launch.type === 'url' && capabilities?.http) {
      handed.push({ type: 'http', name, url: launch.url, headers: pairs(launch.headers) })
    } else refused.push(name)
  }
  return refused.length > 0 ? { refused } : handed
}
