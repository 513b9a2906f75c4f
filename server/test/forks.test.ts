/** A run goes on from the end of a turn of another one, in a conversation and a workspace of its own. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { type ChatRequest, type ModelServer, openModelServer } from './support/model-server.ts'
import { answerCalls } from './support/scripted-calls.ts'
import { addKeys } from './support/seed-keys.ts'
import { apiOf, shell, startService, type TestService } from './support/service.ts'
import { ofType, printed } from './support/traces.ts'

const LOOK = shell('cat /workspace/log ~/mine; ls')
const RUNBOOK = { config: { harness: { type: 'runbook' } } }

describe('a fork', () => {
  const asked: ChatRequest[] = []
  let model: ModelServer
  let service: TestService
  let api: ReturnType<typeof apiOf>
  let member: ReturnType<typeof apiOf>
  before(async () => {
    const answer = (request: ChatRequest) => {
      asked.push(request)
      return answerCalls(request)
    }
    model = await openModelServer(answer, { models: [{ id: 'scripted' }] })
    service = await startService({
      env: {
        ...{ OPENAI_API_KEY: 'a-key', OPENAI_BASE_URL: model.url, RUNYARD_SNAPSHOT_TURNS: '2' },
        RUNYARD_DEFAULT_MODEL: 'openai/scripted',
      },
    })
    const keys = await addKeys(service, { owner: { role: 'member' }, member: { role: 'member' } })
    api = apiOf({ ...service, api_key: keys.owner })
    member = apiOf({ ...service, api_key: keys.member })
  })
  after(async () => {
    await service?.stop()
    await model?.close()
  })

  const succeeded = async (run_id: string, who = api) => {
    const run = await who.ended(run_id, 90)
    assert.equal(run.state, 'SUCCEEDED', JSON.stringify(run.status_message))
    return run
  }
  const begin = async (body: object) => {
    const run_id = await api.create(body)
    await succeeded(run_id)
    return run_id
  }
  const goOn = async (run_id: string, message: string) => {
    await api.json('POST', `/agent/runs/${run_id}/followups`, { message })
    await succeeded(run_id)
  }
  const fork = async (fork_of: object, more: object = { prompt: LOOK }, who = api) => {
    const run = await succeeded(await who.create({ fork_of, ...more }), who)
    return { run, said: printed(await who.events(run.run_id)) }
  }
  const refused = async (body: object, who = api) => {
    const response = await who.call('POST', '/agent/runs', body)
    const { detail, retryable } = (await response.json()) as { detail: string; retryable: boolean }
    return { status: response.status, detail, retryable }
  }
  /** Of the last events of turns. */
  const sequenceOf = async (run_id: string) => (await api.events(run_id)).at(-1)?.sequence ?? 0

  test('begins with the workspace of the turn, and the earlier run stays as it is', async () => {
    const file = { file_name: 'a.txt', mime_type: 'text/plain', data: btoa('x') }
    const run_id = await begin({
      ...{ prompt: shell('echo one > log; echo home > ~/mine'), metadata: { ticket: '4' }, ...RUNBOOK },
      attachments: [file],
    })
    const first = await sequenceOf(run_id)
    await goOn(run_id, shell('echo two >> log'))
    await goOn(run_id, shell('true'))
    const before = await api.events(run_id)

    const last = await fork({ run_id })
    assert.equal(last.said, 'one\ntwo\nhome\nartifacts\nattachments\nlog\n')
    assert.deepEqual(last.run.fork_of, { run_id, turn: 3, sequence: last.run.fork_of?.sequence })
    assert.deepEqual(
      [last.run.metadata, last.run.agent_config.harness],
      [{ ticket: '4' }, { type: 'runbook' }],
    )
    assert.notEqual(last.run.conversation_id, run_id)
    const [restored] = ofType(await api.events(last.run.run_id), 'setup').filter(({ data }) => data.workspace)
    assert.equal(restored?.data.name, 'the workspace of turn 3 of the run that this one is a fork of')

    const second = await fork({ run_id, turn: 2 }, { prompt: shell('echo other >> log; cat log') })
    assert.equal(second.said, 'one\ntwo\nother\n')
    // Of what ended by an event before the second one, no workspace is kept.
    const gone = await refused({ prompt: 'x', fork_of: { run_id, sequence: first } })
    assert.deepEqual([gone.status, gone.retryable], [409, false])
    assert.match(
      gone.detail,
      /^fork_of: the workspace of turn 1 is not kept .* can be forked: 2 \(sequence \d+\), 3 \(sequence \d+\)\.$/,
    )
    const of_second = second.run.fork_of?.sequence ?? 0
    assert.equal((await fork({ run_id, sequence: of_second })).run.fork_of?.turn, 2)
    assert.equal((await refused({ prompt: 'x', fork_of: { run_id, sequence: 1 } })).status, 409)
    assert.equal((await refused({ prompt: 'x', fork_of: { run_id, turn: 9 } })).status, 409)

    assert.deepEqual(await api.events(run_id), before)
    // What the forks began with is theirs: the earlier run goes on, and so do they.
    await goOn(run_id, shell('echo three >> log'))
    await goOn(run_id, shell('echo four >> log'))
    await goOn(second.run.run_id, shell('cat log'))
    assert.match(printed(await api.events(second.run.run_id)), /other\none\ntwo\nother\n$/)
    const of_fork = await fork({ run_id: second.run.run_id }, { prompt: shell('cat log') }, member)
    assert.equal(of_fork.said, 'one\ntwo\nother\n')
  })

  test('has the conversation up to there for its model, and no more', async () => {
    const call = (command: string) => JSON.stringify([['bash', { command }]])
    const file = { file_name: 'a.txt', mime_type: 'text/plain', data: btoa('x') }
    const run_id = await begin({
      prompt: call('echo the-first-answer > seen; cat seen'),
      attachments: [file],
    })
    await goOn(run_id, call('echo the-second-answer'))
    asked.length = 0
    const { run } = await fork({ run_id, turn: 1 }, { prompt: call('cat seen; echo of-the-fork') })
    assert.equal(run.fork_of?.turn, 1)
    const told = JSON.stringify(asked.at(-1)?.messages)
    for (const text of ['the-first-answer', 'of-the-fork']) assert(told.includes(text), text)
    assert(!told.includes('the-second-answer'))
    assert(!told.includes('is not in this workspace'), 'Its files came along.')
    const results = ofType(await api.events(run.run_id), 'tool.result').map(({ data }) => data.output)
    assert.deepEqual(results, ['the-first-answer\nof-the-fork'])
    // A fork of the fork knows both.
    asked.length = 0
    await fork({ run_id: run.run_id }, { prompt: call('true') })
    const again = JSON.stringify(asked.at(-1)?.messages)
    // The fork said the first answer again, but not how it was made.
    for (const text of ['echo the-first-answer', 'of-the-fork']) assert(again.includes(text), text)
  })

  test('of a run that touched no file has a fresh workspace', async () => {
    const run_id = await begin({ prompt: 'Only talk.' })
    const { run } = await fork({ run_id }, { prompt: 'And on.' })
    assert.equal(run.fork_of?.run_id, run_id)
    assert.equal(
      ofType(await api.events(run.run_id), 'setup').some(({ data }) => data.workspace),
      false,
    )
  })

  test('is for whom the earlier run is for, and asked for as it can be had', async () => {
    const personal = await begin({ prompt: shell('echo x > log'), team: false, ...RUNBOOK })
    assert.deepEqual(await refused({ prompt: 'x', fork_of: { run_id: personal } }, member), {
      ...{ status: 404, retryable: false, detail: 'fork_of.run_id: there is no run with this id.' },
    })
    assert.equal((await fork({ run_id: personal })).run.scope.type, 'User')
    const fork_of = { run_id: personal }
    for (const [body, why] of [
      [{ fork_of, prompt: 'x', team: true }, /^team: the earlier run is personal/],
      [{ fork_of }, /^prompt: is required/],
      [{ fork_of, prompt: 'x', replay_of_run_id: personal }, /^fork_of: does not go with replay_of_run_id/],
      [{ fork_of, prompt: 'x', conversation_id: personal }, /^fork_of: does not go with conversation_id/],
      [{ fork_of: { ...fork_of, turn: 1, sequence: 1 }, prompt: 'x' }, /^fork_of: give sequence or turn/],
      [{ fork_of: { run_id: 'x' }, prompt: 'x' }, /^fork_of\.run_id: must be a run id/],
    ] as const) {
      const { status, detail } = await refused(body)
      assert.equal(status, 400, detail)
      assert.match(detail, why)
    }
    const environment = { name: randomUUID() }
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', environment)
    const elsewhere = await refused({ fork_of, prompt: 'x', config: { environment_id: uid } })
    assert.match(elsewhere.detail, /^config\.environment_id: a fork goes on in the workspace/)
    const waiting = await api.create({ prompt: 'x', config: { worker_host: 'nobody' } })
    const early = await refused({ fork_of: { run_id: waiting }, prompt: 'x' })
    assert.deepEqual(
      [early.status, early.detail],
      [409, 'fork_of: no turn of the run had ended by then. None of its turns can be forked.'],
    )
  })
})
