import assert from 'node:assert/strict'
import { createAcp } from '../src/harness/acp.ts'
import { listAgents } from '../src/harness/acp-agents.ts'
import { createLoop } from '../src/harness/loop.ts'
import { openModels } from '../src/harness/models.ts'
import { runbook } from '../src/harness/runbook.ts'
import { testHarness } from './support/harness-conformance.ts'
import { openModelServer } from './support/model-server.ts'
import { obey } from './support/obedient-model.ts'
import { scriptedAgent } from './support/scripted-agent.ts'

testHarness('runbook', async () => ({
  harness: runbook,
  ask: (commands) => commands.map((command) => `Next:\n\`\`\`sh\n${command}\n\`\`\`\n`).join('\n'),
  close: async () => {},
}))

testHarness('oz', async () => {
  const server = await openModelServer(obey)
  const models = openModels({ openai: { base_url: server.url } })
  return {
    harness: createLoop(models, { retry_delay_ms: 1 }),
    ask: (commands) => commands.map((command) => `$ ${command}`).join('\n'),
    close: server.close,
  }
})

testHarness('acp', async () => {
  const agent = listAgents({ scripted: { command: scriptedAgent('resume') } }).find(
    ({ name }) => name === 'scripted',
  )
  assert(agent)
  return {
    harness: createAcp(agent, openModels({})),
    ask: (commands) => commands.map((command) => `$ ${command}`).join('\n'),
    close: async () => {},
  }
})
