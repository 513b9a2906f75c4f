import type { Config } from './config.ts'
import { listAgents } from './harness/acp-agents.ts'

/** What runs of this installation may name as their harness. */
export const harnessNames = ({ acp_agents }: Pick<Config, 'acp_agents'>): string[] => [
  'oz',
  ...listAgents(acp_agents).map(({ name }) => name),
  'runbook',
]
