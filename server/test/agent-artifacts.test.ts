/** What the built-in agent leaves behind by its tools: long outputs, plans, files, references. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { type ModelServer, openModelServer } from './support/model-server.ts'
import { answerCalls } from './support/scripted-calls.ts'
import { apiOf, startService, type TestService } from './support/service.ts'
import { ofType } from './support/traces.ts'

const SECRET = 'canary-of-an-agent-77c1'

describe('what an agent leaves behind', () => {
  let model: ModelServer
  let service: TestService
  let api: ReturnType<typeof apiOf>
  before(async () => {
    model = await openModelServer(answerCalls, { models: [{ id: 'scripted' }] })
    service = await startService({
      env: {
        ...{ OPENAI_API_KEY: 'a-key', OPENAI_BASE_URL: model.url },
        RUNYARD_DEFAULT_MODEL: 'openai/scripted',
      },
    })
    api = apiOf(service)
  })
  after(async () => {
    await service?.stop()
    await model?.close()
  })

  const play = async (calls: Array<[string, Record<string, unknown>]>, more: object = {}) => {
    const run_id = await api.create({ prompt: JSON.stringify(calls), ...more })
    const run = await api.ended(run_id, 60)
    assert.equal(run.state, 'SUCCEEDED', JSON.stringify(run.status_message))
    const events = await api.events(run_id)
    return { run, events, results: ofType(events, 'tool.result').map(({ data }) => data) }
  }
  const download = async (uid: string) => {
    const { data } = await api.json<{ data: { download_url: string } }>('GET', `/agent/artifacts/${uid}`)
    return (await fetch(data.download_url)).text()
  }

  test('a long output is an artifact as a whole, without the values of secrets', async () => {
    await api.json('PUT', '/agent/secrets/A_TOKEN', { value: SECRET })
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
      ...{ name: randomUUID(), secrets: ['A_TOKEN'] },
    })
    // The second prints so much that the sandbox drops its middle, in the middle of a value.
    const { run, events, results } = await play(
      [
        ['bash', { command: 'seq 1 10000; echo "$A_TOKEN"; seq 1 10000' }],
        ['bash', { command: 'for n in $(seq 100000); do printf %s "$A_TOKEN"; done' }],
        ['bash', { command: 'ls artifacts/tool-output | wc -l' }],
      ],
      { config: { environment_id: uid } },
    )
    assert.match(
      results[0]?.output ?? '',
      /all of it is in \/workspace\/artifacts\/tool-output\/\S+\.txt …\]/,
    )
    assert.equal(results[2]?.output, '2')
    const files = run.artifacts.flatMap((item) => (item.artifact_type === 'FILE' ? [item.data] : []))
    assert.deepEqual(
      files.map(({ filepath, mime_type }) => [/^tool-output\/[\w-]+\.txt$/.test(filepath), mime_type]),
      [
        [true, 'text/plain'],
        [true, 'text/plain'],
      ],
    )
    const texts = await Promise.all(files.map(({ artifact_uid }) => download(artifact_uid)))
    assert(texts.some((text) => text.startsWith('1\n2\n') && text.includes('\n10000\n***\n1\n2\n')))
    const dropped = texts.find((text) => text.startsWith('***'))
    // Up to three characters of a value tell nothing.
    assert.match(
      dropped?.replace(/\*+/g, '*') ?? '',
      /^\*\w{0,3}\n\[… output was dropped here …\]\n\w{0,3}\*$/,
    )
    for (const text of [...texts, JSON.stringify([run, events])])
      for (const piece of [SECRET, SECRET.slice(0, 12), SECRET.slice(-12)]) assert(!text.includes(piece))
  })
})
