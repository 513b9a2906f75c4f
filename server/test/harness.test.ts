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
  talks: '```sh\nwhile sleep 0.02; do echo word after word; done\n```',
  fails: '```sh\nexit 3\n```',
  close: async () => {},
}))

testHarness('oz', async () => {
  const server = await openModelServer((request) => {
    const said = request.messages.findLast(({ role }) => role === 'user')?.content
    if (said === 'talk') return { text: Array(10_000).fill('Word after word. '), delay_ms: 20 }
    return said === 'fail' ? { error: { status: 400 } } : obey(request)
  })
  const models = openModels({ openai: { base_url: server.url } })
  return {
    harness: createLoop(models, { retry_delay_ms: 1 }),
    ask: (commands) => commands.map((command) => `$ ${command}`).join('\n'),
    ...{ talks: 'talk', fails: 'fail' },
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
    ...{ talks: 'talk', fails: 'fail' },
    close: async () => {},
  }
})
