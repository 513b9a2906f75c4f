import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type GitHost, serveGitHost } from './support/git-hosts.ts'
import { addHostedRepository } from './support/hosted-repositories.ts'
import { type ChatRequest, type ModelServer, openModelServer, type Reply } from './support/model-server.ts'
import { apiOf, startService, type TestService, temporaryDirectory } from './support/service.ts'
import { ofType } from './support/traces.ts'

const TOKEN = 'a-token-of-the-host'

describe('an agent with a model', () => {
  let model: ModelServer
  let host: GitHost
  let service: TestService
  const answer = ({ messages }: ChatRequest): Reply => {
    const last = messages.at(-1)
    const calls = messages.filter(({ role }) => role === 'tool').length
    if (last?.role === 'tool' && calls === 1)
      return {
        calls: [{ name: 'open_pull_request', arguments: { title: 'A title of its own', body: 'Why.' } }],
      }
    if (last?.role === 'tool') return { text: `It said: ${JSON.stringify(last.content)}` }
    return { calls: [{ name: 'bash', arguments: { command: 'echo x > x' } }] }
  }
  before(async () => {
    const root = temporaryDirectory('hosted')
    addHostedRepository(root, 'acme/site')
    host = await serveGitHost({ root, kind: 'github', token: TOKEN })
    model = await openModelServer(answer, { api_key: 'a-key', models: [{ id: 'scripted' }] })
    service = await startService({
      env: {
        ...{ OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'a-key', RUNYARD_DEFAULT_MODEL: 'openai/scripted' },
        NODE_EXTRA_CA_CERTS: host.ca_file,
        RUNYARD_PRIVATE_HOSTS: host.host,
        RUNYARD_GIT_HOSTS: `${host.host}=github`,
        RUNYARD_GIT_TOKEN: `https://${TOKEN}@${host.host}`,
      },
    })
  })
  after(async () => {
    await service?.stop()
    await model?.close()
    host?.close()
  })

  test('opens a pull request when it wants to', async () => {
    const api = apiOf(service)
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
      ...{ name: 'e', repositories: [{ url: `${host.url}/acme/site` }] },
    })
    const run_id = await api.create({ prompt: 'Do it.', config: { environment_id: uid } })
    const run = await api.ended(run_id, 60)
    assert.equal(run.state, 'SUCCEEDED', run.status_message?.message)
    assert.deepEqual(
      host.pulls.map(({ title, body }) => [title, body]),
      [['A title of its own', 'Why.']],
    )
    const events = await api.events(run_id)
    assert.match(
      ofType(events, 'message.assistant').at(-1)?.data.text ?? '',
      /It said: .*\/acme\/site\/pull\/1/,
    )
  })

  test('has no such tool where there is nothing to push', async () => {
    const api = apiOf(service)
    const run = await api.ended(await api.create({ prompt: 'Do it.' }), 60)
    assert.equal(run.state, 'SUCCEEDED', run.status_message?.message)
    const names = model.requests.at(-1)?.body.tools?.map((tool) => tool.function.name) ?? []
    assert.equal(names.includes('open_pull_request'), false)
  })
})
