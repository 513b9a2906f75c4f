/** Repositories of the worker's own machine: whoever wrote one, or names one, reads nothing else by it. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { git, makeRepository } from './support/git.ts'
import { pointerOf } from './support/lfs-host.ts'
import { whyNoDocker } from './support/machine.ts'
import { LONG, onlyLong } from './support/once.ts'
import { type BackendName, TEST_IMAGE } from './support/sandbox-backends.ts'
import { apiOf, shell, startService, type TestService, temporaryDirectory } from './support/service.ts'
import { ofType, printed } from './support/traces.ts'

const SECRET = 'canary-7c1f'
const NOBODY = 65_534
const ABSENT = /^There is no local repository at \S+ below RUNYARD_LOCAL_REPOS\. runyard dev opens /
const UNREADABLE = /^The local repository \S+ cannot be read\. It must be whole/

const undocked = whyNoDocker()
const root = process.getuid?.() === 0

testOn('bubblewrap', { every: true })
if (LONG) {
  testOn('docker', { skip: undocked })
  testOn('host', {})
  testOn('bubblewrap', { uid: NOBODY, skip: root ? false : 'only root can become somebody else' })
}

const listDocker = (kind: 'container' | 'volume', run_id: string): string[] => {
  const all = kind === 'container' ? ['--all'] : []
  const label = `label=runyard.run_id=${run_id}`
  const listed = execFileSync('docker', [kind, 'ls', ...all, '--quiet', '--filter', label], {
    encoding: 'utf8',
  })
  return listed.split('\n').filter(Boolean)
}

function removeContainers(run_id: string): void {
  for (const id of listDocker('container', run_id)) execFileSync('docker', ['rm', '--force', '--volumes', id])
  for (const id of listDocker('volume', run_id)) execFileSync('docker', ['volume', 'rm', id])
}

/** With `every` all that there is to show; the rest of the code is the same on all backends. */
function testOn(
  sandbox: BackendName,
  { uid, every = false, skip = false }: { uid?: number; every?: boolean; skip?: string | false },
): void {
  const detail: typeof test | (() => void) = every ? test : () => {}
  /** Ways of being in order, which are git's business. */
  const further = every ? onlyLong : () => {}
  const who = uid ? ' as an ordinary user' : ''
  describe(`a local repository, ${sandbox}${who}`, { skip, concurrency: 2 }, () => {
    let service: TestService
    let api: ReturnType<typeof apiOf>
    const place = temporaryDirectory('local')
    const outside = temporaryDirectory('outside')
    const ran = join(outside, 'ran')
    const runs: string[] = []
    const local = (...names: string[]) => join(place, ...names)
    const give = (path: string) => uid && execFileSync('chown', ['-R', `${uid}:${uid}`, path])
    const make = (name: string): string => {
      makeRepository(local(name))
      return local(name, '.git')
    }

    before(async () => {
      makeRepository(join(outside, 'secret'))
      writeFileSync(join(outside, 'secret', 'file'), SECRET)
      git(join(outside, 'secret'), 'commit', '--quiet', '--all', '-m', SECRET)
      writeFileSync(join(outside, 'key'), `${SECRET}\n`)
      // What git could be made to run may write here, whoever it runs as.
      chmodSync(outside, 0o777)
      give(place)
      give(outside)
      service = await startService({
        sandbox,
        data_dir: local('.runyard'),
        ...(uid ? { uid } : {}),
        env: { RUNYARD_LOCAL_REPOS: place, RUNYARD_DEFAULT_IMAGE: TEST_IMAGE },
      })
      api = apiOf(service)
    })
    after(async () => {
      await service?.stop()
      if (sandbox === 'docker') for (const run_id of runs) removeContainers(run_id)
      assert(!existsSync(ran), 'A repository’s configuration was carried out on the host.')
    })

    async function runWith(local_path: string, command = 'cat file; git log --format=%s') {
      if (existsSync(local(local_path))) give(local(local_path))
      const environment = await api.json<{ uid: string }>('POST', '/agent/environments', {
        name: randomUUID(),
        repositories: [{ local_path, directory: 'repository' }],
      })
      const run_id = await api.create({
        prompt: shell(command),
        config: { environment_id: environment.uid },
      })
      runs.push(run_id)
      const run = await api.ended(run_id, 180)
      const events = await api.events(run_id)
      const said = JSON.stringify([run, events])
      assert(!said.includes(SECRET), said)
      return { run, events, output: printed(events), message: run.status_message?.message ?? '' }
    }

    /** Ends before the agent starts, with our own words and nobody else's. */
    async function assertRefused(local_path: string, why: RegExp): Promise<void> {
      const { run, events, message } = await runWith(local_path)
      assert.deepEqual([run.state, run.status_message?.error_code], ['FAILED', 'environment_setup_failed'])
      assert.match(message, why)
      assert.doesNotMatch(JSON.stringify(events), /fatal:|error:|tar:|git:/)
    }

    /** What lies elsewhere by its very name no environment may have, whether it is there or not. */
    async function assertElsewhere(local_path: string): Promise<void> {
      const answer = await api.call('POST', '/agent/environments', {
        ...{ name: randomUUID(), repositories: [{ local_path }] },
      })
      const { detail } = (await answer.json()) as { detail: string }
      assert.deepEqual([answer.status, detail.includes(local_path)], [400, false])
      assert.match(detail, /^repositories\.0\.local_path: lies outside of RUNYARD_LOCAL_REPOS, /)
    }

    async function assertComes(local_path: string, content = 'third') {
      const { run, output, message } = await runWith(local_path, 'cat file')
      assert.equal(run.state, 'SUCCEEDED', message)
      assert.equal(output, `${content}\n`)
      return run
    }

    describe('that is in order', () => {
      detail('comes as a bare one, from a subfolder or by its git directory', async () => {
        mkdirSync(local('deep'))
        make('deep/plain')
        execFileSync('git', ['clone', '--quiet', '--bare', local('deep/plain'), local('bare.git')])
        for (const path of ['deep/plain', local('deep/plain/.git'), 'bare.git']) await assertComes(path)
      })

      test('comes with the pointers of its large files, and says so', async () => {
        make('media')
        const content = Buffer.from('large')
        writeFileSync(local('media/.gitattributes'), '*.bin filter=lfs -text\n')
        writeFileSync(local('media/large.bin'), pointerOf(content))
        git(local('media'), 'add', '--all')
        git(local('media'), 'commit', '--quiet', '-m', 'large')
        const { run, events, output, message } = await runWith('media', 'cat large.bin')
        assert.equal(run.state, 'SUCCEEDED', message)
        assert.equal(output, pointerOf(content))
        const notes = ofType(events, 'setup').flatMap(({ data }) => data.output ?? [])
        assert.match(notes.join(), /^Files of Git LFS are here as pointers, .* a local repository is brought/)
      })

      test('comes as a linked worktree, with a HEAD of its own', async () => {
        make('main')
        git(local('main'), 'worktree', 'add', '--quiet', local('linked'), 'feature')
        give(local('main'))
        await assertComes('linked', 'feature')
      })

      further('comes as a submodule', async () => {
        make('whole')
        make('part')
        git(
          local('whole'),
          '-c',
          'protocol.file.allow=always',
          'submodule',
          '--quiet',
          'add',
          local('part'),
          'sub',
        )
        give(local('whole'))
        await assertComes('whole/sub')
      })

      further('comes packed, with packed refs, and with sha256', async () => {
        make('packed')
        git(local('packed'), 'gc', '--quiet')
        await assertComes('packed')
        execFileSync('git', ['init', '--quiet', '-b', 'main', '--object-format=sha256', local('sha256')])
        writeFileSync(local('sha256', 'file'), 'sha256\n')
        git(local('sha256'), 'add', 'file')
        git(local('sha256'), 'commit', '--quiet', '-m', 'one')
        await assertComes('sha256', 'sha256')
      })

      detail(
        'comes though only its owner may read it',
        {
          skip: uid ? 'it is another user’s' : false,
        },
        async () => {
          make('private')
          if (root) execFileSync('chown', ['-R', '4321:4321', local('private')])
          chmodSync(local('private'), 0o700)
          chmodSync(local('private', '.git'), 0o700)
          await assertComes('private')
        },
      )

      detail('says when it has no commits, and when it is not whole', async () => {
        execFileSync('git', ['init', '--quiet', local('empty')])
        await assertRefused('empty', /^The local repository empty has no commits at its HEAD\.$/)
        execFileSync('git', [
          'clone',
          '--quiet',
          '--depth',
          '1',
          `file://${join(outside, 'secret')}`,
          local('shallow'),
        ])
        await assertRefused('shallow', UNREADABLE)
      })
    })

    describe('that is not there', () => {
      detail(
        'is refused with the same words, absent, outside, in the data directory or no repository',
        async () => {
          const { run } = await runWith(make('seed').replace('/.git', ''), 'git rev-parse HEAD')
          const [workspace = ''] = globSync(
            local(`.runyard/sandboxes/${sandbox}/${run.run_id}-1/workspace/repository`),
          )
          assert(workspace, 'The workspace was not found.')
          mkdirSync(local('folder'))
          symlinkSync(join(outside, 'secret'), local('link'))
          symlinkSync(local('.runyard'), local('data'))
          const paths = ['absent', 'link', 'seed/file', workspace.replace(local('.runyard'), 'data')]
          for (const path of LONG ? [...paths, 'folder'] : paths) await assertRefused(path, ABSENT)
          for (const path of [
            ...[`../${outside.split('/').at(-1)}/secret`, join(outside, 'secret'), join(outside, 'absent')],
            ...['.runyard', workspace, join(workspace, '.git'), 'folder/../../../etc', '/etc'],
          ])
            await assertElsewhere(path)
        },
      )

      detail('is refused when its .git leads outside', async () => {
        const secret = join(outside, 'secret', '.git')
        const pointer = (name: string, text: string): string => {
          mkdirSync(local(name))
          writeFileSync(local(name, '.git'), text)
          return name
        }
        mkdirSync(local('linked-git'))
        symlinkSync(secret, local('linked-git', '.git'))
        writeFileSync(join(make('common'), 'commondir'), `${secret}\n`)
        rmSync(join(make('linked-objects'), 'objects'), { recursive: true })
        symlinkSync(join(secret, 'objects'), local('linked-objects/.git/objects'))
        rmSync(join(make('linked-head'), 'HEAD'))
        symlinkSync(join(secret, 'HEAD'), local('linked-head/.git/HEAD'))
        mkdirSync(local('pipe'))
        execFileSync('mkfifo', [local('pipe', '.git')])
        const paths = [
          pointer('pointer', `gitdir: ${secret}\n`),
          pointer('inside', `gitdir: ${local('.runyard/db')}\n`),
          ...['linked-git', 'common', 'linked-objects', 'pipe'],
        ]
        const others = [
          pointer('relative', `gitdir: ../../${outside.split('/').at(-1)}/secret/.git\n`),
          pointer('nowhere', 'gitdir: /nowhere\n'),
          pointer('words', 'something else\n'),
          pointer('long', `gitdir: ${'./'.repeat(4096)}../common/.git\n`),
          'linked-head',
        ]
        for (const path of LONG ? [...paths, ...others] : paths) await assertRefused(path, ABSENT)
      })
    })

    describe('that was made to read something else', () => {
      /** As if the secret repository's history were its own. */
      const pretend = (directory: string) => {
        const head = git(join(outside, 'secret'), 'rev-parse', 'HEAD')
        writeFileSync(join(directory, 'refs/heads/main'), `${head}\n`)
        mkdirSync(join(directory, 'objects/info'), { recursive: true })
      }

      test('borrows no objects', async () => {
        const directory = make('alternates')
        pretend(directory)
        writeFileSync(join(directory, 'objects/info/alternates'), `${join(outside, 'secret/.git/objects')}\n`)
        await assertRefused('alternates', UNREADABLE)

        git(join(outside, 'secret'), 'gc', '--quiet')
        const packs = make('packs')
        pretend(packs)
        rmSync(join(packs, 'objects/pack'), { recursive: true })
        symlinkSync(join(outside, 'secret/.git/objects/pack'), join(packs, 'objects/pack'))
        await assertRefused('packs', UNREADABLE)
      })

      test('prints no file that it links to', async () => {
        const directory = make('grafts')
        const tree = git(local('grafts'), 'rev-parse', 'HEAD^{tree}')
        rmSync(join(directory, 'objects', tree.slice(0, 2), tree.slice(2)))
        for (const name of [
          'info/grafts',
          'shallow',
          'packed-refs',
          'refs/heads/linked',
          'config.worktree',
          'description',
        ]) {
          rmSync(join(directory, name), { force: true })
          symlinkSync(join(outside, 'key'), join(directory, name))
        }
        rmSync(join(directory, 'config'))
        symlinkSync(join(outside, 'key'), join(directory, 'config'))
        await assertRefused('grafts', UNREADABLE)
      })

      test('reads no device and waits for no pipe', async () => {
        const directory = make('devices')
        for (const name of [
          'info/grafts',
          'shallow',
          'refs/heads/zero',
          'objects/info/alternates',
          'packed-refs',
        ])
          symlinkSync('/dev/zero', join(directory, name))
        execFileSync('mkfifo', [join(directory, 'refs/heads/pipe'), join(directory, 'objects/pipe')])
        const socket = createServer().listen(join(directory, 'refs/s'))
        await assertComes('devices')
        socket.close()

        if (!root || sandbox === 'host') return
        execFileSync('mknod', [join(make('device'), 'refs/heads/device'), 'c', '1', '5'])
        await assertRefused('device', UNREADABLE)
      })

      further('takes no room for what it does not hold', async () => {
        const directory = make('sparse')
        for (const name of ['objects/pack/pack-0.pack', 'objects/sparse']) {
          writeFileSync(join(directory, name), '')
          truncateSync(join(directory, name), 1024 ** 4)
        }
        await assertComes('sparse')
      })

      test('has nothing of its own carried out', async () => {
        const directory = make('hostile')
        const touch = join(outside, 'touch.sh')
        writeFileSync(touch, `#!/bin/sh\ntouch ${ran}\n`, { mode: 0o755 })
        chmodSync(touch, 0o755)
        for (const hook of ['post-checkout', 'reference-transaction', 'pre-auto-gc', 'post-index-change'])
          writeFileSync(join(directory, 'hooks', hook), `#!/bin/sh\n${touch}\n`, { mode: 0o755 })
        appendFileSync(
          join(directory, 'config'),
          `[core]
	fsmonitor = ${touch}
	hooksPath = ${join(directory, 'hooks')}
	pager = ${touch}
	sshCommand = ${touch}
	alternateRefsCommand = ${touch}
	repositoryformatversion = 1
[uploadpack]
	packObjectsHook = ${touch}
[protocol "ext"]
	allow = always
[extensions]
	partialClone = origin
[remote "origin"]
	url = "ext::sh -c ${touch}"
	promisor = true
	partialclonefilter = blob:none
[alias]
	bundle = !${touch}
[include]
	path = ${join(outside, 'key')}
`,
        )
        const blob = git(local('hostile'), '-c', 'core.fsmonitor=false', 'rev-parse', 'HEAD:file')
        rmSync(join(directory, 'objects', blob.slice(0, 2), blob.slice(2)))
        await assertRefused('hostile', UNREADABLE)
        git(local('hostile'), '-c', 'core.fsmonitor=false', 'hash-object', '-w', 'file')
        await assertComes('hostile')
        assert(!existsSync(ran))
      })
    })

    test('leaves nothing behind', async () => {
      make('gone')
      const { run_id } = await assertComes('gone')
      const left =
        sandbox === 'docker'
          ? listDocker('volume', `${run_id}.export-0`)
          : globSync(local(`.runyard/sandboxes/${sandbox}/*/0*.json`)).filter(
              // Those of other tests go meanwhile.
              (file) => existsSync(file) && readFileSync(file, 'utf8').includes(`${run_id}.export-`),
            )
      assert.deepEqual(left, [])
    })
  })
}
