/** What somebody's git secrets reach at GitHub and GitLab: repositories and branches, for the form of a new run. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { ListBranchesResponse, ListRepositoriesResponse } from '../src/contract/repository.ts'
import { findChromium } from './support/browser.ts'
import { GIT_ENV } from './support/git.ts'
import { type GitHost, serveGitHost } from './support/git-hosts.ts'
import { addHostedRepository } from './support/hosted-repositories.ts'
import { addKeys } from './support/seed-keys.ts'
import { apiOf, startService, type TestService, temporaryDirectory } from './support/service.ts'
import { checkAccess, openPage } from './support/web-page.ts'

const KINDS = ['github', 'gitlab'] as const
type Kind = (typeof KINDS)[number]
type Api = ReturnType<typeof apiOf>
const TOKEN = 'canary-of-the-host-71c2'
const NARROW = 'canary-narrow-of-the-host-71c2'
const ENDED = 'canary-ended-of-the-host-71c2'

describe('repositories of git hosts', () => {
  const roots = { github: temporaryDirectory('hosted'), gitlab: temporaryDirectory('hosted') }
  const hosts = {} as Record<Kind, GitHost>
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  let service: TestService
  let admin: Api
  let member: Api
  let viewer: Api

  before(async () => {
    for (const kind of KINDS) {
      for (const path of ['acme/site', 'acme/tools', 'other/site']) {
        const folder = addHostedRepository(roots[kind], path)
        execFileSync('git', ['branch', 'topic/one'], { cwd: folder, env: GIT_ENV })
      }
      hosts[kind] = await serveGitHost({
        ...{ root: roots[kind], kind, token: TOKEN },
        tokens: { [NARROW]: { repositories: ['acme/tools'], contents: 'read', pull_requests: 'none' } },
        app: {
          ...{ app_id: '1', installation_id: '2', account: 'acme' },
          public_key: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
        },
      })
    }
    const ca_file = join(temporaryDirectory('certificates'), 'hosts.pem')
    writeFileSync(ca_file, KINDS.map((kind) => readFileSync(hosts[kind].ca_file, 'utf8')).join('\n'))
    service = await startService({
      env: {
        NODE_EXTRA_CA_CERTS: ca_file,
        RUNYARD_PRIVATE_HOSTS: KINDS.map((kind) => hosts[kind].host).join(','),
        RUNYARD_GIT_HOSTS: KINDS.map((kind) => `${hosts[kind].host}=${kind}`).join(','),
      },
    })
    admin = apiOf(service)
    const keys = await addKeys(service, { viewer: { role: 'viewer' }, member: { role: 'member' } })
    viewer = apiOf({ ...service, api_key: keys.viewer })
    member = apiOf({ ...service, api_key: keys.member })
  })
  after(async () => {
    await service?.stop()
    for (const kind of KINDS) hosts[kind]?.close()
  })

  const list = (api: Api, query = '') =>
    api.json<ListRepositoriesResponse>('GET', `/agent/repositories${query}`)
  const branches = (api: Api, repository: string, query = '') =>
    api.json<ListBranchesResponse>(
      'GET',
      `/agent/repositories/branches?repository=${encodeURIComponent(repository)}&query=${encodeURIComponent(query)}`,
    )
  const put = (api: Api, name: string, kind: Kind, value: string, git = {}, scope = 'Team') =>
    api.json('PUT', `/agent/secrets/${name}?scope=${scope}`, {
      value,
      git: { host: hosts[kind].host, ...git },
    })
  const remove = (api: Api, name: string, scope = 'Team') =>
    api.json('DELETE', `/agent/secrets/${name}?scope=${scope}`)

  for (const kind of KINDS)
    test(`${kind}: repositories are searched, and their branches listed`, async () => {
      const { url, host } = hosts[kind]
      assert.deepEqual(await list(member), { repositories: [], has_more: false, notes: [] })
      await put(admin, 'HOST', kind, TOKEN)
      const { repositories, has_more, notes } = await list(member, '?query=ACME')
      assert.deepEqual([has_more, notes], [false, []])
      assert.deepEqual(
        repositories.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
        ['acme/site', 'acme/tools'].map((name) => ({
          ...{
            url: `${url}/${name}`,
            name,
            host,
            is_private: true,
            default_branch: 'main',
            secret_name: 'HOST',
          },
        })),
      )
      const first = await list(member, '?limit=1')
      assert.deepEqual([first.repositories.length, first.has_more], [1, true])
      const all = await branches(member, `${url}/acme/site`)
      assert.equal(all.default_branch, 'main')
      assert(all.branches.includes('main') && all.branches.includes('topic/one'))
      assert.deepEqual((await branches(member, `${url}/acme/site.git`, 'topic/')).branches, ['topic/one'])
      assert.deepEqual(all.notes, [])
      const gone = await branches(member, `${url}/acme/nothing`)
      assert.deepEqual([gone.branches, gone.default_branch], [[], null])
      assert.match(gone.notes.join(), /no repository acme\/nothing/)
      const audit = await admin.json<{ entries: Array<{ detail?: string }> }>(
        'GET',
        '/audit-log?action=useSecrets',
      )
      assert.equal(
        audit.entries.filter(({ detail }) => detail === 'HOST, to list repositories and branches').length > 0,
        true,
      )
      await remove(admin, 'HOST')
      assert.deepEqual((await list(member)).repositories, [], 'at once')
    })

  test('a secret is used for what it is meant for, by those who may', async () => {
    const { url } = hosts.github
    await put(admin, 'SOME', 'github', TOKEN, { repositories: ['other/*'] })
    // No way around what it is meant for, in a part of the address that the host never sees.
    for (const query of ['../../../../site/branches', '.', 'x/../../../../../acme/site/branches']) {
      const asked = new URLSearchParams({ repository: `${url}/other/site`, query })
      const { branches: found, notes } = await member.json<{ branches: string[]; notes: string[] }>(
        'GET',
        `/agent/repositories/branches?${asked}`,
      )
      assert.deepEqual([found, /a part \. or \.\./.test(notes.join())], [[], true], query)
    }
    assert.deepEqual(
      (await list(member)).repositories.map(({ name }) => name),
      ['other/site'],
    )
    assert.match(
      (await branches(member, `${url}/acme/site`)).notes.join(),
      /None of the git secrets that you may use/,
    )
    const somebody = (await admin.get(await admin.create({ prompt: 'x', config: { worker_host: 'nobody' } })))
      .creator.uid
    await admin.json('PUT', '/agent/grants', {
      ...{ resource_type: 'secret', resource_id: 'SOME', principal_ids: [somebody] },
    })
    assert.deepEqual((await list(member)).repositories, [])
    assert.equal((await list(admin)).repositories.length, 1)
    assert.match(
      (await branches(member, `${url}/other/site`)).notes.join(),
      /None of the git secrets that you may use/,
    )
    // One's own is nobody else's.
    await put(member, 'MINE', 'github', NARROW, {}, 'User')
    assert.deepEqual(
      (await list(member)).repositories.map(({ name, secret_name }) => [name, secret_name]),
      [['acme/tools', 'MINE']],
    )
    assert.deepEqual(
      (await list(admin)).repositories.map(({ secret_name }) => secret_name),
      ['SOME'],
    )
    for (const path of ['/agent/repositories', `/agent/repositories/branches?repository=${url}/acme/site`])
      assert.equal((await viewer.call('GET', path)).status, 403)
    await remove(member, 'MINE', 'User')
    await remove(admin, 'SOME')
  })

  test('a GitHub App has those that it is installed in', async () => {
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    await put(admin, 'APP', 'github', pem, { app: { app_id: '1', installation_id: '2' } })
    const { repositories, notes } = await list(member)
    assert.deepEqual(notes, [])
    assert.deepEqual(repositories.map(({ name }) => name).sort(), ['acme/site', 'acme/tools'])
    assert.equal((await branches(member, `${hosts.github.url}/acme/site`)).default_branch, 'main')
    await remove(admin, 'APP')
  })

  test('what a host does not answer is a sentence, and the others answer', async () => {
    await put(admin, 'ENDED', 'github', ENDED)
    await put(admin, 'GOOD', 'gitlab', TOKEN)
    const { repositories, notes } = await list(member)
    assert.equal(repositories.length, 3)
    assert.match(notes.join(), /does not take the token/)
    assert.doesNotMatch(notes.join(), /canary/)
    const before = hosts.github.requests.length
    await list(member, '?query=a')
    await list(member, '?query=ac')
    assert.equal(hosts.github.requests.length, before, 'it is not asked with each letter')
    for (const query of ['limit=0', 'limit=101', `query=${'x'.repeat(513)}`])
      assert.equal((await member.call('GET', `/agent/repositories?${query}`)).status, 400, query)
    assert.equal((await member.call('GET', '/agent/repositories/branches')).status, 400)
    assert.match((await branches(member, '../etc')).notes.join(), /Only a repository at a git host/)
    assert.match((await branches(member, 'acme/site')).notes.join(), /covers acme\/site at github\.com/)
    assert.equal((await viewer.call('GET', '/agent/repositories/branches?repository=x')).status, 403)
    await remove(admin, 'ENDED')
    await remove(admin, 'GOOD')
  })

  const skip = findChromium() ? false : 'there is no Chromium on this machine'
  test('the form of a new run offers them while one types', { skip }, async () => {
    await put(admin, 'HOST', 'github', TOKEN)
    const { url } = hosts.github
    await using opened = await openPage(service, { at: '/new' })
    const { page, complaints } = opened
    const repository = page.getByLabel('Repository')
    await repository.pressSequentially('tool')
    await page.locator(`datalist option[value="${url}/acme/tools"]`).waitFor({ state: 'attached' })
    await repository.fill(`${url}/acme/tools`)
    await page.getByText(/Private: choose an environment with the secret HOST/).waitFor()
    await page.getByLabel('Branch').focus()
    await page.locator('datalist option[value="topic/one"]').waitFor({ state: 'attached' })
    await checkAccess(page)
    await page.getByLabel('Branch').fill('a-branch-by-hand')
    await repository.fill('https://git.example/by/hand')
    await page.getByText(/None of the git secrets that you may use covers by\/hand/).waitFor()
    assert.deepEqual(complaints, [])
    await page.route(/\/agent\/repositories\?/, (route) => route.fulfill({ status: 503 }))
    await repository.fill('another')
    await page.getByText(/^No suggestions: /).waitFor()
    await remove(admin, 'HOST')
  })
})
