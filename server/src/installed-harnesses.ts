import type { Config } from './config.ts'
import { type HarnessTraits, LOOP, RUNBOOK } from './contract/harness-fields.ts'
import { listAgents, traitsOf } from './harness/acp-agents.ts'

/** What runs of this installation may name as their harness. */
export const listHarnesses = ({ acp_agents }: Pick<Config, 'acp_agents'>): HarnessTraits[] => [
  LOOP,
  ...listAgents(acp_agents).map(traitsOf),
  RUNBOOK,
]
