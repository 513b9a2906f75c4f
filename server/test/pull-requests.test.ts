/** How the pull requests of runs stand at their hosts, and their being merged from here. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once as onceOf } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { EnvironmentConfig } from '../src/contract/environment.ts'
import type { PullRequestItem } from '../src/contract/pull-request.ts'
import { claimRuns, releaseRun } from '../src/store/leases.ts'
import { recordPush } from '../src/store/pushes.ts'
import { finishRun } from '../src/store/transitions.ts'
import { GIT_ENV, git } from './support/git.ts'
import { type GitHost, serveGitHost } from './support/git-hosts.ts'
import { type Answer, addHostedRepository, type GitHostRequest } from './support/hosted-repositories.ts'
import { LONG, onlyLong } from './support/once.ts'
import { addKeys } from './support/seed-keys.ts'
import {
  apiOf,
  shell,
  spawnRunyard,
  startService,
  type TestService,
  temporaryDirectory,
} from './support/service.ts'
import { addWorker } from './support/stored.ts'

const TOKEN = 'canary-of-the-host-5d1f'
const READ_TOKEN = 'canary-read-of-the-host-5d1f'
const KINDS = ['github', 'gitlab'] as const
type Kind = (typeof KINDS)[number]
type Api = ReturnType<typeof apiOf>

const root = { github: temporaryDirectory('hosted'), gitlab: temporaryDirectory('hosted') }
const hosts: Partial<Record<Kind, GitHost>> = {}
let interfere: ((request: GitHostRequest) => Answer | Error | undefined) | undefined
let service: TestService
let api: Api
let viewer: Api
let member: Api

before(async () => {
  for (const kind of KINDS) {
    addHostedRepository(root[kind], 'acme/site')
    hosts[kind] = await serveGitHost({
      ...{ root: root[kind], kind, token: TOKEN },
      tokens: { [READ_TOKEN]: { contents: 'read', pull_requests: 'write' } },
      interfere: (request) => (request.path.startsWith('/api/') ? interfere?.(request) : undefined),
    })
  }
  const served = KINDS.flatMap((kind) => hosts[kind] ?? [])
  const ca_file = join(temporaryDirectory('certificates'), 'hosts.pem')
  writeFileSync(ca_file, served.map((host) => readFileSync(host.ca_file, 'utf8')).join('\n'))
  service = await startService({
    env: {
      NODE_EXTRA_CA_CERTS: ca_file,
      RUNYARD_PRIVATE_HOSTS: served.map(({ host }) => host).join(','),
      RUNYARD_GIT_HOSTS: KINDS.map((kind) => `${hosts[kind]?.host}=${kind}`).join(','),
    },
  })
  api = apiOf(service)
  const keys = await addKeys(service, { viewer: { role: 'viewer' }, member: { role: 'member' } })
  viewer = apiOf({ ...service, api_key: keys.viewer })
  member = apiOf({ ...service, api_key: keys.member })
  for (const kind of KINDS) {
    const git = { host: hosts[kind]?.host }
    await api.json('PUT', `/agent/secrets/${kind.toUpperCase()}`, { value: TOKEN, git })
    await api.json('PUT', `/agent/secrets/${kind.toUpperCase()}_READ`, { value: READ_TOKEN, git })
  }
})
after(async () => {
  await service?.stop()
  for (const kind of KINDS) hosts[kind]?.close()
})

let made = 0
/** A run that is created, and its environment as it was made. */
async function create(kind: Kind, prompt: string, more: Partial<EnvironmentConfig>, request: object) {
  const { worker_host, ...rest } = request as { worker_host?: string }
  const environment = {
    name: `e${++made}`,
    repositories: [{ url: `${hosts[kind]?.url}/acme/site` }],
    secrets: [kind.toUpperCase()],
    on_success: 'pull_request',
    merge_method: 'squash',
    ...more,
  }
  const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', environment)
  const run_id = await api.create({
    ...{ title: 'Say it', prompt, ...rest },
    config: { environment_id: uid, harness: { type: 'runbook' }, ...(worker_host ? { worker_host } : {}) },
  })
  return { run_id, uid, environment, branch: `runyard/${run_id}` }
}

/** A run that opened a pull request by what it executed. */
async function execute(kind: Kind, command: string) {
  const created = await create(kind, shell(command), {}, {})
  const run = await api.ended(created.run_id, 60)
  assert.equal(run.state, 'SUCCEEDED', run.status_message?.message)
  return { ...created, pull: hosts[kind]?.pulls.at(-1) }
}

/**
 * The same as a worker stores it, without the sandbox: its branch has a file that says `text`, and its host the pull request.
 * What executing one takes is several times all that is asked of it afterwards.
 */
async function open(
  kind: Kind,
  [file, text]: [string, string],
  config: Partial<EnvironmentConfig> = {},
  request: object = {},
) {
  const host = hosts[kind]
  assert(host)
  const pool = randomUUID()
  const created = await create(kind, 'x', config, { ...request, worker_host: pool })
  const { run_id, branch } = created
  const { db } = service.store
  const [lease] = await claimRuns(db, await addWorker(db, { pool }), 1)
  assert(lease?.run_id === run_id)
  commitOn(kind, branch, file, text)
  const number = host.pulls.length + 1
  const pull = { repository: 'acme/site', number, title: 'Say it', body: '', head: branch, base: 'main' }
  host.pulls.push({ ...pull, draft: false, open: true })
  const url = `${host.url}/acme/site/${kind === 'github' ? 'pull' : '-/merge_requests'}/${number}`
  const push = { directory: 'site', repository: `${host.host}/acme/site`, branch, url }
  const commit = hosted(kind, 'rev-parse', branch)
  const pull_request = { number, url }
  assert(await recordPush(db, lease, { ...push, commit, pull_request, artifact_uid: randomUUID() }))
  assert.equal(await finishRun(db, lease, { state: 'SUCCEEDED' }), 'finished')
  assert((await releaseRun(db, lease)).released)
  return { ...created, pull: host.pulls.at(-1) }
}

/** One commit on top of `main`, as a new branch. */
function commitOn(kind: Kind, branch: string, file: string, text: string): void {
  const lines = [
    `commit refs/heads/${branch}`,
    'committer Test <test@example.org> now',
    'data 6',
    'Say it',
    'from refs/heads/main^0',
    `M 644 inline ${file}`,
    `data ${text.length + 1}`,
    text,
    '',
  ]
  const arguments_ = ['-C', join(root[kind], 'acme/site.git'), 'fast-import', '--quiet', '--date-format=now']
  execFileSync('git', arguments_, { env: GIT_ENV, input: `${lines.join('\n')}\n` })
}

async function list(run_id: string, by = api): Promise<PullRequestItem[]> {
  const path = `/agent/runs/${run_id}/pull-requests`
  return (await by.json<{ pull_requests: PullRequestItem[] }>('GET', path)).pull_requests
}

interface Answered {
  status: number
  body: PullRequestItem & { error_code?: string; detail?: string; retryable?: boolean }
}

async function merge(run_id: string, wish: object = {}, by = api): Promise<Answered> {
  const answer = await by.call('POST', `/agent/runs/${run_id}/merge`, wish)
  const text = await answer.text()
  assert(!text.includes(TOKEN) && !text.includes(READ_TOKEN))
  return { status: answer.status, body: JSON.parse(text) }
}

const hosted = (kind: Kind, ...args: string[]): string => git(join(root[kind], 'acme/site.git'), ...args)

for (const kind of KINDS) {
  /** What comes before a host is asked, and after it has answered, is one code for both. */
  const once = kind === 'github' ? test : onlyLong
  describe(`pull requests of runs, ${kind}`, () => {
    test('are shown as they stand, and merged as the environment says, once', async () => {
      const { run_id, branch, pull } = await execute(kind, 'echo one > one')
      const commit = hosted(kind, 'rev-parse', branch)
      const [shown, ...more] = await list(run_id, viewer)
      assert.deepEqual(more, [])
      assert.deepEqual(shown, {
        url: `${hosts[kind]?.url}/acme/site/${kind === 'github' ? 'pull' : '-/merge_requests'}/${pull?.number}`,
        ...{ repository: `${hosts[kind]?.host}/acme/site`, number: pull?.number, branch, commit },
        ...{ state: 'open', title: 'Say it', base: 'main', is_draft: false, head_commit: commit },
        ...{ mergeable: true, merge_method: 'squash' },
      })
      const before = hosted(kind, 'rev-parse', 'main')
      const { status, body } = await merge(run_id)
      assert.equal(status, 200, body.detail)
      assert.deepEqual([body.state, body.merge_method], ['merged', undefined])
      assert.equal(hosted(kind, 'show', 'main:one'), 'one')
      // One commit on top of it, and the branch is still there.
      assert.equal(hosted(kind, 'rev-parse', 'main^@'), before)
      assert.equal(hosted(kind, 'rev-parse', branch), commit)
      const after = hosted(kind, 'rev-parse', 'main')
      const [again, listed] = [await merge(run_id), await list(run_id)]
      assert.deepEqual([again.status, again.body.state], [200, 'merged'])
      assert.equal(listed[0]?.state, 'merged')
      assert.equal(Number.isNaN(Date.parse(listed[0]?.merged_at ?? '')), false)
      assert.equal(hosted(kind, 'rev-parse', 'main'), after)
    })

    once('are merged by who may go on with the run, where the environment allows it', async () => {
      const here = await open(kind, ['two', 'two'], { merge_method: 'merge' })
      assert.equal((await merge(here.run_id, {}, viewer)).status, 403)
      const { status, body } = await merge(here.run_id, {}, member)
      assert.equal(status, 200, body.detail)
      assert.equal(hosted(kind, 'rev-parse', 'main^2'), hosted(kind, 'rev-parse', here.branch))

      const there = await open(kind, ['three', 'three'])
      const { merge_method: _, ...environment } = there.environment
      await api.json('PUT', `/agent/environments/${there.uid}`, environment)
      assert.equal((await list(there.run_id))[0]?.merge_method, undefined)
      const refused = await merge(there.run_id)
      assert.deepEqual([refused.status, refused.body.error_code], [403, 'feature_not_available'])
      await api.json('PUT', `/agent/environments/${there.uid}`, there.environment)
      const resource = { resource_type: 'environment', resource_id: there.uid }
      await api.json('PUT', '/agent/grants', { ...resource, principal_ids: [] })
      const { principals } = await api.json<{ principals: Array<{ uid: string; display_name: string }> }>(
        'GET',
        '/principals',
      )
      const guest = principals.find(({ display_name }) => display_name === 'viewer')
      await api.json('PUT', '/agent/grants', { ...resource, principal_ids: [guest?.uid] })
      const foreign = await merge(there.run_id, {}, member)
      assert.deepEqual([foreign.status, foreign.body.error_code], [403, 'not_authorized'])
      assert.equal(there.pull?.open, true)
    })

    test('are not merged where the host would not, and say why', async () => {
      const [first, second] = [await open(kind, ['file', '1']), await open(kind, ['file', '2'])]
      assert.equal((await merge(first.run_id)).status, 200)
      const [conflicting] = await list(second.run_id)
      assert.deepEqual([conflicting?.mergeable, conflicting?.note], [false, 'It has conflicts with main.'])
      const refused = await merge(second.run_id)
      assert.deepEqual([refused.status, refused.body.retryable], [409, false])
      assert.equal(refused.body.detail, 'It has conflicts with main.')
      const cases = {
        github: { blocked: 'main requires checks or reviews that are missing.' },
        gitlab: { not_approved: 'It needs approvals.', some_new_status: 'GitLab says: some new status.' },
      }
      assert(second.pull)
      for (const [standing, words] of Object.entries(cases[kind])) {
        second.pull.standing = standing
        const { status, body } = await merge(second.run_id)
        assert.deepEqual([status, body.detail], [409, words])
      }
      delete second.pull.standing
      second.pull.open = false
      assert.equal((await list(second.run_id))[0]?.state, 'closed')
      assert.equal((await merge(second.run_id)).body.detail, 'It is closed, and was not merged.')
    })

    once('are merged at the commit that was looked at alone', async () => {
      const { run_id, branch } = await open(kind, ['four', 'four'])
      const pushed = hosted(kind, 'rev-parse', branch)
      const by_hand = hosted(kind, 'commit-tree', `${branch}^{tree}`, '-p', branch, '-m', 'by hand')
      hosted(kind, 'update-ref', `refs/heads/${branch}`, by_hand)
      const [shown] = await list(run_id)
      assert.deepEqual([shown?.commit, shown?.head_commit], [pushed, by_hand])
      assert.equal(shown?.note, 'It has been pushed to since the run pushed.')
      const refused = await merge(run_id)
      assert.equal(refused.status, 409)
      assert.match(refused.body.detail ?? '', /^It has been pushed to since: its branch is at /)
      const moved = await merge(run_id, { commit: by_hand, base: 'stable' })
      assert.equal(moved.status, 409)
      assert.equal(moved.body.detail, 'It is to be merged into main by now, not stable. Look at it again.')
      assert.equal((await merge(run_id, { commit: by_hand, base: 'main' })).status, 200)
      assert.equal((await merge(run_id, { commit: 'main' })).status, 400)
      assert.equal((await merge(run_id, { url: 'https://elsewhere.example/pull/1' })).status, 404)
    })

    once('are merged once where the answer of the host is lost, and not where it is away', async () => {
      const { run_id, pull } = await open(kind, ['five', 'five'])
      interfere = () => ({ status: 500 })
      const [unknown] = await list(run_id)
      assert.equal(unknown?.state, 'unknown')
      assert.match(unknown?.note ?? '', /failed \(500\)/)
      const away = await merge(run_id)
      assert.deepEqual([away.status, away.body.error_code], [503, 'resource_unavailable'])
      interfere = undefined
      assert.equal(pull?.open, true)
      interfere = ({ method }) => {
        if (method !== 'PUT' || !pull?.open) return undefined
        // It was done, and nobody heard of it.
        Object.assign(pull, { open: false, merged_at: new Date().toISOString() })
        return new Error('gone')
      }
      const { status, body } = await merge(run_id)
      interfere = undefined
      assert.deepEqual([status, body.state], [200, 'merged'])
    })

    once('need a credential that may, and what a host says is a line of text', async () => {
      const { run_id, uid, environment, pull } = await open(kind, ['six', 'six'])
      assert(pull)
      pull.title = '\u001b[31mred\u001b[0m\r\n<b>\u202etitle'
      assert.equal((await list(run_id))[0]?.title, '[31mred [0m <b> title')
      const secrets = [`${kind.toUpperCase()}_READ`]
      await api.json('PUT', `/agent/environments/${uid}`, { ...environment, secrets })
      const refused = await merge(run_id)
      assert.notEqual(refused.status, 200)
      assert.match(refused.body.detail ?? '', kind === 'github' ? /_READ lacks access/ : /does not merge it/)
      await api.json('PUT', `/agent/environments/${uid}`, { ...environment, secrets: [] })
      const [without] = await list(run_id)
      assert.match(without?.note ?? '', /No secret of the environment gives access/)
      assert.equal((await merge(run_id)).body.error_code, 'integration_not_configured')
      const own = await api.create({ prompt: 'x', config: { worker_host: 'nobody' } })
      assert.deepEqual(await list(own), [])
      assert.equal((await merge(own)).status, 404)
    })
  })
}

test('the command prints how they stand, and merges them', async () => {
  const { run_id, uid, pull } = await open('github', ['eight', 'eight'])
  assert(pull)
  pull.title = 'A \u001b[2Jtitle'
  const say = async (...args: string[]) => {
    const child = spawnRunyard(args, { RUNYARD_BASE_URL: service.base_url, RUNYARD_API_KEY: service.api_key })
    let said = ''
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data) => (said += data))
    const [code] = await onceOf(child, 'close')
    return { code, said }
  }
  const url = `${hosts.github?.url}/acme/site/pull/${pull.number}`
  assert.deepEqual(await say('pr', run_id), { code: 0, said: `open into main: A [2Jtitle\n  ${url}\n` })
  const other = await say('merge', run_id, '--commit', '0'.repeat(40))
  assert.equal(other.code, 1)
  assert.match(
    other.said,
    /^error: It has been pushed to since: .*not 000000000000\. Look at it again\.\nhint: .*errors\/conflict\n$/,
  )
  assert.deepEqual(await say('merge', run_id), {
    code: 0,
    said: `merged into main: A [2Jtitle\n  ${url}\n`,
  })
  // To take it away is what every option that begins with `--no-` does.
  const ways = [
    [['--merge-method', 'rebase'], 'rebase'] as const,
    [['--no-merge-method'], undefined] as const,
  ]
  for (const [option, method] of LONG ? ways : ways.slice(0, 1)) {
    assert.equal((await say('env', 'update', uid, ...option)).code, 0)
    const { config } = await api.json<{ config: EnvironmentConfig }>('GET', `/agent/environments/${uid}`)
    assert.equal(config.merge_method, method)
  }
})

test('rebasing is for GitHub alone', async () => {
  const { run_id } = await open('gitlab', ['seven', 'seven'], { merge_method: 'rebase' })
  const { status, body } = await merge(run_id)
  assert.equal(status, 409)
  assert.match(body.detail ?? '', /^GitLab rebases where the project says so/)
})

test('a run that cannot go on, since who executed it is gone, has nothing merged', async () => {
  const { uid } = await api.json<{ uid: string }>('POST', '/agent/identities', { name: 'robot' })
  const { run_id, pull } = await open('github', ['nine', 'nine'], {}, { agent_identity_uid: uid })
  assert.equal((await api.call('DELETE', `/agent/identities/${uid}`)).status, 200)
  const { status, body } = await merge(run_id)
  assert.deepEqual([status, body.error_code, body.retryable], [409, 'conflict', false])
  assert.match(body.detail ?? '', /^This run cannot go on: the identity that executes it was deleted/)
  assert.equal(pull?.open, true)
})

test('the audit log says which secret was used for what, and not each time that somebody looks', async () => {
  const { run_id, uid, environment } = await open('github', ['ten', 'ten'], {
    secrets: ['GITHUB', 'GITLAB'],
  })
  const { merge_method: _, ...rest } = environment
  await api.json('PUT', `/agent/environments/${uid}`, rest)
  assert.equal((await merge(run_id)).status, 403)
  // What is known already is forgotten where a merge was tried.
  await list(run_id, viewer)
  await api.json('PUT', `/agent/environments/${uid}`, environment)
  assert.equal((await merge(run_id, { commit: '0'.repeat(40) })).status, 409)
  await list(run_id, viewer)
  const { entries } = await api.json<{ entries: Array<{ via: string; detail: string }> }>(
    'GET',
    `/audit-log?target=${run_id}&action=useSecrets`,
  )
  const said = entries.filter(({ via }) => via === 'service').map(({ detail }) => detail)
  assert.deepEqual(said, ['GITHUB, to merge a pull request', 'GITHUB, to read pull requests'])
})

test('what was found out is not used any more when the run has pushed again', async () => {
  const { run_id } = await execute('github', 'echo eleven > eleven')
  assert.equal((await merge(run_id)).status, 200)
  const path = `/agent/runs/${run_id}`
  await api.json('POST', `${path}/followups`, { message: shell('echo twelve > twelve') })
  const opened = hosts.github?.pulls.length ?? 0
  const deadline = Date.now() + 60_000
  for (let has_opened = false; !has_opened; ) {
    assert(Date.now() < deadline, 'the run opens another one')
    // Somebody looks all the time.
    await list(run_id)
    has_opened = (await api.events(run_id)).some(
      ({ type, data }) => type === 'changes.pushed' && data.pull_request?.number === opened + 1,
    )
  }
  const [shown] = await list(run_id)
  assert.deepEqual([shown?.number, shown?.state], [opened + 1, 'open'])
})
