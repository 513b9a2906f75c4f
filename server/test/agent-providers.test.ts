/** What a run says, and how it ends, when the provider of its agent's model fails. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type ModelServer, openModelServer, type Reply } from './support/model-server.ts'
import { LONG, onlyLong } from './support/once.ts'
import { scriptedAgent } from './support/scripted-agent.ts'
import { apiOf, startService, type TestService } from './support/service.ts'
import { ofType } from './support/traces.ts'

const is_root = process.getuid?.() === 0
const KEY = 'sk-canary-7d20c1aa94'

describe('an agent whose provider fails', {
  skip: !is_root && 'only root has the gateway everywhere',
}, () => {
  let model: ModelServer
  let service: TestService
  let api: ReturnType<typeof apiOf>
  /** By what the model is asked. */
  const replies: Record<string, () => Reply> = {
    KEY: () => ({
      error: { status: 401, body: { error: { message: `Incorrect API key provided: ${KEY}`, code: 'x' } } },
    }),
    SILENT: () => ({ text: ['Now '], fault: 'stall' }),
    BREAKS: () => ({ text: ['Now '], fault: 'error' }),
    BUSY: () => ({ error: { status: 503, body: { error: { message: 'too much to do' } } } }),
    UNKNOWN: () => ({ error: { status: 404, body: { error: { message: 'no such model' } } } }),
    REFUSED: () => ({
      error: { status: 400, body: { error: { message: '\u001b[31mbad\u001b[0m request' } } },
    }),
    PAGE: () => ({ error: { status: 200, headers: { 'content-type': 'text/html' }, body: 'Sign in' } }),
    EMPTY: () => ({ error: { status: 204 } }),
    TITLE: () => ({ text: ['A ', 'title'], pace: () => wait(500) }),
    ONCE: () =>
      model.requests.filter(({ body }) => asked(body.messages) === 'ONCE').length > 1 ? {} : busy(),
  }
  const busy = () => replies.BUSY?.() ?? {}
  const asked = (messages: ReadonlyArray<{ content: unknown }>) => String(messages[0]?.content).split(' ')[0]

  before(async () => {
    model = await openModelServer(({ messages }) => replies[asked(messages) ?? '']?.() ?? { text: 'Hello.' })
    const mine = {
      command: scriptedAgent(),
      env: { MY_KEY: '{token}', MY_PLACE: '{base_url}', MY_MODEL: '{model}' },
      provider: 'openai',
    }
    service = await startService({
      env: {
        RUNYARD_ACP_AGENTS: JSON.stringify({ mine }),
        ...{ OPENAI_BASE_URL: model.url, OPENAI_API_KEY: KEY },
        ...{ RUNYARD_MODEL_SILENCE_SECONDS: '1', RUNYARD_MODEL_RETRY_SECONDS: '2' },
      },
    })
    api = apiOf(service)
  })
  after(async () => {
    await service?.stop()
    await model?.close()
  })

  const play = async (prompt: string) => {
    const run_id = await api.create({ prompt, config: { harness: { type: 'mine' } } })
    const run = await api.ended(run_id)
    const events = await api.events(run_id)
    assert(!JSON.stringify([run, events]).includes(KEY))
    const { message = '', error_code, retryable } = run.status_message ?? {}
    return { run, events, message, end: [run.state, error_code, retryable] }
  }

  // The one reports an error, the other says it in words and calls its turn done.
  for (const how of ['', ' SAYS'])
    test(`ends as the provider's answer says, not as the agent does${how}`, async () => {
      const key = await play(`? KEY${how} x1`)
      assert.deepEqual(key.end, ['FAILED', 'external_authentication_required', false])
      assert.match(
        key.message,
        /^The model provider openai refused the service's API key\. Set a valid one \(OPENAI_API_KEY\)/,
      )
      // How the others are told does not depend on what the agent says.
      if (how && !LONG) return
      const unknown = await play(`? UNKNOWN${how} x1`)
      assert.deepEqual(unknown.end, ['FAILED', 'integration_not_configured', false])
      assert.match(unknown.message, /does not know the model .*Available: openai\/scripted\./)
      const refused = await play(`? REFUSED${how} x1`)
      assert.deepEqual(refused.end, ['FAILED', 'invalid_request', false])
      assert.equal(refused.message, 'The model provider refused the request (HTTP 400): bad request.')
      const away = await play(`? BUSY${how} x1`)
      assert.deepEqual(away.end, ['ERROR', 'resource_unavailable', true])
      assert.equal(away.message, 'The model provider is not available now (HTTP 503): too much to do.')
    })

  test('a call that was answered beside the one that failed says nothing of why the agent failed', async () => {
    const key = await play('? KEY x1 beside TITLE')
    assert.deepEqual(key.end, ['FAILED', 'external_authentication_required', false])
    const busy = await play('? BUSY x1 beside TITLE')
    assert.equal(busy.message, 'The model provider is not available now (HTTP 503): too much to do.')
    const went_on = await play('? KEY SAYS x1 beside TITLE')
    assert.equal(went_on.run.state, 'SUCCEEDED', 'its agent calls its turn done')
  })

  test('tells what is tried again, and goes on when the provider does', async () => {
    const { run, events } = await play('? ONCE')
    assert.equal(run.state, 'SUCCEEDED', JSON.stringify(run.status_message))
    assert.deepEqual(
      ofType(events, 'retrying').map(({ data }) => data),
      [
        {
          ...{ error_code: 'resource_unavailable', retry: 1, delay_ms: 0 },
          message: 'The model provider is not available now (HTTP 503): too much to do.',
        },
      ],
    )
  })

  test('a provider that fails in the middle of its stream has failed, whatever status it began with', async () => {
    for (const how of LONG ? ['', ' SAYS'] : ['']) {
      const { message, end, events } = await play(`? BREAKS${how} x1`)
      assert.deepEqual(end, ['ERROR', 'resource_unavailable', true])
      assert.equal(message, 'The model provider broke off its answer: scripted failure.')
      assert.equal(ofType(events, 'retrying').length, 1)
    }
  })

  for (const [what, words] of [
    ['BUSY', /not available now \(HTTP 503\): too much to do\. \d+ tries in \d+ s\.$/],
    ['SILENT', /sent nothing for 1 s\. \d+ tries in \d+ s\.$/],
    ['BREAKS', /broke off its answer: scripted failure\. \d+ tries in \d+ s\.$/],
    ['PAGE', /could not be read: it is not a stream of events \(content type "text\/html"\)\. .* 3 tries in/],
    ['EMPTY', /could not be read: it is empty \(HTTP 204\)\. .* 3 tries in/],
    ['KEY', /refused the service's API key/],
  ] as const) {
    const registered = ['BUSY', 'SILENT', 'KEY'].includes(what) ? test : onlyLong
    registered(`an agent that asks for ever is stopped when the time for it is over: ${what}`, async () => {
      const { events, message, end } = await play(`? ${what}`)
      assert.deepEqual(
        end.slice(0, 2),
        what === 'KEY' ? ['FAILED', 'external_authentication_required'] : ['ERROR', 'resource_unavailable'],
      )
      assert.match(message, words)
      assert.equal(ofType(events, 'retrying').length > 0, what !== 'KEY')
    })
  }

  test('what got no answer is not used', async () => {
    replies.SILENT = () => ({ pace: () => new Promise(() => {}) })
    const { run, events } = await play('? SILENT x1')
    assert.equal(run.status_message?.error_code, 'resource_unavailable')
    assert.deepEqual(ofType(events, 'usage'), [])
    assert.equal(run.request_usage?.total_tokens ?? 0, 0)
  })
})
