/** What a workspace held is there again when its sandbox is gone, wherever its run goes on. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { zstdDecompressSync } from 'node:zlib'
import type { RunDiff } from '../src/contract/diff.ts'
import type { RunEvent } from '../src/contract/event.ts'
import type { HandoffAttachment, HandoffAttachmentsResponse } from '../src/contract/handoff.ts'
import { until } from './support/cluster.ts'
import { removeSandbox } from './support/docker-images.ts'
import { git } from './support/git.ts'
import { whyNoDocker } from './support/machine.ts'
import { LONG, onceAmong, onlyLong } from './support/once.ts'
import { type BackendName, TEST_IMAGE } from './support/sandbox-backends.ts'
import {
  apiOf,
  shell,
  startDevProcess,
  startService,
  type TestService,
  temporaryDirectory,
} from './support/service.ts'
import { assertWhole, findProcesses, ofType, printed } from './support/traces.ts'

const undocked = whyNoDocker()

testOn('bubblewrap', false)
if (LONG) testOn('docker', undocked)

const EDIT = `set -e
sed -i 's/two/2/' edited.txt; echo staged > staged.txt; git add staged.txt
echo committed > committed.txt; git add committed.txt; git commit --quiet --message one committed.txt
echo new > 'an untracked "file"'; ln -s edited.txt link; mkdir -p empty; printf '\\351' > latin
chmod 755 tool.sh; touch --date=@1000000000.123456789 old; mkdir closed; echo in > closed/in; chmod 555 closed
mkfifo pipe; echo kept > ~/.agent-state`
const LOOK = `git status --porcelain=v2 | sort; cat edited.txt link ~/.agent-state closed/in; stat -c '%n %A %Y %y' old tool.sh closed
ls -A . empty; git log --format=%s; git fsck --strict 2>&1`

/** Names of the files that are kept of workspaces. */
function snapshotsIn(data_dir: string, run_id: string): string[] {
  const folder = join(data_dir, 'blobs/runs', run_id, 'snapshots')
  const names = existsSync(folder) ? readdirSync(folder) : []
  // What is being written has another name.
  return names.filter((name) => !name.endsWith('.partial')).map((name) => join(folder, name))
}

const restoresIn = (events: readonly RunEvent[]) =>
  ofType(events, 'setup').flatMap(({ data }) => (data.phase === 'restore' ? [data] : []))

function testOn(sandbox: BackendName, skip: string | false): void {
  const once = onceAmong(sandbox)
  describe(`snapshots, ${sandbox}`, { skip }, () => {
    const place = temporaryDirectory('repositories')
    let data_dir = temporaryDirectory('data')
    const runs: string[] = []
    let service: Pick<TestService, 'base_url' | 'api_key' | 'stop'>
    let api: ReturnType<typeof apiOf>
    const settings = {
      RUNYARD_LOCAL_REPOS: place,
      RUNYARD_GRACE_SECONDS: '0',
      RUNYARD_SNAPSHOT_TURNS: '1',
      // More than any of these tests has, but the one of what is too large: a service of its own would cost a second.
      RUNYARD_MAX_SNAPSHOT_MB: '1',
      ...(sandbox === 'docker' ? { RUNYARD_DEFAULT_IMAGE: TEST_IMAGE } : {}),
    }
    const start = async (env: Record<string, string> = {}) => {
      service = await startService({ sandbox, data_dir, env: { ...settings, ...env } })
      api = apiOf(service)
    }
    before(async () => {
      const repository = join(place, 'repo')
      execFileSync('git', ['init', '--quiet', '--initial-branch=main', repository])
      writeFileSync(join(repository, 'edited.txt'), 'one\ntwo\n')
      writeFileSync(join(repository, 'tool.sh'), 'echo tool\n')
      git(repository, 'add', '--all')
      git(repository, 'commit', '--quiet', '-m', 'base')
      await start()
    })
    after(async () => {
      await service?.stop()
      if (sandbox === 'docker') for (const run_id of runs) removeSandbox(run_id)
    })

    const create = async (command: string, body: object = {}): Promise<string> => {
      const run_id = await api.create({ prompt: shell(command), ...body })
      runs.push(run_id)
      return run_id
    }
    const inRepository = async (command: string, config: object = {}): Promise<string> => {
      const environment = {
        name: randomUUID(),
        repositories: [{ local_path: join(place, 'repo') }],
        ...config,
      }
      const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', environment)
      return create(command, { config: { environment_id: uid } })
    }
    const succeeded = async (run_id: string): Promise<RunEvent[]> => {
      const run = await api.ended(run_id, 90)
      assert.equal(run.state, 'SUCCEEDED', run.status_message?.message)
      const events = await api.events(run_id)
      assertWhole(events)
      return events
    }
    const send = (run_id: string, command: string) =>
      api.json('POST', `/agent/runs/${run_id}/followups`, { message: shell(command) })
    /** What the follow-up printed, and the events that came with it. */
    const goOn = async (run_id: string, command: string) => {
      const before = await api.events(run_id)
      await send(run_id, command)
      const events = (await succeeded(run_id)).slice(before.length)
      return { events, said: printed(events) }
    }
    const handoff = async (run_id: string): Promise<HandoffAttachment[]> =>
      (await api.json<HandoffAttachmentsResponse>('GET', `/agent/runs/${run_id}/handoff/attachments`))
        .attachments
    /** As when the machine of the sandbox is gone. */
    const removeSandboxes = (): void => {
      if (sandbox === 'docker') for (const run_id of runs) removeSandbox(run_id)
      else
        for (const name of readdirSync(join(data_dir, 'sandboxes/bubblewrap')))
          if (runs.some((run_id) => name.startsWith(run_id)))
            rmSync(join(data_dir, 'sandboxes/bubblewrap', name), { recursive: true, force: true })
    }
    const restart = async (
      meanwhile: () => void = removeSandboxes,
      env: Record<string, string> = {},
    ): Promise<void> => {
      await service.stop()
      meanwhile()
      await start(env)
    }

    test('a follow-up goes on in the workspace though its sandbox is gone', async () => {
      const run_id = await inRepository(EDIT, { setup_commands: ['echo set up >> ../setup.log'] })
      await succeeded(run_id)
      const { said: before } = await goOn(run_id, LOOK)
      assert.match(before, /^1 A\. .*staged\.txt$/m)
      assert.match(before, /^kept$/m)
      const [kept, ...more] = snapshotsIn(data_dir, run_id)
      assert(kept && more.length === 0)

      await restart()
      const { events, said } = await goOn(run_id, `${LOOK}; cat ../setup.log; echo three >> edited.txt`)
      assert.equal(said, `${before}set up\n`)
      const [restore] = restoresIn(events)
      assert.equal(restore?.status, 'finished')
      assert.equal(restore.workspace?.turn, 2)
      assert.equal(restore.workspace.calls_after, 0)
      assert.match(
        restore.name,
        /^the workspace of turn 2 as it was kept at .*; 0 tool calls came after that$/,
      )
      assert(!ofType(events, 'setup').some(({ data }) => ['clone', 'command'].includes(data.phase)))
      const diff = await api.json<RunDiff>('GET', `/agent/runs/${run_id}/diff`)
      assert.deepEqual(diff.files.map(({ path }) => path).sort(), [
        'an untracked "file"',
        'closed/in',
        'committed.txt',
        'edited.txt',
        'latin',
        'link',
        'old',
        'staged.txt',
        'tool.sh',
      ])
      assert.equal(diff.files.find(({ path }) => path === 'edited.txt')?.additions, 2)
      assert.equal(snapshotsIn(data_dir, run_id).length, 1, 'The older one is removed.')
      assert(!existsSync(kept))

      const again = await goOn(run_id, 'tail -n 1 edited.txt')
      assert.deepEqual(
        restoresIn(again.events).map(({ name }) => name),
        ['the workspace of the attempt before, as it was left'],
      )
      assert.equal(again.said, 'three\n')
    })

    once('what a turn left can be downloaded until the link expires, and by nobody else', async () => {
      const run_id = await inRepository(
        'echo x > x; echo y > ~/y; echo begun; until [ -e go ]; do sleep 0.1; done',
      )
      await until('the step', async () => printed(await api.events(run_id)) === 'begun\n')
      assert.deepEqual(await handoff(run_id), [], 'Nothing has ended.')
      await api.json('POST', `/agent/runs/${run_id}/interrupt`)
      await api.until(run_id, (run) => run.state === 'BLOCKED' && !run.is_sandbox_running)
      const [file, ...more] = await handoff(run_id)
      assert(file && more.length === 0)
      assert.deepEqual(
        [file.filename, file.mime_type, file.turn],
        ['workspace.tar.zst', 'application/zstd', 1],
      )
      const answer = await fetch(file.download_url)
      assert.equal(answer.status, 200)
      assert.match(answer.headers.get('content-disposition') ?? '', /^attachment/)
      const bytes = Buffer.from(await answer.arrayBuffer())
      assert.equal(bytes.length, file.size_bytes)
      assert.equal(createHash('sha256').update(bytes).digest('hex'), file.sha256)
      const listed = execFileSync('tar', ['-tf', '-'], { input: zstdDecompressSync(bytes), encoding: 'utf8' })
      const names = listed.split('\n')
      for (const name of ['workspace/repo/x', 'workspace/repo/edited.txt', 'home/agent/y'])
        assert(names.includes(name), listed)
      const bad = [
        file.download_url.replace(/expires=\d+/, 'expires=1000000000'),
        file.download_url.replace(/signature=.{4}/, 'signature=AAAA'),
        file.download_url.replace(file.attachment_id, randomUUID()),
      ]
      for (const url of bad) assert.equal((await fetch(url)).status, 404, url)

      // What the execution before left stays so while the next one is at work.
      await send(run_id, 'echo z > z; touch go; echo again; until [ -e stop ]; do sleep 0.1; done')
      await until('the next step', async () => printed(await api.events(run_id)).endsWith('again\n'))
      assert.equal((await handoff(run_id))[0]?.attachment_id, file.attachment_id)
      await api.json('POST', `/agent/runs/${run_id}/cancel`)
      await api.until(run_id, (run) => !run.is_sandbox_running)
      const [second] = await handoff(run_id)
      assert(second && second.attachment_id !== file.attachment_id, 'A turn that is cut short is kept, too.')
      assert.equal((await fetch(file.download_url)).status, 404, 'The older one is removed.')
    })

    once('nothing is kept of a turn that changed nothing', async () => {
      const bare = await create('echo hello; mkdir -p artifacts')
      await succeeded(bare)
      const reads = await inRepository('cat edited.txt; git log')
      await succeeded(reads)
      for (const run_id of [bare, reads]) {
        assert.deepEqual(snapshotsIn(data_dir, run_id), [])
        assert.deepEqual(await handoff(run_id), [])
      }
      // Times of files are as coarse as the kernel's ticks: what was written just now may count as newer than the look.
      const run_id = await create('echo 1 > file; sleep 0.1')
      await succeeded(run_id)
      const [first] = await handoff(run_id)
      await goOn(run_id, 'cat file')
      const [second] = await handoff(run_id)
      assert.equal(second?.attachment_id, first?.attachment_id)
      assert.equal(second?.turn, 2)
    })

    once('a snapshot that is gone or damaged is told, and the workspace is a fresh one', async () => {
      const [gone, damaged] = [await inRepository('echo 1 > changed'), await inRepository('echo 2 > changed')]
      for (const run_id of [gone, damaged]) await succeeded(run_id)
      removeSandboxes()
      rmSync(snapshotsIn(data_dir, gone)[0] ?? '')
      const [file = ''] = snapshotsIn(data_dir, damaged)
      const bytes = readFileSync(file)
      bytes[bytes.length - 20] = (bytes[bytes.length - 20] ?? 0) ^ 1
      writeFileSync(file, bytes)
      for (const [run_id, why] of [
        [gone, /the snapshot of it is not in the storage any more$/],
        [damaged, /the snapshot of it cannot be unpacked: /],
      ] as const) {
        const { events, said } = await goOn(run_id, 'cat edited.txt; ls changed').catch(async () => ({
          events: await api.events(run_id),
          said: '',
        }))
        assert.match(said || printed(events), /one\ntwo\n/)
        const [restore] = restoresIn(events)
        assert.match(restore?.name ?? '', why)
        assert.deepEqual([restore?.workspace?.kept_at, restore?.workspace?.calls_after], [undefined, 1])
        assert(ofType(events, 'setup').some(({ data }) => data.phase === 'clone'))
      }
    })

    once('a workspace that is too large is told once, and kept when it is smaller again', async () => {
      const run_id = await create('echo small > small; head -c 3000000 /dev/urandom > large')
      const errors = (events: readonly RunEvent[]) => ofType(events, 'error').map(({ data }) => data)
      const [told, ...more] = errors(await succeeded(run_id))
      assert.equal(more.length, 0)
      assert.equal(told?.error_code, 'budget_exceeded')
      assert.match(
        told.message,
        /^The workspace was not kept: compressed it takes more than 1 MiB; .*\(RUNYARD_MAX_SNAPSHOT_MB\)\. A follow-up finds it as long as/,
      )
      assert.deepEqual(await handoff(run_id), [])
      assert.deepEqual(errors((await goOn(run_id, 'echo more >> small')).events), [], 'It is said once.')
      assert.deepEqual(errors((await goOn(run_id, 'rm large')).events), [])
      assert.equal((await handoff(run_id)).length, 1)
      const again = await goOn(run_id, 'head -c 3000000 /dev/urandom > large')
      assert.equal(errors(again.events).length, 1, 'It was kept meanwhile, so it is said again.')
      assert.deepEqual(await handoff(run_id), [], 'What an earlier execution left is not what this one left.')
      removeSandboxes()
      const { events, said } = await goOn(run_id, 'cat small; ls')
      assert.match(said, /^small\nmore\n/)
      assert(!said.includes('large'))
      assert.equal(restoresIn(events)[0]?.workspace?.calls_after, 1)
    })

    once('a storage that fails in a way of its own fails no run', async () => {
      const blobs = join(data_dir, 'blobs')
      renameSync(blobs, `${blobs}-away`)
      writeFileSync(blobs, '')
      const run_id = await create('echo x > x')
      const [told] = ofType(await succeeded(run_id), 'error')
      assert.match(told?.data.message ?? '', /^The workspace was not kept\. It could not be stored; the log/)
      rmSync(blobs)
      renameSync(`${blobs}-away`, blobs)
      assert.equal((await goOn(run_id, 'cat x; echo y > y')).said, 'x\n')
      assert.equal((await handoff(run_id)).length, 1)
    })

    test('a turn is kept while it lasts, whatever writes meanwhile, and goes on from there', async (t) => {
      const shared = { service, api, data_dir }
      t.after(async () => {
        await service.stop()
        ;({ service, api, data_dir } = shared)
      })
      data_dir = temporaryDirectory('data')
      // A process of its own, since it is killed. Its repository grows for as long as a busy machine takes.
      const more = { RUNYARD_SNAPSHOT_SECONDS: '1', RUNYARD_MAX_SNAPSHOT_MB: '100' }
      const first_life = await startDevProcess({ sandbox, data_dir, env: { ...settings, ...more } })
      service = first_life
      api = apiOf(first_life)
      const marker = `7${Date.now()}`
      const run_id = await inRepository(
        `if [ -e early ]; then cat early; git fsck; ls log; else
          echo early > early
          (while :; do date > log; echo x > "file-$RANDOM"; rm -f file-*; git commit --quiet --allow-empty -m x; done) &
          sleep ${marker}; fi`,
      )
      await until('a snapshot', () => snapshotsIn(data_dir, run_id).length > 0)
      const [first] = snapshotsIn(data_dir, run_id)
      await until('the next one', () => !snapshotsIn(data_dir, run_id).includes(first ?? ''))
      await first_life.kill('SIGKILL')
      await until('the processes to die', () => findProcesses(marker).length === 0)
      removeSandboxes()
      service = await startService({ sandbox, data_dir, env: settings, embedded: true })
      api = apiOf(service)
      const events = await succeeded(run_id)
      assert.match(printed(events), /^early\n(.*\n)*log\n$/)
      const [restore] = restoresIn(events)
      assert.equal(restore?.workspace?.calls_after, 1)
      assert.match(
        restore.workspace.note,
        /1 tool call is lost or not whole: "if \[ -e early \]; then cat early/,
      )
    })

    // What is written while a workspace is packed, the test of `kept while it lasts` shows as well.
    onlyLong('nothing stands still for longer than a snapshot takes', async () => {
      await restart(() => {}, { RUNYARD_SNAPSHOT_SECONDS: '1', RUNYARD_MAX_SNAPSHOT_MB: '100' })
      const run_id = await create(
        'head -c 30000000 /dev/urandom > large; for i in $(seq 40); do date +%s%N >> ticks; sleep 0.1; done; cat ticks',
      )
      const times = printed(await succeeded(run_id))
        .trim()
        .split('\n')
        .map((line) => Number(line) / 1e6)
      assert.equal(times.length, 40)
      const gaps = times.slice(1).map((time, at) => time - (times[at] ?? time))
      assert(Math.max(...gaps) < 20_000, `${Math.max(...gaps)} ms`)
      assert(snapshotsIn(data_dir, run_id).length > 0)
    })

    once('a full storage fails no run, and where nothing is to be kept nothing is', async () => {
      await api.create({
        ...{ prompt: 'x', config: { worker_host: 'nobody' } },
        attachments: [
          { file_name: 'large', mime_type: 'text/plain', data: randomBytes(2_000_000).toString('base64') },
        ],
      })
      await restart(() => {}, { RUNYARD_MAX_FILES_MB: '1' })
      const run_id = await create('echo x > x')
      const events = await succeeded(run_id)
      assert.match(
        ofType(events, 'error')[0]?.data.message ?? '',
        /^The workspace was not kept\. The service keeps as many files as its operator allows\. /,
      )
      await restart(() => {}, { RUNYARD_MAX_SNAPSHOT_MB: '0' })
      const off = await create('echo x > x')
      assert.deepEqual(ofType(await succeeded(off), 'error'), [])
      assert.deepEqual(snapshotsIn(data_dir, off), [])
    })
  })
}
