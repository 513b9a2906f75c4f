import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, describe, test } from 'node:test'
import { git } from '../../test/support/git.ts'
import { type GitHost, serveGitHost } from '../../test/support/git-hosts.ts'
import {
  type Answer,
  addHostedRepository,
  type GitHostOptions,
  type GitHostRequest,
} from '../../test/support/hosted-repositories.ts'
import { LONG } from '../../test/support/once.ts'
import { temporaryDirectory } from '../../test/support/service.ts'
import { createCheckedFetch } from './checked-fetch.ts'
import { openPullRequest } from './pull-requests.ts'
import type { PullRequestWish } from './pulls.ts'

const TOKEN = 'secret-token-of-the-test'

for (const kind of ['github', 'gitlab'] as const) {
  describe(`pull requests on ${kind}`, () => {
    const closing: (() => void)[] = []
    after(() => {
      for (const close of closing) close()
    })

    /** A host with one repository; `answers` are given in the host's place, the first to the first request that `of` names. */
    const open = async (options: Partial<GitHostOptions> = {}) => {
      const root = temporaryDirectory('hosted')
      const folder = addHostedRepository(root, 'acme/site')
      const host = await serveGitHost({ root, kind, token: TOKEN, ...options })
      closing.push(host.close)
      return { host, folder }
    }
    const openAnswering = (...answers: (Answer | Error)[]) => open({ interfere: () => answers.shift() })
    const wish = (host: GitHost, wanted: Partial<PullRequestWish> = {}) => {
      const ca = readFileSync(host.ca_file, 'utf8')
      const fetch = createCheckedFetch({ hosts: [host.host], private_hosts: [host.host] }, { ca })
      const defaults = { kind, host: host.host, path: 'acme/site', token: TOKEN, credential_name: 'SITE' }
      const about = { branch: 'feature', base: null, title: 'A feature', body: 'It does.', pause_ms: 1 }
      return openPullRequest({ fetch, ...defaults, ...about, ...wanted })
    }
    const posts = (requests: GitHostRequest[]) => requests.filter(({ method }) => method === 'POST')

    test('one is opened into the default branch', async () => {
      const { host } = await open()
      const url = `${host.url}/acme/site/${kind === 'github' ? 'pull' : '-/merge_requests'}/1`
      assert.deepEqual(await wish(host), { url, number: 1, base: 'main', created: true })
      const [pull] = host.pulls
      assert.deepEqual(
        { ...pull },
        {
          ...{ repository: 'acme/site', number: 1, title: 'A feature', body: 'It does.' },
          ...{ head: 'feature', base: 'main', draft: false, open: true },
        },
      )
      assert.ok(host.requests.every(({ authorization }) => authorization === `Bearer ${TOKEN}`))
    })

    test('the one that is open is found again, and stays as people edited it', async () => {
      const { host } = await open()
      await wish(host)
      for (const pull of host.pulls) pull.title = 'Edited'
      const again = await wish(host, { title: 'Another', body: 'Another.' })
      assert.deepEqual([again, host.pulls.length], [{ ...again, number: 1, created: false }, 1])
      assert.equal(host.pulls[0]?.title, 'Edited')
      // One that was closed is not opened again.
      for (const pull of host.pulls) pull.open = false
      const next = await wish(host)
      assert.deepEqual([next, host.pulls.length], [{ ...next, number: 2, created: true }, 2])
    })

    test('the base is the wanted branch, and the default branch where there is none of the name', async () => {
      const { host, folder } = await open()
      git(folder, 'branch', 'release/1.0#x', 'v1')
      const one = await wish(host, { base: 'release/1.0#x' })
      assert.deepEqual(one, { ...one, base: 'release/1.0#x', created: true })
      git(folder, 'branch', 'other', 'feature')
      const two = await wish(host, { branch: 'other', base: 'is-not-there' })
      assert.deepEqual(two, { ...two, base: 'main', created: true })
      // Of several that are open, the one into the wanted branch.
      const about = { repository: 'acme/site', title: '', body: '', draft: false, open: true }
      host.pulls.push({ ...about, number: 3, head: 'feature', base: 'main' })
      const three = await wish(host, { base: 'release/1.0#x' })
      assert.deepEqual(three, { ...three, number: 1, created: false })
    })

    test('a draft is one', async () => {
      const { host } = await open()
      await wish(host, { draft: true })
      assert.equal(host.pulls[0]?.draft, true)
    })

    if (kind === 'github')
      test('what would be a draft is none where the repository has no drafts', async () => {
        const { host } = await open({
          interfere: ({ method, body }) => {
            const message = 'Draft pull requests are not supported in this repository.'
            const refused = method === 'POST' && body.includes('"draft":true')
            return refused ? { status: 422, body: { message } } : undefined
          },
        })
        const answer = await wish(host, { draft: true })
        assert.ok('created' in answer && answer.created)
        assert.equal(host.pulls[0]?.draft, false)
      })

    test('a token that is none is refused, with its name and without itself', async () => {
      const { host } = await open()
      const token = 'another-token'
      const answer = await wish(host, { token })
      assert.ok('failure' in answer)
      assert.equal(answer.failure, 'refused')
      assert.match(answer.message, /refused the credential SITE/)
      assert.doesNotMatch(answer.message, /another-token/)
    })

    test('without the permission, and without access, it says what is missing', async () => {
      const { host } = await open({
        tokens: {
          'no-pulls': { contents: 'write', pull_requests: 'none' },
          elsewhere: { contents: 'write', pull_requests: 'write', repositories: ['acme/other'] },
        },
      })
      const weak = await wish(host, { token: 'no-pulls' })
      assert.ok('failure' in weak)
      assert.equal(weak.failure, 'refused')
      assert.match(weak.message, kind === 'github' ? /“Pull requests: write”/ : /the scope “api”/)
      const elsewhere = await wish(host, { token: 'elsewhere' })
      assert.ok('failure' in elsewhere)
      assert.equal(elsewhere.failure, 'not_found')
      assert.match(elsewhere.message, /SITE lacks access to acme\/site/)
    })

    test('a branch without commits of its own has no difference', async () => {
      const { host, folder } = await open()
      git(folder, 'branch', 'same', 'main~1')
      for (const branch of ['same', 'main']) {
        const answer = await wish(host, { branch })
        assert.ok('failure' in answer)
        assert.deepEqual([answer.failure, host.pulls.length], ['no_difference', 0])
      }
      const missing = await wish(host, { branch: 'is-not-there' })
      assert.ok('failure' in missing)
      assert.equal(missing.failure, 'not_found')
      assert.match(missing.message, /has no branch is-not-there/)
    })

    test('too many requests are repeated when the host says', async () => {
      const { host } = await openAnswering(
        { status: 429, headers: { 'retry-after': '1' } },
        { status: 403, body: { message: 'You have exceeded a secondary rate limit.' } },
      )
      const start = Date.now()
      const answer = await wish(host)
      assert.ok('created' in answer && answer.created)
      assert.ok(Date.now() - start >= 1_000)
    })

    test('a host that wants to be left alone for longer, or always, is', async () => {
      for (const headers of [
        { 'retry-after': '600' },
        {
          'x-ratelimit-remaining': '0',
          'x-ratelimit-reset': String(Math.floor(Date.now() / 1_000) + 600),
        },
      ] as Record<string, string>[]) {
        const { host } = await openAnswering({ status: 429, headers })
        const answer = await wish(host)
        assert.ok('failure' in answer)
        assert.equal(answer.failure, 'limited')
        assert.match(answer.message, /Try again in (600|5\d\d) s/)
        assert.equal(host.requests.length, 1)
      }
      const always = await open({ interfere: () => ({ status: 429, headers: { 'retry-after': '0' } }) })
      const answer = await wish(always.host)
      assert.ok('failure' in answer)
      assert.deepEqual([answer.failure, always.host.requests.length], ['limited', 3])
    })

    test('a host that fails is asked again, three times in all', async () => {
      const { host } = await openAnswering({ status: 502, body: '<html>' }, new Error('break it'))
      const answer = await wish(host)
      assert.ok('created' in answer && answer.created)
      const always = await open({ interfere: () => ({ status: 503, body: { message: 'Upgrading' } }) })
      const failed = await wish(always.host)
      assert.ok('failure' in failed)
      assert.deepEqual([failed.failure, always.host.requests.length], ['unreachable', 3])
      assert.match(failed.message, /failed \(503\): “Upgrading”/)
    })

    test('a creation whose answer was lost makes one all the same', async () => {
      let made = false
      const { host } = await open({
        interfere: ({ method, body }) => {
          if (method !== 'POST' || made) return undefined
          made = true
          const { title } = JSON.parse(body) as { title: string }
          const about = { repository: 'acme/site', head: 'feature', base: 'main', body: '' }
          host.pulls.push({ ...about, number: 1, title, draft: false, open: true })
          return new Error('break it')
        },
      })
      const answer = await wish(host)
      assert.ok('created' in answer)
      assert.deepEqual([answer.number, answer.created, host.pulls.length], [1, false, 1])
      assert.equal(posts(host.requests).length, 2)
    })

    test('nothing that a host answers brings the token elsewhere, or a fault', async () => {
      const elsewhere = await open()
      const page = { 'content-type': 'text/html' }
      let interfere: Answer | undefined
      const { host } = await open({ interfere: () => interfere })
      const hostile: [Answer, string][] = [
        [{ status: 200, body: '<html>Sign in</html>', headers: page }, 'other'],
        [{ status: 200, body: `["${'x'.repeat(10 * 1024 ** 2)}"]` }, 'unreachable'],
        [{ status: 200, body: { length: 1 } }, 'other'],
        [{ status: 200, body: 'null' }, 'other'],
        [{ status: 204 }, 'other'],
        [{ status: 302, headers: { location: `${elsewhere.host.url}/api/v3/repos/acme/site` } }, 'not_found'],
        [{ status: 307, headers: { location: `${elsewhere.host.url}/api/v4/` } }, 'not_found'],
        [{ status: 418, body: { message: `\u001b[31m${TOKEN}\n${'long '.repeat(1_000)}` } }, 'other'],
        [{ status: 400, body: { message: { a: [{ b: { c: { d: ['deep'] } } }] } } }, 'other'],
        [{ status: 200, body: '['.repeat(100_000) }, 'other'],
      ]
      for (const [answer, failure] of hostile) {
        interfere = answer
        const said = await wish(host)
        assert.ok('failure' in said, JSON.stringify(said))
        assert.equal(said.failure, failure, said.message)
        assert.match(said.message, /^[\p{L}\p{N}\p{P}\p{S} ]{1,500}$/u)
        assert.doesNotMatch(said.message, new RegExp(TOKEN))
      }
      assert.equal(elsewhere.host.requests.length, 0)
    })

    test('an answer of the wrong shape is told at every step', async () => {
      // Where the base is not asked for, one step more is made.
      for (const base of LONG ? ['main', null] : [null]) {
        for (let wrong = 0, steps = 1; wrong < steps; wrong++) {
          let asked = 0
          const { host } = await open({
            interfere: () => (asked++ === wrong ? { status: 200, body: '<html>' } : undefined),
          })
          const said = await wish(host, { base })
          assert.ok('failure' in said, `${wrong}: ${JSON.stringify(said)}`)
          assert.equal(said.failure, 'other')
          assert.equal(asked, wrong + 1)
          steps = kind === 'github' ? 3 : 5
        }
      }
    })

    test('branches without a commit in common are different', async () => {
      const { host, folder } = await open()
      const tree = git(folder, 'rev-parse', 'main^{tree}')
      git(folder, 'branch', 'orphan', git(folder, 'commit-tree', '-m', 'orphan', tree))
      const answer = await wish(host, { branch: 'orphan' })
      assert.ok('created' in answer && answer.created)
    })

    test('a pull request of the wrong shape is none', async () => {
      const right = {
        ...{ html_url: 'https://x.example/1', web_url: 'https://x.example/1', number: 1, iid: 1 },
        ...{ base: { ref: 'main' }, target_branch: 'main', source_branch: 'feature' },
        head: { ref: 'feature', repo: { full_name: 'acme/site' } },
      }
      const answerWith = async (pull: object) => {
        const { host } = await open({
          interfere: ({ method }) => (method === 'GET' ? { status: 200, body: [pull] } : undefined),
        })
        return wish(host)
      }
      assert.deepEqual(await answerWith(right), {
        ...{ url: 'https://x.example/1', number: 1, base: 'main', created: false },
      })
      for (const wrong of [
        { html_url: 'javascript:alert(1)', web_url: 'javascript:alert(1)' },
        { html_url: 1, web_url: null },
        { number: '1', iid: '1' },
        { base: null, target_branch: 7 },
      ]) {
        const said = await answerWith({ ...right, ...wrong })
        assert.ok('failure' in said, JSON.stringify(said))
        assert.equal(said.failure, 'other')
      }
    })

    test('a branch of the same name in a fork is somebody else’s', async () => {
      const fork = {
        ...{ html_url: 'https://x.example/1', web_url: 'https://x.example/1', number: 1, iid: 1 },
        ...{ base: { ref: 'main' }, target_branch: 'main', source_branch: 'feature' },
        ...{ source_project_id: 1, target_project_id: 2 },
        head: { ref: 'feature', repo: { full_name: 'acme/site-fork' } },
      }
      let asked = 0
      const { host } = await open({
        interfere: () => (asked++ === 0 ? { status: 200, body: [fork] } : undefined),
      })
      const answer = await wish(host)
      assert.ok('created' in answer && answer.created)
    })

    test('a policy that does not allow the host is no reason to try again', async () => {
      const { host } = await open()
      const refuses = createCheckedFetch({ hosts: [], private_hosts: [] })
      let asked = 0
      const fetch = (url: string) => {
        asked += 1
        return refuses(url)
      }
      const answer = await wish(host, { fetch })
      assert.equal(asked, 1)
      assert.ok('failure' in answer)
      assert.equal(answer.failure, 'unreachable')
      assert.match(answer.message, /network policy/)
    })
  })
}
