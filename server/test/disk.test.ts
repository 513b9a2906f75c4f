/** What agents may take of the disk, and what happens when it runs out. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { existsSync, globSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { EnvironmentConfig } from '../src/contract/environment.ts'
import type { ErrorBody } from '../src/contract/error.ts'
import { until } from './support/cluster.ts'
import { LONG, onlyLong } from './support/once.ts'
import { apiOf, shell, startService, type TestService } from './support/service.ts'
import { assertWhole, ofType, printed } from './support/traces.ts'

const MiB = 1024 ** 2

describe('a run that takes more of the disk than its limit', { concurrency: 2 }, () => {
  let service: TestService
  let api: ReturnType<typeof apiOf>
  before(async () => {
    service = await startService()
    api = apiOf(service)
  })
  after(() => service?.stop())

  const create = async (command: string, config: Partial<EnvironmentConfig> = {}): Promise<string> => {
    const environment = { name: randomUUID(), limits: { disk_mb: 64 }, ...config }
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', environment)
    return api.create({ prompt: shell(command), config: { environment_id: uid } })
  }
  const workspaceOf = (run_id: string, attempt: number) =>
    join(service.data_dir, 'sandboxes/bubblewrap', `${run_id}-${attempt}`)

  test('is ended, says why, and its workspace is not kept', async () => {
    const run_id = await create(`head -c ${200 * MiB} /dev/zero > big; touch /workspace/kept; sleep 600`)
    const run = await api.ended(run_id)
    assert.deepEqual([run.state, run.status_message?.error_code], ['FAILED', 'budget_exceeded'])
    assert.match(run.status_message?.message ?? '', /took \d+ MiB of disk; its limit is 64 MiB/)
    assert.match(
      run.status_message?.message ?? '',
      /limits\.disk_mb.*a follow-up starts with what was last kept of it, or with a fresh one/,
    )
    assert(!existsSync(workspaceOf(run_id, 1)))

    await api.json('POST', `/agent/runs/${run_id}/followups`, { message: shell('ls -A; echo fresh') })
    assert.equal((await api.ended(run_id)).state, 'SUCCEEDED')
    const events = await api.events(run_id)
    assertWhole(events)
    assert.equal(printed(events), 'artifacts\nattachments\nfresh\n')
    assert(ofType(events, 'setup').some(({ data }) => /a fresh workspace/.test(data.name)))
  })

  test('is ended too where the file has no name any more, or lies in home or /tmp', async () => {
    const places = [
      'exec 3>gone; rm gone; cd /proc/self/fd; head -c 200M /dev/zero >&3',
      'cd; head -c 200M /dev/zero > x',
      'cd /tmp; head -c 200M /dev/zero > x',
    ]
    // The disk of a run is one, which the first of them shows.
    const runs = await Promise.all(
      (LONG ? places : places.slice(0, 1)).map((command) => create(`${command}; sleep 600`)),
    )
    for (const run_id of runs) {
      const { state, status_message } = await api.ended(run_id)
      assert.deepEqual([state, status_message?.error_code], ['FAILED', 'budget_exceeded'])
    }
  })

  onlyLong('is ended by a flood of empty files', async () => {
    const flood = `perl -e 'for $d (1 .. 100) { mkdir "f$d"; for (1 .. 1000) { open my $f, ">", "f$d/$_" } }'; sleep 600`
    const { state, status_message } = await api.ended(await create(flood))
    assert.equal(state, 'FAILED')
    assert.match(status_message?.message ?? '', /keeps \d+ files; at its disk limit it may keep 65536/)
  })

  test('is ended while its environment is set up', async () => {
    const setup_commands = ['head -c 200M /dev/zero > big; sleep 600', 'echo never']
    const run_id = await create('echo never', { setup_commands })
    const { state, status_message } = await api.ended(run_id)
    assert.deepEqual([state, status_message?.error_code], ['FAILED', 'budget_exceeded'])
    assert.equal(printed(await api.events(run_id)), '')
    assert(!existsSync(workspaceOf(run_id, 1)))
  })

  test('is not ended for holes, nor for what it has removed again', async () => {
    const run_id = await create(
      'truncate -s 1T sparse; for i in 1 2 3 4 5 6; do head -c 40M /dev/zero > x; sleep 0.5; rm x; done; echo went',
    )
    assert.equal((await api.ended(run_id)).state, 'SUCCEEDED')
    assert.equal(printed(await api.events(run_id)), 'went\n')
  })
})

/** Sizes of the files that the service keeps, and what they take up. */
function blobsOf({ data_dir }: TestService) {
  const files = globSync('blobs/runs/**', { cwd: data_dir }).map((name) => statSync(join(data_dir, name)))
  const kept = files.filter((file) => file.isFile())
  return {
    sizes: kept.map(({ size }) => size),
    disk: kept.reduce((bytes, file) => bytes + file.blocks * 512, 0),
  }
}

const attachment = (file_name: string, bytes: number) => ({
  file_name,
  mime_type: 'application/octet-stream',
  data: Buffer.alloc(bytes, 'x').toString('base64'),
})

describe('what a run may keep', () => {
  let service: TestService
  let api: ReturnType<typeof apiOf>
  before(async () => {
    // Snapshots have a limit of their own.
    service = await startService({ env: { RUNYARD_MAX_RUN_FILES_MB: '10', RUNYARD_MAX_SNAPSHOT_MB: '0' } })
    api = apiOf(service)
  })
  after(() => service?.stop())

  test('is capped over its turns; what is left out is named and fails nothing', async () => {
    const sparse = 'cd artifacts; for i in 1 2 3; do truncate -s 4M f$i; done; echo small > small'
    const run_id = await api.create({ prompt: shell(sparse) })
    const run = await api.ended(run_id)
    assert.equal(run.state, 'SUCCEEDED')
    const kept = async () =>
      ofType(await api.events(run_id), 'artifact.created').map(({ data }) => data.filepath)
    assert.deepEqual(await kept(), ['f1', 'f2', 'small'])
    const [error, ...more] = ofType(await api.events(run_id), 'error')
    assert.equal(more.length, 0)
    assert.deepEqual([error?.data.error_code, error?.data.retryable], ['budget_exceeded', false])
    assert.match(error?.data.message ?? '', /^Artifacts were not kept\. f3: a run keeps 10 MiB of files$/)
    assert(blobsOf(service).disk < MiB, 'holes are kept as holes')

    // Unchanged ones need no room; a changed one needs more than there is.
    const message = shell('rm artifacts/f3; echo x >> artifacts/f1')
    await api.json('POST', `/agent/runs/${run_id}/followups`, { message })
    assert.equal((await api.ended(run_id)).state, 'SUCCEEDED')
    assert.equal((await kept()).length, 3)
    assert.match(
      ofType(await api.events(run_id), 'error').at(-1)?.data.message ?? '',
      /not kept\. f1: a run keeps/,
    )
    assert.equal(blobsOf(service).sizes.length, 3)
  })

  test('is refused as attachments beyond that, and nothing of it stays', async () => {
    const before = blobsOf(service).sizes.length
    const attachments = [attachment('a', 6 * MiB), attachment('b', 5 * MiB)]
    const refused = await api.call('POST', '/agent/runs', { prompt: shell('true'), attachments })
    assert.equal(refused.status, 413)
    assert.match(((await refused.json()) as { detail: string }).detail, /at most 10 MiB/)

    const run_id = await api.create({ prompt: shell('sleep 600'), attachments: attachments.slice(0, 1) })
    const path = `/agent/runs/${run_id}/followups`
    const more = { message: 'more', attachments: attachments.slice(1) }
    assert.equal((await api.call('POST', path, more)).status, 413)
    await api.until(run_id, ({ state }) => state === 'INPROGRESS')
    const small = { message: 'more', attachments: [attachment('c', 1)] }
    // Refused for another reason after its bytes had come.
    assert.equal((await api.call('POST', path, { ...small, on_busy: 'reject' })).status, 409)
    assert.equal(blobsOf(service).sizes.length, before + 1)
    for (const replayed of [null, 'true']) {
      const answer = await api.call('POST', path, small, { 'idempotency-key': 'once' })
      assert.deepEqual([answer.status, answer.headers.get('idempotent-replayed')], [200, replayed])
    }
    // Not even where what it brought leaves no room for it once more.
    const half = { message: 'more', attachments: [attachment('d', 3 * MiB)] }
    for (const replayed of [null, 'true']) {
      const answer = await api.call('POST', path, half, { 'idempotency-key': 'half' })
      assert.deepEqual([answer.status, answer.headers.get('idempotent-replayed')], [200, replayed])
    }
    await until('the second to go', () => blobsOf(service).sizes.length === before + 3)
    await api.call('POST', `/agent/runs/${run_id}/cancel`)
  })
})

test('a service without room takes no files and claims nothing, says so, and reads on', async (context) => {
  const service = await startService({ env: { RUNYARD_MIN_FREE_PERCENT: '100' } })
  context.after(() => service.stop())
  const api = apiOf(service)
  const refused = await api.call('POST', '/agent/runs', { prompt: 'x', attachments: [attachment('a', 1)] })
  assert.equal(refused.status, 503)
  assert(Number(refused.headers.get('retry-after')) > 0)
  const { error_code, detail } = (await refused.json()) as ErrorBody
  assert.equal(error_code, 'resource_unavailable')
  assert.match(detail ?? '', /disk of the service/)

  const run_id = await api.create({ prompt: shell('echo never') })
  await until('the refusal to claim', () => /no run is claimed/.test(service.log()))
  const readiness = await fetch(new URL('/readyz', service.base_url))
  assert.equal(readiness.status, 200)
  const { disk } = (await readiness.json()) as { disk: { enough: boolean; min_free_percent: number } }
  assert.deepEqual([disk.enough, disk.min_free_percent], [false, 100])
  assert.equal((await api.get(run_id)).state, 'QUEUED')
  await api.json('POST', `/agent/runs/${run_id}/cancel`)
  assert.equal((await api.get(run_id)).state, 'CANCELLED')
  assert.equal(service.log().match(/no run is claimed/g)?.length, 1)
})
