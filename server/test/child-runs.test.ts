/** Runs that agents create and read. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { RunItem } from '../src/contract/run.ts'
import { type ChatRequest, type ModelServer, openModelServer, type Reply } from './support/model-server.ts'
import { answerCalls } from './support/scripted-calls.ts'
import { apiOf, startService, type TestService } from './support/service.ts'
import { ofType } from './support/traces.ts'

const SECRET = 'canary-of-a-child-3d8f'

/** `$child` in a call is the run that was created last. */
function answer(request: ChatRequest): Reply {
  const said = request.messages.map(({ content }) => (typeof content === 'string' ? content : ''))
  const created = said.flatMap((text) => /^Created the run ([0-9a-f-]{36})/.exec(text)?.[1] ?? []).at(-1)
  const reply = answerCalls(request)
  return JSON.parse(JSON.stringify(reply).replaceAll('$child', created ?? '')) as Reply
}

for (const [slots, name] of [
  [4, 'a pool with room'],
  [1, 'a pool with one slot'],
] as const) {
  describe(`runs that agents create, ${name}`, () => {
    let model: ModelServer
    let service: TestService
    let api: ReturnType<typeof apiOf>
    before(async () => {
      model = await openModelServer(answer, { models: [{ id: 'scripted' }, { id: 'other' }] })
      service = await startService({
        env: {
          ...{ OPENAI_API_KEY: 'a-key', OPENAI_BASE_URL: model.url },
          ...{ RUNYARD_DEFAULT_MODEL: 'openai/scripted', RUNYARD_SLOTS: String(slots) },
        },
      })
      api = apiOf(service)
    })
    after(async () => {
      await service?.stop()
      await model?.close()
    })

    type Calls = Array<[string, Record<string, unknown>]>
    const play = async (calls: Calls, more: object = {}) => {
      const run_id = await api.create({ prompt: JSON.stringify(calls), ...more })
      const run = await api.ended(run_id, 120)
      assert.equal(run.state, 'SUCCEEDED', JSON.stringify(run.status_message))
      const events = await api.events(run_id)
      const results = ofType(events, 'tool.result').map(({ data }) => data)
      const { runs } = await api.json<{ runs: RunItem[] }>(
        'GET',
        `/agent/runs?ancestor_run_id=${run_id}&sort_by=created_at&sort_order=asc`,
      )
      const below = await Promise.all(
        runs.filter((item) => item.run_id !== run_id).map((item) => api.ended(item.run_id, 60)),
      )
      return { run, events, results, below }
    }

    if (slots === 1) {
      test('waiting for a run that cannot begin has an end, and says so', async () => {
        const { results, below } = await play([
          ['spawn_run', { prompt: 'Say hello.' }],
          ['read_run', { run_id: '$child', wait_seconds: 2 }],
          ['read_run', {}],
        ])
        assert.match(
          results[1]?.output ?? '',
          /is QUEUED\n\[No worker has taken it yet\..*only when you end/s,
        )
        assert.match(results[2]?.output ?? '', /^[0-9a-f-]{36} "Say hello\." is QUEUED$/)
        assert.deepEqual(
          below.map(({ state }) => state),
          ['SUCCEEDED'],
        )
      })

      test('a wait ends when a message comes for who waits', async () => {
        const run_id = await api.create({
          prompt: JSON.stringify([
            ['spawn_run', { prompt: 'Say hello.' }],
            ['read_run', { run_id: '$child', wait_seconds: 300 }],
          ]),
        })
        await api.until(run_id, (run) => run.state === 'INPROGRESS', 60)
        const calls = async () => ofType(await api.events(run_id), 'tool.call').length
        for (const end = Date.now() + 30_000; (await calls()) < 2 && Date.now() < end; ) await wait(50)
        await api.json('POST', `/agent/runs/${run_id}/followups`, { message: 'Hurry.' })
        const run = await api.ended(run_id, 40)
        assert.equal(run.state, 'SUCCEEDED')
      })
      return
    }

    test('have the environment, the owner and what is left of the budget of their parent, and are read by it', async () => {
      await api.json('PUT', '/agent/secrets/CHILD_TOKEN', { value: SECRET })
      const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
        ...{ name: randomUUID(), secrets: ['CHILD_TOKEN'] },
      })
      const child = JSON.stringify([
        ['bash', { command: 'echo "got $CHILD_TOKEN"; echo kept > artifacts/kept.txt' }],
      ])
      const { run, results, below } = await play(
        [
          ['spawn_run', { prompt: `Use ${SECRET}.\n${child}`, title: 'A part', model: 'openai/other' }],
          ['read_run', { run_id: '$child', wait_seconds: 60 }],
          ['read_run', { run_id: randomUUID() }],
          ['read_run', { run_id: 'no-id' }],
        ],
        {
          team: false,
          config: { environment_id: uid, base_prompt: 'Be brief.' },
          budget: { max_tokens: 100_000 },
        },
      )
      const [made] = below
      assert(made && below.length === 1)
      assert.deepEqual(
        [made.parent_run_id, made.title, made.source, made.state, made.scope, made.creator.uid],
        [run.run_id, 'A part', 'ORCHESTRATION', 'SUCCEEDED', run.scope, run.creator.uid],
      )
      const { environment_id, base_prompt, model_id } = made.agent_config ?? {}
      assert.deepEqual([environment_id, base_prompt, model_id], [uid, 'Be brief.', 'openai/other'])
      assert.match(made.prompt, /^Use \*\*\*\./)
      assert(!JSON.stringify([made, await api.events(made.run_id)]).includes(SECRET))
      assert.match(
        results[1]?.output ?? '',
        /"A part" is SUCCEEDED\nArtifacts:\n- FILE kept\.txt\nIts agent said last:\nDone\.$/,
      )
      assert.match(results[2]?.output ?? '', /^No run [0-9a-f-]+ is below this one\.$/)
      assert.match(results[3]?.output ?? '', /The input of read_run is not valid/)
    })

    test('a run that is not below is not read, and what cannot be made is told', async () => {
      const other = await api.create({ prompt: 'Say hello.' })
      const { results, below } = await play([
        ['read_run', { run_id: other }],
        ['spawn_run', { prompt: '   ' }],
        ['spawn_run', { prompt: 'x', model: 'm'.repeat(300) }],
        ['read_run', {}],
      ])
      assert.match(results[0]?.output ?? '', /is below this one/)
      assert.deepEqual(
        results.map(({ is_error }) => is_error),
        [true, true, true, false],
      )
      assert.equal(results[3]?.output, 'You have created no runs.')
      assert.equal(below.length, 0)
    })

    test('are at most twenty of one run', async () => {
      const { results, below } = await play(
        Array.from({ length: 22 }, (_, n): [string, Record<string, unknown>] => [
          'spawn_run',
          { prompt: `Part ${n}` },
        ]),
      )
      assert.deepEqual(
        results.map(({ is_error }) => is_error),
        [...Array.from({ length: 20 }, () => false), true, true],
      )
      assert.match(results[20]?.output ?? '', /^No run was created\. A run creates at most 20 others\.$/)
      assert.equal(below.length, 20)
    })
  })
}
