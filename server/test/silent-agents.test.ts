/** Agents that live on in the middle of a turn and do nothing; and others that only take their time. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type ModelServer, openModelServer } from './support/model-server.ts'
import { scriptedAgent } from './support/scripted-agent.ts'
import { apiOf, startService, type TestService } from './support/service.ts'
import { printed } from './support/traces.ts'

const is_root = process.getuid?.() === 0

describe('an agent that may be silent for a second', () => {
  let model: ModelServer
  let service: TestService
  let api: ReturnType<typeof apiOf>

  before(async () => {
    // A piece of the answer at a time: three seconds in which the agent has nothing to say.
    model = await openModelServer(() => ({ text: Array(15).fill('Word '), pace: () => wait(200) }))
    const mine = {
      command: scriptedAgent('resume'),
      env: { MY_KEY: '{token}', MY_PLACE: '{base_url}', MY_MODEL: '{model}' },
      provider: 'openai',
    }
    service = await startService({
      env: {
        RUNYARD_ACP_AGENTS: JSON.stringify({ mine }),
        ...{ OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'sk-scripted' },
        RUNYARD_AGENT_SILENCE_SECONDS: '1',
      },
    })
    api = apiOf(service)
  })
  after(async () => {
    await service?.stop()
    await model?.close()
  })

  const create = (prompt: string) => api.create({ prompt, config: { harness: { type: 'mine' } } })

  test('is stopped when it does nothing for longer, and goes on with the next message', async () => {
    const run_id = await create('silent')
    const { state, status_message } = await api.ended(run_id)
    assert.deepEqual(
      [state, status_message?.error_code, status_message?.retryable],
      ['ERROR', 'resource_unavailable', true],
    )
    assert.match(
      status_message?.message ?? '',
      /^The agent mine did nothing for 1 s: it said nothing, called no tool and no model\. Its turn was stopped;/,
    )
    await api.json('POST', `/agent/runs/${run_id}/followups`, { message: '$ echo back' })
    assert.equal(
      (
        await api.until(
          run_id,
          ({ attempt, state }) => attempt === 2 && state !== 'INPROGRESS' && state !== 'CLAIMED',
        )
      ).state,
      'SUCCEEDED',
    )
    assert.match(printed(await api.events(run_id)), /back/)
  })

  test('may wait for its commands as long as they take', async () => {
    const run_id = await create('$ sleep 3; echo slept')
    const { state, status_message } = await api.ended(run_id)
    assert.equal(state, 'SUCCEEDED', JSON.stringify(status_message))
  })

  test('may wait for its model as long as that answers', {
    skip: !is_root && 'only root has the gateway everywhere',
  }, async () => {
    const run_id = await create('? WORDS x1')
    const { state, status_message } = await api.ended(run_id)
    assert.equal(state, 'SUCCEEDED', JSON.stringify(status_message))
  })
})
