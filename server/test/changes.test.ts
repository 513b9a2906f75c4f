/** What a run changed in its repositories comes out as a patch, whatever the agent did with git. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { RunDiff } from '../src/contract/diff.ts'
import { until } from './support/cluster.ts'
import { removeSandbox } from './support/docker-images.ts'
import { git } from './support/git.ts'
import { whyNoDocker } from './support/machine.ts'
import { LONG, onceAmong, onlyLong } from './support/once.ts'
import { type BackendName, TEST_IMAGE } from './support/sandbox-backends.ts'
import { apiOf, shell, startService, type TestService, temporaryDirectory } from './support/service.ts'
import { ofType, printed } from './support/traces.ts'

const undocked = whyNoDocker()

testOn('bubblewrap', false)
if (LONG) testOn('docker', undocked)

/** A repository of one commit; what is in it is named by what becomes of it. */
function makeRepository(path: string): void {
  execFileSync('git', ['init', '--quiet', '--initial-branch=main', path])
  const files: Record<string, string | Buffer> = {
    'edited.txt': 'one\ntwo\nthree\n',
    'deleted.txt': 'gone\n',
    'moved.txt': Array.from({ length: 50 }, (_, line) => `line ${line}\n`).join(''),
    'windows.txt': 'one\r\ntwo\r\n',
    'latin.txt': Buffer.from('caf\xe9\n', 'latin1'),
    'picture.bin': Buffer.from(Array.from({ length: 3000 }, (_, at) => (at * 7919) % 251)),
    'becomes-link': 'a file\n',
    'tool.sh': 'echo tool\n',
    '.gitignore': 'ignored/\n',
  }
  for (const [name, data] of Object.entries(files)) writeFileSync(join(path, name), data)
  git(path, 'add', '--all')
  git(path, 'commit', '--quiet', '-m', 'base')
}

/** All files below a folder but those of git: contents, modes and links. */
function readTree(path: string, below = ''): Record<string, string> {
  return Object.assign(
    {},
    ...readdirSync(join(path, below)).map((name) => {
      const own = join(below, name)
      const file = join(path, own)
      const stat = lstatSync(file)
      if (name === '.git') return {}
      if (stat.isDirectory()) return readTree(path, own)
      if (stat.isSymbolicLink()) return { [own]: `-> ${readlinkSync(file)}` }
      return { [own]: `${(stat.mode & 0o111) > 0 ? 'x ' : ''}${readFileSync(file, 'latin1')}` }
    }),
  )
}

const MANY_CONFLICTS = `for i in $(seq 3000); do echo $i > "a rather long name of a file that has a conflict $i"; done
  git add .; git commit --quiet -m ours; git checkout --quiet -b theirs HEAD~1
  for i in $(seq 3000); do echo x > "a rather long name of a file that has a conflict $i"; done
  git add .; git commit --quiet -m theirs; git merge main > /dev/null || rm -f a\\ rather*`

function testOn(sandbox: BackendName, skip: string | false): void {
  const once = onceAmong(sandbox)
  describe(`changes, ${sandbox}`, { skip }, () => {
    const place = temporaryDirectory('repositories')
    const data_dir = temporaryDirectory('data')
    const options = {
      sandbox,
      data_dir,
      env: {
        RUNYARD_LOCAL_REPOS: place,
        RUNYARD_GRACE_SECONDS: '0',
        ...(sandbox === 'docker' ? { RUNYARD_DEFAULT_IMAGE: TEST_IMAGE } : {}),
      },
    }
    let service: TestService
    let api: ReturnType<typeof apiOf>
    let base_commit: string
    const start = async () => {
      service = await startService(options)
      api = apiOf(service)
    }
    before(async () => {
      for (const name of ['repo', 'other']) makeRepository(join(place, name))
      base_commit = git(join(place, 'repo'), 'rev-parse', 'HEAD')
      await start()
    })
    const runs: string[] = []
    after(async () => {
      await service?.stop()
      if (sandbox === 'docker') for (const run_id of runs) removeSandbox(run_id)
    })

    const makeEnvironment = async (config: object = {}): Promise<string> => {
      const repositories = [{ local_path: join(place, 'repo') }]
      const body = { name: randomUUID(), repositories, ...config }
      return (await api.json<{ uid: string }>('POST', '/agent/environments', body)).uid
    }
    const begin = async (command: string, config?: object) => {
      const environment_id = await makeEnvironment(config)
      const run_id = await api.create({ prompt: shell(command), config: { environment_id } })
      runs.push(run_id)
      return run_id
    }
    const runShell = async (command: string, config?: object): Promise<string> => {
      const run_id = await begin(command, config)
      assert.equal((await api.ended(run_id, 60)).state, 'SUCCEEDED')
      return run_id
    }
    const goOn = async (run_id: string, command: string): Promise<void> => {
      await api.json('POST', `/agent/runs/${run_id}/followups`, { message: shell(command) })
      assert.equal((await api.ended(run_id, 60)).state, 'SUCCEEDED')
    }
    const diffOf = (run_id: string, turn?: number) =>
      api.json<RunDiff>('GET', `/agent/runs/${run_id}/diff${turn ? `?turn=${turn}` : ''}`)
    const patchOf = async ({ patch }: RunDiff): Promise<Buffer> => {
      const answer = await fetch(patch?.data.download_url ?? '')
      assert.equal(answer.status, 200)
      return Buffer.from(await answer.arrayBuffer())
    }
    /** The tree of a fresh clone with the patch in it. */
    const applied = async (diff: RunDiff, ...args: string[]) => {
      const clone = join(temporaryDirectory('clone'), 'repo')
      git(place, 'clone', '--quiet', join(place, 'repo'), clone)
      const file = join(temporaryDirectory('patch'), 'patch')
      writeFileSync(file, await patchOf(diff))
      git(clone, 'apply', '--binary', '--index', ...args, file)
      return readTree(clone)
    }
    /** What would change how git compares. */
    const variables = {
      ...{
        GIT_DIFF_OPTS: '-u0',
        GIT_LITERAL_PATHSPECS: '1',
        TMPDIR: '/workspace/repo',
        CDPATH: '/workspace',
      },
      ...{ GIT_EXTERNAL_DIFF: '/bin/false', GIT_TRACE: '1', LC_ALL: 'xx' },
    }
    const namesOf = (diff: RunDiff) =>
      diff.files.map(({ status, path, previous_path }) =>
        [status, previous_path, path].filter(Boolean).join(' '),
      )

    test('are all that git can see: staged, unstaged, untracked and committed', async () => {
      const run_id = await runShell(`set -e
        sed -i 's/two/2/' edited.txt; git rm --quiet deleted.txt; git mv moved.txt 'moved here.txt'
        git commit --quiet --all --message 'Some of it'
        printf 'four\\n' >> edited.txt; git add edited.txt; printf 'five\\n' >> edited.txt
        printf 'three\\r\\n' >> windows.txt; printf '\\351t\\351\\n' >> latin.txt
        head -c 100 /dev/zero > picture.bin; head -c 3000 /dev/zero > new.bin; echo >> new.bin
        rm becomes-link; ln -s edited.txt becomes-link; chmod +x tool.sh
        mkdir -p ignored 'a folder'; echo x > ignored/x; echo new > 'a folder/"quoted" é'; : > empty
        git status --short > /workspace/artifacts/before`)
      const run = await api.get(run_id)
      const diff = await diffOf(run_id)
      assert.deepEqual(run.resolved?.commits, { repo: base_commit })
      assert.deepEqual(diff.repositories, [{ directory: 'repo', base_commit }])
      assert.deepEqual(namesOf(diff), [
        'added a folder/"quoted" é',
        'modified becomes-link',
        'deleted deleted.txt',
        'modified edited.txt',
        'added empty',
        'modified latin.txt',
        'renamed moved.txt moved here.txt',
        'added new.bin',
        'modified picture.bin',
        'modified tool.sh',
        'modified windows.txt',
      ])
      assert.deepEqual([diff.files_changed, diff.additions, diff.deletions, diff.notes], [11, 7, 3, []])
      assert.deepEqual(
        diff.files.filter(({ binary }) => binary).map(({ path }) => path),
        ['new.bin', 'picture.bin'],
      )
      const listed = run.artifacts.find(({ data }) => 'diff' in data)
      assert.deepEqual(listed?.data, {
        artifact_uid: diff.patch?.artifact_uid,
        ...{ filename: 'changes-1.patch', filepath: 'changes-1.patch', mime_type: 'text/x-diff' },
        size_bytes: diff.patch?.data.size_bytes,
        diff: { turn: 1, files_changed: 11, additions: 7, deletions: 3 },
      })
      const told = ofType(await api.events(run_id), 'artifact.created').at(-1)?.data
      assert.deepEqual(told?.diff, { turn: 1, files_changed: 11, additions: 7, deletions: 3 })

      const tree = await applied(diff)
      const expected: Record<string, string> = {
        ...readTree(join(place, 'repo')),
        'edited.txt': 'one\n2\nthree\nfour\nfive\n',
        'windows.txt': 'one\r\ntwo\r\nthree\r\n',
        'latin.txt': 'caf\xe9\n\xe9t\xe9\n',
        'picture.bin': '\0'.repeat(100),
        'new.bin': `${'\0'.repeat(3000)}\n`,
        'becomes-link': '-> edited.txt',
        'tool.sh': 'x echo tool\n',
        'a folder/"quoted" é': 'new\n',
        empty: '',
        'moved here.txt': readFileSync(join(place, 'repo/moved.txt'), 'latin1'),
      }
      delete expected['deleted.txt']
      delete expected['moved.txt']
      assert.deepEqual(tree, expected)

      // Comparing has left the repository as it was.
      await goOn(run_id, 'git status --short | cmp - /workspace/artifacts/before && echo the same')
      assert.match(printed(await api.events(run_id)), /the same\n$/)
    })

    once('are kept turn by turn, and once where a turn changed nothing', async () => {
      const run_id = await runShell('echo 4 >> edited.txt')
      await goOn(run_id, 'ls')
      await goOn(run_id, 'rm deleted.txt')
      await goOn(run_id, 'git checkout --quiet .')
      const kept = (await api.get(run_id)).artifacts.map(({ data }) => 'diff' in data && data.diff?.turn)
      assert.deepEqual(kept, [1, 3, 4])
      const diffs = await Promise.all([1, 2, 3, 4, undefined].map((turn) => diffOf(run_id, turn)))
      assert.deepEqual(
        diffs.map((diff) => [diff.turn, ...namesOf(diff)]),
        [
          [1, 'modified edited.txt'],
          [1, 'modified edited.txt'],
          [3, 'deleted deleted.txt', 'modified edited.txt'],
          [4],
          [4],
        ],
      )
      const nothing = await runShell('ls')
      assert.deepEqual(await diffOf(nothing), {
        run_id: nothing,
        ...{ turn: 0, repositories: [], files: [], files_changed: 0, additions: 0, deletions: 0, notes: [] },
      })
      assert.equal((await api.call('GET', `/agent/runs/${run_id}/diff?turn=0`)).status, 400)
    })

    once('of several repositories are one patch, below their folders', async () => {
      const repositories = ['other', 'repo'].map((name) => ({ local_path: join(place, name) }))
      const run_id = await runShell(
        'cd repo; echo 4 >> edited.txt; git mv moved.txt m; rm ../other/deleted.txt',
        { repositories },
      )
      const diff = await diffOf(run_id)
      assert.deepEqual(namesOf(diff), [
        'deleted other/deleted.txt',
        'modified repo/edited.txt',
        'added repo/m',
        'deleted repo/moved.txt',
      ])
      // Later turns know the repositories from the database, and find nothing new.
      await goOn(run_id, 'ls')
      assert.equal((await diffOf(run_id)).turn, 1)
      const both = temporaryDirectory('both')
      for (const name of ['repo', 'other'])
        git(place, 'clone', '--quiet', join(place, name), join(both, name))
      const file = join(temporaryDirectory('patch'), 'patch')
      writeFileSync(file, await patchOf(diff))
      execFileSync('git', ['apply', '--binary', file], { cwd: both })
      assert.match(readFileSync(join(both, 'repo/edited.txt'), 'utf8'), /4\n$/)
      assert.deepEqual(git(join(both, 'other'), 'status', '--short'), 'D deleted.txt')
    })

    once('that no patch can hold are named, and the others are kept', async () => {
      const run_id = await runShell(`echo 4 >> edited.txt; mkdir inner bare; mkfifo pipe
        truncate -s 11M big.bin; echo secret > locked; chmod 000 locked
        cd inner; git init --quiet; echo x > x; git add x; git commit --quiet --message inner; cd ../bare; git init --quiet`)
      const diff = await diffOf(run_id)
      assert.deepEqual(
        diff.files.map(({ path, omitted }) => [path, omitted]),
        [
          ['big.bin', true],
          ['locked', true],
          ['edited.txt', undefined],
        ],
      )
      assert.match(diff.notes.join('\n'), /^Some files in repo are not in the patch/m)
      assert.match(
        diff.notes.join('\n'),
        /^What git repositories inside repo hold is not in the patch: inner\.$/m,
      )
      assert.match(diff.notes.join('\n'), /^Too large for the patch, or not readable: big\.bin, locked\./m)
      assert.match((await applied(diff))['edited.txt'] ?? '', /4\n$/)
    })

    once('are what they are, whatever is configured and whatever variables there are', async () => {
      const hostile = `echo 4 >> edited.txt
        for setting in diff.external=/bin/false diff.noprefix=true diff.mnemonicPrefix=true color.ui=always \\
          color.diff=always diff.submodule=log diff.context=0 core.fsmonitor=/bin/false core.hooksPath=/workspace/repo \\
          diff.x.textconv=/bin/false filter.x.clean=/bin/false diff.algorithm=patience core.quotePath=false \\
          status.showUntrackedFiles=no diff.renames=false diff.orderFile=/workspace/none core.excludesFile=/workspace/repo/all; do
          git config "\${setting%%=*}" "\${setting#*=}"; git config --global "\${setting%%=*}" "\${setting#*=}"
        done
        echo '*' > all; git add --force --intent-to-add windows.txt; git update-index --assume-unchanged latin.txt
        printf 'x\\n' >> latin.txt; echo '*.txt diff=x' > .gitattributes; git mv moved.txt m`
      const diff = await diffOf(await runShell(hostile, { variables }))
      assert.deepEqual(diff.notes, [])
      assert.deepEqual(namesOf(diff), [
        'added .gitattributes',
        'added all',
        'modified edited.txt',
        'modified latin.txt',
        'renamed moved.txt m',
      ])
      assert.match((await applied(diff))['edited.txt'] ?? '', /4\n$/)
    })

    once('are found whatever the index says', async () => {
      const states = {
        removed:
          'git rm --quiet --cached edited.txt deleted.txt; git init --quiet inner; cd inner; git commit --quiet --allow-empty -m x',
        ...(LONG ? { 'no index': 'rm .git/index' } : {}),
        'a broken index': 'echo broken > .git/index',
        ...(LONG
          ? { 'another branch': 'git checkout --quiet --orphan new; git rm -r --quiet --cached .' }
          : {}),
        hidden: 'git update-index --skip-worktree windows.txt; git update-index --assume-unchanged latin.txt',
        ...(LONG ? { conflict: MANY_CONFLICTS } : {}),
      }
      for (const [name, command] of Object.entries(states)) {
        const run_id = await runShell(`echo x >> windows.txt; rm deleted.txt\n(${command})\ntrue`)
        const diff = await diffOf(run_id)
        const notes = name === 'removed' ? 1 : 0
        assert.deepEqual(
          [namesOf(diff), diff.notes.length],
          [['deleted deleted.txt', 'modified windows.txt'], notes],
          name,
        )
        assert.match((await applied(diff))['windows.txt'] ?? '', /x\n$/)
      }
    })

    onlyLong('beside what is no file come out', async () => {
      const run_id = await runShell(
        'echo 4 >> edited.txt; rm latin.txt; mkfifo latin.txt; echo x >> windows.txt',
      )
      const diff = await diffOf(run_id)
      assert.deepEqual(namesOf(diff), ['modified latin.txt', 'modified edited.txt', 'modified windows.txt'])
      assert.deepEqual(
        diff.files.map(({ omitted }) => omitted),
        [true, undefined, undefined],
      )
      assert.match((await applied(diff))['windows.txt'] ?? '', /x\n$/)
    })

    onlyLong('are the same whatever variables an environment has', async () => {
      const run_id = await runShell('sed -i s/two/2/ edited.txt; truncate -s 11M big.bin', { variables })
      const diff = await diffOf(run_id)
      assert.deepEqual(namesOf(diff), ['added big.bin', 'modified edited.txt'])
      assert.equal(diff.notes.length, 1)
      assert.match((await applied(diff))['edited.txt'] ?? '', /^one\n2\n/)
    })

    test('leave nothing in the repository, and need no room there', async () => {
      const run_id =
        await runShell(`git config core.splitIndex true; echo new > new; find .git -type f | sort > ../before
        chmod -R a-w .git/objects`)
      assert.deepEqual(namesOf(await diffOf(run_id)), ['added new'])
      await goOn(run_id, 'find .git -type f | sort | cmp - ../before && echo the same')
      assert.match(printed(await api.events(run_id)), /the same\n$/)
    })

    once('cost the service no more than they may, whatever is printed or how files are called', async () => {
      const flood = await diffOf(
        await runShell(`echo '* filter=x' > .gitattributes; git config filter.x.clean 'head -c ${LONG ? 400 : 60}000000 /dev/zero >&2; cat'
          echo 4 >> edited.txt`),
      )
      assert.deepEqual(flood.notes, ['The changes in repo are not all here: too much was printed.'])
      const names = await diffOf(
        await runShell(`blob=$(git hash-object -w edited.txt); name=$(head -c 20000 /dev/zero | tr '\\0' x)
          for i in $(seq 50); do printf '100644 %s 0\\t%s%s\\0' "$blob" "$name" "$i"; done > ../names
          git update-index -z --index-info < ../names
          git ls-files -z | grep -z xxx | git update-index -z --skip-worktree --stdin`),
      )
      assert.deepEqual(names.notes, [
        'The changes in repo are not all here: git printed a name without an end.',
      ])
    })

    // The workspace of a container cannot be looked into.
    const outside: typeof test | (() => void) = sandbox === 'bubblewrap' ? test : () => {}
    outside('are kept by the next attempt when the service stops while they are compared', async () => {
      const run_id = await begin(`echo '* filter=x' > .gitattributes; echo 4 >> edited.txt
        git config filter.x.clean '[ -e /workspace/comparing ] || { touch /workspace/comparing; sleep 600; }; cat'`)
      const comparing = join(data_dir, 'sandboxes/bubblewrap', `${run_id}-1`, 'workspace/comparing')
      await until('the comparison', () => existsSync(comparing))
      await service.stop()
      await start()
      const { state, attempt } = await api.ended(run_id)
      assert.deepEqual([state, attempt], ['SUCCEEDED', 2])
      assert.deepEqual(namesOf(await diffOf(run_id)), ['added .gitattributes', 'modified edited.txt'])
    })

    once('of a repository that is not one any more, or lost its past, are said to be missing', async () => {
      const gone = await diffOf(await runShell('rm -rf /workspace/repo'))
      assert.deepEqual(gone.notes, [
        'The changes in repo are not all here: it is not a git repository any more.',
      ])
      assert.deepEqual([gone.files, gone.patch?.data.size_bytes], [[], 0])
      const inside = await runShell('rm -rf .git; git init --quiet /workspace; echo 4 >> edited.txt')
      assert.deepEqual((await diffOf(inside)).notes, gone.notes)
      const anew = await runShell(
        'rm -rf .git; git init --quiet .; git add .; git commit --quiet --message new',
      )
      assert.match((await diffOf(anew)).notes[0] ?? '', /it does not hold the commit any more/)
    })
  })
}
