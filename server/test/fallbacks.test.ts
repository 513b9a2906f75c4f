/** A model that goes on in place of another one: by a fallback, and because a follow-up asks for it. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type ModelServer, openModelServer } from './support/model-server.ts'
import { apiOf, startService, type TestService } from './support/service.ts'
import { ofType } from './support/traces.ts'

describe('fallbacks', () => {
  let first: ModelServer
  let second: ModelServer
  let third: ModelServer
  let service: TestService
  let api: ReturnType<typeof apiOf>

  before(async () => {
    first = await openModelServer(() => ({
      error: { status: 402, body: { error: { message: 'Insufficient credits. Add more.' } } },
    }))
    second = await openModelServer(() => ({ text: 'The second says hello.' }))
    third = await openModelServer(() => ({ text: 'The third says hello.' }))
    const endpoints = {
      first: { base_url: first.url },
      second: { base_url: second.url },
      third: { base_url: third.url },
    }
    service = await startService({
      env: {
        RUNYARD_MODEL_ENDPOINTS: JSON.stringify(endpoints),
        RUNYARD_FALLBACK_MODELS: 'second/scripted',
      },
    })
    api = apiOf(service)
  })
  after(async () => {
    await service?.stop()
    for (const server of [first, second, third]) await server?.close()
  })

  test('of the installation, then what a follow-up asks for: each is told, and stays', async () => {
    const run_id = await api.create({ prompt: 'Say hello.', config: { model_id: 'first/scripted' } })
    const ended = await api.ended(run_id)
    assert.equal(ended.state, 'SUCCEEDED', JSON.stringify(ended.status_message))
    assert.equal(ended.resolved?.model_id, 'second/scripted')
    assert.equal(ended.agent_config.model_id, 'first/scripted')
    const [switched] = ofType(await api.events(run_id), 'model.switched')
    assert.deepEqual(switched?.data, {
      ...{ from: 'first/scripted', to: 'second/scripted', reason: 'quota' },
      message: `The model provider first says that the account has no credit left: Insufficient credits. Add more. Add credit at the provider, or use another account's key (the api_key of "first" of RUNYARD_MODEL_ENDPOINTS).`,
    })
    const follow = async (body: object) => {
      const answer = await api.call('POST', `/agent/runs/${run_id}/followups`, body)
      assert.equal(answer.status, 200)
      await answer.body?.cancel()
      return api.ended(run_id)
    }
    assert.equal((await follow({ message: 'Again.' })).resolved?.model_id, 'second/scripted')
    assert.deepEqual([first.requests.length, second.requests.length], [1, 2])
    const other = await follow({ message: 'And another one.', model_id: 'third/scripted' })
    assert.equal(other.resolved?.model_id, 'third/scripted')
    assert.equal((await follow({ message: 'Once more.' })).state, 'SUCCEEDED')
    assert.deepEqual([second.requests.length, third.requests.length], [2, 2])
    const events = await api.events(run_id)
    assert.deepEqual(ofType(events, 'model.switched').at(-1)?.data, {
      ...{ from: 'second/scripted', to: 'third/scripted', reason: 'followup' },
    })
    assert.deepEqual(
      ofType(events, 'followup.accepted').map(({ data }) => data.model_id),
      [undefined, 'third/scripted', undefined],
    )
    const listed = await api.json<{ runs: Array<{ run_id: string }> }>(
      'GET',
      '/agent/runs?model_id=third/scripted',
    )
    assert.deepEqual(
      listed.runs.map(({ run_id: id }) => id),
      [run_id],
    )
  })

  test('a run that wants none ends as before', async () => {
    const config = { model_id: 'first/scripted', fallback_model_ids: [] }
    const { state, status_message } = await api.ended(await api.create({ prompt: 'Say hello.', config }))
    assert.deepEqual([state, status_message?.error_code], ['FAILED', 'insufficient_credits'])
  })

  test('another harness than the built-in agent keeps its model', async () => {
    const run_id = await api.create({ prompt: '```sh\ntrue\n```', config: { harness: { type: 'runbook' } } })
    const answer = await api.call('POST', `/agent/runs/${run_id}/followups`, {
      message: 'x',
      model_id: 'third/scripted',
    })
    assert.equal(answer.status, 400)
    assert.match(await answer.text(), /model_id: the harness runbook runs the shell blocks/)
  })
})
