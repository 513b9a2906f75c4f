/** Repositories that need a credential: cloned, changed, pushed as a branch, opened as a pull request, with the token nowhere. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { RunDiff } from '../src/contract/diff.ts'
import type { EnvironmentConfig } from '../src/contract/environment.ts'
import { until } from './support/cluster.ts'
import { removeSandbox } from './support/docker-images.ts'
import { git } from './support/git.ts'
import { type GitHost, serveGitHost } from './support/git-hosts.ts'
import { type Answer, addHostedRepository, addLargeFile } from './support/hosted-repositories.ts'
import { pointerOf } from './support/lfs-host.ts'
import { whyNoDocker } from './support/machine.ts'
import { LONG, onceAmong, onlyLong } from './support/once.ts'
import { type BackendName, TEST_IMAGE } from './support/sandbox-backends.ts'
import {
  apiOf,
  type ServiceOptions,
  shell,
  startDevProcess,
  startService,
  type TestService,
  temporaryDirectory,
} from './support/service.ts'
import { ofType, printed } from './support/traces.ts'

const undocked = whyNoDocker()
const is_root = process.getuid?.() === 0

// Not those of another run of these tests, whose processes are looked at, too.
const [TOKEN, READ_TOKEN] = ['write', 'read'].map(
  (what) => `canary-${what}-${randomBytes(8).toString('hex')}`,
) as [string, string]
const FORMS = [TOKEN, READ_TOKEN].flatMap((token) => [
  token,
  ...[token, `x-access-token:${token}`].map((text) =>
    Buffer.from(text).toString('base64').replace(/=+$/, ''),
  ),
])
const holdsToken = (text: string): boolean => FORMS.some((form) => text.includes(form))
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
const LARGE = randomBytes(300_000)
const MADE = Buffer.from('made')
/** Git-lfs tries some ten times otherwise. */
const NO_SMUDGE = {
  ...{ GIT_LFS_SKIP_SMUDGE: '1', GIT_CONFIG_COUNT: '1' },
  ...{ GIT_CONFIG_KEY_0: 'lfs.transfer.maxretries', GIT_CONFIG_VALUE_0: '1' },
}

testOn('bubblewrap', false)
if (LONG) testOn('docker', undocked || (!is_root && 'only root enters containers'))

function testOn(sandbox: BackendName, skip: string | false): void {
  const once = onceAmong(sandbox)
  describe(`private repositories, ${sandbox}`, { skip }, () => {
    const root = temporaryDirectory('hosted')
    const site = join(root, 'acme/site.git')
    const media = join(root, 'acme/media.git')
    // Sandboxes of bubblewrap have the host's programs.
    const has_lfs = sandbox === 'bubblewrap' && spawnSync('git-lfs', ['version']).status === 0
    let host: GitHost
    let options: ServiceOptions
    let service: TestService
    let api: ReturnType<typeof apiOf>
    const runs: string[] = []
    /** Of the host's API. */
    let instead: Answer | 'silence' | undefined
    /** How the host answers pushes; `undefined`: as ever. */
    let takesPush: (() => Answer | Error | undefined) | undefined

    before(async () => {
      addHostedRepository(root, 'acme/site')
      addHostedRepository(root, 'acme/media')
      addLargeFile(media, 'large.bin', LARGE)
      host = await serveGitHost({
        ...{ root, kind: 'github', token: TOKEN, lfs: true },
        interfere: ({ path }) => {
          if (path.includes('git-receive-pack')) return takesPush?.()
          return path.startsWith('/api/') ? instead : undefined
        },
        tokens: { [READ_TOKEN]: { contents: 'read', pull_requests: 'none' } },
      })
      options = {
        sandbox,
        env: {
          NODE_EXTRA_CA_CERTS: host.ca_file,
          RUNYARD_PRIVATE_HOSTS: `${host.host},${host.lfs?.storage}`,
          RUNYARD_GIT_HOSTS: `${host.host}=github`,
          RUNYARD_LOG_LEVEL: 'trace',
          ...(sandbox === 'docker' ? { RUNYARD_DEFAULT_IMAGE: TEST_IMAGE } : {}),
        },
      }
      service = await startService(options)
      api = apiOf(service)
      await put('HOST_TOKEN', TOKEN)
      await put('READ_TOKEN', READ_TOKEN, { read_only: true })
      await put('WRONG_TOKEN', 'a-token-of-nobody')
      await put('ELSEWHERE', TOKEN, { repositories: ['acme/tool'] })
    })
    after(async () => {
      await service?.stop()
      host?.close()
      if (sandbox === 'docker') for (const run_id of runs) removeSandbox(run_id)
    })

    const put = (name: string, value: string, more: object = {}) =>
      api.json('PUT', `/agent/secrets/${name}`, { value, git: { host: host.host, ...more } })
    let made = 0
    const begin = async (command: string, config: Partial<EnvironmentConfig> = {}): Promise<string> => {
      const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
        name: `e${++made}`,
        repositories: [{ url: `${host.url}/acme/site` }],
        secrets: ['HOST_TOKEN'],
        ...config,
      })
      const run_id = await api.create({
        title: 'Say it twice',
        prompt: shell(command),
        config: { environment_id: uid },
      })
      runs.push(run_id)
      return run_id
    }
    const finish = async (run_id: string) => {
      const run = await api.ended(run_id, 60)
      const events = await api.events(run_id)
      assert.equal(holdsToken(JSON.stringify([run, events])), false)
      return { run, events, output: printed(events), said: run.status_message?.message ?? '' }
    }
    const runIn = async (command: string, config?: Partial<EnvironmentConfig>) =>
      finish(await begin(command, config))
    const followUp = async (run_id: string, command: string) => {
      await api.json('POST', `/agent/runs/${run_id}/followups`, { message: shell(command) })
      return finish(run_id)
    }
    const hosted = (...args: string[]): string => git(site, ...args)
    const loseWorkspace = (run_id: string) => {
      if (sandbox === 'docker') return removeSandbox(run_id)
      const places = join(service.data_dir, 'sandboxes/bubblewrap')
      for (const name of readdirSync(places))
        if (name.startsWith(run_id)) rmSync(join(places, name), { recursive: true, force: true })
    }

    once('are cloned and fetched, and nothing else of their host is had', async () => {
      const { run, output } = await runIn(
        `cat file; git fetch --quiet --unshallow && git rev-list --count HEAD; git config remote.origin.url
        git ls-remote ${host.url}/acme/elsewhere 2>&1 | tail -1`,
      )
      assert.equal(run.state, 'SUCCEEDED', run.status_message?.message)
      assert.match(output, new RegExp(`^third\n3\n${host.url}/acme/site\nfatal: `))
    })

    // With the network policy of the large files.
    onlyLong('are cloned where nothing else is reached at all, and by the addresses of ssh', async () => {
      const { run, output } = await runIn(`cat file; git ls-remote ${host.url}/acme/site main | cut -f2`, {
        egress: 'none',
      })
      assert.equal(run.state, 'SUCCEEDED', run.status_message?.message)
      assert.equal(output, 'third\nrefs/heads/main\n')
    })

    test('get the work back as one pull request, however many follow-ups there are', async () => {
      const before = host.pulls.length
      const run_id = await begin('echo again >> file; echo new > added', {
        on_success: 'pull_request',
      })
      const branch = `runyard/${run_id}`
      const first = await finish(run_id)
      assert.equal(first.run.state, 'SUCCEEDED', first.said)
      const [pull] = host.pulls.slice(before)
      const url = `${host.url}/acme/site/pull/${pull?.number}`
      assert.deepEqual(
        first.run.artifacts
          .filter(({ artifact_type }) => artifact_type === 'PULL_REQUEST')
          .map(({ data }) => data),
        [{ branch, url, status: 'open' }],
      )
      const [pushed] = ofType(first.events, 'changes.pushed')
      assert.deepEqual(pushed?.data, {
        ...{ directory: 'site', repository: `${host.host}/acme/site`, branch, url },
        commit: hosted('rev-parse', branch),
        pull_request: { number: pull?.number, url },
      })
      assert.deepEqual([pull?.title, pull?.base, pull?.head], ['Say it twice', 'main', branch])
      assert.match(pull?.body ?? '', new RegExp(run_id))
      assert.equal(hosted('show', `${branch}:added`), 'new')
      assert.equal(hosted('log', '-1', '--format=%an %s', branch), 'Runyard agent Say it twice')

      const second = await followUp(run_id, 'git commit --quiet --amend -m better; echo more >> added')
      assert.equal(second.run.state, 'SUCCEEDED', second.said)
      assert.equal(host.pulls.length, before + 1)
      assert.equal(hosted('show', `${branch}:added`), 'new\nmore')
      assert.equal(hosted('log', '-2', '--format=%s', branch), 'Say it twice\nbetter')
      assert.equal(
        second.run.artifacts.filter(({ artifact_type }) => artifact_type === 'PULL_REQUEST').length,
        1,
      )

      const third = await followUp(run_id, 'true')
      assert.equal(third.run.state, 'SUCCEEDED', third.said)
      assert.equal(ofType(third.events, 'changes.pushed').length, 2)
      const listed = await api.json<{ runs: Array<{ run_id: string }> }>(
        'GET',
        '/agent/runs?artifact_type=PULL_REQUEST',
      )
      assert.deepEqual(
        listed.runs.map((run) => run.run_id),
        [run_id],
      )
      const found = await api.json<typeof listed>(
        'GET',
        `/agent/runs?reference_url=${encodeURIComponent(url)}/`,
      )
      assert.deepEqual(
        found.runs.map((run) => run.run_id),
        [run_id],
      )
    })

    once('get a branch where no more is wanted, and nothing where nothing was changed', async () => {
      const { run, events } = await runIn('echo x > x', { on_success: 'branch' })
      const branch = `runyard/${run.run_id}`
      assert.equal(run.state, 'SUCCEEDED', run.status_message?.message)
      assert.equal(hosted('show', `${branch}:x`), 'x')
      assert.deepEqual(
        run.artifacts
          .filter(({ artifact_type }) => artifact_type === 'EXTERNAL_REFERENCE')
          .map(({ data }) => data),
        [{ reference_type: 'BRANCH', title: branch, url: `${host.url}/acme/site/tree/${branch}` }],
      )
      assert.equal(ofType(events, 'changes.pushed').length, 1)
      if (!LONG) return
      // As the third turn of the test above.
      const idle = await runIn('true', { on_success: 'pull_request' })
      assert.equal(idle.run.state, 'SUCCEEDED', idle.said)
      assert.deepEqual(ofType(idle.events, 'changes.pushed'), [])
    })

    once('lose nothing that somebody else has pushed to the branch', async () => {
      const run_id = await begin('echo x > x', { on_success: 'branch' })
      await finish(run_id)
      const tree = hosted('rev-parse', 'main^{tree}')
      const other = hosted('commit-tree', tree, '-p', `runyard/${run_id}`, '-m', 'a fix by hand')
      hosted('update-ref', `refs/heads/runyard/${run_id}`, other)
      const { run, said } = await followUp(run_id, 'echo y > y')
      assert.deepEqual([run.state, run.status_message?.error_code], ['FAILED', 'integration_not_configured'])
      assert.match(said, /^Pushing runyard\/\S+ to \S+\/acme\/site failed\.[\s\S]*rejected/)
      assert.equal(hosted('rev-parse', `runyard/${run_id}`), other)
      if (!LONG) return
      const merged = await followUp(
        run_id,
        `git pull --quiet --rebase ${host.url}/acme/site runyard/${run_id}`,
      )
      assert.equal(merged.run.state, 'SUCCEEDED', merged.said)
      assert.equal(hosted('show', `runyard/${run_id}:y`), 'y')
    })

    once('go on from what was pushed where the workspace is a new one, and lose nothing of it', async () => {
      const run_id = await begin('echo one > one', { on_success: 'pull_request' })
      const branch = `runyard/${run_id}`
      await finish(run_id)
      const pushed = hosted('rev-parse', branch)
      loseWorkspace(run_id)
      const idle = await followUp(run_id, 'ls')
      assert.deepEqual([idle.run.state, hosted('rev-parse', branch)], ['SUCCEEDED', pushed], idle.said)
      assert.match(idle.output, /file\none\n$/)
      loseWorkspace(run_id)
      const more = await followUp(run_id, 'echo two > two')
      assert.equal(more.run.state, 'SUCCEEDED', more.said)
      assert.equal(hosted('ls-tree', '--name-only', branch), 'file\none\ntwo')

      if (!LONG) return
      // Merged, say: nothing is pushed anew of a workspace where nothing was done.
      hosted('update-ref', '-d', `refs/heads/${branch}`)
      loseWorkspace(run_id)
      const gone = await followUp(run_id, 'true')
      assert.equal(gone.run.state, 'SUCCEEDED', gone.said)
      assert.equal(hosted('for-each-ref', `refs/heads/${branch}`), '')
    })

    // A push in the middle is interrupted below.
    onlyLong('stop being published though the host says nothing, and are published later', async () => {
      instead = 'silence'
      const publishing = async () => {
        const run_id = await begin('echo one > one', { on_success: 'pull_request' })
        const asks = () => host.requests.some(({ path }) => path.endsWith(`${run_id}&per_page=5`))
        for (const deadline = Date.now() + 30_000; !asks() && Date.now() < deadline; ) await wait(20)
        return run_id
      }
      const [interrupted, cancelled] = [await publishing(), await publishing()]
      await api.json('POST', `/agent/runs/${interrupted}/interrupt`)
      await api.json('POST', `/agent/runs/${cancelled}/cancel`)
      assert.equal((await api.until(interrupted, ({ state }) => state !== 'INPROGRESS')).state, 'BLOCKED')
      assert.equal((await api.ended(cancelled)).state, 'CANCELLED')
      for (const run_id of [interrupted, cancelled])
        assert.doesNotMatch(JSON.stringify(await api.events(run_id)), /did not answer in time/)
      instead = undefined
      const later = await followUp(interrupted, 'git commit --quiet --amend -m better')
      assert.equal(later.run.state, 'SUCCEEDED', later.said)
      assert.equal(host.pulls.at(-1)?.head, `runyard/${interrupted}`)
    })

    // A push that is refused says it as well; openPullRequest has tests of its own.
    onlyLong('are known to be pushed though no pull request could be opened', async () => {
      instead = { status: 403, body: { message: 'No.' } }
      const run_id = await begin('echo one > one', { on_success: 'pull_request' })
      const refused = await finish(run_id)
      instead = undefined
      assert.deepEqual([refused.run.state, ofType(refused.events, 'changes.pushed').length], ['FAILED', 1])
      const { run, said } = await followUp(run_id, 'git commit --quiet --amend -m better')
      assert.equal(run.state, 'SUCCEEDED', said)
    })

    onlyLong(
      'are pushed again while their host has a fault, and the run says it may work later',
      async () => {
        let asked = 0
        const faults = [{ status: 503 }, new Error('cut')]
        takesPush = () => faults[asked++]
        const passing = await runIn('echo x > x', { on_success: 'branch' })
        assert.equal(passing.run.state, 'SUCCEEDED', passing.said)
        assert.equal(asked > faults.length, true)

        asked = 0
        takesPush = () => {
          asked += 1
          return { status: 502 }
        }
        const away = await runIn('echo x > x', { on_success: 'branch' })
        assert.deepEqual(
          [away.run.state, away.run.status_message?.error_code, away.run.status_message?.retryable],
          ['ERROR', 'resource_unavailable', true],
        )
        assert.match(away.said, /^Pushing runyard\/\S+ to \S+ failed\.[\s\S]*answered git with status 502/)
        assert.equal(asked, 4)
        takesPush = undefined
        const later = await followUp(away.run.run_id, 'true')
        assert.equal(later.run.state, 'SUCCEEDED', later.said)
        assert.equal(hosted('show', `runyard/${away.run.run_id}:x`), 'x')

        asked = 0
        takesPush = () => {
          asked += 1
          return { status: 403 }
        }
        const refused = await runIn('echo x > x', { on_success: 'branch' })
        takesPush = undefined
        assert.deepEqual(
          [refused.run.state, refused.run.status_message?.error_code, asked],
          ['FAILED', 'integration_not_configured', 1],
        )
      },
    )

    onlyLong('are pushed where a command that was killed left a lock', async () => {
      const stale = await runIn('echo x > x; touch .git/index.lock .git/HEAD.lock', { on_success: 'branch' })
      assert.equal(stale.run.state, 'SUCCEEDED', stale.said)
      assert.equal(hosted('show', `runyard/${stale.run.run_id}:x`), 'x')
    })

    once('say nothing of a secret when they cannot be pushed, however it is cut', async () => {
      const value = 'abcdefghijklmnopqrstuvwxyz0123456789'
      await api.json('PUT', '/agent/secrets/PRINTED', { value })
      const { run, said } = await runIn(
        `printf '#!/bin/sh\nprintf "%%s%%1970s" "$PRINTED" . >&2; exit 1\n' > ../clean; chmod +x ../clean
        git config filter.x.clean ../clean; git config filter.x.required true
        echo 'file filter=x' > .git/info/attributes; echo x > file`,
        { on_success: 'branch', secrets: ['HOST_TOKEN', 'PRINTED'] },
      )
      assert.equal(run.state, 'FAILED')
      assert.equal(said.includes(value.slice(-8)), false, said)
    })

    once(
      'are not said to be pushed where git was led elsewhere, and not begun where nothing can be',
      async () => {
        const { run, events, said } = await runIn(
          `git init --quiet --bare ../fake; git config url.file:///workspace/fake.insteadOf ${host.url}/acme/site; echo x > x`,
          { on_success: 'branch', repositories: [{ url: `${host.url}/acme/site`, depth: 0 }] },
        )
        assert.equal(run.state, 'FAILED')
        assert.match(said, /acme\/site does not have [0-9a-f]{40} as runyard\//)
        assert.deepEqual(ofType(events, 'changes.pushed'), [])
        const idle = await runIn('echo begun', { on_success: 'branch', secrets: [] })
        assert.deepEqual([idle.run.state, idle.output], ['FAILED', ''])
        assert.match(idle.said, /none of its secrets is for a host of its repositories/)
      },
    )

    once('take pushes of the run’s own branch from its agent, and of no other', async () => {
      const { output, events } = await runIn(
        `git commit --quiet --allow-empty -m mine; git push --quiet origin "HEAD:$RUNYARD_BRANCH" && echo pushed
        git push origin HEAD:main 2>&1 | grep -o 'remote rejected.*'`,
      )
      assert.match(output, /^pushed\nremote rejected\] HEAD -> main \(this run may push runyard\//)
      assert.match(
        ofType(events, 'egress.refused')
          .map(({ data }) => data.message)
          .join(),
        /Nothing was pushed to/,
      )
    })

    once('say what is wrong with a secret', async () => {
      for (const [secrets, expected] of [
        [['WRONG_TOKEN'], /^Cloning .* refused the secret WRONG_TOKEN for acme\/site \(status 401\)/s],
        [
          ['ELSEWHERE'],
          /^Cloning .* asks for a credential for acme\/site, and no secret of the environment is for it/s,
        ],
      ] as const) {
        const { run, said } = await runIn('true', { secrets: [...secrets] })
        assert.equal(run.state, 'FAILED')
        assert.match(said, expected)
      }
      const { run, said } = await runIn('echo x > x', { secrets: ['READ_TOKEN'], on_success: 'pull_request' })
      assert.equal(run.state, 'FAILED')
      assert.match(said, /Nothing can be pushed to \S+\/acme\/site: the secret READ_TOKEN is for reading/)
    })

    describe('while they are pushed', { skip: sandbox !== 'bubblewrap' }, () => {
      const hook = join(site, 'hooks/pre-receive')
      const asked = join(root, 'asked')
      /** The host takes its time until the hook is gone. */
      const hold = () => {
        rmSync(asked, { force: true })
        writeFileSync(hook, `#!/bin/sh\ntouch ${asked}\nwhile [ -e ${hook} ]; do sleep 0.1; done\n`, {
          mode: 0o755,
        })
      }
      const release = () => rmSync(hook, { force: true })
      after(release)

      test('obey an interrupt, and go on with a follow-up', async () => {
        hold()
        const run_id = await begin('echo slow > slow', { on_success: 'pull_request' })
        await until('the push', () => existsSync(asked))
        await api.json('POST', `/agent/runs/${run_id}/interrupt`)
        const run = await api.until(run_id, ({ state }) => state === 'BLOCKED', 30)
        assert.match(run.status_message?.message ?? '', /^Interrupted/)
        release()
        const { said, ...later } = await followUp(run_id, 'true')
        assert.equal(later.run.state, 'SUCCEEDED', said)
        assert.equal(hosted('show', `runyard/${run_id}:slow`), 'slow')
      })

      // As an interrupt is obeyed.
      onlyLong('are cancelled at once', async () => {
        hold()
        const run_id = await begin('echo slow > slow', { on_success: 'pull_request' })
        await until('the push', () => existsSync(asked))
        await api.json('POST', `/agent/runs/${run_id}/cancel`)
        const { run, events } = await finish(run_id)
        assert.equal(run.state, 'CANCELLED')
        assert.deepEqual(ofType(events, 'changes.pushed'), [])
        release()
      })

      test('go on when the service was killed', async (t) => {
        const usual = api
        t.after(() => {
          api = usual
        })
        const first = await startDevProcess(options)
        api = apiOf(first)
        await put('HOST_TOKEN', TOKEN)
        hold()
        const before = host.pulls.length
        const run_id = await begin('echo slow > slow', { on_success: 'pull_request' })
        await until('the push', () => existsSync(asked))
        await first.kill('SIGKILL')
        release()
        const next = await startService({ ...options, data_dir: first.data_dir, embedded: true })
        t.after(() => next.stop())
        api = apiOf(next)
        const { run, events, said } = await finish(run_id)
        assert.equal(run.state, 'SUCCEEDED', said)
        assert.equal(ofType(events, 'changes.pushed').length, 1)
        assert.equal(host.pulls.length, before + 1)
        assert.equal(hosted('show', `runyard/${run_id}:slow`), 'slow')
      })
    })

    once(
      'bring large files where the image has git-lfs, push new ones, and say where it has not',
      async () => {
        host.lfs?.objects.set(sha256(LARGE), LARGE)
        // With its own commit and push the agent does more.
        for (const ref of LONG
          ? [undefined, git(media, 'rev-parse', 'main')]
          : [git(media, 'rev-parse', 'main')]) {
          const { run, events, output, said } = await runIn(
            `sha256sum large.bin; printf made > made.bin; git add made.bin
          [ -z "$MINE" ] || { git commit --quiet -m mine && git push --quiet origin "HEAD:refs/heads/$RUNYARD_BRANCH"; }`,
            {
              ...{ on_success: 'branch', egress: 'none', variables: ref ? { MINE: '1' } : {} },
              repositories: [{ url: `${host.url}/acme/media`, ...(ref ? { ref } : {}) }],
            },
          )
          assert.equal(run.state, 'SUCCEEDED', said)
          const notes = ofType(events, 'setup').flatMap(({ data }) => data.output ?? [])
          const pushed = git(media, 'show', `runyard/${run.run_id}:made.bin`)
          if (has_lfs) {
            // How far the upload is, git-lfs tells only where it takes its time.
            const lines = output.split('\n').filter((line) => !line.startsWith('Uploading LFS objects'))
            assert.deepEqual([lines, notes], [[`${sha256(LARGE)}  large.bin`, ''], []])
            assert.match(pushed, new RegExp(`oid sha256:${sha256(MADE)}\\n`))
            assert.equal(host.lfs?.objects.get(sha256(MADE))?.toString(), 'made')
            host.lfs?.objects.delete(sha256(MADE))
          } else {
            assert.equal(output, `${sha256(Buffer.from(pointerOf(LARGE)))}  large.bin\n`)
            assert.match(
              notes.join(),
              /^Files of Git LFS are here as pointers, .*git-lfs is not in the image/,
            )
            assert.equal(pushed, 'made')
          }
        }
      },
    )

    onlyLong(
      'go on from large files that were pushed',
      {
        skip: !has_lfs && 'its image has no git-lfs',
      },
      async () => {
        host.lfs?.objects.set(sha256(LARGE), LARGE)
        const { run, said } = await runIn('printf made > made.bin', {
          ...{ on_success: 'branch', egress: 'none', repositories: [{ url: `${host.url}/acme/media` }] },
        })
        assert.equal(run.state, 'SUCCEEDED', said)
        loseWorkspace(run.run_id)
        const asked = host.lfs?.asked.length ?? 0
        const later = await followUp(run.run_id, 'cat made.bin; printf more > more.bin')
        assert.equal(later.run.state, 'SUCCEEDED', later.said)
        assert.match(later.output, /made$/)
        assert.equal((host.lfs?.asked.length ?? 0) > asked, true)
        assert.equal(host.lfs?.objects.get(sha256(Buffer.from('more')))?.toString(), 'more')
        // The patch is of what git has.
        const diff = await api.json<RunDiff>('GET', `/agent/runs/${run.run_id}/diff`)
        const patch = await (await fetch(diff.patch?.data.download_url ?? '')).text()
        assert.match(patch, new RegExp(`oid sha256:${sha256(Buffer.from('more'))}`))
      },
    )

    onlyLong(
      'are not pushed without their large files',
      {
        skip: !has_lfs && 'its image has no git-lfs',
      },
      async () => {
        assert(host.lfs)
        host.lfs.objects.set(sha256(LARGE), LARGE)
        host.lfs.lead = (href) => href.replace(/\?.*/, '?signature=wrong')
        const { run, said } = await runIn('printf unsent > unsent.bin', {
          ...{ on_success: 'branch', variables: NO_SMUDGE },
          repositories: [{ url: `${host.url}/acme/media` }],
        })
        host.lfs.lead = undefined
        assert.equal(run.state, 'FAILED')
        assert.match(
          said,
          /^Pushing runyard\/\S+ to \S+\/acme\/media failed\.[\s\S]*answered the upload of a large file/,
        )
        assert.equal(git(media, 'for-each-ref', `refs/heads/runyard/${run.run_id}`), '')
      },
    )

    test('leave their token nowhere', async (t) => {
      // A process of its own, whose log has what those say that it starts.
      const usual = api
      const own = await startDevProcess(options)
      api = apiOf(own)
      t.after(async () => {
        api = usual
        await own.stop()
      })
      await put('HOST_TOKEN', TOKEN)
      await put('READ_TOKEN', READ_TOKEN, { read_only: true })
      // What is printed is masked, so it is looked for inside; the brackets keep the search from finding itself.
      const pattern = FORMS.map((form) => `${form.slice(0, 11)}[${form[11]}]`).join('|')
      const { run, output } = await runIn(
        `found() { grep -aqE '${pattern}' && echo "found in $1"; }
        env | found env; git config --list --show-origin | found config
        cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | found processes
        printf 'protocol=https\nhost=${host.host}\n\n' | git credential fill 2>&1 | found credential
        GIT_TRACE_CURL=1 GIT_TRACE=1 git ls-remote origin 2>&1 | found trace
        GIT_CURL_VERBOSE=1 git push origin HEAD:$RUNYARD_BRANCH 2>&1 | found push
        grep -rlaE '${pattern}' /workspace /tmp /home /root /etc /run /var /dev/shm 2>/dev/null; echo end`,
        { on_success: 'branch' },
      )
      assert.equal(output, 'end\n')
      assert.equal(run.state, 'SUCCEEDED', run.status_message?.message)
      assert.equal(holdsToken(own.log()), false)
      for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
        const read = (name: string) => {
          try {
            return readFileSync(`/proc/${pid}/${name}`, 'latin1')
          } catch {
            return ''
          }
        }
        assert.equal(holdsToken(read('environ') + read('cmdline')), false, `process ${pid}`)
      }
      // The database, artifacts and whatever else the service keeps.
      const found = spawnSync('grep', ['-rlaF', ...FORMS.flatMap((form) => ['-e', form]), own.data_dir], {
        encoding: 'utf8',
      })
      assert.deepEqual([found.stdout, found.status], ['', 1])
    })
  })
}

describe('with one variable and nothing else, `dev`', () => {
  // As web-page-run.test.ts has it, with the page.
  onlyLong('clones and pushes what the token reaches', async () => {
    const root = temporaryDirectory('hosted')
    addHostedRepository(root, 'acme/site')
    const host = await serveGitHost({ root, kind: 'gitlab', token: TOKEN })
    const service = await startService({
      env: {
        NODE_EXTRA_CA_CERTS: host.ca_file,
        RUNYARD_PRIVATE_HOSTS: host.host,
        RUNYARD_GIT_HOSTS: `${host.host}=gitlab`,
        RUNYARD_GIT_TOKEN: `https://${TOKEN}@${host.host}`,
      },
    })
    const api = apiOf(service)
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
      ...{ name: 'e', on_success: 'pull_request', repositories: [{ url: `${host.url}/acme/site` }] },
    })
    const run_id = await api.create({ prompt: shell('env; echo x > x'), config: { environment_id: uid } })
    const run = await api.ended(run_id, 60)
    assert.equal(run.state, 'SUCCEEDED', run.status_message?.message)
    assert.deepEqual(
      host.pulls.map(({ head }) => head),
      [`runyard/${run_id}`],
    )
    assert.equal(holdsToken(JSON.stringify(await api.events(run_id)) + service.log()), false)
    await service.stop()
    host.close()
  })
})
