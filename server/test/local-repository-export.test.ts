/** The export of a local repository, cut short: by its caller, its limits or its worker's death. */
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { cpSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { DEFAULT_LIMITS, type SandboxLimits } from '../src/sandbox/sandbox.ts'
import { openLocalRepository } from '../src/worker/local-repository.ts'
import { exportId, exportRepository } from '../src/worker/repository-export.ts'
import { until } from './support/cluster.ts'
import { git, makeRepository } from './support/git.ts'
import { openBackend } from './support/sandbox-backends.ts'
import {
  apiOf,
  startDevProcess,
  startService,
  type TestService,
  temporaryDirectory,
} from './support/service.ts'
import { findProcesses, printed } from './support/traces.ts'

/** Enough for git to be met at work. */
const LARGE = 24 * 1024 ** 2

/** Made once: it is megabytes that git has to compress. */
let template = ''
function makeLargeRepository(path: string): void {
  if (template) {
    cpSync(template, path, { recursive: true })
    return
  }
  template = path
  makeRepository(path)
  writeFileSync(join(path, 'large'), randomBytes(LARGE))
  git(path, 'add', 'large')
  git(path, 'commit', '--quiet', '-m', 'large')
}

/** Sandboxes of exports below this data directory. */
const exportsIn = (data_dir: string): string[] =>
  globSync(join(data_dir, 'sandboxes/bubblewrap/*/0*.json')).filter((file) => {
    try {
      return readFileSync(file, 'utf8').includes('.export-')
    } catch {
      return false
    }
  })

/** git processes whose sandbox lies below this data directory. */
const bundlersIn = (data_dir: string): number[] =>
  findProcesses('bundle').filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/mountinfo`, 'utf8').includes(data_dir)
    } catch {
      return false
    }
  })

/** A run whose export stands still in the middle of its bundle. */
async function startHeldExport(api: ReturnType<typeof apiOf>, data_dir: string): Promise<string> {
  const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
    name: randomUUID(),
    repositories: [{ local_path: 'large' }],
  })
  const run_id = await api.create({
    prompt: '```sh\nwc -c < large\n```',
    config: { environment_id: uid },
  })
  let held: number[] = []
  await until('git to be at work', () => {
    held = bundlersIn(data_dir)
    for (const pid of held) process.kill(pid, 'SIGSTOP')
    return held.length > 0
  })
  return run_id
}

describe('the export of a local repository', () => {
  const place = temporaryDirectory('large')
  const data_dir = join(place, '.runyard')
  const env = { RUNYARD_LOCAL_REPOS: place }
  /** Begins where the killed one ended. */
  let service: TestService | undefined
  before(() => makeLargeRepository(join(place, 'large')))
  after(() => service?.stop())

  test('dies with its worker, and the next attempt begins anew', async () => {
    const first = await startDevProcess({ data_dir, env })
    const run_id = await startHeldExport(apiOf(first), data_dir)
    await first.kill('SIGKILL')
    await until('git to be killed', () => bundlersIn(data_dir).length === 0)
    assert.equal(exportsIn(data_dir).length > 0, true)
    service = await startService({ data_dir, env, embedded: true })
    const api = apiOf(service)
    const run = await api.ended(run_id)
    assert.deepEqual([run.state, run.attempt], ['SUCCEEDED', 2], run.status_message?.message)
    assert.equal(printed(await api.events(run_id)), `${LARGE}\n`)
    assert.deepEqual(exportsIn(data_dir), [])
  })

  test('ends with its cancelled run, and leaves nothing', async () => {
    assert(service)
    const api = apiOf(service)
    const run_id = await startHeldExport(api, data_dir)
    await (await api.call('POST', `/agent/runs/${run_id}/cancel`)).body?.cancel()
    await until('git to be killed', () => bundlersIn(data_dir).length === 0)
    assert.equal((await api.ended(run_id)).state, 'CANCELLED')
    assert.deepEqual(exportsIn(data_dir), [])
  })

  describe('by itself', async () => {
    const place = temporaryDirectory('export')
    const data_dir = join(place, '.runyard')
    const backend = await openBackend('bubblewrap', { data_dir, installation_id: 'test' })
    const watched = new Set<string>()
    const said: string[] = []
    const log = (fields: object) => void said.push(JSON.stringify(fields))
    const context = {
      backend,
      warden: {
        watch: ({ id }: { id: string }) => void watched.add(id),
        unwatch: ({ id }: { id: string }) => void watched.delete(id),
      },
      log: { info: log, warn: log, error: log },
    }
    const open = async (limits: Partial<SandboxLimits>, signal = new AbortController().signal) => {
      const repository = await openLocalRepository('large', { local_repos: place, data_dir })
      return exportRepository(context, repository, {
        id: exportId(randomUUID(), 0),
        attempt: 1,
        limits: { ...DEFAULT_LIMITS, ...limits },
        signal,
      })
    }
    const assertGone = async () => {
      assert.deepEqual(await backend.list(), [])
      assert.deepEqual([...watched], [])
    }
    makeLargeRepository(join(place, 'large'))

    test('says that it is too large', async () => {
      const { bundle, finished } = await open({ disk_bytes: LARGE / 2 })
      await assert.rejects(text(bundle))
      assert.equal((await finished)?.message, 'The local repository large is larger than a workspace may be.')
      await assertGone()
    })

    test('says that it took too long', async () => {
      const deadline = new AbortController()
      const { bundle, finished } = await open({}, deadline.signal)
      bundle.once('data', () => deadline.abort())
      assert.equal((await finished)?.message, 'Reading the local repository large took too long.')
      await assertGone()
    })

    test('stops when its reader leaves, which is no failure of its own', async () => {
      const { bundle, finished } = await open({})
      bundle.once('data', () => bundle.destroy())
      assert.equal(await finished, null)
      await assertGone()
    })

    test('stops while it copies, too', async () => {
      const { bundle, finished } = await open({})
      await until('the sandbox', () => watched.size > 0)
      bundle.destroy()
      assert.equal(await finished, null)
      await assertGone()
    })
  })
})
