/** What stands in a workspace before the agent starts: repositories, setup commands, and how their failures are told. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { EnvironmentConfig } from '../src/contract/environment.ts'
import { git, makeRepository, serveRepositories } from './support/git.ts'
import { LONG, onlyLong } from './support/once.ts'
import { apiOf, shell, startService, type TestService, temporaryDirectory } from './support/service.ts'
import { assertWhole, ofType, printed } from './support/traces.ts'

type Repository = NonNullable<EnvironmentConfig['repositories']>[number]

describe('an environment', { concurrency: 4 }, () => {
  let server: Awaited<ReturnType<typeof serveRepositories>>
  const served = temporaryDirectory('served')
  let service: TestService
  let api: ReturnType<typeof apiOf>
  const root = temporaryDirectory('repositories')
  const outside = temporaryDirectory('outside')
  const local = (name: string) => join(root, 'home', name)

  before(async () => {
    // Like somebody's home: nobody else passes.
    mkdirSync(join(root, 'home'), { mode: 0o700 })
    makeRepository(join(served, 'project'))
    server = await serveRepositories(served)
    service = await startService({
      env: {
        RUNYARD_LOCAL_REPOS: join(root, 'home'),
        RUNYARD_EGRESS: 'open',
        RUNYARD_PRIVATE_HOSTS: new URL(server.url).host,
      },
    })
    api = apiOf(service)
  })
  after(async () => {
    await service?.stop()
    server?.close()
  })

  /** Runs `command` in an environment; the run, its log and what the environment says afterwards. */
  async function runIn(config: Partial<EnvironmentConfig>, command = 'pwd') {
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
      name: `test ${randomUUID()}`,
      ...config,
    })
    const run_id = await api.create({ prompt: shell(command), config: { environment_id: uid } })
    const run = await api.ended(run_id)
    const events = await api.events(run_id)
    assertWhole(events)
    const environment = await api.json<{ setup_failed: boolean }>('GET', `/agent/environments/${uid}`)
    return { run, events, output: printed(events), environment, setup: ofType(events, 'setup') }
  }
  const runWith = (repository: Repository, command?: string) => runIn({ repositories: [repository] }, command)

  /** Ended before its agent started, saying why. */
  async function assertFails(config: Partial<EnvironmentConfig>, why: RegExp): Promise<void> {
    const { run, output, environment, setup } = await runIn(config)
    assert.deepEqual([run.state, run.status_message?.error_code], ['FAILED', 'environment_setup_failed'])
    assert.match(run.status_message?.message ?? '', why)
    assert.equal(output, '')
    assert.equal(environment.setup_failed, true)
    assert(setup.every(({ data }) => data.phase !== 'command' || data.status !== 'finished'))
  }

  test('whose secrets have grown beyond 1 MiB together starts no run', async () => {
    const secrets = Array.from({ length: 17 }, (_, at) => `GROWN_${at}`)
    const put = (name: string, value: string) => api.json('PUT', `/agent/secrets/${name}`, { value })
    for (const name of secrets) await put(name, 'short-value')
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', { name: 'grown', secrets })
    for (const name of secrets) await put(name, name.padEnd(65_536, '"'))
    const run_id = await api.create({ prompt: shell('pwd'), config: { environment_id: uid } })
    const { state, status_message } = await api.ended(run_id)
    assert.deepEqual([state, status_message?.error_code], ['FAILED', 'feature_not_available'])
    assert.match(status_message?.message ?? '', /too long.*1114112 bytes together.*Name fewer/)
  })

  describe('with a repository of this machine', () => {
    let second: string
    const canary = join(outside, 'canary')
    before(() => {
      second = makeRepository(local('project')).second
      // Whatever git could be told to run, and where anybody may write.
      chmodSync(outside, 0o777)
      const hooks = join(local('project'), '.git', 'hooks')
      mkdirSync(hooks, { recursive: true })
      for (const hook of ['post-checkout', 'reference-transaction', 'pre-auto-gc', 'post-index-change']) {
        writeFileSync(join(hooks, hook), `#!/bin/sh\ntouch ${canary}\n`, { mode: 0o755 })
      }
      for (const [name, value] of [
        ['core.fsmonitor', `touch ${canary}`],
        ['core.hooksPath', hooks],
        ['core.pager', `touch ${canary}`],
        ['core.sshCommand', `touch ${canary}`],
        ['core.alternateRefsCommand', `touch ${canary}`],
        ['uploadpack.packObjectsHook', `touch ${canary}`],
        ['remote.origin.url', `ext::touch ${canary}`],
        ['remote.origin.promisor', 'true'],
        ['alias.bundle', `!touch ${canary}`],
        ['filter.x.smudge', `touch ${canary}`],
        ['diff.external', `touch ${canary}`],
      ]) {
        git(local('project'), 'config', name ?? '', value ?? '')
      }
    })
    after(() =>
      assert(!existsSync(canary), 'The repository’s own configuration was carried out on the host.'),
    )

    test('starts the agent in it, on its default branch, with its branches and history and no way back', async () => {
      const look =
        'pwd; cat file; git rev-list --count HEAD; git branch --format="%(refname:short)"; git remote; git status --short'
      const { run, output, environment, setup } = await runWith({ local_path: 'project' }, look)
      assert.equal(run.state, 'SUCCEEDED')
      assert.equal(output, '/workspace/project\nthird\n3\nfeature\nmain\n')
      assert.equal(environment.setup_failed, false)
      const clone = setup.filter(({ data }) => data.phase === 'clone').map(({ data }) => data)
      assert.deepEqual(
        clone.map(({ name, status }) => [name, status]),
        [
          ['project', 'started'],
          ['project', 'finished'],
        ],
      )
      assert.equal(typeof clone[1]?.duration_ms, 'number')
    })

    for (const [what, ref, content] of [
      ['a branch', 'feature', 'feature'],
      ['a tag', 'v1', 'first'],
    ] as const) {
      const registered = ref === 'v1' ? onlyLong : test
      registered(`checks out ${what}`, async () => {
        const { output } = await runWith(
          { local_path: local('project'), ref, directory: 'elsewhere' },
          'pwd; cat file',
        )
        assert.equal(output, `/workspace/elsewhere\n${content}\n`)
      })
    }
    test('checks out a commit', async () => {
      const { output } = await runWith({ local_path: 'project', ref: second }, 'cat file; git rev-parse HEAD')
      assert.equal(output, `second\n${second}\n`)
    })
    test('says which ref there is not', () =>
      assertFails(
        { repositories: [{ local_path: 'project', ref: 'nothing' }] },
        /project ended with exit code.*nothing/s,
      ))

    // As local-repositories.test.ts has it, with what happens to be readable here.
    onlyLong('refuses what lies outside by a link', async () => {
      makeRepository(join(outside, 'secret'))
      symlinkSync(join(outside, 'secret'), local('link'))
      mkdirSync(local('pointer'))
      writeFileSync(join(local('pointer'), '.git'), `gitdir: ${join(outside, 'secret', '.git')}\n`)
      await Promise.all(
        ['link', 'pointer'].map((local_path) =>
          assertFails({ repositories: [{ local_path }] }, /^There is no local repository at /),
        ),
      )
    })

    test('says what is not there, no repository, or empty', async () => {
      mkdirSync(local('folder'))
      execFileSync('git', ['init', '--quiet', local('empty')])
      await assertFails({ repositories: [{ local_path: 'missing' }] }, /no local repository at missing/)
      if (LONG)
        await assertFails({ repositories: [{ local_path: 'folder' }] }, /no local repository at folder/)
      await assertFails({ repositories: [{ local_path: 'empty' }] }, /empty has no commits/)
    })
  })

  describe('with a repository on a server', () => {
    const open = { egress: 'open' } as const
    const trusting = { ...open, variables: { GIT_SSL_NO_VERIFY: '1' } }
    const look = 'pwd; cat file; git rev-list --count HEAD'
    const runOn = (repository: Partial<Repository>) =>
      runIn({ ...trusting, repositories: [{ url: `${server.url}/project`, ...repository }] }, look)

    for (const [what, repository, expected] of [
      ['its default branch, shallow', {}, 'third\n1'],
      ['all its history', { depth: 0 }, 'third\n3'],
      ['some of its history', { depth: 2 }, 'third\n2'],
      ['a branch', { ref: 'feature' }, 'feature\n1'],
      ['a tag', { ref: 'v1' }, 'first\n1'],
    ] as const) {
      const registered = what === 'a tag' || what === 'all its history' ? onlyLong : test
      registered(`clones ${what}`, async () => {
        const { run, output } = await runOn(repository)
        assert.equal(output, `/workspace/project\n${expected}\n`, run.status_message?.message)
      })
    }
    test('clones a commit', async () => {
      const { output } = await runOn({ ref: git(join(served, 'project'), 'rev-parse', 'main~1') })
      assert.equal(output, '/workspace/project\nsecond\n1\n')
    })
    test('clones its submodules when that is asked for', async () => {
      const outer = join(served, 'outer')
      execFileSync('git', ['init', '--quiet', '--initial-branch=main', outer])
      writeFileSync(join(outer, '.gitmodules'), '[submodule "lib"]\n\tpath = lib\n\turl = ../project\n')
      const commit = git(join(served, 'project'), 'rev-parse', 'main')
      git(outer, 'add', '.gitmodules')
      git(outer, 'update-index', '--add', '--cacheinfo', `160000,${commit},lib`)
      git(outer, 'commit', '--quiet', '-m', 'with a submodule')
      for (const [submodules, expected] of [
        [true, 'third\n'],
        [false, ''],
      ] as const) {
        if (!submodules && !LONG) continue
        const repositories = [{ url: `${server.url}/outer`, submodules }]
        const { run, output } = await runIn({ ...trusting, repositories }, 'cat lib/file 2>/dev/null || true')
        assert.equal(run.state, 'SUCCEEDED', run.status_message?.message)
        assert.equal(output, expected)
      }
    })
    test('does not trust a certificate nobody vouches for', () =>
      assertFails({ ...open, repositories: [{ url: `${server.url}/project` }] }, /certificate/))
    test('says that it is not there', () =>
      assertFails({ ...trusting, repositories: [{ url: `${server.url}/nothing` }] }, /not found/))
  })

  test('refuses refs and addresses that git could take for something else', async () => {
    const bad: Partial<Repository>[] = [
      { url: 'https://example.org/a', ref: '--upload-pack=touch /tmp/x' },
      { url: 'https://example.org/a', ref: '-b' },
      { url: 'https://example.org/a', ref: 'a..b' },
      { url: 'https://example.org/a', ref: 'a b' },
      { url: 'ext::sh -c id' },
      { url: 'file:///etc' },
      { url: 'ssh://git:secret@example.org/a' },
      { url: 'https://user:secret@example.org/a' },
      { url: 'HTTPS://user:secret@example.org/a' },
      { url: 'https:\\\\user:secret@example.org/a' },
      { url: 'https://example.org/a?token=secret' },
      { url: 'https://example.org/a', directory: '../a' },
      { url: 'https://example.org/a', directory: '-a' },
      { local_path: 'a', ref: '-a' },
    ]
    for (const repository of bad) {
      const answer = await api.call('POST', '/agent/environments', {
        name: 'bad',
        repositories: [repository],
      })
      assert.equal(answer.status, 400, JSON.stringify(repository))
      await answer.body?.cancel()
    }
    const { config } = await api.json<{ config: EnvironmentConfig }>('POST', '/agent/environments', {
      name: 'good',
      repositories: [{ url: 'HTTPS://EXAMPLE.org:443/x/../a' }],
    })
    assert.equal(config.repositories?.[0]?.url, 'https://example.org/a')
  })

  test('runs its setup commands in order, in the workspace, as a build server would', async () => {
    const { output, setup } = await runIn(
      { setup_commands: ['pwd > log; echo "$CI" >> log', 'echo two >> log; echo said', 'echo three >> log'] },
      'cat log; echo "CI=$CI"',
    )
    assert.equal(output, '/workspace\ntrue\ntwo\nthree\nCI=\n')
    const commands = setup.map(({ data }) => data).filter(({ phase }) => phase === 'command')
    assert.deepEqual(
      commands.map(({ status }) => status),
      Array(3).fill(['started', 'finished']).flat(),
    )
    const [, , , finished] = commands
    assert.deepEqual([finished?.exit_code, finished?.output], [0, 'said'])
    assert(
      commands.every(({ status, duration_ms }) => (duration_ms !== undefined) === (status === 'finished')),
    )
  })

  test('may have as many variables as its limits say', async () => {
    const variables = Object.fromEntries(
      Array.from({ length: 1_000 }, (_, index) => [`V${index}`, 'x'.repeat(index < 15 ? 65_536 : 20)]),
    )
    assert.equal(
      (await runIn({ variables }, 'env | grep -c ^V; printf "$V0" | wc -c')).output,
      '1000\n65536\n',
    )
  })

  test('ends a run whose setup command fails, with the command, its exit code and what it said last', async () => {
    const failing = 'seq 5000; echo the reason >&2; exit 3'
    const setup_commands = ['echo fine', failing, 'echo never']
    const { run, setup, environment } = await runIn({ setup_commands })
    assert.deepEqual([run.state, run.attempt], ['FAILED', 1])
    const status = run.status_message
    assert.equal(status?.error_code, 'environment_setup_failed')
    const lines = '4997\n4998\n4999\n5000\nthe reason'
    assert.equal(status?.message, `The setup command "${failing}" ended with exit code 3.\n${lines}`)
    assert.match(setup.at(-1)?.data.output ?? '', /^4\d{3}\n.*\nthe reason$/s, 'whole lines')
    const last = setup.at(-1)?.data
    assert.deepEqual([last?.status, last?.exit_code, last?.name], ['failed', 3, failing])
    assert.equal(environment.setup_failed, true)
  })

  test('keeps the values of its variables out of what is stored', async () => {
    const secret = `s3cret-${'x'.repeat(20)}-"é`
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
      name: 'test',
      variables: { TOKEN: secret, SHORT: 'short' },
      setup_commands: ['echo "set up with $TOKEN"; echo "$TOKEN" > kept'],
    })
    const commands = [
      'echo "whole $TOKEN $SHORT"; cat kept >&2',
      'printf cut; printf %s "$TOKEN" | cut -c1-12 | tr -d "\\n"; sleep 0.4; printf %s "$TOKEN" | cut -c13-',
      'printf "user:%s" "$TOKEN" | base64 -w0; printf %s "$TOKEN" | od -An -tx1 | tr -d " \\n"',
      'printf %s "$TOKEN" | cut -c1-12 | tr -d "\\n"; exit 3',
    ]
    const run_id = await api.create({
      prompt: commands.map((command) => `\`\`\`bash\n${command}\n\`\`\``).join('\n'),
      config: { environment_id: uid },
    })
    const run = await api.ended(run_id)
    assert.equal(run.state, 'FAILED')
    const events = await api.events(run_id)
    assertWhole(events)
    const told = printed(events)
    assert.match(told, /^whole \*\*\* short\n/)
    assert.match(told, /cut\*\*\*\n/)
    // What is no whole value by the end of its command is told after all.
    assert(told.endsWith(secret.slice(0, 12)), told)
    const stored = JSON.stringify([events, run])
    for (const form of [
      secret,
      JSON.stringify(secret).slice(1, -1),
      Buffer.from(secret).toString('hex'),
      Buffer.from(`user:${secret}`).toString('base64').slice(8, -4),
    ])
      assert(!stored.includes(form.slice(0, -2)), form)
  })

  test('keeps a value out of the end of what a setup command printed, wherever that is cut', async () => {
    const TOKEN = 'ghp_16C7e42F292c6912E7710c838347Ae178B4a'
    const setup_commands = ['for i in $(seq 700); do echo "$TOKEN"; done; exit 3']
    const { run, setup } = await runIn({ variables: { TOKEN }, setup_commands })
    const told = JSON.stringify([run.status_message, setup])
    assert.match(told, /\*\*\*\\n\*\*\*/)
    for (let at = 0; at + 8 <= TOKEN.length; at += 1) assert(!told.includes(TOKEN.slice(at, at + 8)), told)
  })

  test('keeps a value out of an output whose middle is dropped, wherever that begins and ends', async () => {
    const TOKEN = 'ghp_16C7e42F292c6912E7710c838347Ae178B4a'
    const commands = (LONG ? [1, 8, 15, 22, 29, 36] : [8, 29]).map(
      (before) => `printf %${before}s .; for i in 1 2; do yes "$TOKEN" | head -n 20000 >&$i; done`,
    )
    const { run } = await runIn({ variables: { TOKEN } }, commands.join('\n```\n```sh\n'))
    assert.equal(run.state, 'SUCCEEDED')
    const events = await api.events(run.run_id)
    const outputs = ofType(events, 'tool.output')
    assert(outputs.some(({ data }) => data.after_gap))
    const told = printed(events)
    for (let at = 0; at + 4 <= TOKEN.length; at += 1)
      assert(!told.includes(TOKEN.slice(at, at + 4)), TOKEN.slice(at))
  })

  test('keeps a value out of the names of artifacts', async () => {
    const TOKEN = 'ghp_16C7e42F292c6912E7710c838347Ae178B4a'
    const { run } = await runIn(
      { variables: { TOKEN } },
      'mkdir -p "artifacts/d-$TOKEN"; echo hi > "artifacts/d-$TOKEN/report-$TOKEN.txt"',
    )
    const stored = JSON.stringify([run, await api.events(run.run_id)])
    assert(!stored.includes(TOKEN), stored)
    assert.match(
      stored,
      /"filename":"report-\*{3}\.txt","filepath":"d-\*{3}\/report-\*{3}\.txt","mime_type":"text\/plain"/,
    )
  })

  test('changes no word of the service by a variable that has its value', async () => {
    const words = ['SUCCEEDED', 'finished', 'environment_setup_failed']
    const variables = Object.fromEntries(words.map((word, index) => [`V${index}`, word]))
    const { run, setup } = await runIn({ variables, setup_commands: ['echo SUCCEEDED'] }, 'echo finished')
    assert.equal(run.state, 'SUCCEEDED')
    assert.deepEqual(
      setup.map(({ data }) => data.status),
      ['finished', 'started', 'finished'],
    )
    assert.equal(setup.at(-1)?.data.output, '***')
    const failed = await runIn({ variables, setup_commands: ['echo finished; exit 3'] })
    assert.equal(failed.run.status_message?.error_code, 'environment_setup_failed')
    assert.match(failed.run.status_message?.message ?? '', /\*{3}$/)
  })

  test('is told of a setup command that printed what no database can store', async () => {
    const { run, setup } = await runIn({ setup_commands: [`printf 'a\\000b\\n'; exit 3`] })
    assert.deepEqual([run.state, run.status_message?.error_code], ['FAILED', 'environment_setup_failed'])
    assert.match(run.status_message?.message ?? '', /exit code 3\.\na\ufffdb/)
    assert.equal(setup.at(-1)?.data.output, 'a\ufffdb')
  })

  test('may have several repositories: the agent starts above them', async () => {
    makeRepository(local('one'))
    makeRepository(local('two'))
    const repositories = [{ local_path: 'one' }, { local_path: 'two', ref: 'v1' }]
    const { output } = await runIn({ repositories }, 'pwd; cat one/file two/file')
    assert.equal(output, '/workspace\nthird\nfirst\n')
  })
})
