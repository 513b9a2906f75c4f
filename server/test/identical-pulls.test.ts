/** What has the same files as an open pull request does not become another one. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { git } from './support/git.ts'
import { type GitHost, serveGitHost } from './support/git-hosts.ts'
import { addHostedRepository } from './support/hosted-repositories.ts'
import { apiOf, shell, startService, type TestService, temporaryDirectory } from './support/service.ts'
import { ofType } from './support/traces.ts'

const TOKEN = 'a-token-of-the-host'

for (const kind of ['github', 'gitlab'] as const)
  describe(`pull requests on ${kind}`, () => {
    const root = temporaryDirectory('hosted')
    let host: GitHost
    let service: TestService
    let api: ReturnType<typeof apiOf>
    let config: { environment_id: string; harness: { type: 'runbook' } }
    before(async () => {
      addHostedRepository(root, 'acme/site')
      host = await serveGitHost({ root, kind, token: TOKEN })
      service = await startService({
        env: {
          NODE_EXTRA_CA_CERTS: host.ca_file,
          RUNYARD_PRIVATE_HOSTS: host.host,
          RUNYARD_GIT_HOSTS: `${host.host}=${kind}`,
          RUNYARD_GIT_TOKEN: `https://${TOKEN}@${host.host}`,
        },
      })
      api = apiOf(service)
      const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
        ...{ name: 'e', repositories: [{ url: `${host.url}/acme/site` }], on_success: 'pull_request' },
      })
      config = { environment_id: uid, harness: { type: 'runbook' } }
    })
    after(async () => {
      await service?.stop()
      host?.close()
    })

    const play = async (request: object) => {
      const run_id = await api.create({ config, ...request })
      const run = await api.ended(run_id, 60)
      assert.equal(run.state, 'SUCCEEDED', run.status_message?.message)
      const pulls = run.artifacts.filter(({ artifact_type }) => artifact_type === 'PULL_REQUEST')
      return {
        run_id,
        urls: pulls.map(({ data }) => 'url' in data && data.url),
        events: await api.events(run_id),
      }
    }
    const branchesOf = (run_id: string) =>
      git(`${root}/acme/site.git`, 'for-each-ref', '--format=%(refname)', `refs/heads/runyard/${run_id}`)

    test('are linked by forks and replays that change nothing, and opened again where they were closed', async () => {
      const first = await play({ prompt: shell('echo one > one') })
      assert.deepEqual([host.pulls.length, first.urls.length], [1, 1])
      for (const again of [
        { prompt: shell('true'), fork_of: { run_id: first.run_id }, config: {} },
        { replay_of_run_id: first.run_id, config: {} },
      ]) {
        const { run_id, urls, events } = await play(again)
        assert.deepEqual([host.pulls.length, urls], [1, first.urls])
        assert.equal(branchesOf(run_id), '', 'nothing was pushed')
        assert.deepEqual(
          ofType(events, 'changes.pushed').map(({ data }) => [data.is_linked, data.branch]),
          [[true, `runyard/${first.run_id}`]],
        )
        // It goes on from there with work of its own.
        await api.json('POST', `/agent/runs/${run_id}/followups`, { message: shell('true') })
        await api.ended(run_id, 60)
        assert.equal(host.pulls.length, 1)
      }
      const more = await play({
        ...{ prompt: shell('echo two > two'), fork_of: { run_id: first.run_id }, config: {} },
      })
      assert.equal(host.pulls.length, 2)
      assert.notDeepEqual(more.urls, first.urls)
      const [pull] = host.pulls
      assert(pull)
      pull.open = false
      const anew = await play({ replay_of_run_id: first.run_id, config: {} })
      assert.equal(host.pulls.length, 3)
      assert.notDeepEqual(anew.urls, first.urls)
    })

    test('are one for two runs that push the same at the same moment', async () => {
      const before = host.pulls.length
      const same = { prompt: shell('echo both > both') }
      const [one, other] = await Promise.all([play(same), play(same)])
      assert.equal(host.pulls.length, before + 1)
      assert.deepEqual(one.urls, other.urls)
      assert.deepEqual(
        [one, other]
          .flatMap(({ events }) => ofType(events, 'changes.pushed').map(({ data }) => data.is_linked))
          .sort(),
        [true, undefined],
      )
    })

    test('are opened for no change that leaves the files as they were', async () => {
      const before = host.pulls.length
      const { run_id, urls } = await play({
        prompt: shell(
          'cd site; echo x > x; git add x; git commit -qm x; git rm -q x; git commit -qm y; git commit -q --allow-empty -m z',
        ),
      })
      assert.deepEqual([host.pulls.length, urls, branchesOf(run_id)], [before, [], ''])
    })
  })
