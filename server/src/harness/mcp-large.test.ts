import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openServers, programmed } from '../../test/support/odd-server.ts'
import { openTestSandbox } from '../../test/support/sandbox.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'

let sandbox: Sandbox
before(async () => {
  sandbox = await openTestSandbox()
})
after(() => sandbox.destroy())

const when = (method: string, answer: string) =>
  `if (message.method !== '${method}') return rest(message)\n${answer}`

test('an answer of more values than are read is an error of its call, and the server goes on', async () => {
  const values = 'Array(250_000).fill(0)'
  const answer = when(
    'tools/call',
    `message.params.arguments.few ? rest(message) : result(message, { content: [], structuredContent: ${values} })`,
  )
  await using servers = await openServers(sandbox, [programmed('x', answer)])
  const refused = await servers.call('x__go', {})
  assert.match(refused.output, /more values than are read/)
  assert.equal((await servers.call('x__go', { few: true })).output, 'well')
})

test('messages of several servers are bounded together, of one sandbox', async () => {
  // Each is within the bound of one message, which does not end before the server does.
  const answer = when(
    'tools/list',
    `raw('"' + 'x'.repeat(7 * 1024 ** 2)); setTimeout(() => process.exit(0), 1000)`,
  )
  const all = ['a', 'b', 'c', 'd'].map((name) => programmed(name, answer))
  await using servers = await openServers(sandbox, all)
  assert(servers.setup().some((said) => /of all tool servers together are too long/.test(said)))
  // What they held is given back.
  await using well = await openServers(sandbox, [programmed('x', 'rest(message)')])
  assert.deepEqual([...well.tools().keys()], ['x__go'])
})
