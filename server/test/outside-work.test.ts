/** Work that is not where a patch is made: other branches, stashes, worktrees. It is named, and kept as a bundle. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { RunDiff } from '../src/contract/diff.ts'
import type { EnvironmentConfig } from '../src/contract/environment.ts'
import { GIT_ENV, git, makeRepository, serveRepositories } from './support/git.ts'
import { apiOf, shell, startService, type TestService, temporaryDirectory } from './support/service.ts'

const COMMIT = 'commit() { echo "$1" > "$1"; git add "$1"; git commit --quiet -m "$1"; };'

describe('work outside of a patch', { concurrency: 3 }, () => {
  const root = temporaryDirectory('repositories')
  let server: Awaited<ReturnType<typeof serveRepositories>>
  let service: TestService
  let api: ReturnType<typeof apiOf>
  before(async () => {
    makeRepository(join(root, 'site'))
    makeRepository(join(root, 'tool'))
    execFileSync(
      'git',
      ['init', '--quiet', '--initial-branch=main', '--object-format=sha256', join(root, 'long')],
      { env: GIT_ENV },
    )
    writeFileSync(join(root, 'long/file'), 'first\n')
    git(join(root, 'long'), 'add', 'file')
    git(join(root, 'long'), 'commit', '--quiet', '-m', 'first')
    git(join(root, 'long'), 'branch', 'feature')
    server = await serveRepositories(root)
    service = await startService({
      env: {
        ...{ RUNYARD_LOCAL_REPOS: root, RUNYARD_EGRESS: 'open' },
        RUNYARD_PRIVATE_HOSTS: new URL(server.url).host,
      },
    })
    api = apiOf(service)
  })
  after(async () => {
    await service?.stop()
    server?.close()
  })

  async function begin(command: string, config: Partial<EnvironmentConfig> = {}) {
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
      ...{ name: randomUUID(), repositories: [{ local_path: 'site' }], ...config },
    })
    return look(await api.create({ prompt: shell(COMMIT + command), config: { environment_id: uid } }))
  }
  async function look(run_id: string) {
    const run = await api.ended(run_id)
    assert.equal(run.state, 'SUCCEEDED', run.status_message?.message)
    const { notes, files } = await api.json<RunDiff>('GET', `/agent/runs/${run_id}/diff`)
    const bundles = run.artifacts.flatMap(({ artifact_type, data }) =>
      artifact_type === 'FILE' && data.filename.endsWith('.bundle') ? [data] : [],
    )
    return { run_id, notes, files: files.map(({ path }) => path), bundles }
  }
  /** What a bundle brings to a clone of what the run began with, by its refs. */
  async function unpack(
    uid: string,
    from = 'site',
    ...depth: string[]
  ): Promise<(ref: string, path: string) => string> {
    const { data } = await api.json<{ data: { download_url: string } }>('GET', `/agent/artifacts/${uid}`)
    const folder = temporaryDirectory('unpacked')
    const file = join(folder, 'work.bundle')
    writeFileSync(file, Buffer.from(await (await fetch(data.download_url)).arrayBuffer()))
    execFileSync('git', ['clone', '--quiet', ...depth, `file://${join(root, from)}`, join(folder, 'clone')], {
      env: GIT_ENV,
    })
    git(join(folder, 'clone'), 'fetch', '--quiet', file, 'refs/*:refs/kept/*')
    return (ref, path) => git(join(folder, 'clone'), 'show', `refs/kept/${ref}:${path}`)
  }

  test('on another branch is named and kept', async () => {
    const { notes, files, bundles } = await begin(
      'git checkout --quiet -b fix/#1; commit one; commit two; git checkout --quiet main',
    )
    assert.deepEqual(files, [])
    assert.match(
      notes.join(),
      /^Work in site that is not in the patch: branch fix\/#1 \(2 commits, [0-9a-f]{8}\)\. The artifact site-1\.bundle has it: git fetch site-1\.bundle 'refs\/\*:refs\/kept\/\*'$/,
    )
    const read = await unpack(bundles[0]?.artifact_uid ?? '')
    assert.equal(read('heads/fix/#1', 'two'), 'two')
    assert((bundles[0]?.size_bytes ?? 0) < 5_000)
  })

  test('in worktrees is too, committed or not', async () => {
    const { notes, bundles } = await begin(`
      git worktree add --quiet ../review -b review; cd ../review; commit reviewed; echo more > untracked; echo changed > file; cd ../site
      git worktree add --quiet --detach /tmp/detached; cd /tmp/detached; commit apart; cd /workspace/site
      git worktree add --quiet -b untouched ../untouched`)
    assert.match(
      notes.join(),
      /: branch review \(1 commit, \w{8}\), worktree detached \(1 commit, \w{8}\), what is not committed in the worktree review \(\w{8}\)\. /,
    )
    const read = await unpack(bundles[0]?.artifact_uid ?? '')
    assert.equal(read('heads/review', 'reviewed'), 'reviewed')
    assert.equal(read('worktree-heads/detached', 'apart'), 'apart')
    assert.deepEqual(
      [read('changes/review', 'untracked'), read('changes/review', 'file')],
      ['more', 'changed'],
    )
  })

  test('in stashes, in tags and left by a detached HEAD is too', async () => {
    const { notes, files, bundles } = await begin(`
      echo one > file; git stash --quiet; echo two > file; git stash --quiet
      git checkout --quiet --detach; commit lost; git checkout --quiet main; git checkout --quiet --detach; commit marked
      git tag here; git checkout --quiet main; echo in the patch > file`)
    assert.deepEqual(files, ['file'])
    assert.match(
      notes.join(),
      /: tag here \(1 commit, \w{8}\), stash@\{0\} \(\w{8}\), stash@\{1\} \(\w{8}\), a detached HEAD \(1 commit, (\w{8})\)\. /,
    )
    const read = await unpack(bundles[0]?.artifact_uid ?? '')
    assert.deepEqual(
      [read('stashes/0', 'file'), read('stashes/1', 'file'), read('tags/here', 'marked')],
      ['two', 'one', 'marked'],
    )
    assert.equal(read(`left/${/HEAD \(1 commit, (\w{8})/.exec(notes.join())?.[1]}`, 'lost'), 'lost')
  })

  test('that was there before, is checked out or is gone again is none', async () => {
    for (const command of [
      'git branch other feature; git tag now; git checkout --quiet -b fix; commit one',
      'git checkout --quiet feature',
      'git checkout --quiet -b fix; commit one; git checkout --quiet main; git merge --quiet fix',
    ]) {
      const { notes, bundles } = await begin(command)
      assert.deepEqual([notes, bundles], [[], []], command)
    }
  })

  test('is kept once, and again when there is more of it', async () => {
    const first = await begin('git checkout --quiet -b fix; commit one; git checkout --quiet main')
    const goOn = async (command: string) => {
      await api.json('POST', `/agent/runs/${first.run_id}/followups`, { message: shell(COMMIT + command) })
      return look(first.run_id)
    }
    const second = await goOn('echo changed > file')
    assert.deepEqual(second.notes, first.notes)
    assert.equal(second.bundles.length, 1)
    const third = await goOn(
      'git checkout --quiet fix; git stash --quiet; commit two; git checkout --quiet main',
    )
    assert.match(third.notes.join(), /branch fix \(2 commits, .*site-3\.bundle has it/)
    assert.deepEqual(
      third.bundles.map(({ filename }) => filename),
      ['site-1.bundle', 'site-3.bundle'],
    )
  })

  test('of a shallow clone, of several repositories and with ids of SHA-256 is kept for each', async () => {
    const { notes, bundles } = await begin(
      `for each in site tool long; do cd /workspace/$each; git checkout --quiet -b fix; commit $each; git checkout --quiet main; done`,
      {
        ...{ egress: 'open', variables: { GIT_SSL_NO_VERIFY: '1' } },
        repositories: [{ url: `${server.url}/site` }, { local_path: 'tool' }, { local_path: 'long' }],
      },
    )
    assert.equal(notes.length, 3)
    const read = await Promise.all(
      ['site', 'tool', 'long'].map((name) => {
        const found = bundles.find(({ filename }) => filename === `${name}-1.bundle`)
        return unpack(found?.artifact_uid ?? '', name, '--depth=1')
      }),
    )
    assert.deepEqual(
      read.map((show, place) => show('heads/fix', ['site', 'tool', 'long'][place] ?? '')),
      ['site', 'tool', 'long'],
    )
  })

  test('is kept within what the run may keep, all bundles and the patch together', async () => {
    const small = await startService({
      env: { RUNYARD_LOCAL_REPOS: root, RUNYARD_MAX_RUN_FILES_MB: '1' },
    })
    try {
      const to = apiOf(small)
      const { uid } = await to.json<{ uid: string }>('POST', '/agent/environments', {
        ...{ name: randomUUID(), repositories: [{ local_path: 'site' }, { local_path: 'tool' }] },
      })
      const command = `${COMMIT} for each in site tool; do cd /workspace/$each; git checkout --quiet -b fix
        head -c 600000 /dev/urandom > big; git add big; git commit --quiet -m big; git checkout --quiet main; done
        cd ../site; head -c 450000 /dev/urandom > other`
      const run_id = await to.create({ prompt: shell(command), config: { environment_id: uid } })
      const { artifacts } = await to.ended(run_id)
      const { notes } = await to.json<RunDiff>('GET', `/agent/runs/${run_id}/diff`)
      const sizes = artifacts.map(({ data }) => ('size_bytes' in data ? Number(data.size_bytes) : 0))
      assert(sizes.reduce((all, size) => all + size, 0) <= 1024 ** 2, sizes.join())
      assert.equal(notes.filter((note) => note.includes('It is too large to be kept')).length, 1)
      assert.match(notes.join('\n'), /^Too large for the patch, .*other/m)
    } finally {
      await small.stop()
    }
  })
})
