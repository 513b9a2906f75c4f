import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sandbox, useSandbox } from '../../test/support/loop-scene.ts'
import { CALLS, LAST_WORDS, openWireServer, type Wire } from '../../test/support/provider-wires.ts'
import { CHAT } from '../../test/support/provider-wires-chat.ts'
import { CLOUD } from '../../test/support/provider-wires-cloud.ts'
import { OWN } from '../../test/support/provider-wires-own.ts'
import { TestTurn } from '../../test/support/turn.ts'
import { createLoop } from './loop.ts'
import { openModels } from './models.ts'
import { PROVIDER_NAMES } from './named-providers.ts'

const WIRES: readonly Wire[] = [...CHAT, ...OWN, ...CLOUD]

/** Puts back what it was. */
async function withVariables<T>(variables: Record<string, string>, work: () => Promise<T>): Promise<T> {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const)
  Object.assign(process.env, variables)
  try {
    return await work()
  } finally {
    for (const [name, value] of before)
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
  }
}

describe('five turns with tools and reasoning, at a provider that refuses what it does not know:', () => {
  useSandbox()

  for (const wire of WIRES)
    test(wire.model_id, async () => {
      await using server = await openWireServer(wire)
      const turn = new TestTurn({ sandbox, prompt: 'Count to four.', config: { model_id: wire.model_id } })
      const models = openModels(wire.settings(server.url))
      const outcome = await withVariables(wire.env?.(server.url) ?? {}, () =>
        turn.runHarness(createLoop(models, { retry_delay_ms: 1, retry_for_ms: 1_000 })),
      )
      assert.deepEqual(server.refused, [])
      assert.equal(outcome.state, 'SUCCEEDED', JSON.stringify([outcome.status_message, server.paths]))
      const results = turn.log.flatMap((event) => (event.type === 'tool.result' ? [event.data.output] : []))
      assert.deepEqual(
        results.map((output) => /number \d/.exec(output ?? '')?.[0]),
        ['number 1', 'number 2', 'number 3', 'number 4'],
      )
      const texts = turn.log.flatMap((event) => (event.type === 'message.assistant' ? [event.data.text] : []))
      assert.equal(texts.at(-1), LAST_WORDS)
      assert.equal(server.bodies.length, CALLS + 1)
      const usage = turn.log.flatMap((event) => (event.type === 'usage' ? [event.data] : []))
      assert.deepEqual(
        usage.map(({ model_id, input_tokens, output_tokens }) => [model_id, input_tokens, output_tokens]),
        Array(CALLS + 1).fill([wire.model_id, 9, 5]),
      )
    })

  test('what another model thought is not sent to one that would refuse it', async () => {
    const wire = WIRES.find(({ model_id }) => model_id.startsWith('groq/openai'))
    assert(wire)
    await using server = await openWireServer(wire)
    const reasoning = { message_id: 'r1', text: 'A thought of somebody else.' }
    const turn = new TestTurn({
      ...{ sandbox, prompt: 'Count to four.', config: { model_id: wire.model_id } },
      context: [
        { type: 'message.user', data: { message_id: 'm0', text: 'Hello.' } },
        { type: 'reasoning', data: reasoning },
        { type: 'message.assistant', data: { message_id: 'a0', text: 'Hello!' } },
      ],
    })
    const outcome = await turn.runHarness(createLoop(openModels(wire.settings(server.url))))
    assert.equal(outcome.state, 'SUCCEEDED', JSON.stringify(outcome.status_message))
    const sent = JSON.stringify(server.bodies)
    assert(!sent.includes(reasoning.text))
    assert(sent.includes('"reasoning":"Now number 1."'))
  })

  for (const [model_id, settings, said] of [
    [
      'bedrock/amazon.nova-pro-v1:0',
      { bedrock: { region: 'eu-central-1' } },
      /^The service has no credentials for Amazon Bedrock: Could not load credentials.* 3 tries/,
    ],
    [
      'vertex/gemini-3-pro-preview',
      { vertex: { project: 'acme-1', location: 'global' } },
      /^The service has no credentials for Google Vertex: .*\/nowhere\/key\.json.* 3 tries/,
    ],
  ] as const)
    test(`${model_id}, without credentials, says so`, async () => {
      const turn = new TestTurn({ sandbox, prompt: 'Count to four.', config: { model_id } })
      const nowhere = {
        ...{
          AWS_EC2_METADATA_DISABLED: 'true',
          AWS_SHARED_CREDENTIALS_FILE: '/nowhere',
          AWS_CONFIG_FILE: '/nowhere',
        },
        GOOGLE_APPLICATION_CREDENTIALS: '/nowhere/key.json',
      }
      const { state, status_message } = await withVariables(nowhere, () =>
        turn.runHarness(createLoop(openModels(settings), { retry_delay_ms: 1 })),
      )
      assert.equal(state, 'FAILED')
      assert.match(status_message?.message ?? '', said)
      assert.equal(status_message?.error_code, 'external_authentication_required')
    })

  test('a key that Azure quotes is hidden', async () => {
    const azure = WIRES.find(({ model_id }) => model_id === 'azure/our-gpt')
    assert(azure)
    const message = 'Nothing for key-of-wire here.'
    await using server = await openWireServer({
      ...azure,
      refuse: () => ({ status: 400, body: { error: { message } } }),
    })
    const turn = new TestTurn({ sandbox, prompt: 'Count.', config: { model_id: azure.model_id } })
    const { status_message } = await turn.runHarness(createLoop(openModels(azure.settings(server.url))))
    assert.match(status_message?.message ?? '', /Nothing for \*\*\* here\./)
  })

  test('there is one for each provider that is named', () => {
    const asked = new Set(WIRES.map(({ model_id }) => model_id.split('/')[0]))
    assert.deepEqual([...asked].sort(), [...PROVIDER_NAMES, 'azure', 'bedrock', 'vertex'].sort())
  })
})
