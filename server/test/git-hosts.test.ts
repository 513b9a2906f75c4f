import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { GIT_ENV, git } from './support/git.ts'
import { serveGitHost } from './support/git-hosts.ts'
import { addHostedRepository } from './support/hosted-repositories.ts'
import { temporaryDirectory } from './support/service.ts'

describe('the stand-in for git hosts', async () => {
  const root = temporaryDirectory('hosted')
  const folder = addHostedRepository(root, 'acme/site')
  addHostedRepository(root, 'acme/other')
  const host = await serveGitHost({
    ...{ root, kind: 'github', token: 'all' },
    tokens: {
      reads: { contents: 'read', pull_requests: 'none' },
      other: { contents: 'write', pull_requests: 'write', repositories: ['acme/other'] },
      old: { contents: 'write', pull_requests: 'write', expires_at: 0 },
    },
  })
  after(host.close)

  const run = async (token: string | null, ...args: string[]): Promise<string> => {
    const basic = token && `Basic ${Buffer.from(`x:${token}`).toString('base64')}`
    const header = basic ? ['-c', `http.extraHeader=Authorization: ${basic}`] : []
    const env = { ...GIT_ENV, GIT_SSL_CAINFO: host.ca_file, GIT_TERMINAL_PROMPT: '0' }
    const { stdout } = await promisify(execFile)('git', [...header, ...args], { env })
    return stdout
  }
  const remote = `${host.url}/acme/site.git`

  test('a token clones, fetches and pushes over TLS that is verified', async () => {
    const clone = join(temporaryDirectory('clone'), 'site')
    await run('all', 'clone', '--quiet', remote, clone)
    git(clone, 'checkout', '--quiet', '-b', 'pushed')
    git(clone, 'commit', '--quiet', '--allow-empty', '-m', 'pushed')
    await run('all', '-C', clone, 'push', '--quiet', 'origin', 'pushed')
    assert.equal(git(folder, 'rev-parse', 'pushed'), git(clone, 'rev-parse', 'HEAD'))
    await assert.rejects(run('reads', '-C', clone, 'push', 'origin', 'pushed:again'), /403/)
    assert.ok(host.requests.some(({ path }) => path === '/acme/site.git/git-receive-pack'))
  })

  test('the suffix of a repository goes without saying', async () => {
    assert.match(await run('reads', 'ls-remote', `${host.url}/acme/site`), /refs\/heads\/main/)
  })

  test('without a token that reaches it there is no repository', async () => {
    await assert.rejects(run(null, 'ls-remote', remote), /could not read Username/)
    for (const token of ['wrong', 'old']) await assert.rejects(run(token, 'ls-remote', remote))
    await assert.rejects(run('other', 'ls-remote', remote), /not found/)
    await assert.rejects(run('all', 'ls-remote', `${host.url}/acme/is-not-there.git`), /not found/)
  })
})
