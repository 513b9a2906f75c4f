/** Repositories as they are out there: odd names, ids, addresses and HEADs, and what is said of those that cannot be had. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { EnvironmentConfig } from '../src/contract/environment.ts'
import { GIT_ENV, git, makeRepository, serveRepositories } from './support/git.ts'
import { openModelServer } from './support/model-server.ts'
import { apiOf, shell, startService, type TestService, temporaryDirectory } from './support/service.ts'
import { ofType, printed } from './support/traces.ts'

type Repository = NonNullable<EnvironmentConfig['repositories']>[number]

const NAMES = ['fix/#123-x', 'feat/機能', "it's", 'a=b,c(d)', '$(touch$IFS-x)`id`;&|']

describe('a repository', { concurrency: 3 }, () => {
  const served = temporaryDirectory('served')
  const root = temporaryDirectory('repositories')
  let server: Awaited<ReturnType<typeof serveRepositories>>
  let model: Awaited<ReturnType<typeof openModelServer>>
  let service: TestService
  let api: ReturnType<typeof apiOf>
  const at = (name: string) => join(served, name)
  const init = (path: string, ...options: string[]) =>
    execFileSync('git', ['init', '--quiet', '--initial-branch=main', ...options, path], { env: GIT_ENV })
  const commit = (path: string, text: string) => {
    writeFileSync(join(path, 'file'), `${text}\n`)
    git(path, 'add', '--all')
    git(path, 'commit', '--quiet', '-m', text)
  }

  before(async () => {
    makeRepository(at('project'))
    for (const name of NAMES) git(at('project'), 'branch', name, 'feature')
    git(at('project'), 'tag', '-a', '-m', 'annotated', 'v2', 'main~1')
    git(at('project'), 'branch', 'same', 'feature')
    git(at('project'), 'tag', 'same', 'v1')
    git(at('project'), 'branch', 'deadbeef', 'feature')
    git(at('project'), 'update-ref', 'refs/pull/7/head', 'v1')
    init(at('sha256'), '--object-format=sha256')
    for (const text of ['first', 'second', 'third']) commit(at('sha256'), text)
    init(at('empty'))
    server = await serveRepositories(served)
    model = await openModelServer(() => ({ text: 'Done.' }), { models: [{ id: 'scripted' }] })
    service = await startService({
      env: {
        ...{ OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'k', RUNYARD_DEFAULT_MODEL: 'openai/scripted' },
        RUNYARD_LOCAL_REPOS: root,
        RUNYARD_EGRESS: 'open',
        RUNYARD_PRIVATE_HOSTS: new URL(server.url).host,
      },
    })
    api = apiOf(service)
  })
  after(async () => {
    await service?.stop()
    await model?.close()
    server?.close()
  })

  async function runIn(config: Partial<EnvironmentConfig>, command: string) {
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
      name: `test ${randomUUID()}`,
      ...config,
    })
    const run_id = await api.create({
      prompt: shell(command),
      config: { environment_id: uid, harness: { type: 'runbook' } },
    })
    const run = await api.ended(run_id)
    const events = await api.events(run_id)
    return { run, events, output: printed(events), said: run.status_message?.message ?? '' }
  }
  /** Every host's repositories are those of the server. */
  const variables = (...hosts: string[]) => ({
    GIT_SSL_NO_VERIFY: '1',
    GIT_CONFIG_COUNT: String(hosts.length),
    ...Object.fromEntries(
      hosts.flatMap((host, place) => [
        [`GIT_CONFIG_KEY_${place}`, `url.${server.url}/.insteadOf`],
        [`GIT_CONFIG_VALUE_${place}`, `https://${host}/`],
      ]),
    ),
  })
  const runOn = (name: string, repository: Partial<Repository> = {}, command = 'cat file') =>
    runIn(
      {
        ...{ egress: 'open', variables: variables() },
        repositories: [{ url: `${server.url}/${name}`, ...repository }],
      },
      command,
    )
  async function assertSays(running: ReturnType<typeof runIn>, why: RegExp): Promise<void> {
    const { run, said, output } = await running
    assert.deepEqual(
      [run.state, run.status_message?.error_code, output],
      ['FAILED', 'environment_setup_failed', ''],
    )
    assert.match(said, why)
  }
  const refuses = async (config: object, why: RegExp, status = 400) => {
    const answer = await api.call('POST', '/agent/environments', { name: `bad ${randomUUID()}`, ...config })
    const text = await answer.text()
    assert.equal(answer.status, status, text)
    assert.match(text, why)
  }

  describe('on a server', () => {
    for (const name of NAMES)
      test(`is cloned at the branch ${name}, which the agent is on`, async () => {
        const { output, said } = await runOn('project', { ref: name }, 'cat file; git branch --show-current')
        assert.equal(output, `feature\n${name}\n`, said)
      })
    for (const [what, ref, expected] of [
      ['a whole name of a branch', 'refs/heads/feature', 'feature\nfeature\n'],
      ['the whole name of a branch, not a tag that is called so', 'refs/heads/same', 'feature\nsame\n'],
      ['the whole name of a tag, not a branch that is called so', 'refs/tags/same', 'first\n'],
      ['an annotated tag', 'v2', 'second\n'],
      ['what a host keeps beside branches', 'refs/pull/7/head', 'first\n'],
      ['a branch whose name could be an id', 'deadbeef', 'feature\ndeadbeef\n'],
      ['its HEAD', 'HEAD', 'third\nmain\n'],
    ] as const)
      test(`is cloned at ${what}`, async () => {
        const { output, said } = await runOn('project', { ref }, 'cat file; git branch --show-current')
        assert.equal(output, expected, said)
      })

    test('is cloned at a commit by the beginning of its id, in either case, as deep as it is to be', async () => {
      const id = git(at('project'), 'rev-parse', 'main~1')
      for (const ref of [id.slice(0, 8), id.toUpperCase(), id.slice(0, 7).toUpperCase()]) {
        const { output, said } = await runOn('project', { ref }, 'cat file; git rev-list --count HEAD; ls -A')
        assert.equal(output, 'second\n1\n.git\nfile\n', said)
      }
    })

    test('may have ids of SHA-256', async () => {
      const second = git(at('sha256'), 'rev-parse', 'main~1')
      for (const [ref, text] of [
        [undefined, 'third'],
        ['main', 'third'],
        ['refs/heads/main', 'third'],
        [second, 'second'],
        [second.slice(0, 10), 'second'],
      ] as const) {
        const { output, said } = await runOn('sha256', ref === undefined ? {} : { ref })
        assert.equal(output, `${text}\n`, said)
      }
      const { run } = await runOn('sha256', {}, 'echo changed > file')
      const diff = await api.json<{ files: { path: string }[] }>('GET', `/agent/runs/${run.run_id}/diff`)
      assert.deepEqual(
        diff.files.map(({ path }) => path),
        ['file'],
      )
    })

    test('says which ref there is not, and what there is', async () => {
      const branches = /It has the branches .*feature.*main/
      for (const [ref, why] of [
        ['nothing', /There is no branch or tag nothing in the repository\./],
        ['refs/heads/v1', /There is no branch v1 in the repository\./],
        ['refs/pull/8/head', /There is no ref refs\/pull\/8\/head in the repository\./],
        ['0123456', /There is no branch, tag or commit 0123456 in the repository\./],
        ['0'.repeat(39).concat('1'), /There is no commit 0{39}1 in the repository\./],
      ] as const) {
        await assertSays(runOn('project', { ref }), why)
        if (ref === 'nothing') await assertSays(runOn('project', { ref }), branches)
      }
    })

    test('whose HEAD names no branch is no empty folder', async () => {
      git(served, 'clone', '--quiet', '--bare', at('project'), at('dangling'))
      git(at('dangling'), 'symbolic-ref', 'HEAD', 'refs/heads/master')
      const why =
        /The HEAD of the repository names the branch \w+, and there is no such branch: say as ref .* It has the branches .*main/
      await assertSays(runOn('dangling'), why)
      await assertSays(runOn('dangling', { depth: 0 }), why)
      assert.equal((await runOn('dangling', { ref: 'main' })).output, 'third\n')
    })

    test('that has tags alone is no empty one', async () => {
      git(served, 'clone', '--quiet', '--bare', at('project'), at('tags'))
      for (const name of git(
        at('tags'),
        'for-each-ref',
        '--format=%(refname)',
        'refs/heads',
        'refs/pull',
      ).split('\n'))
        git(at('tags'), 'update-ref', '-d', name)
      await assertSays(
        runOn('tags'),
        /The HEAD of the repository names the branch main, and there is no such branch/,
      )
      assert.equal((await runOn('tags', { ref: 'v1' })).output, 'first\n')
    })

    test('that is shallow is said to be, to its agent, as long as it is', async () => {
      const tellOf = async (repository: Partial<Repository>, setup_commands: string[] = []) => {
        const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
          ...{ name: `test ${randomUUID()}`, egress: 'open', variables: variables(), setup_commands },
          repositories: [{ url: `${server.url}/project`, ...repository }],
        })
        const mark = randomUUID()
        const run = await api.ended(await api.create({ prompt: mark, config: { environment_id: uid } }))
        assert.equal(run.state, 'SUCCEEDED', run.status_message?.message)
        const { body } = model.requests.find(({ body }) => JSON.stringify(body.messages).includes(mark)) ?? {}
        return String(body?.messages[0]?.content)
      }
      const deepen =
        'git fetch --quiet --unshallow && git rev-list --count HEAD > ~/count && [ "$(cat ~/count)" = 3 ]'
      const said =
        /The clone in \/workspace\/project is shallow: it was made with the last (commit|2 commits) .*git fetch --unshallow/
      assert.match(await tellOf({}), said)
      assert.match(await tellOf({ depth: 2, ref: 'main' }), said)
      assert.match(await tellOf({ ref: git(at('project'), 'rev-parse', 'main~1') }), said)
      assert.doesNotMatch(await tellOf({ depth: 0 }), /is shallow/)
      assert.doesNotMatch(await tellOf({}, [deepen]), /is shallow/)
    })

    test('that is empty is there to be filled', async () => {
      const { run, events, output } = await runOn(
        'empty',
        {},
        'pwd; git status --short --branch; echo new > file',
      )
      assert.equal(run.state, 'SUCCEEDED')
      assert.match(output, /^\/workspace\/empty\n## No commits yet on /)
      const notes = ofType(events, 'setup').flatMap(({ data }) => data.output ?? [])
      assert.match(notes.join(), /The repository is empty: it has no commit yet\.$/)
    })

    test('is that of the host in an address of ssh, or of GitHub as owner/repo', async () => {
      mkdirSync(at('acme'))
      makeRepository(at('acme/shop'))
      const repositories = [
        { url: 'git@github.com:acme/shop', directory: 'a' },
        { url: 'ssh://git@git.example.org:2222/acme/shop', directory: 'b' },
        { url: 'acme/shop', directory: 'c' },
      ]
      const { output, said } = await runIn(
        { egress: 'open', variables: variables('github.com', 'git.example.org'), repositories },
        'cat */file; for d in a b c; do git -C $d config remote.origin.url | sed "s|.*://||"; done',
      )
      const urls = ['github.com', 'git.example.org', 'github.com'].map((host) => `${host}/acme/shop\n`)
      assert.equal(output, `third\nthird\nthird\n${urls.join('')}`, said)
    })

    test('has an address with a space, a slash at its end or none of .git, and a folder that fits', async () => {
      git(served, 'clone', '--quiet', '--bare', at('project'), at('my shop.git'))
      for (const [name, folder] of [
        ['my%20shop.git/', 'my-shop'],
        ['my%20shop', 'my-shop'],
        ['project///', 'project'],
        ['project/.git', 'project'],
      ] as const) {
        const { output, said } = await runOn(name, {}, 'pwd; cat file')
        assert.equal(output, `/workspace/${folder}\nthird\n`, said)
      }
    })

    test('may hold what many do not: odd names, links that lead out, ends of lines and many files', async () => {
      init(at('odd'))
      const script = `
        printf '* text=auto eol=crlf\\n*.raw -text\\n' > .gitattributes
        echo one > "new
line"; echo one > "$(printf 'latin\\351')"; echo one > 'with space'; echo one > README; echo two > readme; echo one > -x
        ln -s /etc/passwd out; ln -s ../.. up; printf 'a\\r\\nb\\n' > mixed.raw; mkdir many; cd many; seq 3000 | xargs touch`
      execFileSync('sh', ['-c', script], { cwd: at('odd'), env: GIT_ENV })
      git(at('odd'), 'add', '--all')
      git(at('odd'), 'commit', '--quiet', '-m', 'odd')
      const change = `for each in new* latin* with* README readme -x mixed.raw; do printf 'more\\r\\n' >> "./$each"; done
        ln -sfn /etc/shadow out; ls many | wc -l; git status --short | wc -l`
      const { run, output, said } = await runOn('odd', {}, change)
      assert.equal(output, '3000\n8\n', said)
      const { patch } = await api.json<{ patch: { data: { download_url: string } } }>(
        'GET',
        `/agent/runs/${run.run_id}/diff`,
      )
      const file = join(temporaryDirectory('patch'), 'changes.patch')
      writeFileSync(file, Buffer.from(await (await fetch(patch.data.download_url)).arrayBuffer()))
      git(at('odd'), 'apply', '--binary', '--index', file)
      assert.equal(git(at('odd'), 'diff', '--cached', '--name-only').split('\n').length, 8)
    })

    test('has its submodules by https, whatever their addresses are, and theirs', async () => {
      const pointed = git(at('project'), 'rev-parse', 'main')
      const point = (path: string, submodules: Record<string, [url: string, commit: string]>) => {
        init(path)
        const sections = Object.entries(submodules).map(
          ([name, [url]]) => `[submodule "${name}"]\n\tpath = ${name}\n\turl = ${url}\n`,
        )
        writeFileSync(join(path, '.gitmodules'), sections.join(''))
        git(path, 'add', '.gitmodules')
        for (const [name, [, id]] of Object.entries(submodules))
          git(path, 'update-index', '--add', '--cacheinfo', `160000,${id},${name}`)
        git(path, 'commit', '--quiet', '-m', 'submodules')
        return git(path, 'rev-parse', 'HEAD')
      }
      const inner = point(at('inner'), { deep: ['ssh://git@git.example.org:2222/project', pointed] })
      point(at('outer'), {
        'my lib': ['git@git.example.org:project', pointed],
        relative: ['../project', pointed],
        inner: ['git+ssh://git@git.example.org/inner', inner],
      })
      const { output, said } = await runIn(
        {
          ...{ egress: 'open', variables: variables('git.example.org') },
          repositories: [{ url: `${server.url}/outer`, submodules: true }],
        },
        'cat "my lib/file" relative/file inner/deep/file; git status --short',
      )
      assert.equal(output, 'third\nthird\nthird\n', said)
    })
  })

  describe('of this machine', () => {
    const local = (name: string) => join(root, name)
    const look = 'cat file; git branch --show-current'
    const runWith = (local_path: string, ref?: string) =>
      runIn({ repositories: [{ local_path, ...(ref ? { ref } : {}) }] }, look)

    test('brings the branch that it is on, or none', async () => {
      makeRepository(local('fresh'))
      git(local('fresh'), 'checkout', '--quiet', '-b', 'aa/fresh-機能')
      assert.equal((await runWith('fresh')).output, 'third\naa/fresh-機能\n')
      makeRepository(local('detached'))
      git(local('detached'), 'checkout', '--quiet', '--detach', 'main')
      assert.equal((await runWith('detached')).output, 'third\n')
      // Beside others at the same commit, of which the first would be guessed.
      makeRepository(local('old'))
      git(local('old'), 'branch', 'master')
      assert.equal((await runWith('old')).output, 'third\nmain\n')
    })

    test('is at the ref that is named, whatever it is called', async () => {
      makeRepository(local('named'))
      for (const name of NAMES) git(local('named'), 'branch', name, 'feature')
      git(local('named'), 'branch', 'same', 'feature')
      git(local('named'), 'tag', 'same', 'v1')
      const id = git(local('named'), 'rev-parse', 'main~1')
      for (const [ref, expected] of [
        [NAMES[1], `feature\n${NAMES[1]}\n`],
        [NAMES[4], `feature\n${NAMES[4]}\n`],
        ['refs/heads/feature', 'feature\nfeature\n'],
        ['same', 'feature\nsame\n'],
        ['refs/tags/same', 'first\n'],
        [id.slice(0, 8).toUpperCase(), 'second\n'],
        [id.toUpperCase(), 'second\n'],
        ['HEAD', 'third\nmain\n'],
      ] as const)
        assert.equal((await runWith('named', ref)).output, expected, ref)
      await assertSays(
        runWith('named', 'refs/heads/v1'),
        /There is no branch v1 in the repository\. It has the branches .*feature.*main/,
      )
    })

    test('is refused when it lies elsewhere, or is an address', async () => {
      const outside = /local_path: lies outside of RUNYARD_LOCAL_REPOS/
      for (const local_path of ['../elsewhere', '/etc', `${root}/../x`, 'a/../../b', service.data_dir])
        await refuses({ repositories: [{ local_path }] }, outside)
      for (const local_path of [
        'https://github.com/acme/shop',
        'git@github.com:acme/shop',
        'ssh://git@x.org/a',
      ])
        await refuses({ repositories: [{ local_path }] }, /local_path: is an address/)
    })
  })

  test('is refused where nothing could come of it, with what helps', async () => {
    const url = 'https://example.org/acme/shop'
    const refused: [object, RegExp][] = [
      [{ repositories: [{ url, ref: 'main~1' }] }, /ref: is no ref: it has \\"~\\".*a commit by its id/],
      [{ repositories: [{ url: 'shop' }] }, /url: must be the https address.*owner\/repo/],
      [{ repositories: [{ url: `${url}/-/tree/main` }] }, /not of one of its pages/],
      [
        { repositories: [{ url }, { url: 'https://example.com/other/shop.git' }] },
        /repositories\.1: would be in the folder shop/,
      ],
      [
        { repositories: [{ url }, { local_path: 'deep/shop/' }] },
        /repositories\.1: would be in the folder shop/,
      ],
      [
        {
          github_repos: [
            { owner: 'a', repo: 'shop' },
            { owner: 'b', repo: 'shop' },
          ],
        },
        /github_repos\.1: would be in the folder shop/,
      ],
      [{ repositories: [{ url: 'acme/artifacts' }] }, /cannot be in the folder artifacts/],
      [{ on_success: 'pull_request' }, /on_success: needs a repository/],
      [
        { on_success: 'branch', repositories: [{ local_path: 'shop' }] },
        /on_success: needs a repository.*local ones alone/,
      ],
    ]
    for (const [config, why] of refused) await refuses(config, why)
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
      name: randomUUID(),
      repositories: [{ url }, { url: 'acme/shop', directory: 'other' }],
      on_success: 'branch',
    })
    const changed = await api.call('PUT', `/agent/environments/${uid}`, {
      name: randomUUID(),
      on_success: 'branch',
    })
    assert.equal(changed.status, 400)
    await changed.body?.cancel()
  })
})
