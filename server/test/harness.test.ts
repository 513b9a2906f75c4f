import assert from 'node:assert/strict'
import { createAcp } from '../src/harness/acp.ts'
import { listAgents } from '../src/harness/acp-agents.ts'
import { createLoop } from '../src/harness/loop.ts'
import { openModels } from '../src/harness/models.ts'
import { runbook } from '../src/harness/runbook.ts'
import { testHarness } from './support/harness-conformance.ts'
import { type ChatMessage, type ChatRequest, openModelServer, type Reply } from './support/model-server.ts'
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

/** A model that runs the lines after `$` of the user's messages, and repeats a command whose worker was lost. */
function obey({ messages }: ChatRequest): Reply {
  const lastStop = messages.findLastIndex((message) =>
    /^interrupted: the turn was stopped/.test(textOf(message)),
  )
  const since = messages.slice(lastStop + 1)
  const commands = since.flatMap((message) =>
    message.role === 'user'
      ? [...textOf(message).matchAll(/^\$ (.*)$/gm)].map(([, command = '']) => command)
      : [],
  )
  const done = since.filter((message) => message.role === 'tool' && !/^interrupted: /.test(textOf(message)))
  const command = commands[done.length]
  if (command === undefined) return { text: ['All ', 'done.'] }
  return { reasoning: ['Let me see.'], text: 'Next:', calls: [{ name: 'bash', arguments: { command } }] }
}

const textOf = ({ content }: ChatMessage): string =>
  typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join('')
